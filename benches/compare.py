"""Measure fasttl against its budgets: the peer, tlparse, plain tools over the same bytes, and its own growth.

Programs run as whole processes, by turns, with inputs and reports in memory (tmpfs), since a disk's write-back hides
everything else. What counts are ratios of medians; seconds are only good for this machine. Results are kept in
`benches/results/`. Exit status: 0 all budgets are kept, 1 one is missed, 2 something could not be measured.

    python benches/compare.py [--only GROUP[,GROUP…]] [--quick] [--size 200M] [--runs 3] [--traces DIR] [--tmp DIR]
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grow import GrowError, parse_size
from measures import growth, load, memory, ranks, report, slow, startup
from measures.bench import Bench, Sizes
from measures.budgets import GROUPS
from measures.inputs import ROOT, Inputs
from measures.process import BenchError, find_tool, measure, memory_folder, output
from measures.results import budget_facts, commit, file_system, machine, store, table

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS = ROOT / "benches" / "results"
# A load average above this is that of another program; a machine at rest has less.
BUSY = 0.5
QUICK_SIZE = 400_000
QUICK_RANKS = 4
QUICK_SCALE = 0.002
RUNNERS: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "report": report.run,
    "load": load.run,
    "memory": memory.run,
    "growth": growth.run,
    "threads": growth.run_threads,
    "startup": startup.run,
    "ranks": ranks.run,
    "slow-inputs": slow.run,
}


def groups(text: str) -> list[str]:
    """Read the names of groups, apart by commas; the order is always that of a whole run."""
    wanted = {name.strip() for name in text.split(",")}
    if unknown := wanted - set(GROUPS):
        message = f"no such group: {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}"
        raise argparse.ArgumentTypeError(message)
    return [name for name in GROUPS if name in wanted]


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--only", type=groups, default=list(GROUPS), help=f"measure these groups: {', '.join(GROUPS)} (all)"
    )
    parser.add_argument("--quick", action="store_true", help="small inputs, one run, no verdicts")
    parser.add_argument("--size", type=parse_size, help="size of one log; other inputs follow from it (200M)")
    parser.add_argument("--ranks", type=int, help="ranks of the job (32)")
    parser.add_argument("--runs", type=int, help="runs of each measurement (3)")
    parser.add_argument("--limit", type=float, default=60.0, help="end the peer after so many seconds (60)")
    parser.add_argument("--traces", type=Path, help="folder of traces to grow from")
    parser.add_argument("--tmp", type=Path, help="where inputs and reports go (a tmpfs where there is one)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the results go (benches/results)")
    parser.add_argument("--fasttl", default="fasttl", help="the program to measure")
    parser.add_argument("--tlparse", default="tlparse", help="the peer's program")
    args = parser.parse_args()
    args.size = args.size or (QUICK_SIZE if args.quick else parse_size("200M"))
    args.ranks = args.ranks or (QUICK_RANKS if args.quick else 32)
    args.runs = (1 if args.quick else 3) if args.runs is None else args.runs
    if args.runs < 1 or args.ranks < 1:
        parser.error("--runs and --ranks must be at least 1")
    return args


def prepare(args: argparse.Namespace, tmp: Path) -> Bench:
    """Find the programs, and start each once, which loads them and lets Python write its bytecode."""
    (tmp / "inputs").mkdir()
    bench = Bench(
        fasttl=find_tool(args.fasttl),
        peer=find_tool(args.tlparse),
        inputs=Inputs(tmp / "inputs", args.traces, QUICK_SCALE if args.quick else 1.0),
        sizes=Sizes.of(args.size, args.ranks),
        tmp=tmp,
        runs=args.runs,
        limit_s=args.limit,
        judged=not args.quick,
    )
    for tool in (bench.fasttl, bench.peer):
        measure([tool, "--version"])
    where = file_system(tmp)
    if where not in ("tmpfs", "unknown"):
        print("note: this is no tmpfs, so the times are those of the disk; name one by --tmp", file=sys.stderr)
    bench.say(f"grown from {len(bench.inputs.sources)} logs, on {where}")
    return bench


def measure_groups(bench: Bench, names: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Measure group after group; one that cannot be measured does not take the others with it.

    Args:
        bench: The run.
        names: The groups.

    Returns:
        What was found by group, and why a group has no result.
    """
    found: dict[str, Any] = {}
    failed: dict[str, str] = {}
    for name in names:
        start = time.perf_counter()
        bench.say(f"\n{name}")
        try:
            found[name] = RUNNERS[name](bench)
        except (BenchError, GrowError, OSError) as error:
            failed[name] = str(error)
            print(f"{name}: {error}", file=sys.stderr)
        bench.say(f"  ({time.perf_counter() - start:.0f} s)")
    return found, failed


def run(args: argparse.Namespace) -> int:
    """Measure, print and store.

    Args:
        args: The options.

    Returns:
        The exit status.

    Raises:
        BenchError: If nothing can be measured.
    """
    with tempfile.TemporaryDirectory(prefix="fasttl_bench_", dir=args.tmp or memory_folder()) as folder:
        bench = prepare(args, Path(folder))
        # Before the minutes in which the tree may change, and the load is that of this run.
        facts: dict[str, Any] = {
            "date": dt.datetime.now(tz=dt.timezone.utc).isoformat(timespec="seconds"),
            "commit": commit(),
            "machine": machine(Path(folder)),
        }
        if facts["machine"]["load"] > BUSY:
            print(f"note: the machine does other work (load {facts['machine']['load']}); expect noise", file=sys.stderr)
        found, failed = measure_groups(bench, args.only)
        facts |= {
            "options": {"size": args.size, "ranks": args.ranks, "runs": args.runs, "quick": args.quick},
            "peer": output([bench.peer, "--version"]).strip(),
            "sources": [source.parent.name for source in bench.inputs.sources],
            "job_sources": [source.parent.name for source in bench.inputs.job_sources],
            "budgets": budget_facts(bench.verdicts),
            "failed": failed,
            "groups": found,
        }
    print(f"\n{table(facts['budgets'])}\n")
    print(f"written to {store(args.results, facts)}")
    missed = sum(verdict.missed for verdict in bench.verdicts)
    if failed:
        print(f"not measured: {', '.join(failed)}", file=sys.stderr)
        return 2
    word = f"{missed} of {len(bench.verdicts)} budgets MISSED" if missed else "ok: no budget is missed"
    print("nothing was judged: the inputs are too small" if args.quick else word)
    return 1 if missed else 0


def main() -> None:
    """Run from the command line."""
    try:
        sys.exit(run(options()))
    except (BenchError, GrowError, OSError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
