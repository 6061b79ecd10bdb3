"""``fasttl query PATH… 'select …'``: asks the tables of logs in SQL, or in Python from a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from fasttl._display import count_text
from fasttl.cli._common import QuickCommand, input_options, note, read_trace
from fasttl.cli._frames import frame_section
from fasttl.cli._output import FORMATS, Section, show
from fasttl.queries.sql import run_file, sql

if TYPE_CHECKING:
    from fasttl.trace import Trace

EXAMPLES = """\b
Examples:
  fasttl query /tmp/tracedir "select rank, compile_id, code_name from frames where status = 'error'"
  fasttl query /tmp/tracedir --file slow.sql --format csv > slow.csv
  fasttl query /tmp/tracedir --tables
"""


class _Query(QuickCommand):
    """The command, whose last word is the query."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Name the query behind the paths."""
        return [*super().collect_usage_pieces(ctx), "[SQL]"]


@click.command(
    cls=_Query,
    epilog=EXAMPLES,
    help="""Run a SQL query over the tables of the logs at PATH, and print its rows.

    The query is the last word, unless --sql or --file gives it. Tables and columns
    are listed by --tables; docs/schema.md describes them.

    A file that ends in .py defines query(trace), which gets a fasttl.Trace and gives
    a polars frame. It is run as a program of yours: do not run those of strangers.""",
)
@input_options
@click.option("-q", "--sql", "text", metavar="SQL", help="The query; all words are then paths.")
@click.option("-f", "--file", "file", metavar="FILE", help="File with the query: .sql, or .py with query(trace).")
@click.option("--tables", is_flag=True, help="List the tables with their columns, and run nothing.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Print the first N rows; all unless told.")
@click.option(
    "--format", "layout", type=click.Choice(FORMATS), default="table", show_default=True, help="How to print."
)
def query(  # noqa: PLR0913 - one parameter for each flag
    *,
    paths: tuple[str, ...],
    latest: bool,
    ranks: list[int | None] | None,
    threads: int | None,
    max_unpacked: int | None,
    text: str | None,
    file: str | None,
    tables: bool,
    limit: int | None,
    layout: str,
) -> int:
    """Print the rows, and give the exit status."""
    paths, text = _what_to_run(paths, text, file, tables=tables)
    trace = read_trace(paths, latest=latest, ranks=ranks, threads=threads, max_unpacked=max_unpacked)
    if tables:
        show(describe_tables(trace, one=layout == "csv"), layout)
        return 0
    frame = run_file(trace, file) if file is not None else sql(trace, text or "")
    shown = frame if limit is None else frame.head(limit)
    if shown.height < frame.height:
        note(f"{shown.height:,} of {count_text(frame.height, 'row')} printed")
    show([frame_section("rows", count_text(frame.height, "row"), shown)], layout)
    return 0


def _what_to_run(
    paths: tuple[str, ...], text: str | None, file: str | None, *, tables: bool
) -> tuple[tuple[str, ...], str | None]:
    """Tell the query from the paths."""
    given = [flag for flag, is_there in (("--sql", text is not None), ("--file", file is not None)) if is_there]
    if tables:
        given.append("--tables")
    if len(given) > 1:
        message = f"{' and '.join(given)} exclude each other; give one of them"
        raise click.UsageError(message)
    if given:
        return paths, text
    if not paths:
        message = "no query: give it as the last word, or by --sql or --file"
        raise click.UsageError(message)
    if os.path.lexists(paths[-1]):
        message = f"no query: the last word is the path {paths[-1]!r}; give the query behind it"
        raise click.UsageError(message)
    return paths[:-1], paths[-1]


def describe_tables(trace: Trace, *, one: bool = False) -> list[Section]:
    """Give a section for each table with its columns, or one for all.

    Example:
        >>> import fasttl
        >>> section = describe_tables(fasttl.load(EXAMPLE))[0]
        >>> section.name, section.rows[0][:2]
        ('files', ('file', 'UInt32'))
    """
    columns = ("column", "type", "meaning")
    if one:
        rows = [(table, *column) for table in trace.tables for column in trace.schema(table)]
        return [Section("columns", "Columns", ("table", *columns), rows)]
    return [Section(table, _title(trace, table), columns, trace.schema(table)) for table in trace.tables]


def _title(trace: Trace, table: str) -> str:
    """Say what a row of a table is, as the property of that name does."""
    text = getattr(type(trace), table, None).__doc__ or ""
    return f"{table}: {text.partition(chr(10))[0]}" if text else table
