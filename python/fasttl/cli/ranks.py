"""``fasttl ranks PATH…``: says how the ranks of a job compare, and which one the others wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fasttl._display import count_text
from fasttl.cli._common import EXIT_MATCHED, QuickCommand, input_options, read_trace
from fasttl.cli._frames import frame_section
from fasttl.cli._output import FORMATS, show
from fasttl.queries.rank_report import MIN_RATIO, MIN_SECONDS, RankReport, rank_report

if TYPE_CHECKING:
    from fasttl.cli._output import Section

LAYOUTS = ("text", *FORMATS)
SECTIONS = ("ranks", "differences", "skew")
CSV_SECTION = "differences"
REASONS = ("divergence", "skew", "missing", "damaged", "unfinished")

# Columns that people are shown; JSON and CSV have all.
PEOPLE_SEE = {
    "ranks": (
        "rank",
        "state",
        "group",
        "log_state",
        "compiles",
        "failures",
        "compile_s",
        "behind_s",
        "waiting_s",
        "last_compile_id",
        "last_step",
        "last_state",
    ),
    "differences": ("aspect", "place", "odd_ranks", "groups", "values", "cause"),
    "skew": ("compile_id", "code_name", "ranks", "median_s", "max_s", "max_rank", "start_spread_s", "waited_s"),
}

EPILOG = """\b
Reasons for --fail-on:
  divergence  ranks differ in what they compiled
  skew        a rank took much longer than the others
  missing     a rank has no log, or none that can be compared
  damaged     a log is cut, empty or cannot be read
  unfinished  a log ends in the middle of a compile

\b
Examples:
  fasttl ranks /tmp/tracedir
  fasttl ranks /tmp/tracedir --fail-on divergence --fail-on missing
  fasttl ranks /tmp/tracedir --format csv --section ranks > ranks.csv
"""


@click.command(
    cls=QuickCommand,
    epilog=EPILOG,
    help="""Say how the ranks of the job at PATH compare: which agree, the first
    difference and its cause, ranks without a log, ranks that others likely waited for, and
    what odd or unfinished ranks did last.

    Exit status 3 where --fail-on finds something, for CI and the end of jobs.""",
)
@input_options
@click.option(
    "--min-seconds",
    type=click.FloatRange(min=0),
    default=MIN_SECONDS,
    show_default=True,
    metavar="S",
    help="A rank is slow where it took so much longer than the median …",
)
@click.option(
    "--min-ratio",
    type=click.FloatRange(min=0),
    default=MIN_RATIO,
    show_default=True,
    metavar="X",
    help="… and that is as many times the median, too.",
)
@click.option(
    "--fail-on",
    "reasons",
    type=click.Choice(REASONS),
    multiple=True,
    help="Exit with status 3 where there is this; may be repeated. Reasons are listed below.",
)
@click.option(
    "--format",
    "layout",
    type=click.Choice(LAYOUTS),
    default="text",
    show_default=True,
    help="How to print; csv prints one section.",
)
@click.option(
    "--section",
    "names",
    type=click.Choice(SECTIONS),
    multiple=True,
    help=f"Print this section only, not for text; all unless told, with csv {CSV_SECTION}.",
)
def ranks(  # noqa: PLR0913 - one parameter for each flag
    *,
    paths: tuple[str, ...],
    latest: bool,
    ranks: list[int | None] | None,
    threads: int | None,
    max_unpacked: int | None,
    min_seconds: float,
    min_ratio: float,
    reasons: tuple[str, ...],
    layout: str,
    names: tuple[str, ...],
) -> int:
    """Print how the ranks compare, and give the exit status."""
    if layout == "csv" and len(set(names)) > 1:
        message = "csv prints one section; give one --section"
        raise click.UsageError(message)
    trace = read_trace(paths, latest=latest, ranks=ranks, threads=threads, max_unpacked=max_unpacked)
    found = rank_report(trace, min_seconds=min_seconds, min_ratio=min_ratio)
    if layout == "text":
        click.echo(found.text())
    else:
        wanted = names or ((CSV_SECTION,) if layout == "csv" else SECTIONS)
        sections = describe(found, whole=layout in {"json", "csv"})
        show([section for section in sections if section.name in wanted], layout)
    return EXIT_MATCHED if any(_is_so(found, reason) for reason in reasons) else 0


def _is_so(found: RankReport, reason: str) -> bool:
    """Tell whether there is what `--fail-on` names."""
    if reason == "divergence":
        return not found.differences.is_empty()
    if reason == "skew":
        return not found.skew.is_empty()
    if reason == "missing":
        return found.where(state="compared").height < found.ranks.height
    if reason == "damaged":
        return not found.damaged().is_empty()
    return not found.where(last_state="open").is_empty()


def describe(found: RankReport, *, whole: bool) -> list[Section]:
    """Give the sections, in the order of `SECTIONS`.

    Example:
        >>> import fasttl
        >>> [section.name for section in describe(rank_report(fasttl.load(EXAMPLE)), whole=True)]
        ['ranks', 'differences', 'skew']
    """
    frames = {"ranks": found.ranks, "differences": found.differences, "skew": found.skew}
    titles = {
        "ranks": count_text(found.ranks.height, "rank"),
        "differences": count_text(found.differences.height, "difference"),
        "skew": f"{count_text(found.skew.height, 'compile')} with a slow rank",
    }
    shown = {name: frame if whole else frame.select(PEOPLE_SEE[name]) for name, frame in frames.items()}
    return [frame_section(name, titles[name], shown[name]) for name in SECTIONS]
