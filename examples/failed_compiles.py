"""List the compiles of a trace that failed: on which rank, which function, and why.

python examples/failed_compiles.py [TRACE_FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import fasttl
import polars as pl


def failed_compiles(trace: fasttl.Trace) -> pl.DataFrame:
    """One row for each failed compile, with its place in user code and the reason that PyTorch gives."""
    return (
        trace.frames.filter(pl.col("status") == "error")
        .select("rank", "compile_id", "code_name", "code_file", "code_line", "fail_type", "fail_reason")
        .sort("rank", "compile_id")
    )


def main() -> None:
    """Print the failed compiles of the folder that is named, or of the example beside this file."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "crash_3_ranks"
    failed = failed_compiles(fasttl.load(folder))
    print(f"{failed.height} failed")
    for row in failed.iter_rows(named=True):
        print(f"\nrank {row['rank']}, {row['compile_id']} {row['code_name']} ({row['code_file']}:{row['code_line']})")
        print(f"{row['fail_type']}: {row['fail_reason']}")


if __name__ == "__main__":
    main()
