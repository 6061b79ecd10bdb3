"""Finds stored payloads by kind, name, compile, rank or md5, and writes them as files.

Files are new ones, below a folder that the caller names: `names.py` makes their paths,
nothing is overwritten, and no link is followed.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fasttl._compile_ids import CompileId
from fasttl._display import printable
from fasttl._options import rank_list
from fasttl.exceptions import OptionError, OutputError
from fasttl.queries.names import FileNames, log_folders

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from fasttl._options import PathInput, RanksInput
    from fasttl.trace import Trace

# What is written for a compile id where artifacts without one are meant.
NO_COMPILE = "none"

_ID_COLUMNS = ("compiled_autograd_id", "frame_id", "frame_compile_id", "attempt")
COLUMNS = ("file", "offset", "rank", "generation", "compile_id", *_ID_COLUMNS, "kind", "name", "encoding", "bytes",
           "md5", "state")  # fmt: skip

# How many different values a message about what is there names.
_SHOWN = 40


class Wanted(NamedTuple):
    """Which artifacts: each condition that is given has to hold."""

    kinds: tuple[str, ...] = ()
    """Kinds of record, or names of artifacts; ``*`` and ``?`` stand for any text and any character."""
    names: tuple[str, ...] = ()
    compile_id: str | None = None
    ranks: list[int | None] | None = None
    md5: str | None = None


def find_artifacts(trace: Trace, wanted: Wanted) -> pl.DataFrame:
    """Give the rows of ``artifacts`` that are wanted, with their file names in the column ``path``.

    The names are those among all artifacts, so that they do not depend on what else is wanted.

    Raises:
        OptionError: A condition cannot be read, or nothing fits; the message says what is there.

    Example:
        >>> import fasttl
        >>> rows = find_artifacts(fasttl.load(EXAMPLE), Wanted(kinds=("dynamo_error",)))
        >>> rows.select("rank", "compile_id", "path").rows()
        [(1, '1/0', 'rank_1/1_0_0/dynamo_error_0.txt')]
    """
    import polars as pl  # noqa: PLC0415 - see the head of the package

    rows = trace.artifacts.select(COLUMNS).with_columns(pl.col(pl.Categorical).cast(pl.String))
    # What is missing in the log cannot be written; a row of `problems` tells.
    rows = rows.filter(pl.col("state") != "payload missing")
    conditions = list(_conditions(rows, wanted))
    files = trace.files.select("file", "rank", "process_id")
    names = FileNames(log_folders(files.rows()))
    paths = pl.Series("path", [names.give(row) for row in rows.iter_rows(named=True)], dtype=pl.String)
    found = rows.with_columns(paths).filter(*conditions)
    if found.is_empty():
        raise OptionError(_nothing(rows))
    return found.drop(*_ID_COLUMNS, "encoding")


def _conditions(rows: pl.DataFrame, wanted: Wanted) -> Iterable[pl.Expr]:
    import polars as pl  # noqa: PLC0415 - as above

    if wanted.kinds:
        kinds, names = _matching(rows["kind"], wanted.kinds), _matching(rows["name"], wanted.kinds)
        yield pl.col("kind").is_in(kinds) | pl.col("name").is_in(names)
    if wanted.names:
        yield pl.col("name").is_in(_matching(rows["name"], wanted.names))
    if wanted.compile_id is not None:
        yield from _of_compile(wanted.compile_id)
    if wanted.ranks is not None:
        yield pl.col("rank").is_in(wanted.ranks, nulls_equal=True)
    if wanted.md5 is not None:
        start = wanted.md5.strip().lower()
        if not re.fullmatch(r"[0-9a-f]{4,32}", start):
            message = f"not an md5, or at least 4 digits of one: {wanted.md5!r}"
            raise OptionError(message)
        yield pl.col("md5").str.to_lowercase().str.starts_with(start)


def _matching(column: pl.Series, patterns: Iterable[str]) -> list[str]:
    """Give the values that are one of the patterns, or fit one."""
    values = column.drop_nulls().unique().to_list()
    wanted = set(patterns)
    # A pattern of many stars takes long on a long text, and fits no better.
    tests = [re.compile(fnmatch.translate(re.sub(r"\*+", "*", text))) for text in wanted if "*" in text or "?" in text]
    return [value for value in values if value in wanted or any(test.match(value) for test in tests)]


def _of_compile(text: str) -> Iterable[pl.Expr]:
    """Read a compile id: without an attempt it stands for all of them, without a generation for that of any."""
    import polars as pl  # noqa: PLC0415 - as above

    if text.strip().lower() == NO_COMPILE:
        yield pl.col("compile_id").is_null()
        return
    wanted = CompileId.parse(text, f", or {NO_COMPILE}")
    yield from wanted.of_compile()
    if wanted.attempt is not None:
        yield pl.col("attempt") == wanted.attempt


def _nothing(rows: pl.DataFrame) -> str:
    """Say what is there, where nothing of it was wanted."""
    if rows.is_empty():
        return "there are no artifacts: no record of these logs has a payload, timing events apart"
    lines = ["no artifact fits; there are"]
    for label, column in (("kinds", "kind"), ("names", "name"), ("compile ids", "compile_id"), ("ranks", "rank")):
        values = rows[column].unique(maintain_order=True).to_list()
        texts = [NO_COMPILE if value is None else printable(str(value)) for value in values]
        more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        lines.append(f"{label}: {', '.join(texts[:_SHOWN])}{more}")
    return "\n".join(lines)


def extract(  # noqa: PLR0913 - the conditions of one search, all by keyword
    trace: Trace,
    out: PathInput,
    *,
    kind: str | Iterable[str] = (),
    name: str | Iterable[str] = (),
    compile_id: str | None = None,
    rank: RanksInput = None,
    md5: str | None = None,
) -> list[str]:
    """Write artifacts as files; see `Trace.extract`.

    Raises:
        FasttlError: See there.
    """
    kinds = (kind,) if isinstance(kind, str) else tuple(kind)
    names = (name,) if isinstance(name, str) else tuple(name)
    rows = find_artifacts(trace, Wanted(kinds, names, compile_id, rank_list(rank), md5))
    return write_files(trace, rows, os.fsdecode(out))


def write_files(trace: Trace, rows: pl.DataFrame, out: str) -> list[str]:
    """Write the payloads of rows that `find_artifacts` gave, and give their paths.

    Raises:
        OptionError: A file is there already, or a folder below `out` is a link or no folder.
        OutputError: A file could not be written; those before it are whole.
        TraceChangedError: A log changed since it was loaded.
        ReadError: A log can no longer be read.
    """
    paths = [os.path.join(out, *path.split("/")) for path in rows["path"].to_list()]  # noqa: PTH118 - `out` stays as it was typed
    for path in paths:
        if os.path.lexists(path):
            message = f"{path}: is there already; name another folder, or remove it"
            raise OptionError(message)
    for path, row in zip(paths, rows.select("file", "offset").iter_rows(named=True), strict=True):
        payload = trace.payload(row)
        try:
            _make_folders(out, Path(path).parent)
            _write_new(path, payload)
        except OSError as error:
            message = f"{path}: cannot be written: {error.strerror or error}"
            raise OutputError(message) from error
    return paths


def _make_folders(out: str, folder: Path) -> None:
    """Make the folders below `out`. `out` itself may be a link; what is in it may not lead elsewhere."""
    Path(out).mkdir(parents=True, exist_ok=True)
    inner = folder.relative_to(out).parts
    for depth in range(1, len(inner) + 1):
        part = Path(out, *inner[:depth])
        part.mkdir(exist_ok=True)
        if not stat.S_ISDIR(part.lstat().st_mode):
            message = f"{part}: is a link; name another folder"
            raise OptionError(message)


def _write_new(path: str, payload: bytes) -> None:
    """Write a file that must not be there yet. Where that fails, none is left."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags, 0o666), "wb") as file:  # noqa: PTH123 - a number, not a path
        try:
            file.write(payload)
            file.flush()
        except BaseException:
            Path(path).unlink()
            raise
