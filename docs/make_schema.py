# ruff: noqa: INP001 - a script in the folder of the documents, not a package
"""Write docs/schema.md: every table with its columns, as the extension itself describes them.

The meanings stand once, beside the code that fills the columns; this script only arranges them. A test holds the file
against what the script would write.

    python docs/make_schema.py            writes docs/schema.md
    python docs/make_schema.py --check    exit status 1 where docs/schema.md is stale
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from pathlib import Path

import fasttl
import pyarrow as pa
from fasttl import _core

DOCS = Path(__file__).resolve().parent
TARGET = DOCS / "schema.md"
EXAMPLE = DOCS.parent / "examples" / "crash_3_ranks"

# What a reader of polars sees for each Arrow type; a type that is missing here stops the script.
TYPES = {
    "Boolean": "Boolean",
    "Int32": "Int32",
    "Int64": "Int64",
    "UInt32": "UInt32",
    "UInt64": "UInt64",
    "Float64": "Float64",
    "Utf8View": "String",
    "Dictionary(UInt32, Utf8)": "Categorical",
    "List(Utf8View)": "List(String)",
    "List(Int32)": "List(Int32)",
    "List(UInt64)": "List(UInt64)",
    "List(List(Int32))": "List(List(Int32))",
    'Timestamp(µs, "UTC")': 'Datetime("us", "UTC")',
}

# Tables that come from two traces, and what a row of each is.
OF_TWO = {
    "diff": "`fasttl.diff(a, b).table`: one row for each difference between two traces, ranks or compiles.",
    "diff_summary": "`fasttl.diff(a, b).summary`: one row for each aspect, with its verdict.",
}

INTRODUCTION = """\
<!-- Made by docs/make_schema.py from the code. Do not edit: change the text beside the column and run the script. -->

# Tables

Version {version} of the schema; it stands in the Arrow metadata of each table as `schema_version`.

`fasttl.load(PATH)` gives each table as a property (`trace.frames`) or by its name: `trace.table("frames")` for polars,
`trace.lazy("frames")` for a polars query, `trace.arrow("frames")` for pyarrow.

What holds for all of them:

- **Null** means that the log does not say. It is not written as 0 or as an empty text; the one exception is
  `problems.line`, which is 0 where a problem stands on no line.
- **Units** stand in the names: `_s` is seconds, `_ms` milliseconds, `_us` microseconds. Sizes are bytes.
- **Times** are `Timestamp(µs, "UTC")`. Where `files.utc_offset_s` is null, the log does not tell its zone, and its
  times are local ones under that label.
- **`file`** is the number of a log: the row of `files` with that value. Logs are numbered by rank (those without a rank
  last), then by run, restart and time of the first record.
- **`offset`** is the byte at which a record starts in the unpacked file. `file` and `offset` together name a record;
  `trace.metadata(row)`, `trace.payload(row)` and `trace.text(row)` take any row of a table that has both.
- **A compile** is (`file`, `generation`, `compile_id` without the attempt). `compile_id` alone is not unique: ranks
  count alike, and `torch._dynamo.reset()` starts the counters of a process again.

| Arrow type | in polars |
|---|---|
{types}

| table | |
|---|---|
{tables}
"""


def cell(text: str) -> str:
    """Give text for a cell of a table, where a bar would end the cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def meaning(table: str) -> str:
    """Say what one row of a table is: the first line of the property of that name.

    Args:
        table: Name of a table.

    Returns:
        The sentence.

    Raises:
        LookupError: If `fasttl.Trace` has no such property, or it has no text.
    """
    text = inspect.getdoc(getattr(fasttl.Trace, table, None)) or ""
    if not text:
        message = f"fasttl.Trace has no documented property {table}"
        raise LookupError(message)
    return text.partition("\n")[0]


def section(trace: fasttl.Trace, table: str) -> str:
    """Give the part of the document about one table.

    Args:
        trace: Any trace: the columns are the same for all.
        table: Name of the table.

    Returns:
        Heading, meaning and columns.

    Raises:
        LookupError: If a column has no meaning, or its type is not in `TYPES`.
    """
    return columns_section(table, meaning(table), trace.schema(table))


def columns_section(table: str, about: str, columns: list[fasttl.Column]) -> str:
    """Give the part of the document about a table, with its columns.

    Args:
        table: Name of the table.
        about: What a row is.
        columns: Its columns.

    Returns:
        Heading, meaning and columns.

    Raises:
        LookupError: If a column has no meaning, or its type is not in `TYPES`.
    """
    rows = []
    for column in columns:
        if not column.meaning or column.type not in TYPES:
            message = f"{table}.{column.name}: no meaning, or a type that TYPES lacks: {column.type}"
            raise LookupError(message)
        rows.append(f"| `{column.name}` | {cell(column.type)} | {cell(column.meaning)} |")
    return "\n".join([f"## {table}", "", about, "", "| column | type | meaning |", "|---|---|---|", *rows])


def render() -> str:
    """Give the whole document."""
    trace = fasttl.load(EXAMPLE)
    # Where an editor would jump to: the anchor that Markdown viewers make of the heading.
    tables = "\n".join(f"| [`{table}`](#{table}) | {cell(meaning(table))} |" for table in trace.tables)
    types = "\n".join(f"| `{cell(arrow)}` | `{polars}` |" for arrow, polars in TYPES.items())
    version = (trace.arrow("files").schema.metadata or {}).get(b"schema_version", b"").decode()
    if not re.fullmatch(r"\d+", version):
        message = f"pyarrow {pa.__version__} gives no schema_version, but {version!r}"
        raise LookupError(message)
    of_two = [
        columns_section(name, OF_TWO[name], [fasttl.Column(*column) for column in columns])
        for name, columns in _core.describe_diff()
    ]
    tables += "".join(f"\n| [`{name}`](#{name}) | {cell(about)} |" for name, about in OF_TWO.items())
    head = INTRODUCTION.format(version=version, types=types, tables=tables)
    return "\n\n".join([head.rstrip("\n"), *(section(trace, table) for table in trace.tables), *of_two]) + "\n"


def main() -> int:
    """Write the document or check it, and give the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 where the file is stale")
    args = parser.parse_args()
    text = render()
    if not args.check:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{TARGET.name} is stale: run python docs/make_schema.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
