"""Writing the HTML report from Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from fasttl import _core
from fasttl._find_parsers import find_parsers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fasttl._inputs import Request
    from fasttl._installed_parsers import Broken
    from fasttl._options import PathInput, PathsInput, Progress, RanksInput
    from fasttl.plugins import Parser

    ParsersInput: TypeAlias = bool | Iterable[Parser]
    RawLog: TypeAlias = Literal["copy", "link", "skip"]

COMMAND = "fasttl.write_report (Python)"


class Writing(NamedTuple):
    """What to write and where: the part of the options that every way to a report shares."""

    out: str
    overwrite: bool
    plain_text: bool
    all_ranks_html: bool
    export: bool
    inductor_provenance: bool
    custom_header_html: str
    command: str
    raw_log: RawLog = "copy"
    max_memory: int | None = None


def write_report(  # noqa: PLR0913 - the options of one report, all by keyword
    path: PathsInput,
    out: PathInput,
    *,
    ranks: RanksInput = None,
    latest: bool = False,
    overwrite: bool = False,
    plain_text: bool = False,
    all_ranks_html: bool = False,
    export: bool = False,
    inductor_provenance: bool = False,
    custom_header_html: str = "",
    raw_log: RawLog = "copy",
    parsers: ParsersInput = True,
    threads: int | None = None,
    max_unpacked: int | str | None = None,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> _core.Report:
    """Write the compile report of a trace as a tree of HTML pages.

    The tree appears at `out` when it is whole; a report that fails leaves nothing
    behind. Bad records do not stop it: they are counted in the result and listed
    on the pages.

    Args:
        path: A log, a folder of logs, a pattern, or several of these; None stands
            for what ``$TORCH_TRACE`` names.
        out: Folder to write. It may be missing or empty.
        ranks: Ranks to read: a number, numbers, or text such as ``"0-7,64,none"``,
            where None or "none" stands for logs without a rank. All unless told.
        latest: Read the newest run only, with all its ranks.
        overwrite: Replace `out` where it holds an earlier report. Nothing else is
            ever replaced.
        plain_text: Write code as text files rather than as pages.
        all_ranks_html: Write the landing page of a job even for a single log.
        export: Write the report of a ``torch.export``: what failed in it and why.
        inductor_provenance: Write the pages that tie graphs to generated code for
            every compile id, under the standard report's names.
        custom_header_html: HTML of your own for the top of the index pages. It is
            inserted as it is, and its inline styles and scripts run.
        raw_log: How each log gets into the report as ``raw.log``: "copy" (which shares
            the bytes where the file system can do that), "link" (a hard link: whoever
            changes the one changes the other; a log that may still grow is copied), or
            "skip".
        parsers: True for the custom parsers that are registered in this process or
            installed, False for none, else the parsers to run; see `parser`.
        threads: Worker threads; ``$FASTTL_THREADS``, else one for each core.
        max_unpacked: Limit for what compressed inputs unpack to, in bytes or as
            text such as ``"64G"``.
        max_memory: Memory that the process may take, beside the logs' own pages, such
            as ``"500M"``; 200 MB unless told. Of many logs only so many are kept as
            fit, and the others are read twice. One log that needs more takes it, and
            so do custom parsers, which want all logs at once.
        progress: Called about ten times a second as ``progress(done, total)``, in
            bytes of input, each counted when it is read and when it is written; it
            stands at the half while parsers run. What it raises ends the work.

    Returns:
        Where the report is and what was counted.

    Raises:
        TraceNotFoundError: There is no log at `path`.
        NotATraceError: A file named in `path` is no log.
        OptionError: An option cannot be used, or `out` holds something else.
        OutputError: The report could not be written.
        ReadError: No log could be read.
        TooLargeError: A compressed input is larger than `max_unpacked`.

    Example:
        >>> import fasttl
        >>> report = fasttl.write_report(EXAMPLE, "report", ranks=[0, 2])
        >>> report.logs
        2
        >>> import os
        >>> os.path.relpath(report.index)
        'report/index.html'
    """
    from fasttl._options import byte_count, make_request  # noqa: PLC0415 - the command line has checked its options by itself

    request = make_request(path, ranks=ranks, latest=latest, threads=threads, max_unpacked=max_unpacked)
    writing = Writing(
        out=os.fsdecode(out),
        overwrite=overwrite,
        plain_text=plain_text,
        all_ranks_html=all_ranks_html,
        export=export,
        inductor_provenance=inductor_provenance,
        custom_header_html=custom_header_html,
        command=COMMAND,
        raw_log=raw_log,
        max_memory=byte_count(max_memory),
    )
    return write(request, writing, parsers=parsers, progress=progress)


def write(
    request: Request, writing: Writing, *, parsers: ParsersInput, progress: Progress | None = None
) -> _core.Report:
    """Read logs and write their report, with what custom parsers make of the records.

    Raises:
        FasttlError: See `write_report`.
    """
    chosen, broken = find_parsers(parsers)
    if not chosen and not broken:
        # Without a look at single records, logs are read and written in one go.
        return _core.write_report(
            request.paths,
            ranks=request.ranks,
            latest=request.latest,
            threads=request.threads,
            max_unpacked=request.max_unpacked,
            progress=progress,
            **writing._asdict(),
        )
    trace = read_for_report(request, progress)
    return write_trace(trace, writing, chosen, broken, progress=half(progress, 1))


def read_for_report(request: Request, progress: Progress | None) -> _core.Trace:
    """Read logs for a report that is written as a second step; its progress is the first half.

    Raises:
        FasttlError: See `write_report`.
    """
    return _core.load(
        request.paths,
        ranks=request.ranks,
        latest=request.latest,
        verify=True,
        threads=request.threads,
        max_unpacked=request.max_unpacked,
        use_index=True,
        progress=half(progress, 0),
    )


def write_trace(
    trace: _core.Trace,
    writing: Writing,
    parsers: list[Parser],
    broken: list[Broken],
    *,
    progress: Progress | None,
) -> _core.Report:
    """Write the report of a trace that was read before.

    Raises:
        FasttlError: See `write_report`.
    """
    if not parsers and not broken:
        extras = _core.Extras()
    else:
        from fasttl._parsing import run_parsers  # noqa: PLC0415 - not needed for most reports

        extras = run_parsers(trace, parsers, broken, progress)
    return trace.write_report(extras=extras, progress=progress, **writing._asdict())


def half(progress: Progress | None, nth: int) -> Progress | None:
    """Tell the progress of the first or the second half of the work as that of all of it."""
    if progress is None:
        return None

    def told(done: int, total: int) -> None:
        progress(done + nth * total, 2 * total)

    return told
