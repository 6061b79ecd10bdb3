"""``fasttl info PATH…``: says what the input holds, without writing a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import polars as pl

from fasttl import _core
from fasttl._display import count_text, ranks_text
from fasttl._inputs import Request, input_paths
from fasttl.cli._common import QuickCommand, input_options, progress_bar
from fasttl.cli._output import FORMATS, Section, show
from fasttl.trace import Trace

if TYPE_CHECKING:
    from fasttl.cli._output import Cell

SECTIONS = ("summary", "files", "kinds", "problems", "skipped")
CSV_SECTION = "files"

FILE_COLUMNS = ("rank", "run", "restart", "process_id", "state", "records", "bytes", "first_time", "last_time", "path")

EXAMPLES = """\b
Examples:
  fasttl info /tmp/tracedir
  fasttl info /tmp/tracedir --format json
  fasttl info /tmp/tracedir --format csv --section kinds > kinds.csv
"""


@click.command(
    cls=QuickCommand,
    epilog=EXAMPLES,
    help="""Say what the logs at PATH hold: files, ranks, times, records by kind,
    problems, and what was passed over. The md5 of each payload is checked.

    Problems are counted by kind; `fasttl.load(PATH).problems` has each of them.""",
)
@input_options
@click.option(
    "--format",
    "layout",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How to print; csv prints one section.",
)
@click.option(
    "--section",
    "names",
    type=click.Choice(SECTIONS),
    multiple=True,
    help=f"Print this section only; may be repeated. All unless told, with csv {CSV_SECTION}.",
)
def info(  # noqa: PLR0913 - one parameter for each flag
    *,
    paths: tuple[str, ...],
    latest: bool,
    ranks: list[int | None] | None,
    threads: int | None,
    max_unpacked: int | None,
    layout: str,
    names: tuple[str, ...],
) -> int:
    """Print the sections that were asked for, and give the exit status."""
    wanted = names or ((CSV_SECTION,) if layout == "csv" else SECTIONS)
    if layout == "csv" and len(set(wanted)) > 1:
        message = "csv prints one section; give one --section"
        raise click.UsageError(message)
    request = Request(input_paths(paths or None), ranks, latest, threads, max_unpacked)
    with progress_bar("Reading") as progress:
        core = _core.load(
            request.paths,
            ranks=ranks,
            latest=latest,
            verify=True,
            threads=threads,
            max_unpacked=max_unpacked,
            use_index=True,
            progress=progress,
        )
    sections = describe(Trace(core, request, verified=True))
    show([section for section in sections if section.name in wanted], layout)
    return 0


def describe(trace: Trace) -> list[Section]:
    """Give all sections, in the order of `SECTIONS`.

    Example:
        >>> import fasttl
        >>> [section.name for section in describe(fasttl.load(EXAMPLE))]
        ['summary', 'files', 'kinds', 'problems', 'skipped']
    """
    return [
        _summary(trace),
        _files(trace),
        _kinds(trace),
        _problems(trace),
        Section("skipped", f"Passed over: {count_text(len(trace.skipped), 'file')}", ("path", "reason"), trace.skipped),
    ]


def _summary(trace: Trace) -> Section:
    files = _readable_times(trace.files)
    times = [files["first_time"].drop_nulls().to_list(), files["last_time"].drop_nulls().to_list()]
    row: tuple[Cell, ...] = (
        files.height,
        ranks_text(files["rank"].to_list()),
        trace.records.height,
        _errors(trace.problems).height,
        int(files["bytes"].sum()),
        min(times[0], default=None),
        max(times[1], default=None),
    )
    columns = ("logs", "ranks", "records", "problems", "bytes", "first_time", "last_time")
    return Section("summary", ", ".join(trace.inputs), columns, [row])


def _files(trace: Trace) -> Section:
    files = _readable_times(trace.files).select(FILE_COLUMNS)
    return Section("files", count_text(files.height, "log"), FILE_COLUMNS, files.rows())


def _kinds(trace: Trace) -> Section:
    kinds = (
        trace.records.lazy()
        .group_by(pl.col("kind").cast(pl.String))
        .agg(pl.len().alias("records"), pl.col("length").sum().alias("bytes"))
        .sort(["records", "kind"], descending=[True, False])
        .collect()
    )
    title = count_text(kinds.height, "kind of record", "kinds of record")
    return Section("kinds", title, (*kinds.columns,), kinds.rows())


def _problems(trace: Trace) -> Section:
    paths = trace.files.select("file", "path")
    groups = (
        trace.problems.join(paths, on="file", how="left")
        .sort("file", "offset")
        .with_columns(pl.col("severity", "kind").cast(pl.String))
        .group_by("severity", "kind", maintain_order=True)
        .agg(
            pl.len().alias("count"),
            pl.col("path").first().alias("first_path"),
            pl.col("line").first().alias("first_line"),
            pl.col("detail").first().alias("first_detail"),
        )
        .sort("severity", maintain_order=True)
    )
    errors = _errors(trace.problems).height
    title = f"{count_text(errors, 'problem')}, {count_text(trace.problems.height - errors, 'note')}"
    return Section("problems", title, (*groups.columns,), groups.rows())


def _errors(problems: pl.DataFrame) -> pl.DataFrame:
    return problems.filter(problems["severity"].cast(str) == "error")


def _readable_times(files: pl.DataFrame) -> pl.DataFrame:
    """Turn the times and names into text, without the time-zone data that Python would want for it.

    Where the log does not tell how far its clock was ahead of UTC, its times are
    local and get no zone.
    """
    zone = pl.when(pl.col("utc_offset_s").is_null()).then(pl.lit("")).otherwise(pl.lit("Z"))
    return files.with_columns(
        pl.col("first_time", "last_time").dt.to_string("%Y-%m-%dT%H:%M:%S%.6f") + zone,
        pl.col("state", "path").cast(pl.String),
    )
