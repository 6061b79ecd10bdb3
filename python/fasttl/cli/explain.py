"""``fasttl explain PATH… 1/0``: says what a compile is, why it happened, and what it cost."""

from __future__ import annotations

import os

import click

from fasttl.cli._common import QuickCommand, input_options, read_trace
from fasttl.cli._frames import frame_section
from fasttl.cli._output import Section, show

LAYOUTS = ("text", "json", "markdown")

EXAMPLES = """\b
Examples:
  fasttl explain /tmp/tracedir 0/1
  fasttl explain /tmp/tracedir 0/1 --rank 3
  fasttl explain /tmp/tracedir 0/1 --log 2
  fasttl explain /tmp/tracedir '!0/1/0' --format json
"""


class _Explain(QuickCommand):
    """The command, whose last word is the compile id."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Name the compile id behind the paths."""
        return [*super().collect_usage_pieces(ctx), "COMPILE_ID"]


@click.command(
    cls=_Explain,
    epilog=EXAMPLES,
    help="""Say what the logs at PATH tell of one compile: its code, why it happened,
    what each phase cost, its graphs, breaks, caches, guards and artifacts, and what it
    lacks with the likely reason.

    COMPILE_ID is the last word: 0/1, !0/1/0 for compiled autograd, 0/1@1 for the second
    generation after torch._dynamo.reset(). An attempt, as in 0/1_2, must have been.""",
)
@input_options
@click.option(
    "--rank", type=int, metavar="N", help="The compile of this rank; of the first log that has it unless told."
)
@click.option(
    "--log",
    "file",
    type=click.IntRange(min=0),
    metavar="N",
    help="The compile of this log: its number in the column file of all tables.",
)
@click.option("--format", "layout", type=click.Choice(LAYOUTS), default="text", show_default=True, help="How to print.")
def explain(  # noqa: PLR0913 - one parameter for each flag
    *,
    paths: tuple[str, ...],
    latest: bool,
    ranks: list[int | None] | None,
    threads: int | None,
    max_unpacked: int | None,
    rank: int | None,
    file: int | None,
    layout: str,
) -> int:
    """Print the explanation, and give the exit status."""
    if not paths or os.path.lexists(paths[-1]):
        message = "no compile id: give it as the last word, such as 0/1"
        raise click.UsageError(message)
    trace = read_trace(paths[:-1], latest=latest, ranks=ranks, threads=threads, max_unpacked=max_unpacked)
    found = trace.explain(paths[-1], rank=rank, file=file)
    if layout == "text":
        click.echo(found.text())
        return 0
    sections = [Section("compile", "Compile", ("headline",), [(found.headline,)])]
    for part in found.parts:
        if part.lines:
            sections.append(Section(part.name, part.title, ("text",), [(line,) for line in part.lines]))
        if part.rows is not None:
            sections.append(frame_section(f"{part.name}_rows", f"{part.title}: rows", part.rows))
    show(sections, layout)
    return 0
