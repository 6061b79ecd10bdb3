"""Group `memory`: the peak of anonymous memory. Pages of the mapped log are not counted: the system can drop them."""

from __future__ import annotations

import shutil
import statistics
from typing import TYPE_CHECKING, Any

from measures import reports
from measures.inputs import largest_of
from measures.process import has_anonymous_memory, peak_anonymous_mb

if TYPE_CHECKING:
    from pathlib import Path

    from measures.bench import Bench


def run(bench: Bench) -> dict[str, Any]:
    """Measure and judge.

    Args:
        bench: The run.

    Returns:
        Peaks by budget; empty where the system does not tell them.
    """
    if not has_anonymous_memory():
        bench.say("  note: this system does not tell anonymous memory, so the group is left out")
        return {}
    sizes = bench.sizes
    large, small = sizes.ranks * 2, sizes.ranks
    # The larger job first: the other one is a part of it.
    jobs = {ranks: bench.inputs.job(ranks, sizes.rank) for ranks in (large, small)}
    facts: dict[str, Any] = {}
    inputs = {
        "memory_report_log": bench.inputs.log(sizes.log),
        "memory_report_job": jobs[small],
        "memory_report_large_job": jobs[large],
    }
    for key, log in inputs.items():
        peaks = [_report_peak(bench, log) for _ in range(bench.runs)]
        facts[key] = {"median_mb": statistics.median(peaks), "runs_mb": peaks, "largest_log_bytes": largest_of(log)}
        bench.judge(key, statistics.median(peaks), largest_of(log) / 1e6)
    log = bench.inputs.log(sizes.load)
    records = bench.load(log)["records"]
    peaks = [peak_anonymous_mb(bench.load_command(log, "--verify")) for _ in range(bench.runs)]
    facts["memory_load"] = {"median_mb": statistics.median(peaks), "runs_mb": peaks, "records": records}
    bench.judge("memory_load", statistics.median(peaks), records)
    return facts


def _report_peak(bench: Bench, log: Path) -> float:
    out = bench.tmp / "report_fasttl"
    shutil.rmtree(out, ignore_errors=True)
    return peak_anonymous_mb(reports.command(bench.fasttl, log, out))
