"""Group `slow-inputs`: P1 to P9, against the peer at their usual size, and how the time grows when they do."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

from measures.bench import timing
from measures.budgets import doublings, number
from measures.compared import compare
from measures.inputs import bytes_of

if TYPE_CHECKING:
    from pathlib import Path

    from measures.bench import Bench
    from measures.special import Special

STARTS = 5
# A point of the growth is not measured again once it has taken this long.
POINT_S = 6.0


def run(bench: Bench) -> dict[str, Any]:
    """Measure and judge.

    Args:
        bench: The run.

    Returns:
        The start-up time that is taken off, and what was found about each input, by its key.
    """
    small = bench.inputs.log(1)
    starts = [bench.report_seconds(small) for _ in range(max(STARTS, bench.runs))]
    start_up = statistics.median(starts)
    bench.say(f"  start-up: {start_up:.3f} s")
    facts = {special.key: _measure(bench, special, start_up) for special in bench.inputs.specials()}
    return {"start_up": timing(starts), "inputs": facts}


def _measure(bench: Bench, special: Special, start_up: float) -> dict[str, Any]:
    log = bench.inputs.special(special, 1)
    found = compare(bench, f"{special.key} {special.name}", log)
    facts = {"name": special.name, "amount": bench.inputs.amount(special, 1), "unit": special.unit, **found.facts()}
    times: dict[int, list[float]] = {1: [run.wall_s for run in found.ours]}
    sizes = {1: bytes_of(log)}
    bench.inputs.forget(log)
    for factor in special.factors:
        if factor not in times:
            log = bench.inputs.special(special, factor)
            sizes[factor] = bytes_of(log)
            times[factor] = _several(bench, log)
            bench.inputs.forget(log)
    middle = [statistics.median(times[factor]) for factor in special.factors]
    # By amount and not by bytes: of P9, say, the numbers in the lines get longer.
    steps = doublings([float(factor) for factor in special.factors], middle, start_up)
    row = "   ".join(f"{factor} x {seconds:.2f} s" for factor, seconds in zip(special.factors, middle, strict=True))
    bench.say(f"  {'':28} {row}   doubling {', '.join(map(number, steps))}")
    bench.judge(f"slow_{special.key}", max(steps))
    facts["growth"] = {
        "input_bytes": [sizes[factor] for factor in special.factors],
        "factors": list(special.factors),
        "times": [timing(times[factor]) for factor in special.factors],
        "doublings": steps,
    }
    return facts


def _several(bench: Bench, log: Path) -> list[float]:
    runs: list[float] = []
    end = time.perf_counter() + POINT_S
    while len(runs) < bench.runs and (not runs or time.perf_counter() < end):
        runs.append(bench.report_seconds(log))
    return runs
