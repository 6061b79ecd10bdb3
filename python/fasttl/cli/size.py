"""``fasttl size PATH…``: says what makes logs large."""

from __future__ import annotations

import click

from fasttl._display import count_text
from fasttl.cli._common import QuickCommand, input_options, read_trace
from fasttl.cli._frames import frame_section
from fasttl.cli._output import FORMATS, Section, show
from fasttl.queries.size import GROUPS, Totals, sizes, totals

EXAMPLES = """\b
Examples:
  fasttl size /tmp/tracedir
  fasttl size /tmp/tracedir --by artifact
  fasttl size /tmp/tracedir --by source --format csv > source.csv
"""


@click.command(
    cls=QuickCommand,
    epilog=EXAMPLES,
    help="""Say what makes the logs at PATH large: records and bytes by kind of record, name,
    compile, rank, or the line of PyTorch that wrote them, the largest first.

    By artifact, texts alone are counted, and how many of them are different ones. By
    compile, an id is counted over all ranks and all generations. The time that writing
    the log took is what the metrics in it say.""",
)
@input_options
@click.option("--by", "by", type=click.Choice(GROUPS), default="kind", show_default=True, help="What a row stands for.")
@click.option(
    "--format", "layout", type=click.Choice(FORMATS), default="table", show_default=True, help="How to print."
)
def size(  # noqa: PLR0913 - one parameter for each flag
    *,
    paths: tuple[str, ...],
    latest: bool,
    ranks: list[int | None] | None,
    threads: int | None,
    max_unpacked: int | None,
    by: str,
    layout: str,
) -> int:
    """Print the sizes, and give the exit status."""
    # Sizes do not depend on whether payloads are what they were.
    trace = read_trace(paths, latest=latest, ranks=ranks, threads=threads, max_unpacked=max_unpacked, verify=False)
    found = totals(trace)
    sections = [frame_section("sizes", f"By {by}", sizes(trace, by))]
    if layout != "csv":
        sections.insert(0, Section("total", _title(found), Totals._fields, [found]))
    show(sections, layout)
    return 0


def _title(found: Totals) -> str:
    seconds = found.logging_overhead_s
    told = "not logged" if seconds is None else f"{seconds:.2f} s"
    records, logs = count_text(found.records, "record"), count_text(found.logs, "log")
    return f"{records} and {found.bytes:,} bytes in {logs}; time to write them: {told}"
