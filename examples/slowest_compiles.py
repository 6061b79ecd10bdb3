"""List the compiles of a trace that took longest, and which share of the time each phase had.

python examples/slowest_compiles.py [TRACE_FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import fasttl
import polars as pl


def slowest_compiles(trace: fasttl.Trace, count: int = 10) -> pl.DataFrame:
    """The `count` compiles with the longest `entire_frame_s` (in seconds), the slowest first.

    `backend_share` is the part of that time which the backend had (AOTAutograd and Inductor, or another one); the rest
    is Dynamo's own. Compiles without metrics, such as those that a killed process left behind, have no time and are
    not listed.
    """
    return (
        trace.frames.filter(pl.col("entire_frame_s").is_not_null())
        .sort("entire_frame_s", descending=True)
        .head(count)
        .select(
            "rank",
            "compile_id",
            "code_name",
            "status",
            "entire_frame_s",
            backend_share=pl.col("backend_s") / pl.col("entire_frame_s"),
        )
    )


def main() -> None:
    """Print the slowest compiles of the folder that is named, or of the example beside this file."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "crash_3_ranks"
    for row in slowest_compiles(fasttl.load(folder)).iter_rows(named=True):
        share = "     -" if row["backend_share"] is None else f"{row['backend_share']:6.0%}"
        name = f"rank {row['rank']}  {row['compile_id']:8} {row['code_name']}"
        print(f"{row['entire_frame_s']:8.3f} s  {share} in the backend  {name}  {row['status']}")


if __name__ == "__main__":
    main()
