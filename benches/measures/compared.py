"""One input, both programs: time, what they wrote, whether it is whole, and what copying the peer's report costs."""

from __future__ import annotations

import shutil
import statistics
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from measures import reports
from measures.budgets import number
from measures.inputs import bytes_of
from measures.process import OutOfTimeError, Run, find_tool, measure, medians

if TYPE_CHECKING:
    from pathlib import Path

    from measures.bench import Bench

# A peer that takes this long is run once: its noise does not change what is said about it.
SLOW_S = 5.0


@dataclass
class Compared:
    """What was found about one input.

    Attributes:
        name: What the input is called.
        input_bytes: Its size.
        ours: The runs of fasttl.
        peer: Those of the peer; empty where it was ended before its end.
        limit_s: After how long it would be ended.
        copy_s: The times of `cp -r` of the peer's report.
        reports: Files and bytes of the reports, by program.
    """

    name: str
    input_bytes: int
    limit_s: float
    ours: list[Run] = field(default_factory=list)
    peer: list[Run] = field(default_factory=list)
    copy_s: list[float] = field(default_factory=list)
    reports: dict[str, reports.Report] = field(default_factory=dict)

    @property
    def ours_s(self) -> float:
        """Median of fasttl."""
        return medians(self.ours).wall_s

    @property
    def peer_s(self) -> float:
        """Median of the peer; where it was ended, the limit, which is less than what it takes."""
        return medians(self.peer).wall_s if self.peer else self.limit_s

    @property
    def faster(self) -> float:
        """How many times faster fasttl is, at least."""
        return self.peer_s / self.ours_s

    @property
    def against_copy(self) -> float | None:
        """The time of fasttl in units of copying the peer's report."""
        return self.ours_s / statistics.median(self.copy_s) if self.copy_s else None

    @property
    def writes_fewer(self) -> bool:
        """Whether fasttl's report has fewer bytes, each content counted once."""
        return bool(self.copy_s) and self.reports["fasttl"].bytes < self.reports["tlparse"].bytes

    def facts(self) -> dict[str, Any]:
        """Give what results hold."""
        tools = {"fasttl": self.ours, "tlparse": self.peer}
        return {
            "input_bytes": self.input_bytes,
            "ratio": self.faster,
            "peer_ended_after_s": None if self.peer else self.limit_s,
            "ratio_to_copy": self.against_copy,
            "copy_s": self.copy_s,
            "tools": {
                name: {
                    "median": asdict(medians(runs)),
                    "runs": [asdict(run) for run in runs],
                    "report": asdict(self.reports[name]),
                }
                for name, runs in tools.items()
                if runs
            },
        }

    def line(self) -> str:
        """Give the row that is printed."""
        sign = "" if self.peer else "> "
        row = f"  {self.name:28} {self.input_bytes / 1e6:7.1f} MB   fasttl {self.ours_s:6.2f} s"
        row += f"   peer {sign}{self.peer_s:.2f} s ({sign}{number(self.faster)} x)"
        if self.copy_s:
            ours, theirs = (self.reports[name].bytes / 1e6 for name in ("fasttl", "tlparse"))
            row += f"   cp -r {statistics.median(self.copy_s):.2f} s   writes {ours:.0f} MB, peer {theirs:.0f} MB"
        return row


def compare(bench: Bench, name: str, log: Path, *, patient: bool = False) -> Compared:
    """Run both programs on an input, by turns, and copy the peer's report.

    Args:
        bench: The run.
        name: What the input is called.
        log: The input.
        patient: Whether a slow peer is run as often as fasttl.

    Returns:
        What was found.

    Raises:
        BenchError: If a program fails, or fasttl's report lacks something of the peer's.
    """
    found = Compared(name, bytes_of(log), bench.limit_s)
    outs = {tool: bench.tmp / f"report_{tool}" for tool in ("fasttl", "tlparse")}
    trees: dict[str, dict[str, int]] = {"tlparse": {}}
    copier = find_tool("cp")

    def keep(tool: str, program: str, limit_s: float | None) -> Run:
        run = reports.write(reports.command(program, log, outs[tool]), outs[tool], limit_s)
        if tool not in found.reports:
            trees[tool] = reports.tree(outs[tool])
            found.reports[tool] = reports.size_up(outs[tool])
        return run

    def ours() -> None:
        found.ours.append(keep("fasttl", bench.fasttl, None))
        shutil.rmtree(outs["fasttl"])

    given_up = False

    def peer() -> None:
        nonlocal given_up
        slow = not patient and bool(found.peer) and found.peer_s > SLOW_S
        if given_up or slow:
            return
        try:
            found.peer.append(keep("tlparse", bench.peer, bench.limit_s))
        except OutOfTimeError:
            given_up = True
        else:
            copy = bench.tmp / "copy"
            bench.settle()
            found.copy_s.append(measure([copier, "-r", str(outs["tlparse"]), str(copy)]).wall_s)
            shutil.rmtree(copy)
        finally:
            shutil.rmtree(outs["tlparse"], ignore_errors=True)

    bench.in_turn({"fasttl": ours, "tlparse": peer})
    reports.check_complete(trees["fasttl"], trees["tlparse"], found.input_bytes)
    bench.say(found.line())
    return found
