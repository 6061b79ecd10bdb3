"""The inputs of a run, made when they are first asked for: logs and jobs grown from real ones, and the special ones.

All are given an old time: fasttl copies a log that was written to in the last seconds, as it may still change.
"""

from __future__ import annotations

import os
import shutil
import string as letters
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from grow import Source, grown, read_source

from measures.process import BenchError
from measures.special import Special, real_code, specials

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT: Final = Path(__file__).resolve().parents[2]
MIX: Final = ("large", "gpt", "train_mlp", "graph_breaks", "recompiles", "resnet")
SMALL_MIX: Final = ("hello", "unusual", "fail_backend", "killed_between")
# What only a job has: collectives, their runtimes, parts of DDP.
JOB_MIX: Final = ("dist_ddp", "dist_fsdp2", "dist_collectives", "dist_many", "dist_many_rank_0")
OLD_S: Final = 60
# Stands for the rank while the records of all ranks are made at once; no log has this number.
ANY_RANK: Final = 918_273_645
RANK_MARK: Final = b'"rank": %d' % ANY_RANK
PIECE: Final = 1 << 20
P8_BYTES: Final = 4 * 10**6


def find_sources(traces: Path | None) -> list[Path]:
    """Choose the logs to grow.

    Args:
        traces: A folder with one folder for each trace, or None for the large set beside the repository and, where
            that is missing, the small logs of the tests.

    Returns:
        The logs, in a fixed order.

    Raises:
        BenchError: If the folder has none of the traces.
    """
    traces = _traces(traces)
    mix = MIX if (traces / MIX[0]).is_dir() else SMALL_MIX
    logs = [log for name in mix for log in sorted((traces / name).glob("*.log"))]
    if not logs:
        message = f"{traces}: none of the traces {', '.join(MIX + SMALL_MIX)} is here; name another folder by --traces"
        raise BenchError(message)
    return logs


def find_job_sources(traces: Path | None) -> list[Path]:
    """Choose what a job's logs have beside those of `find_sources`: the log of rank 0 of each trace of a job."""
    folders = [_traces(traces) / name for name in JOB_MIX]
    return [log for folder in folders for log in sorted(folder.glob("*_rank_0*.log"))[:1]]


def _traces(traces: Path | None) -> Path:
    if traces is not None:
        return traces
    shared = ROOT.parent / "shared" / "traces"
    return shared if shared.is_dir() else ROOT / "tests" / "data"


