"""``fasttl diff A B``: says what differs between two traces, two ranks or two compiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fasttl._diff import MIN_SECONDS, MIN_SHARE, SHOWN_ROWS, Chosen, Diff, compare
from fasttl._display import count_text
from fasttl.cli._common import EXIT_MATCHED, QuickCommand, read_size, read_trace, threads_option
from fasttl.cli._frames import frame_section
from fasttl.cli._output import FORMATS, show

if TYPE_CHECKING:
    from fasttl.cli._output import Section
    from fasttl.trace import Trace

SECTIONS = ("summary", "differences")
CSV_SECTION = "differences"
MOST_PATHS = 2

# Columns that people are shown; JSON and CSV have all.
PEOPLE_SEE = ("aspect", "change", "compile_a", "compile_b", "place", "a", "b", "delta")

EXAMPLES = """\b
Examples:
  fasttl diff /tmp/before /tmp/after             two traces
  fasttl diff /tmp/tracedir --ranks 0,2          two ranks of a trace
  fasttl diff /tmp/tracedir --compiles 0/0,0/1   two compiles
  fasttl diff /tmp/before /tmp/after --a r0/0/1 --b r0/0/2
  fasttl diff /tmp/before /tmp/after --aspect graph --fail-on difference
"""


@click.command(
    cls=QuickCommand,
    epilog=EXAMPLES,
    help="""Say what differs between the traces at A and B, or between two ranks or
    compiles of one.

    A selection is a rank (r2), logs without one (rnone), a start of a rank (r2.a1), a
    process (p4711), a compile (0/1), a compile of a rank (r2/0/1), or one after
    torch._dynamo.reset() (0/1@1).

    Addresses, folders, generated names, the order of guards and keys of caches are no
    differences.""",
)
@click.argument("paths", metavar="[A] [B]", nargs=-1)
@click.option("--a", "select_a", metavar="SEL", help="What of A is compared.")
@click.option("--b", "select_b", metavar="SEL", help="What of B is compared; with one path, what of it.")
@click.option("--ranks", metavar="X,Y", help="Compare these two ranks; short for --a rX --b rY.")
@click.option("--compiles", metavar="X,Y", help="Compare these two compiles; short for --a X --b Y.")
@click.option(
    "--aspect",
    "aspects",
    type=click.Choice(
        (
            "compiles",
            "status",
            "recompile reasons",
            "graph breaks",
            "phases",
            "graph",
            "guards",
            "output code",
            "configuration",
            "cache",
            "versions",
        )
    ),
    multiple=True,
    help="Compare this only; may be repeated.",
)
@click.option(
    "--min-seconds",
    type=click.FloatRange(min=0),
    default=MIN_SECONDS,
    show_default=True,
    metavar="S",
    help="Times that differ by less are the same.",
)
@click.option(
    "--min-share",
    type=click.FloatRange(min=0),
    default=MIN_SHARE,
    show_default=True,
    metavar="X",
    help="So are times that differ by less than this share of the smaller one.",
)
@click.option(
    "--format",
    "layout",
    type=click.Choice(("text", *FORMATS)),
    default="text",
    show_default=True,
    help="How to print; csv prints one section.",
)
@click.option(
    "--section",
    "names",
    type=click.Choice(SECTIONS),
    multiple=True,
    help=f"Print this section only, not for text; both unless told, with csv {CSV_SECTION}.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=SHOWN_ROWS,
    show_default=True,
    metavar="N",
    help="Differences of an aspect that text shows; 0 for all.",
)
@click.option(
    "--fail-on",
    type=click.Choice(("difference",)),
    help=f"End with status {EXIT_MATCHED} where there is a difference.",
)
@click.option("--latest", is_flag=True, help="Read the newest run only, with all its ranks.")
@threads_option
@click.option(
    "--max-unpacked",
    callback=read_size,
    metavar="SIZE",
    help="Limit for what compressed inputs unpack to, such as 500M; 64G unless told.",
)
def diff(  # noqa: PLR0913 - one parameter for each flag
    *,
    paths: tuple[str, ...],
    select_a: str | None,
    select_b: str | None,
    ranks: str | None,
    compiles: str | None,
    aspects: tuple[str, ...],
    min_seconds: float,
    min_share: float,
    layout: str,
    names: tuple[str, ...],
    limit: int,
    fail_on: str | None,
    latest: bool,
    threads: int | None,
    max_unpacked: int | None,
) -> int:
    """Print what differs, and give the exit status."""
    if layout == "csv" and len(set(names)) > 1:
        message = "csv prints one section; give one --section"
        raise click.UsageError(message)
    if len(paths) > MOST_PATHS:
        message = "two traces are compared, not more"
        raise click.UsageError(message)
    selections = _selections(select_a, select_b, ranks, compiles)
    if len(paths) < MOST_PATHS and selections[0] == selections[1]:
        message = "nothing to compare: give a second path, or --ranks, --compiles, or --a and --b"
        raise click.UsageError(message)
    named = [[path] for path in paths] or [[]]
    traces = [read_trace(one, latest=latest, threads=threads, max_unpacked=max_unpacked) for one in named]
    sides = [_side(trace, text) for trace, text in zip((traces[0], traces[-1]), selections, strict=True)]
    found = compare(*sides, aspects=aspects or None, min_seconds=min_seconds, min_share=min_share)
    if layout == "text":
        click.echo(found.text(limit or None))
    else:
        wanted = names or ((CSV_SECTION,) if layout == "csv" else SECTIONS)
        sections = describe(found, whole=layout in {"json", "csv"})
        show([section for section in sections if section.name in wanted], layout)
    return EXIT_MATCHED if fail_on and not found.same else 0


def _selections(select_a: str | None, select_b: str | None, ranks: str | None, compiles: str | None) -> tuple[str, str]:
    short = [(name, text) for name, text in (("--ranks", ranks), ("--compiles", compiles)) if text is not None]
    if not short:
        return select_a or "", select_b or ""
    if len(short) > 1 or select_a is not None or select_b is not None:
        message = "give one of --ranks, --compiles, or --a and --b"
        raise click.UsageError(message)
    [(name, text)] = short
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != MOST_PATHS or not all(parts):
        message = f"{name} takes two, such as {'0,2' if name == '--ranks' else '0/0,0/1'}, not {text!r}"
        raise click.UsageError(message)
    prefix = "r" if name == "--ranks" else ""
    return f"{prefix}{parts[0]}", f"{prefix}{parts[1]}"


def _side(trace: Trace, selection: str) -> Chosen:
    words = ", ".join(trace.inputs)
    return Chosen(trace, selection, f"{words} {selection}" if selection else words)


def describe(found: Diff, *, whole: bool) -> list[Section]:
    """Give both sections, in the order of `SECTIONS`.

    Example:
        >>> import fasttl
        >>> [section.name for section in describe(fasttl.load(EXAMPLE).diff(1, 2), whole=True)]
        ['summary', 'differences']
    """
    table = found.table if whole else found.table.select(PEOPLE_SEE)
    return [
        frame_section("summary", f"{found.sides[0]} and {found.sides[1]}", found.summary),
        frame_section("differences", count_text(table.height, "difference"), table),
    ]
