"""``fasttl PATH…``: writes the report.

This command must stay quick to start: it imports neither polars nor pyarrow, and
of the standard library only what it uses each time.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

import click

from fasttl._inputs import Request, absolute, input_paths
from fasttl._report import Writing, write
from fasttl.cli._common import (
    COMMAND_LINE,
    EXIT_PROBLEMS,
    QuickCommand,
    input_options,
    note,
    progress_bar,
    read_size,
    warn,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fasttl import _core
    from fasttl._report import RawLog

EXAMPLES = """\b
Examples:
  fasttl /tmp/tracedir -o out              every rank; out/index.html is the page to open
  fasttl rank_0.log rank_1.log.gz          some logs
  fasttl /tmp/tracedir --latest --strict   the newest run; exit status 1 on bad records
"""


@click.command(
    cls=QuickCommand,
    epilog=EXAMPLES,
    help="Write the compile report of the logs at PATH as HTML pages, and print the path of the page to open.",
)
@input_options
@click.option("-o", "--out", default="tl_out", show_default=True, metavar="DIR", help="Folder to write.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier report in the folder.")
@click.option("--strict", is_flag=True, help="Exit status 1 if there are bad records; the report is written.")
@click.option(
    "--strict-compile-id",
    is_flag=True,
    help="Exit status 1 if there are records without a compile id; the report is written.",
)
@click.option("--no-browser", is_flag=True, help="Do not open the page.")
@click.option(
    "--custom-header-html",
    default="",
    metavar="HTML",
    help="HTML for the top of the index pages; inserted as it is, and its inline styles and scripts run. "
    "Trusted types hold for these scripts: no innerHTML, eval or network.",
)
@click.option("--no-parsers", is_flag=True, help="Leave out the custom parsers of installed packages.")
@click.option("-v", "--verbose", is_flag=True, help="Say on stderr what was read and written.")
@click.option("-p", "--plain-text", is_flag=True, help="Write code as text files, for diffing.")
@click.option("-e", "--export", is_flag=True, help="Report on an export: what failed in it, and why.")
@click.option(
    "-i",
    "--inductor-provenance",
    is_flag=True,
    help="Write the pages that tie graphs to generated code for every compile id.",
)
@click.option(
    "--raw-log",
    type=click.Choice(["copy", "link", "skip"]),
    default="copy",
    show_default=True,
    help="How each log gets into the report: as a copy, as a hard link (a change of one changes the other), or not.",
)
@click.option(
    "--max-memory",
    callback=read_size,
    metavar="SIZE",
    help="Memory to take, such as 500M; 200M unless told. Of many logs, those that do not fit are read twice.",
)
@click.option("--all-ranks-html", is_flag=True, help="Write the landing page of a job even for one log.")
@click.pass_context
def report(  # noqa: PLR0913 - one parameter for each flag
    ctx: click.Context,
    *,
    paths: tuple[str, ...],
    latest: bool,
    ranks: list[int | None] | None,
    threads: int | None,
    max_unpacked: int | None,
    out: str,
    overwrite: bool,
    strict: bool,
    strict_compile_id: bool,
    no_browser: bool,
    custom_header_html: str,
    no_parsers: bool,
    verbose: bool,
    plain_text: bool,
    raw_log: RawLog,
    max_memory: int | None,
    all_ranks_html: bool,
    export: bool,
    inductor_provenance: bool,
) -> int:
    """Write the report and give the exit status."""
    inputs = input_paths(paths or None)
    if verbose:
        for path in inputs:
            note(f"reading {absolute(path)}")
    with progress_bar("Reading and writing") as progress:
        request = Request(inputs, ranks, latest, threads, max_unpacked)
        writing = Writing(
            out=out,
            overwrite=overwrite,
            plain_text=plain_text,
            all_ranks_html=all_ranks_html,
            export=export,
            inductor_provenance=inductor_provenance,
            custom_header_html=custom_header_html,
            command=shlex.join(ctx.meta.get(COMMAND_LINE, ["fasttl"])),
            raw_log=raw_log,
            max_memory=max_memory,
        )
        result = write(request, writing, parsers=not no_parsers, progress=progress)
    for message in result.messages:
        warn(message)
    if verbose:
        from fasttl._display import count_text  # noqa: PLC0415 - not needed for a quiet report

        note(f"{count_text(result.logs, 'log')}, {count_text(result.records, 'record')}")
        note(f"{count_text(result.files_written, 'file')} written to {result.out}")
    # As bytes: a path that is no UTF-8 must reach the next program as it is.
    click.echo(os.fsencode(result.index))
    if not no_browser and can_open_browser(os.environ, sys.platform, stdout_is_terminal=sys.stdout.isatty()):
        _open_browser(result.index)
    return _verdict(result, strict=strict, strict_compile_id=strict_compile_id)


def _verdict(result: _core.Report, *, strict: bool, strict_compile_id: bool) -> int:
    """Say how many problems there are, and give the exit status that the strict flags ask for."""
    if not result.problems and not (strict_compile_id and result.unknown_compile_ids):
        return 0
    from fasttl._display import count_text  # noqa: PLC0415 - as above

    status = 0
    if result.problems:
        # Told without --strict, too: nothing is lost silently.
        warn(f"{count_text(result.problems, 'problem')}; the report lists them")
        status = EXIT_PROBLEMS if strict else status
    if strict_compile_id and result.unknown_compile_ids:
        warn(f"{count_text(result.unknown_compile_ids, 'record')} without a compile id")
        status = EXIT_PROBLEMS
    return status


def can_open_browser(environ: Mapping[str, str], platform: str, *, stdout_is_terminal: bool) -> bool:
    """Tell whether somebody sits in front of a screen that can show a page.

    Example:
        >>> can_open_browser({"DISPLAY": ":0"}, "linux", stdout_is_terminal=True)
        True
        >>> can_open_browser({"DISPLAY": ":0", "SSH_CONNECTION": "…"}, "linux", stdout_is_terminal=True)
        False
    """
    if not stdout_is_terminal or environ.get("SSH_CONNECTION"):
        return False
    if platform in {"darwin", "win32"}:
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def _open_browser(page: str) -> None:
    import pathlib  # noqa: PLC0415 - not needed where no browser is opened
    import webbrowser  # noqa: PLC0415

    try:
        opened = webbrowser.open(pathlib.Path(page).as_uri())
    except webbrowser.Error:
        opened = False
    if not opened:
        note("no browser could be started; open the page named above")
