"""``fasttl findings PATH…``: says what a reader wants first, the most expensive first."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import click

from fasttl._core import finding_kinds
from fasttl._display import count_text, printable
from fasttl.cli._common import EXIT_MATCHED, QuickCommand, input_options, note, read_trace
from fasttl.cli._frames import frame_section
from fasttl.cli._output import FORMATS, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

SEVERITIES = ("error", "warning", "info")
LAYOUTS = ("text", *FORMATS)
WIDTH = 100
# Rows of evidence that a finding has at most; there may be more in its table.
MOST_EVIDENCE = 100

KINDS = dict(finding_kinds())
_KIND_LINES = "\n".join(f"  {name:<{max(map(len, KINDS)) + 2}}{about}" for name, about in KINDS.items())

EPILOG = f"""\b
Kinds:
{_KIND_LINES}

\b
Examples:
  fasttl findings /tmp/tracedir
  fasttl findings /tmp/tracedir --severity warning --format markdown > findings.md
  fasttl findings /tmp/tracedir --kind recompiles --kind 'graph breaks'
  fasttl findings /tmp/tracedir --fail-on error
"""


@click.command(
    cls=QuickCommand,
    epilog=EPILOG,
    help="""Say what stands out in the logs at PATH: failed compiles, recompiles and their
    causes, graph breaks, unfinished compiles, cold or bypassed caches, lost records and
    where the time goes, each with what to try.

    Each sentence names the compiles and the rows that show it; the table `findings` of
    `fasttl query` has all of that. Exit status 3 where --fail-on finds something.""",
)
@input_options
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(tuple(KINDS)),
    multiple=True,
    metavar="KIND",
    help="Findings of this kind only; may be repeated. Kinds are listed below.",
)
@click.option("--severity", type=click.Choice(SEVERITIES), help="Findings at least as severe as this.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Print the first N; all unless told.")
@click.option("--fail-on", type=click.Choice(SEVERITIES), help="Exit with status 3 where one is at least as severe.")
@click.option("--format", "layout", type=click.Choice(LAYOUTS), default="text", show_default=True, help="How to print.")
def findings(  # noqa: PLR0913 - one parameter for each flag
    *,
    paths: tuple[str, ...],
    latest: bool,
    ranks: list[int | None] | None,
    threads: int | None,
    max_unpacked: int | None,
    kinds: tuple[str, ...],
    severity: str | None,
    limit: int | None,
    fail_on: str | None,
    layout: str,
) -> int:
    """Print the findings, and give the exit status."""
    trace = read_trace(paths, latest=latest, ranks=ranks, threads=threads, max_unpacked=max_unpacked)
    found = trace.findings
    if kinds:
        found = found.filter(found["kind"].cast(str).is_in(kinds))
    if severity is not None:
        found = _at_least(found, severity)
    shown = found if limit is None else found.head(limit)
    if shown.height < found.height:
        note(f"{shown.height:,} of {count_text(found.height, 'finding')} printed")
    if layout == "text":
        click.echo("\n".join(_lines(shown)) or "Nothing was found.")
    else:
        show([frame_section("findings", count_text(found.height, "finding"), shown)], layout)
    return EXIT_MATCHED if fail_on is not None and _at_least(found, fail_on).height else 0


def _at_least(found: pl.DataFrame, severity: str) -> pl.DataFrame:
    return found.filter(found["severity"].cast(str).is_in(SEVERITIES[: SEVERITIES.index(severity) + 1]))


def _lines(found: pl.DataFrame) -> Iterator[str]:
    for row in found.iter_rows(named=True):
        yield from _paragraph(f"{row['severity']}: ", row["sentence"])
        yield from _paragraph("    try: ", row["advice"])
        where = ", ".join(row["compile_ids"][:8]) + (", …" if len(row["compile_ids"]) > 8 else "")  # noqa: PLR2004 - a line has room for eight
        if where:
            yield from _paragraph("    compiles: ", where)
        shown = len(row["evidence_offsets"])
        more = " and more" if shown >= MOST_EVIDENCE else ""
        yield f"    evidence: {count_text(shown, 'row')}{more} of `{row['evidence_table']}`"


def _paragraph(label: str, text: str) -> list[str]:
    indent = " " * len(label) if label.startswith(" ") else "    "
    return textwrap.wrap(printable(text), WIDTH, initial_indent=label, subsequent_indent=indent) or [label.rstrip()]
