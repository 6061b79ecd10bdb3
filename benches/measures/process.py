"""Whole processes: what one used from start to exit, and how much memory of its own it held at the peak."""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MEMORY: Final = Path("/dev/shm")  # noqa: S108  (private files and folders are made in it)
SAMPLE_S: Final = 0.003
# More than a measured process takes, and written in pieces.
SETTLED_BYTES: Final = 2 * 10**9
PIECE: Final = bytes(1 << 20)
T = TypeVar("T")


class BenchError(Exception):
    """The measurement could not be made, or would say nothing; the message tells why."""


class OutOfTimeError(Exception):
    """A process was ended since it took longer than it may."""


@dataclass(frozen=True)
class Run:
    """What one process used."""

    wall_s: float
    user_s: float
    system_s: float
    peak_mb: float

    @property
    def cpu_s(self) -> float:
        """Time of all cores, in the program and in the system."""
        return self.user_s + self.system_s


def find_tool(name: str) -> str:
    """Find a program: as it is given, beside this Python, or on the path.

    Args:
        name: A path or a name.

    Returns:
        The path to run.

    Raises:
        BenchError: If there is none.
    """
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if not found:
        message = f"{name}: not found; install the dev dependencies (make test does) or name the program by its option"
        raise BenchError(message)
    return found


def cores() -> int:
    """Give how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_folder() -> Path:
    """Give a folder in memory, else the one for temporary files."""
    return MEMORY if MEMORY.is_dir() else Path(tempfile.gettempdir())


def settle() -> None:
    """Make sure that the memory which the next process takes is at hand.

    A virtual machine may give free memory back to its host, and gets it again page by page when it is used: a second
    for each gigabyte, which would be most of the time of a quick program, and says nothing of the program. So as much
    as any of them needs is used and freed before each of them starts. Nothing is done where little memory is free.
    """
    folder = memory_folder()
    if shutil.disk_usage(folder).free < 4 * SETTLED_BYTES or folder != MEMORY:
        return
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for _ in range(SETTLED_BYTES // len(PIECE)):
            file.write(PIECE)


def measure(command: list[str], limit_s: float | None = None, watch: Callable[[int], None] | None = None) -> Run:
    """Run a command to its end; what it prints goes to a file in memory.

    Args:
        command: The program and its arguments.
        limit_s: End it after so many seconds.
        watch: Called with the process id in a thread of its own, right after the start.

    Returns:
        Its time, and that of its children, and its peak memory, the pages of mapped files included.

    Raises:
        BenchError: If it does not exit with status 0, with the end of what it said.
        OutOfTimeError: If it took longer than `limit_s`.
    """
    with tempfile.TemporaryFile(dir=memory_folder()) as said:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
        # Not `process.kill`, which may wait for the process and take what `wait4` wants to know.
        timer = threading.Timer(limit_s, os.kill, (process.pid, signal.SIGKILL)) if limit_s else None
        watcher = threading.Thread(target=watch, args=(process.pid,), daemon=True) if watch else None
        for thread in (timer, watcher):
            if thread:
                thread.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if timer:
            timer.cancel()
        if watcher:
            watcher.join()
        if limit_s and wall >= limit_s and process.returncode == -signal.SIGKILL:
            raise OutOfTimeError
        if process.returncode != 0:
            said.seek(0)
            tail = said.read()[-2000:].decode(errors="replace")
            message = f"{' '.join(command)}: exit status {process.returncode}\n{tail}"
            raise BenchError(message)
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(wall, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * unit / 1e6)


def output(command: list[str]) -> str:
    """Run a command and give what it printed.

    Args:
        command: The program and its arguments.

    Returns:
        Its standard output.

    Raises:
        BenchError: If it does not exit with status 0.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        message = f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr[-2000:]}"
        raise BenchError(message)
    return done.stdout


def has_anonymous_memory() -> bool:
    """Say whether the system tells the anonymous memory of a process."""
    return _anonymous(os.getpid()) is not None


def peak_anonymous_mb(command: list[str]) -> float:
    """Run a command and sample its anonymous memory: what it has of its own, without the maps of files.

    Args:
        command: The program and its arguments.

    Returns:
        The largest sample, in MB.
    """
    peak = 0

    def watch(pid: int) -> None:
        nonlocal peak
        while (now := _anonymous(pid)) is not None:
            peak = max(peak, now)
            time.sleep(SAMPLE_S)

    measure(command, watch=watch)
    return peak / 1e6


def _anonymous(pid: int) -> int | None:
    """Give the bytes, or None where the process has ended or the system does not say."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    found = next((line.split()[1] for line in lines if line.startswith("RssAnon:")), None)
    return int(found) * 1024 if found else None


def medians(runs: list[Run]) -> Run:
    """Give the median of each quantity by itself."""
    rows = [asdict(run) for run in runs]
    return Run(**{key: statistics.median(row[key] for row in rows) for key in rows[0]})


def in_turn(actions: Mapping[str, Callable[[], T]], runs: int) -> dict[str, list[T]]:
    """Do several things by turns, so that a change of the machine hits all of them.

    Args:
        actions: What is to be done, by name.
        runs: How often each; the order is turned around each time, so that none always comes after the same one.

    Returns:
        What each gave, in the order of the runs.
    """
    done: dict[str, list[T]] = {name: [] for name in actions}
    for turn in range(runs):
        for name in reversed(done) if turn % 2 else done:
            done[name].append(actions[name]())
    return done
