"""Reports that were written: run a program that writes one, count what it left, refuse what is not whole."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from measures.process import BenchError, Run, measure

if TYPE_CHECKING:
    from pathlib import Path

FLAGS: Final = ("--no-browser", "--overwrite")
JOB_FLAG: Final = "--all-ranks-html"


@dataclass(frozen=True)
class Report:
    """What one process left behind.

    Attributes:
        files: Names of files; a hard link is one, too.
        bytes: Size of the contents, each counted once however many names it has.
    """

    files: int
    bytes: int


def command(tool: str, log: Path, out: Path, *extra: str) -> list[str]:
    """Give the command line that writes a report; both programs have the same.

    Args:
        tool: The program.
        log: A log, or the folder of a job.
        out: The folder to write.
        extra: Further flags.

    Returns:
        The words.
    """
    return [tool, str(log), "-o", str(out), *FLAGS, *([JOB_FLAG] if log.is_dir() else []), *extra]


def write(words: list[str], out: Path, limit_s: float | None = None) -> Run:
    """Write a report to a place that is empty, which is seen to outside of the measured time.

    Args:
        words: The command line.
        out: The folder that it writes.
        limit_s: How long it may take.

    Returns:
        What the process used.
    """
    shutil.rmtree(out, ignore_errors=True)
    return measure(words, limit_s)


def tree(report: Path) -> dict[str, int]:
    """List a report: each file by its path below the folder, with its size in bytes."""
    return {path.relative_to(report).as_posix(): path.stat().st_size for path in report.rglob("*") if path.is_file()}


def size_up(report: Path) -> Report:
    """Count files and bytes of a report."""
    found = [path.stat() for path in report.rglob("*") if path.is_file()]
    return Report(len(found), sum({stat.st_ino: stat.st_size for stat in found}.values()))


def check_complete(ours: dict[str, int], peer: dict[str, int], raw_bytes: int) -> None:
    """Refuse a comparison with a report that is not whole, since writing less is no speed.

    Args:
        ours: The tree of fasttl.
        peer: The tree of the peer; empty where it did not get to its end.
        raw_bytes: Size of the input, which both have as `raw.log`, for a job one in the folder of each rank.

    Raises:
        BenchError: If a file of the peer's is missing, or the log is not all there.
    """
    missing = sorted(set(peer) - set(ours))
    if missing:
        message = f"fasttl's report lacks {len(missing)} of the peer's {len(peer)} files, the first is {missing[0]}"
        raise BenchError(message)
    kept = sum(size for path, size in ours.items() if path.rpartition("/")[2] == "raw.log")
    if kept != raw_bytes:
        message = f"fasttl's raw.log has {kept} bytes, the log {raw_bytes}"
        raise BenchError(message)
