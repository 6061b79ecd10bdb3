"""Measure what indexes and `fasttl.scan` spare, on a folder of grown logs, one for each rank.

Each query runs in this process, in turn with the others; what counts is the ratio of the medians to the query that
reads everything. The logs lie in memory (tmpfs) where there is one.

    python benches/scan.py [--size 200M] [--ranks 8] [--runs 3] [--threads N] [--traces DIR] [--tmp DIR]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import fasttl
import polars as pl
from grow import GrowError, grow, parse_size

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
MIX = ("large", "gpt", "train_mlp", "graph_breaks", "recompiles", "resnet", "hello", "unusual", "fail_backend")
# A log that was written to lately is copied when it is opened, and gets no index.
LONG_AGO = 1_700_000_000


def make_logs(traces: Path, folder: Path, size: int, ranks: int) -> None:
    """Grow one log for each rank.

    Args:
        traces: A folder with one folder for each trace.
        folder: Where the logs are to stand.
        size: Bytes of all logs.
        ranks: Number of logs.

    Raises:
        GrowError: If a source is damaged or no log.
    """
    sources = [log for name in MIX for log in sorted((traces / name).glob("*.log"))]
    for rank in range(ranks):
        log = folder / f"dedicated_log_torch_trace_rank_{rank}_abcdefgh.log"
        grow(sources, log, size // ranks, rank)
        os.utime(log, (LONG_AGO, LONG_AGO))


def queries(folder: Path, threads: int | None, *, use_index: bool) -> dict[str, Callable[[], object]]:
    """Name the work that is measured; the first is what the others are compared with."""

    def scan() -> pl.LazyFrame:
        return fasttl.scan(folder, threads=threads, use_index=use_index)

    def load(*, verify: bool) -> object:
        return fasttl.load(folder, verify=verify, threads=threads, use_index=use_index)

    kind = pl.col("kind") == "dynamo_start"
    rank = pl.col("rank") == 1
    return {
        "scan, all": lambda: scan().collect(),
        "scan, all but the heads": lambda: scan().drop("metadata").collect(),
        "scan, one kind": lambda: scan().filter(kind).collect(),
        "scan, one rank": lambda: scan().filter(rank).collect(),
        "scan, one kind of one rank": lambda: scan().filter(kind & rank).collect(),
        "scan, three columns": lambda: scan().select("rank", "kind", "length").collect(),
        "scan, first 100 rows": lambda: scan().head(100).collect(),
        "scan, first 100 rows without time": lambda: scan().select("rank", "kind", "metadata").head(100).collect(),
        "load": lambda: load(verify=True),
        "load, without md5": lambda: load(verify=False),
    }


def measure(works: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """Give the median of the seconds that each takes, measured in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(runs):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def show(title: str, found: dict[str, float], whole: float) -> None:
    """Print the figures, each with its ratio."""
    print(f"{title} (times faster than a scan of all without indexes, seconds)")
    for name, seconds in found.items():
        print(f"  {whole / seconds:8.1f} x  {seconds:8.3f} s  {name}")


def run(traces: Path, folder: Path, args: argparse.Namespace) -> None:
    """Make the logs, and measure without and with indexes."""
    make_logs(traces, folder, args.size, args.ranks)
    size = sum(log.stat().st_size for log in folder.glob("*.log"))
    print(f"{args.ranks} logs, {size / 1e6:.0f} MB")
    without = measure(queries(folder, args.threads, use_index=False), args.runs)
    start = time.perf_counter()
    files = fasttl.write_index(folder, threads=args.threads)
    took = time.perf_counter() - start
    indexed = measure(queries(folder, args.threads, use_index=True), args.runs)
    whole = without["scan, all"]
    show("without indexes", without, whole)
    show("with indexes", indexed, whole)
    share = sum(file.bytes for file in files) / size
    print(f"indexes: {share:.1%} of the logs, written in {took:.3f} s")
    print(f"load with indexes: {without['load'] / indexed['load']:.1f} x faster than without")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--size", type=parse_size, default=parse_size("200M"), help="bytes of all logs; 200M unless told"
    )
    parser.add_argument("--ranks", type=int, default=8, help="number of logs; 8 unless told")
    parser.add_argument("--runs", type=int, default=3, help="how often each is measured; 3 unless told")
    parser.add_argument("--threads", type=int, help="worker threads; one for each core unless told")
    parser.add_argument("--traces", type=Path, help="folder of traces to grow; the large set, else that of the tests")
    parser.add_argument("--tmp", type=Path, help="folder for the logs; /dev/shm unless told")
    args = parser.parse_args()
    shared = ROOT.parent / "shared" / "traces"
    traces = args.traces or (shared if shared.is_dir() else ROOT / "tests" / "data")
    memory = Path("/dev/shm")  # noqa: S108 - a private folder is made in it
    with tempfile.TemporaryDirectory(dir=args.tmp or (memory if memory.is_dir() else None)) as folder:
        try:
            run(traces, Path(folder), args)
        except (GrowError, OSError) as error:
            parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
