"""`load`: from paths to a `Trace`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fasttl import _core
from fasttl._options import make_request
from fasttl.exceptions import OptionError, ProblemError
from fasttl.trace import Trace

if TYPE_CHECKING:
    from fasttl._options import PathsInput, Progress, RanksInput


def load(  # noqa: PLR0913 - the options of one call, all by keyword
    path: PathsInput = None,
    *,
    ranks: RanksInput = None,
    on_problem: Literal["collect", "raise"] = "collect",
    verify: bool = True,
    threads: int | None = None,
    progress: Progress | None = None,
    latest: bool = False,
    max_unpacked: int | str | None = None,
    use_index: bool = True,
) -> Trace:
    """Read ``TORCH_TRACE`` logs.

    Args:
        path: A log, a folder of logs, a pattern, or several of these; None stands
            for what ``$TORCH_TRACE`` names.
        ranks: Ranks to read: a number, numbers, or text such as ``"0-7,64,none"``,
            where None or "none" stands for logs without a rank. All unless told.
        on_problem: With "collect", bad records are rows of ``problems``; with
            "raise", the first one of severity "error" raises.
        verify: Check the md5 of each payload. Without it, reading is faster and
            damage inside a payload goes unnoticed.
        threads: Worker threads; ``$FASTTL_THREADS``, else one for each core.
        progress: Called about ten times a second as ``progress(done, total)``, in
            bytes of input. What it raises ends the work.
        latest: Read the newest run only, with all its ranks.
        max_unpacked: Limit for what compressed inputs unpack to, in bytes or as
            text such as ``"64G"``.
        use_index: Take the indexes that `write_index` left beside the logs, where
            they hold; what is loaded is the same.

    Returns:
        The trace. It holds positions, not the payloads: keep the logs where they
        are while you use it.

    Raises:
        TraceNotFoundError: There is no log at `path`.
        NotATraceError: A file named in `path` is no log.
        OptionError: An option cannot be used.
        ReadError: No log could be read.
        TooLargeError: A compressed input is larger than `max_unpacked`.
        ProblemError: There is a bad record and `on_problem` is "raise".

    Example:
        >>> import fasttl
        >>> fasttl.load(EXAMPLE).files["rank"].to_list()
        [0, 1, 2]
        >>> fasttl.load(EXAMPLE, ranks="1-2", verify=False).files["rank"].to_list()
        [1, 2]
    """
    if on_problem not in ("collect", "raise"):
        message = f"on_problem is 'collect' or 'raise', not {on_problem!r}"
        raise OptionError(message)
    request = make_request(path, ranks=ranks, latest=latest, threads=threads, max_unpacked=max_unpacked)
    core = _core.load(
        request.paths,
        ranks=request.ranks,
        latest=request.latest,
        verify=verify,
        threads=request.threads,
        max_unpacked=request.max_unpacked,
        use_index=use_index,
        progress=progress,
    )
    trace = Trace(core, request, verified=verify)
    if on_problem == "raise":
        _raise_first_problem(trace)
    return trace


def _raise_first_problem(trace: Trace) -> None:
    problems = trace.problems
    errors = problems.filter(problems["severity"].cast(str) == "error")
    if errors.is_empty():
        return
    first = errors.sort("file", "offset").row(0, named=True)
    files = trace.files
    paths = files.filter(files["file"] == first["file"])["path"].to_list()
    raise ProblemError(
        file=paths[0] if paths else "",
        # The table has 0 for problems that stand on no line, such as those of a whole file.
        line=first["line"] or None,
        kind=first["kind"],
        detail=first["detail"],
        count=errors.height,
    )
