"""What all groups of measurements share: programs, inputs, sizes, and where they put what they found."""

from __future__ import annotations

import json
import statistics
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from measures import reports
from measures.budgets import Verdict, number, verdict
from measures.process import in_turn, output, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from measures.inputs import Inputs

T = TypeVar("T")
WORKERS: Final = Path(__file__).resolve().parents[1] / "workers"


@dataclass(frozen=True)
class Sizes:
    """How large the inputs are; all follow from the size of one log.

    Attributes:
        log: The log of reports.
        rank: The log of each rank of a job.
        ranks: Ranks of a job.
        load: The log that is loaded.
        lines: The log that plain Python reads, whose time is scaled to `load`.
        small: The log of the start-up time.
    """

    log: int
    rank: int
    ranks: int
    load: int
    lines: int
    small: int = 250_000

    @classmethod
    def of(cls, log: int, ranks: int = 32) -> Sizes:
        """Derive all sizes from that of one log."""
        return cls(log=log, rank=max(log // 20, 1), ranks=ranks, load=log * 5, lines=max(log // 2, 1))


@dataclass
class Bench:
    """One run of the benchmark.

    Attributes:
        fasttl: The program.
        peer: The other one.
        inputs: What they read.
        sizes: How large that is.
        tmp: Where reports go.
        runs: How often each is run.
        limit_s: How long the peer may take.
        judged: Whether sizes are large enough for verdicts.
        verdicts: What was found about budgets, in order.
    """

    fasttl: str
    peer: str
    inputs: Inputs
    sizes: Sizes
    tmp: Path
    runs: int
    limit_s: float = 60.0
    judged: bool = True
    verdicts: list[Verdict] = field(default_factory=list)

    def judge(self, key: str, value: float, amount: float = 0.0) -> None:
        """Hold a value against its budget, and print the verdict."""
        found = verdict(key, value, amount, judged=self.judged)
        self.verdicts.append(found)
        text = f"{number(value)} {found.budget.unit}, wanted {found.wanted}"
        self.say(f"  {found.word:10}  {found.budget.text}: {text}")

    def say(self, text: str) -> None:
        """Print a line at once, since a run takes minutes."""
        print(text, flush=True)

    def settle(self) -> None:
        """Make the memory that the next process takes ready; see `measures.process.settle`."""
        if self.judged:
            settle()

    def in_turn(self, actions: Mapping[str, Callable[[], T]]) -> dict[str, list[T]]:
        """Do things by turns, each as often as the run wants, with memory at hand; see `measures.process.in_turn`."""

        def settled(action: Callable[[], T]) -> T:
            self.settle()
            return action()

        return in_turn({name: partial(settled, action) for name, action in actions.items()}, self.runs)

    def report_seconds(self, log: Path, *extra: str) -> float:
        """Write the report of an input with fasttl and give the time of the whole process."""
        out = self.tmp / "report_fasttl"
        return reports.write(reports.command(self.fasttl, log, out, *extra), out).wall_s

    def load_command(self, log: Path, *extra: str) -> list[str]:
        """Give the command line of a process that loads an input and says how long it took."""
        return [sys.executable, str(WORKERS / "time_load.py"), str(log), *extra]

    def load(self, log: Path, *extra: str) -> dict[str, Any]:
        """Load an input in a process of its own, and give what that says: `seconds`, `records` and more."""
        said: dict[str, Any] = json.loads(output(self.load_command(log, *extra)))
        return said

    def load_seconds(self, log: Path, *extra: str) -> float:
        """Load an input in a process of its own, and give the time inside it."""
        return float(self.load(log, *extra)["seconds"])


def timing(runs: list[float]) -> dict[str, Any]:
    """Give the median and all runs, as results have them."""
    return {"median_s": statistics.median(runs), "runs_s": runs}
