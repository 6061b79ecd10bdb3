"""``fasttl index PATH…``: keeps an index beside each log.

Like the report, it imports neither polars nor pyarrow.
"""

from __future__ import annotations

from collections import Counter

import click

from fasttl._display import count_text
from fasttl._index import MISSING, STALE, write_index
from fasttl.cli._common import EXIT_PROBLEMS, complete_paths, progress_bar, threads_option
from fasttl.cli._output import FORMATS, Section, show

COLUMNS = ("state", "log_bytes", "index_bytes", "log", "detail")

EXAMPLES = """\b
Examples:
  fasttl index /tmp/tracedir
  fasttl index /tmp/tracedir --check && echo "loads at once"
  fasttl index /tmp/tracedir --force --format json
"""


@click.command(
    epilog=EXAMPLES,
    help="""Keep an index beside each log at PATH, in a folder .fasttl-index, so that
    reports and tables are made without reading the logs again.

    An index that does not fit its log any more is passed over, and written anew by
    this command. Compressed logs, and logs that may still be written to, get none.""",
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, shell_complete=complete_paths)
@click.option("--force", is_flag=True, help="Write all, also those that hold.")
@click.option("--check", is_flag=True, help="Write nothing; exit status 1 if one does not hold or is missing.")
@click.option("--no-verify", is_flag=True, help="Leave out the md5 of payloads; reports then still read the logs.")
@threads_option
@click.option(
    "--format", "layout", type=click.Choice(FORMATS), default="table", show_default=True, help="How to print."
)
def index(  # noqa: PLR0913 - one parameter for each flag
    *, paths: tuple[str, ...], force: bool, check: bool, no_verify: bool, threads: int | None, layout: str
) -> int:
    """Write the indexes, say what became of each, and give the exit status."""
    if force and check:
        message = "--check writes nothing, and --force writes all; give one of them"
        raise click.UsageError(message)
    with progress_bar("Reading") as progress:
        files = write_index(
            paths or None, verify=not no_verify, force=force, dry_run=check, threads=threads, progress=progress
        )
    counts = Counter(file.state for file in files)
    title = f"{count_text(len(files), 'log')}: " + ", ".join(f"{count} {state}" for state, count in counts.items())
    rows = [(file.state, file.log_bytes, file.bytes, file.log, file.detail) for file in files]
    show([Section("indexes", title, COLUMNS, rows)], layout)
    return EXIT_PROBLEMS if check and counts.keys() & {STALE, MISSING} else 0
