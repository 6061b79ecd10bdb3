"""Load an input and print how long that took, without the start of Python and the imports.

A process for one run, so that no run finds what an earlier one left:

python benches/workers/time_load.py LOG [--verify] [--threads N]
"""

from __future__ import annotations

import argparse
import json
import sys
import time

import fasttl

# Imported first, as in a session: what `records` needs on its first use is not the time of loading.
import polars as pl  # noqa: F401


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("log", help="a log or a folder")
    parser.add_argument("--verify", action="store_true", help="check the md5 of each payload")
    parser.add_argument("--threads", type=int, help="worker threads (one for each core)")
    args = parser.parse_args()
    start = time.perf_counter()
    trace = fasttl.load(args.log, verify=args.verify, threads=args.threads)
    heights = [table.height for table in (trace.records, trace.problems, trace.frames)]
    seconds = time.perf_counter() - start
    json.dump({"seconds": seconds, **dict(zip(("records", "problems", "frames"), heights, strict=True))}, sys.stdout)


if __name__ == "__main__":
    main()
