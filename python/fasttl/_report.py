"""Writing the HTML report from Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fasttl import _core
from fasttl._options import make_request

if TYPE_CHECKING:
    from fasttl._options import PathInput, PathsInput, Progress, RanksInput


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
    threads: int | None = None,
    max_unpacked: int | str | None = None,
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
            inserted as it is.
        threads: Worker threads; ``$FASTTL_THREADS``, else one for each core.
        max_unpacked: Limit for what compressed inputs unpack to, in bytes or as
            text such as ``"64G"``.
        progress: Called about ten times a second as ``progress(done, total)``, in
            bytes of input. What it raises ends the work.

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
    request = make_request(path, ranks=ranks, latest=latest, threads=threads, max_unpacked=max_unpacked)
    return _core.write_report(
        request.paths,
        os.fsdecode(out),
        ranks=request.ranks,
        latest=request.latest,
        overwrite=overwrite,
        plain_text=plain_text,
        all_ranks_html=all_ranks_html,
        export=export,
        inductor_provenance=inductor_provenance,
        custom_header_html=custom_header_html,
        command="fasttl.write_report (Python)",
        threads=request.threads,
        max_unpacked=request.max_unpacked,
        progress=progress,
    )
