"""Writes tables as Parquet or Arrow IPC files, those of each rank in a folder of their own.

The folders are named as Hive does, ``DIR/frames/rank=3/part-0.parquet``, which pyarrow,
polars, DuckDB and Spark read as a column. A table of which no row has a rank stands at
``DIR/frames/part-0.parquet``: from a folder for unknown ranks alone, pyarrow cannot tell
the type of the column.

All is written to a private folder and moved when it is whole. A folder that was there
is replaced only where the file `MARKER` in it says that it is an export.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fasttl import __version__
from fasttl.exceptions import FasttlError, OptionError, OutputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from fasttl._options import PathInput
    from fasttl.trace import Trace

MARKER = "_fasttl.json"
UNKNOWN_RANK = "__HIVE_DEFAULT_PARTITION__"
ENDINGS = {"parquet": "parquet", "ipc": "arrow"}
FORMATS = tuple(ENDINGS)
_RANK = "rank"


class Exported(NamedTuple):
    """A table that was written: rows, files and their bytes."""

    table: str
    rows: int
    files: int
    bytes: int


def export(
    trace: Trace,
    out: PathInput,
    *,
    layout: str = "parquet",
    tables: Iterable[str] | None = None,
    overwrite: bool = False,
) -> list[Exported]:
    """Write tables to a folder; see `Trace.write_parquet`.

    Raises:
        FasttlError: See there.
    """
    names = _table_names(trace, tables)
    target = Path(os.fsdecode(out))
    old = _replaced_tables(target, names, overwrite=overwrite)
    with _output_errors(target), _staging(target) as staging:
        new = staging / "new"
        new.mkdir()
        done = [_write_table(trace, name, new, layout) for name in names]
        _write_marker(trace, new, layout, done)
        _move(new, target, staging / "old", old)
    return done


def _table_names(trace: Trace, tables: Iterable[str] | None) -> list[str]:
    if tables is None:
        return trace.tables
    names = list(dict.fromkeys([tables] if isinstance(tables, str) else tables))
    unknown = [name for name in names if name not in trace.tables]
    if unknown or not names:
        message = f"no such table: {', '.join(map(repr, unknown))}" if unknown else "the list of tables is empty"
        message = f"{message}; there are {', '.join(trace.tables)}"
        raise OptionError(message)
    return names


# The folder.


def _replaced_tables(target: Path, names: list[str], *, overwrite: bool) -> list[str]:
    """Name what an earlier export left in the folder and this one replaces.

    Raises:
        OptionError: The folder holds something else, or may not be replaced.
    """
    if not os.path.lexists(target):
        return []
    if target.is_symlink() or not target.is_dir():
        message = f"{target}: is no folder, or a link to one; name another place"
        raise OptionError(message)
    entries = {entry.name for entry in target.iterdir()}
    if not entries:
        return []
    old = _marked_tables(target)
    if old is None:
        message = f"{target}: holds something else than an export of fasttl; name another folder, or an empty one"
        raise OptionError(message)
    if not overwrite:
        message = (
            f"{target}: holds an earlier export; replace it with --overwrite (overwrite=True), or name another folder"
        )
        raise OptionError(message)
    foreign = sorted((set(names) - set(old)) & entries)
    if foreign:
        message = f"{target / foreign[0]}: is not of the earlier export; move it away, or name another folder"
        raise OptionError(message)
    return [name for name in old if name in entries]


def _marked_tables(target: Path) -> list[str] | None:
    """Read what the marker says was written, the marker first; None where there is none of ours."""
    marker = target / MARKER
    if marker.is_symlink():
        return None
    try:
        value = json.loads(marker.read_text(encoding="utf-8"))
        is_ours = value["program"] == "fasttl"
        names = [table["name"] for table in value["tables"]]
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None
    # They become paths: a name with a separator in it is none that this module wrote.
    is_ours = is_ours and all(isinstance(name, str) and name.isidentifier() for name in names)
    return [MARKER, *names] if is_ours else None


@contextmanager
def _staging(target: Path) -> Iterator[Path]:
    """Give a private folder on the file system of the target, gone at the end with all in it."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
    above = target if target.exists() else target.parent
    staging = Path(tempfile.mkdtemp(prefix=".fasttl-export-", dir=above))
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _move(new: Path, target: Path, old: Path, replaced: list[str]) -> None:
    """Put what is whole in its place; what was there goes first, its marker before all else."""
    if not target.exists():
        new.rename(target)
        return
    old.mkdir()
    entries = sorted((entry.name for entry in new.iterdir()), key=lambda name: name == MARKER)
    steps = [(target / name, old / name) for name in replaced]
    steps += [(new / name, target / name) for name in entries]
    done: list[tuple[Path, Path]] = []
    try:
        for start, end in steps:
            start.rename(end)
            done.append((start, end))
    except BaseException:
        # Some systems do not move what is open: the earlier export stays.
        for start, end in reversed(done):
            end.rename(start)
        raise


