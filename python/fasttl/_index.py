"""`write_index`: indexes that are kept beside the logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fasttl import _core
from fasttl._inputs import input_paths
from fasttl._options import thread_count

if TYPE_CHECKING:
    from fasttl._options import PathsInput, Progress

WRITTEN, FRESH, STALE, MISSING, SKIPPED = "written", "fresh", "stale", "missing", "skipped"


class IndexFile(NamedTuple):
    """A log and its index: both paths, how the index is, bytes of both, and why it is so."""

    log: str
    path: str
    state: str
    log_bytes: int
    bytes: int
    detail: str


def write_index(  # noqa: PLR0913 - the options of one call, all by keyword
    path: PathsInput = None,
    *,
    verify: bool = True,
    force: bool = False,
    dry_run: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[IndexFile]:
    """Keep an index beside each log, so that the next `load` does not read the logs again.

    The indexes stand in a folder ``.fasttl-index`` beside the logs. One is used only
    while its log is the file that it was, to the nanosecond and in its place; else
    the log is read. What is loaded is the same either way.

    Args:
        path: A log, a folder of logs, a pattern, or several of these; None stands
            for what ``$TORCH_TRACE`` names.
        verify: Check the md5 of each payload. An index that was made without serves
            only those who do not ask for it.
        force: Write the indexes that hold as well.
        dry_run: Write nothing, and say how the indexes are.
        threads: Worker threads; ``$FASTTL_THREADS``, else one for each core.
        progress: Called about ten times a second as ``progress(done, total)``, in
            bytes of input. What it raises ends the work.

    Returns:
        One entry for each log. Its state is "written", "fresh" (it holds), "skipped"
        (the log gets none: it is compressed, cannot be read, or may still be written
        to), and with `dry_run` also "stale" or "missing".

    Raises:
        TraceNotFoundError: There is no log at `path`.
        NotATraceError: A file named in `path` is no log.
        OptionError: An option cannot be used.
        OutputError: An index could not be written; those before it are there.

    Example:
        >>> import fasttl, os, shutil
        >>> folder = shutil.copytree(EXAMPLE, "job")
        >>> for name in os.listdir(folder):  # a log that was just written gets no index
        ...     os.utime(os.path.join(folder, name), (0, 0))
        >>> [file.state for file in fasttl.write_index(folder)]
        ['written', 'written', 'written']
        >>> [file.state for file in fasttl.write_index(folder)]
        ['fresh', 'fresh', 'fresh']
    """
    found = _core.write_index(
        input_paths(path),
        verify=verify,
        force=force,
        dry_run=dry_run,
        threads=thread_count(threads),
        progress=progress,
    )
    return [IndexFile(*fields) for fields in found]