def rank_name(rank: int) -> str:
    """Name the log of a rank as PyTorch does; the end is what its temporary file would have."""
    digits = letters.ascii_lowercase
    end = "".join(digits[rank // len(digits) ** place % len(digits)] for place in range(8))
    return f"dedicated_log_torch_trace_rank_{rank}_{end}.log"


class Inputs:
    """The inputs, in one folder."""

    def __init__(self, folder: Path, traces: Path | None, scale: float = 1.0) -> None:
        """Read the logs to grow.

        Args:
            folder: Where the inputs go.
            traces: Where the real logs are, see `find_sources`.
            scale: What the amounts of the special inputs are multiplied by, for tests.

        Raises:
            BenchError: If there is nothing to grow from.
        """
        self.folder = folder
        self.sources = find_sources(traces)
        self.job_sources = [*find_job_sources(traces), *self.sources]
        self.scale = scale
        self._logs: dict[int, Path] = {}
        self._jobs: dict[tuple[int, int], Path] = {}
        self._records: Iterator[bytes] | None = None
        self._grown = folder / "grown"
        self._grown_bytes = 0

    def log(self, size: int) -> Path:
        """Give a log of the wanted bytes and the rest of its last record; a smaller one is the front of a larger."""
        if size not in self._logs:
            self._grow(size)
            path = self.folder / f"dedicated_log_torch_trace_{len(self._logs):08}.log"
            with self._grown.open("rb") as whole, path.open("wb") as part:
                for left in range(size - 1, 0, -PIECE):
                    part.write(whole.read(min(left, PIECE)))
                # The line that reaches the size, and the rest of its record.
                part.write(whole.readline())
                while (line := whole.readline()).startswith(b"\t"):
                    part.write(line)
            self._logs[size] = age(path)
        return self._logs[size]

    def _grow(self, size: int) -> None:
        if self._records is None:
            self._records = grown(_read(self.sources))
        with self._grown.open("ab", buffering=1 << 20) as file:
            for record in self._records if self._grown_bytes < size else ():
                self._grown_bytes += file.write(record)
                if self._grown_bytes >= size:
                    break

    def job(self, ranks: int, size: int) -> Path:
        """Give the folder of a job whose logs have the wanted bytes each, and the same compiles on each rank."""
        larger = [key for key in self._jobs if key[1] == size and key[0] > ranks]
        if (ranks, size) not in self._jobs:
            folder = self.folder / f"job_{ranks}_{size}"
            folder.mkdir()
            if larger:
                for rank in range(ranks):
                    os.link(self._jobs[min(larger)] / rank_name(rank), folder / rank_name(rank))
            else:
                write_job(_read(self.job_sources), folder, ranks, size)
            self._jobs[ranks, size] = folder
        return self._jobs[ranks, size]

    def specials(self) -> tuple[Special, ...]:
        """List the special inputs; none is written yet."""
        code = real_code(self.sources)
        if not code:
            message = "no log to grow from has generated code, which the input P2 is made of; name others by --traces"
            raise BenchError(message)
        return specials(code)

    def special(self, special: Special, factor: int) -> Path:
        """Write a special input, `factor` times its usual amount; `forget` it after use."""
        if special.make is None:
            size = max(int(P8_BYTES * self.scale), 1)
            return self.job(self.amount(special, factor), size)
        name = f"{special.key}_{factor}".lower()
        path = self.folder / f"dedicated_log_torch_trace_{name:_>8}.log"
        if not path.exists():
            with path.open("wb", buffering=1 << 20) as file:
                file.writelines(special.make(self.amount(special, factor)))
        return age(path)

    def amount(self, special: Special, factor: int) -> int:
        """Give how much of a special input there is at a size."""
        # Of ranks, a quarter of the root keeps a small job one of several ranks.
        scale = max(self.scale, 0.05) if special.make is None else self.scale
        return max(int(special.amount * scale), 2) * factor

    def forget(self, path: Path) -> None:
        """Remove an input, so that not all are in memory at once."""
        self._logs = {size: log for size, log in self._logs.items() if log != path}
        self._jobs = {key: job for key, job in self._jobs.items() if job != path}
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def write_job(sources: list[Source], folder: Path, ranks: int, size: int) -> None:
    """Write the logs of all ranks of a job.

    The records are made once: on each rank they differ in the rank and in the process id only, as the program of all
    ranks is the same.

    Args:
        sources: The logs to repeat, in turn.
        folder: Where they go.
        ranks: How many.
        size: Bytes wanted of each.
    """
    pid = sources[0].pid
    with ExitStack() as stack:
        paths = [folder / rank_name(rank) for rank in range(ranks)]
        files = [stack.enter_context(path.open("wb", buffering=1 << 18)) for path in paths]
        written = 0
        for record in grown(sources, ANY_RANK):
            prefix, _, rest = record.partition(b" %b " % pid)
            before, mark, after = rest.partition(RANK_MARK)
            for rank, file in enumerate(files):
                own = b'"rank": %d' % rank if mark else b""
                file.write(b"%b %d %b%b%b" % (prefix, int(pid) + rank, before, own, after))
            written += len(record)
            if written >= size:
                break
    for path in paths:
        age(path)


def age(path: Path) -> Path:
    """Give a file the time of one that nobody writes to any more."""
    os.utime(path, (time.time() - OLD_S,) * 2)
    return path


def bytes_of(path: Path) -> int:
    """Give the size of a log, or of all logs of a job."""
    return sum(log.stat().st_size for log in logs_of(path))


def largest_of(path: Path) -> int:
    """Give the size of the largest log."""
    return max(log.stat().st_size for log in logs_of(path))


def logs_of(path: Path) -> list[Path]:
    """List the logs of an input."""
    return sorted(path.iterdir()) if path.is_dir() else [path]


def _read(paths: Iterable[Path]) -> list[Source]:
    return [read_source(path) for path in paths]
