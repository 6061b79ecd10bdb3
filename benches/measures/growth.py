"""Groups `growth` and `threads`: what twice the input costs, and what a second thread gains."""

from __future__ import annotations

import statistics
from functools import partial
from typing import TYPE_CHECKING, Any

from measures.bench import timing
from measures.budgets import doublings, number
from measures.inputs import bytes_of
from measures.process import cores

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from measures.bench import Bench

# The largest of each series is cut into the others.
PARTS = (4, 2, 1)


def run(bench: Bench) -> dict[str, Any]:
    """Measure how time grows with size and with ranks, and judge the worst doubling of each.

    Args:
        bench: The run.

    Returns:
        Sizes, times and doublings by budget.
    """
    sizes = bench.sizes
    bench.inputs.job(sizes.ranks * 2, sizes.rank)  # the smaller jobs are parts of it
    logs = [bench.inputs.log(sizes.log * 4 // part) for part in PARTS]
    jobs = [bench.inputs.job(max(sizes.ranks * 2 // part, 1), sizes.rank) for part in PARTS]
    loads = [bench.inputs.log(max(sizes.load // part, 1)) for part in PARTS]
    series: dict[str, tuple[list[Path], Callable[[Path], float]]] = {
        "growth_report_size": (logs, bench.report_seconds),
        "growth_report_ranks": (jobs, bench.report_seconds),
        "growth_load_size": (loads, bench.load_seconds),
        "growth_load_ranks": (jobs, bench.load_seconds),
    }
    facts = {}
    for key, (inputs, action) in series.items():
        actions = {f"{number(bytes_of(log) / 1e6)} MB": partial(action, log) for log in inputs}
        done = bench.in_turn(actions)
        middle = [statistics.median(runs) for runs in done.values()]
        found = doublings([bytes_of(log) for log in inputs], middle)
        bench.say("  " + "   ".join(f"{name} {seconds:.3f} s" for name, seconds in zip(done, middle, strict=True)))
        bench.judge(key, max(found))
        facts[key] = {
            "input_bytes": [bytes_of(log) for log in inputs],
            "times": [timing(runs) for runs in done.values()],
            "doublings": found,
        }
    return facts


def run_threads(bench: Bench) -> dict[str, Any]:
    """Measure one thread against two, and against all where there are more.

    Args:
        bench: The run.

    Returns:
        Times by number of threads, for the report and for `load`.
    """
    available = cores()
    counts = sorted({1, 2, available} if available > 1 else {1})
    log, large = bench.inputs.log(bench.sizes.log), bench.inputs.log(bench.sizes.load)
    works = {"report": (bench.report_seconds, log), "load": (bench.load_seconds, large)}
    facts = {}
    for name, (action, path) in works.items():
        actions = {str(count): partial(action, path, "--threads", str(count)) for count in counts}
        done = bench.in_turn(actions)
        facts[name] = {"input_bytes": bytes_of(path), "times": {count: timing(runs) for count, runs in done.items()}}
        middle = {count: statistics.median(runs) for count, runs in done.items()}
        bench.say("  " + "   ".join(f"{name}, threads {count}: {middle[count]:.3f} s" for count in middle))
        if available > 1:
            bench.judge(f"threads_{name}", middle["1"] / middle["2"])
    if available == 1:
        bench.say("  note: there is one core, so there is nothing to gain")
    return facts
