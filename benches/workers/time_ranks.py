"""Load a job, then compare its ranks, and print how long that took and how much memory it took above the loaded job.

A process for one run, so that no run finds what an earlier one left:

python benches/workers/time_ranks.py FOLDER [--threads N]
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from pathlib import Path

import fasttl
import polars as pl

STATUS = Path("/proc/self/status")
SAMPLE_S = 0.003


def anonymous_mb() -> float | None:
    """Give the memory of this process without the maps of files, or None where the system does not tell."""
    if not STATUS.exists():
        return None
    lines = STATUS.read_text().splitlines()
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("RssAnon:")), None)


class Peak:
    """Samples this process's memory while something runs; fasttl leaves the interpreter free meanwhile."""

    def __init__(self) -> None:
        """Note what there is now."""
        self.start = self.top = anonymous_mb()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._done.wait(SAMPLE_S):
            now = anonymous_mb()
            if now is not None and self.top is not None:
                self.top = max(self.top, now)

    def __enter__(self) -> None:
        """Begin."""
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        """End."""
        self._done.set()
        self._thread.join()

    @property
    def above_mb(self) -> float | None:
        """How much there was at most above the beginning."""
        return None if self.top is None or self.start is None else self.top - self.start


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", help="the logs of a job")
    parser.add_argument("--threads", type=int, help="worker threads (one for each core)")
    args = parser.parse_args()
    start = time.perf_counter()
    trace = fasttl.load(args.folder, verify=False, threads=args.threads)
    loaded = time.perf_counter()
    peak = Peak()
    with peak:
        divergence = trace.divergence
        compared = time.perf_counter()
        skew = trace.skew
        done = time.perf_counter()
    odd = divergence.select(pl.col("odd_ranks").explode()).to_series().unique().sort().to_list()
    slow = skew.filter(pl.col("max_s") > 10 * pl.col("median_s"))["max_rank"].unique().sort().to_list()
    facts = {
        "load_s": loaded - start,
        "divergence_s": compared - loaded,
        "skew_s": done - compared,
        "loaded_mb": peak.start,
        "above_mb": peak.above_mb,
        "rows": divergence.height,
        "odd_ranks": odd,
        "slow_ranks": slow,
        "compiles": skew.height,
    }
    json.dump(facts, sys.stdout)


if __name__ == "__main__":
    main()