@contextmanager
def _output_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except FasttlError:
        raise
    except OSError as error:
        message = f"{error.filename or target}: cannot be written: {error.strerror or error}"
        raise OutputError(message) from error


# The tables.


def _write_table(trace: Trace, name: str, folder: Path, layout: str) -> Exported:
    table = trace.arrow(name, views=False)
    parts = list(_by_rank(table))
    size = 0
    for place, part in parts:
        path = folder / name / place / f"part-0.{ENDINGS[layout]}"
        path.parent.mkdir(parents=True)
        try:
            _write_file(part, path, layout)
            size += path.stat().st_size
        except OSError as error:
            # The name that the user knows, not that of the private folder.
            shown = path.relative_to(folder)
            message = f"{shown}: cannot be written: {error.strerror or error}"
            raise OutputError(message) from error
    return Exported(name, table.num_rows, len(parts), size)


def _write_file(table: pa.Table, path: Path, layout: str) -> None:
    import pyarrow as pa  # noqa: PLC0415 - see the head of the package

    if layout == "parquet":
        import pyarrow.parquet as pq  # noqa: PLC0415 - as above

        pq.write_table(table, os.fspath(path), compression="zstd")
        return
    with pa.OSFile(os.fspath(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def _by_rank(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Cut a table by rank, in the order of the rows; each part with the folder that names its rank."""
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    column = table.schema.get_field_index(_RANK)
    ranks = table.column(column) if column >= 0 else None
    if ranks is None or ranks.null_count == len(ranks):
        yield "", _small_dictionaries(table)
        return
    # A stable sort brings the rows of a rank together at once, however they are mixed.
    rows = table.take(pc.sort_indices(table.select([_RANK]), sort_keys=[(_RANK, "ascending")]))
    counts = pc.value_counts(rows.column(column).combine_chunks())
    bare, start = rows.remove_column(column), 0
    for rank, count in zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True):
        yield f"rank={UNKNOWN_RANK if rank is None else rank}", _small_dictionaries(bare.slice(start, count))
        start += count


def _small_dictionaries(table: pa.Table) -> pa.Table:
    """Leave names out of the dictionaries that no row of this part has."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        if not pa.types.is_dictionary(field.type):
            columns.append(column)
            continue
        encoded = column.cast(field.type.value_type).combine_chunks().dictionary_encode()
        columns.append(pa.DictionaryArray.from_arrays(encoded.indices.cast(field.type.index_type), encoded.dictionary))
    return pa.Table.from_arrays(columns, schema=table.schema)


def _write_marker(trace: Trace, folder: Path, layout: str, done: list[Exported]) -> None:
    first = trace.arrow("files").schema.metadata or {}
    value = {
        "program": "fasttl",
        "version": __version__,
        "schema_version": int(first.get(b"schema_version", b"0")),
        "format": layout,
        "inputs": trace.inputs,
        "tables": [{"name": name, "rows": rows, "files": files, "bytes": size} for name, rows, files, size in done],
    }
    (folder / MARKER).write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
