"""Group `slow-inputs`: P1 to P9, against the peer at their usual size, and how the time grows when they do."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from measures.bench import timing
from measures.budgets import doublings, number
from measures.compared import compare
from measures.inputs import bytes_of

if TYPE_CHECKING:
    from measures.bench import Bench
    from measures.special import Special

STARTS = 5
# A point of the growth is not measured again once it has taken this long.
POINT_S = 6.0
# Shorter times, start-up taken off, are noise: the input is made larger, up to `LARGEST` times its amount.
SHORT_S = 0.1
LARGEST = 64
# Where a size is read this quickly, twice that is measured as well.
CHEAP_S = 1.5


@dataclass(frozen=True)
class Point:
    """What was measured of one input at one size."""

    input_bytes: int
    seconds: list[float]

    @property
    def median(self) -> float:
        """The time that counts."""
        return statistics.median(self.seconds)


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
    points = {1: Point(bytes_of(log), [run.wall_s for run in found.ours])}
    bench.inputs.forget(log)
    factor = special.factor
    while bench.judged and factor < LARGEST and _point(bench, special, factor, points).median - start_up < SHORT_S:
        factor *= 2
    factors = [factor, factor * 2]
    if bench.judged and _point(bench, special, factor * 2, points).median < CHEAP_S:
        factors.append(factor * 4)
    series = [_point(bench, special, each, points) for each in factors]
    # By amount and not by bytes: of P9, say, the numbers in the lines get longer.
    steps = doublings([float(each) for each in factors], [point.median for point in series], start_up)
    row = "   ".join(f"{each} x {point.median:.2f} s" for each, point in zip(factors, series, strict=True))
    bench.say(f"  {'':28} {row}   doubling {', '.join(map(number, steps))}")
    bench.judge(f"slow_{special.key}", max(steps))
    facts["growth"] = {
        "input_bytes": [point.input_bytes for point in series],
        "factors": factors,
        "times": [timing(point.seconds) for point in series],
        "doublings": steps,
    }
    return facts


def _point(bench: Bench, special: Special, factor: int, points: dict[int, Point]) -> Point:
    """Measure an input at a size, unless that was done."""
    if factor not in points:
        log = bench.inputs.special(special, factor)
        seconds: list[float] = []
        end = time.perf_counter() + POINT_S
        while len(seconds) < bench.runs and (not seconds or time.perf_counter() < end):
            seconds.append(bench.report_seconds(log))
        points[factor] = Point(bytes_of(log), seconds)
        bench.inputs.forget(log)
    return points[factor]
