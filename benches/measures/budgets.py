"""What is promised, in one table, and whether it is kept: ratios and memory, as seconds are those of one machine."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

GROUPS: Final = ("report", "load", "memory", "growth", "threads", "startup", "ranks", "slow-inputs")
# A doubling may cost a little more than twice: caches, and the noise of a machine that does other things as well.
DOUBLING: Final = 2.1
SLOW_DOUBLING: Final = 2.3


@dataclass(frozen=True)
class Budget:
    """One promise.

    Attributes:
        key: Its name in results.
        group: The group that measures it.
        text: What is measured.
        bound: The value that is just good enough.
        at_least: Whether larger is better.
        unit: What stands behind the value.
        share: What is allowed on top for each unit of the amount that the measurement was made with.
        share_text: That rule in words.
    """

    key: str
    group: str
    text: str
    bound: float
    at_least: bool = False
    unit: str = "x"
    share: float = 0.0
    share_text: str = ""


def _slow() -> tuple[Budget, ...]:
    keys = ("P1", "P2", "P3", "P4", "P5", "P6", "P7a", "P7b", "P8", "P9")
    text = "time of twice the input, without start-up"
    return tuple(Budget(f"slow_{key}", "slow-inputs", f"{key}: {text}", SLOW_DOUBLING) for key in keys)


def _memory(key: str, text: str) -> Budget:
    rule = "200 MB + 5 % of the largest log"
    return Budget(key, "memory", f"{text}, anonymous memory", 200, unit="MB", share=0.05, share_text=rule)


BUDGETS: Final[tuple[Budget, ...]] = (
    Budget("report_log_peer", "report", "report of one log: times faster than the peer", 20, at_least=True),
    Budget("report_job_peer", "report", "report of a job: times faster than the peer", 20, at_least=True),
    Budget("report_log_copy", "report", "report of one log, against cp -r of the peer's", 2),
    Budget("report_job_copy", "report", "report of a job, against cp -r of the peer's", 2),
    Budget("report_log_copy_fewer", "report", "the same of one log, as fewer bytes are written", 1),
    Budget("report_job_copy_fewer", "report", "the same of a job, as fewer bytes are written", 1),
    Budget("load_wc", "load", "load, md5 off, against wc -l", 4),
    Budget("load_polars", "load", "load, md5 off: times faster than polars over the lines", 2, at_least=True),
    Budget("load_md5sum", "load", "load, md5 on, against md5sum", 0.5),
    _memory("memory_report_log", "report of one log"),
    _memory("memory_report_job", "report of a job"),
    _memory("memory_report_large_job", "report of a job of twice the ranks"),
    Budget(
        "memory_load",
        "memory",
        "load, anonymous memory",
        200,
        unit="MB",
        share=160e-6,
        share_text="200 MB + 160 bytes a record",
    ),
    Budget("growth_report_size", "growth", "report of twice the log", DOUBLING),
    Budget("growth_report_ranks", "growth", "report of twice the ranks", DOUBLING),
    Budget("growth_load_size", "growth", "load of twice the log", DOUBLING),
    Budget("growth_load_ranks", "growth", "load of twice the ranks", DOUBLING),
    Budget("threads_report", "threads", "report: times faster with two threads than with one", 1.8, at_least=True),
    Budget("threads_load", "threads", "load: times faster with two threads than with one", 1.8, at_least=True),
    Budget("startup_cpu", "startup", "report of 250 KB, CPU time above import click", 40, unit="ms"),
    Budget("ranks_time", "ranks", "comparison of 512 ranks with 2,000 compiles each, after load", 5, unit="s"),
    Budget("ranks_growth", "ranks", "comparison of twice the ranks", DOUBLING),
    Budget(
        "ranks_memory",
        "ranks",
        "comparison, anonymous memory above what is loaded",
        200,
        unit="MB",
        share=100e-6,
        share_text="200 MB + 100 bytes a compile of a rank",
    ),
    *_slow(),
)


@dataclass(frozen=True)
class Verdict:
    """A promise and what was measured.

    Attributes:
        budget: The promise.
        value: What was measured.
        amount: What the share of the bound was taken of.
        judged: Whether the measurement was large enough to say something.
    """

    budget: Budget
    value: float
    amount: float = 0.0
    judged: bool = True

    @property
    def bound(self) -> float:
        """The value that is just good enough, for the amount measured with."""
        return self.budget.bound + self.budget.share * self.amount

    @property
    def kept(self) -> bool:
        """Whether the promise is kept."""
        return self.value >= self.bound if self.budget.at_least else self.value <= self.bound

    @property
    def missed(self) -> bool:
        """Whether this is a reason to fail."""
        return self.judged and not self.kept

    @property
    def word(self) -> str:
        """Give the verdict as it is printed."""
        if not self.judged:
            return "not judged"
        return "ok" if self.kept else "MISSED"

    @property
    def wanted(self) -> str:
        """Give the bound as it is printed."""
        return f"{'at least' if self.budget.at_least else 'at most'} {number(self.bound)} {self.budget.unit}"


def verdict(key: str, value: float, amount: float = 0.0, *, judged: bool = True) -> Verdict:
    """Judge a value.

    Args:
        key: The key of its budget.
        value: What was measured.
        amount: What the share of the bound is taken of: MB of the largest log, or records.
        judged: Whether the measurement was large enough to say something.

    Returns:
        The verdict.

    Raises:
        KeyError: If there is no such budget.
    """
    budget = {budget.key: budget for budget in BUDGETS}[key]
    return Verdict(budget, value, amount, judged)


def doublings(sizes: list[float], seconds: list[float], start_up: float = 0.0) -> list[float]:
    """Say how the time grew with each step of the size, as if each had been an exact doubling.

    Args:
        sizes: What was measured, smallest first.
        seconds: The time of each.
        start_up: What each of them spends before it does anything.

    Returns:
        The factor of each step: 2 is linear time.
    """
    own = [max(value - start_up, 1e-9) for value in seconds]
    steps = zip(pairwise(sizes), pairwise(own), strict=True)
    # A step from 10.0 to 19.9 MB is held against 1.99 and not against 2.
    return [2 * (after / before) / (large / small) for (small, large), (before, after) in steps]


def number(value: float) -> str:
    """Print a number with three digits that count."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004
