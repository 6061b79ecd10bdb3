"""Group `startup`: what a small report costs in CPU time, above that of starting Python and importing click."""

from __future__ import annotations

import statistics
import sys
from typing import TYPE_CHECKING, Any

from measures import reports
from measures.process import in_turn, measure

if TYPE_CHECKING:
    from measures.bench import Bench

# The process lasts a tenth of a second, so that one run says little.
TIMES = 13


def run(bench: Bench) -> dict[str, Any]:
    """Measure and judge.

    Args:
        bench: The run.

    Returns:
        CPU times of both, in milliseconds.
    """
    log = bench.inputs.log(bench.sizes.small)
    out = bench.tmp / "report_fasttl"
    words = reports.command(bench.fasttl, log, out)
    base = [sys.executable, "-c", "import click"]
    done = in_turn(
        {"fasttl": lambda: reports.write(words, out).cpu_s * 1e3, "import click": lambda: measure(base).cpu_s * 1e3},
        bench.runs * TIMES,
    )
    middle = {name: statistics.median(runs) for name, runs in done.items()}
    bench.say("  " + "   ".join(f"{name} {value:.1f} ms" for name, value in middle.items()))
    bench.judge("startup_cpu", middle["fasttl"] - middle["import click"])
    return {
        "input_bytes": log.stat().st_size,
        "cpu_ms": {name: {"median": middle[name], "runs": runs} for name, runs in done.items()},
    }
