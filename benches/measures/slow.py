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
# Shorter times, start-up taken off, are noise: the input is made larger, up to `LARGEST` times its amount.
SHORT_S = 0.1
LARGEST = 64
# Where a size is read this quickly, four times that is measured as well.
CHEAP_S = 0.75
# No further round is begun once the growth of an input has been measured for this long.
ROUNDS_S = 10.0


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
    growth = growth_of(bench, special, start_up)
    bench.inputs.forget(log)
    amount = bench.inputs.amount(special, 1)
    return {"name": special.name, "amount": amount, "unit": special.unit, **found.facts(), "growth": growth}


def growth_of(bench: Bench, special: Special, start_up: float) -> dict[str, Any]:
    """Measure how the time grows with the amount of a special input, and judge the worst doubling.

    Args:
        bench: The run.
        special: The input.
        start_up: What each process spends before it does anything.

    Returns:
        Sizes, times and doublings.
    """
    factor, seconds = special.factor, 0.0
    while True:
        probe = bench.inputs.special(special, factor)
        seconds = bench.report_seconds(probe)
        if not bench.judged or seconds - start_up >= SHORT_S or factor >= LARGEST:
            break
        bench.inputs.forget(probe)
        factor *= 2
    factors = [factor, factor * 2, factor * 4][: 3 if bench.judged and seconds < CHEAP_S else 2]
    # The largest first: the smaller jobs of P8 are parts of it.
    logs = {each: bench.inputs.special(special, each) for each in reversed(factors)}
    times = _rounds(bench, {each: logs[each] for each in factors})
    middle = [statistics.median(runs) for runs in times]
    # By amount and not by bytes: of P9, say, the numbers in the lines get longer.
    steps = doublings([float(each) for each in factors], middle, start_up)
    row = "   ".join(f"{each} x {median:.2f} s" for each, median in zip(factors, middle, strict=True))
    bench.say(f"  {'':28} {row}   doubling {', '.join(map(number, steps))}")
    bench.judge(f"slow_{special.key}", max(steps))
    facts = {
        "input_bytes": [bytes_of(logs[each]) for each in factors],
        "factors": factors,
        "times": [timing(runs) for runs in times],
        "doublings": steps,
    }
    for log in logs.values():
        bench.inputs.forget(log)
    return facts


def _rounds(bench: Bench, logs: dict[int, Path]) -> list[list[float]]:
    """Measure all sizes by turns, as often as there is time for, at most as often as everything else."""
    end = time.perf_counter() + ROUNDS_S
    times: dict[int, list[float]] = {factor: [] for factor in logs}
    for turn in range(bench.runs):
        if turn and time.perf_counter() >= end:
            break
        for factor in reversed(logs) if turn % 2 else logs:
            bench.settle()
            times[factor].append(bench.report_seconds(logs[factor]))
    return list(times.values())
