"""Measure fasttl against the peer, tlparse, on one grown log, and fail where it is not as fast as the budget asks.

Both tools run as whole processes, in turn, with the log and the reports in memory (tmpfs), since a disk's write-back
hides everything else. What counts is the ratio of the medians; seconds are only good for this machine. Results are
kept in `benches/results/`.

    python benches/compare.py [--size 200M] [--runs 3] [--min-ratio 8] [--traces DIR] [--tmp DIR]
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grow import GrowError, grow, parse_size

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benches" / "results"
MIX = ("large", "gpt", "train_mlp", "graph_breaks", "recompiles", "resnet")
SMALL_MIX = ("hello", "unusual", "fail_backend", "killed_between")
FLAGS = ("--no-browser", "--overwrite")


class BenchError(Exception):
    """The measurement could not be made, or would say nothing; the message tells why."""


@dataclass(frozen=True)
class Run:
    """What one process used."""

    wall_s: float
    user_s: float
    system_s: float
    peak_mb: float


@dataclass(frozen=True)
class Report:
    """What one process left behind."""

    files: int
    bytes: int


def find_sources(traces: Path | None) -> list[Path]:
    """Choose the logs to grow.

    Args:
        traces: A folder with one folder for each trace, or None for the large set beside the repository and, where
            that is missing, the small logs of the tests.

    Returns:
        The logs, in a fixed order.

    Raises:
        BenchError: If the folder has none of the traces.
    """
    if traces is None:
        shared = ROOT.parent / "shared" / "traces"
        traces = shared if shared.is_dir() else ROOT / "tests" / "data"
    mix = MIX if (traces / MIX[0]).is_dir() else SMALL_MIX
    logs = [log for name in mix for log in sorted((traces / name).glob("*.log"))]
    if not logs:
        message = f"{traces}: none of the traces {', '.join(MIX + SMALL_MIX)} is here; name another folder by --traces"
        raise BenchError(message)
    return logs


def find_tool(name: str) -> str:
    """Find a program: as it is given, beside this Python, or on the path.

    Args:
        name: A path or a name.

    Returns:
        The path to run.

    Raises:
        BenchError: If there is none.
    """
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if not found:
        message = f"{name}: not found; install the dev dependencies (make test does) or name the program by its option"
        raise BenchError(message)
    return found


def measure(command: list[str]) -> Run:
    """Run a command to its end.

    Args:
        command: The program and its arguments.

    Returns:
        Its time, and that of its children, and its peak memory.

    Raises:
        BenchError: If it does not exit with status 0, with the end of what it said.
    """
    with tempfile.TemporaryFile() as said:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            said.seek(0)
            tail = said.read()[-2000:].decode(errors="replace")
            message = f"{' '.join(command)}: exit status {process.returncode}\n{tail}"
            raise BenchError(message)
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(wall, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * unit / 1e6)


def tree(report: Path) -> dict[str, int]:
    """List a report: each file by its path below the folder, with its size in bytes."""
    return {path.relative_to(report).as_posix(): path.stat().st_size for path in report.rglob("*") if path.is_file()}


def check_complete(ours: dict[str, int], peer: dict[str, int], log: Path) -> None:
    """Refuse a comparison with a report that is not whole, since writing less is no speed.

    Args:
        ours: The tree of fasttl.
        peer: The tree of the peer.
        log: The input, which both have as `raw.log`.

    Raises:
        BenchError: If a file of the peer's is missing, or the log is not all there.
    """
    missing = sorted(set(peer) - set(ours))
    if missing:
        message = f"fasttl's report lacks {len(missing)} of the peer's {len(peer)} files, the first is {missing[0]}"
        raise BenchError(message)
    if ours.get("raw.log") != log.stat().st_size:
        message = f"fasttl's raw.log has {ours.get('raw.log')} bytes, the log {log.stat().st_size}"
        raise BenchError(message)


def compare(tools: dict[str, str], log: Path, tmp: Path, runs: int) -> tuple[dict[str, list[Run]], dict[str, Report]]:
    """Run the tools in turn.

    Args:
        tools: Name and program of each; with two, the order changes from run to run, so that neither always comes
            after the other.
        log: The input.
        tmp: Where the reports go; each is removed, outside of the measured time, before the next is written.
        runs: How often each is run.

    Returns:
        The runs and the size of the report of each tool.

    Raises:
        BenchError: If a tool fails, or a report is not whole.
    """
    measured: dict[str, list[Run]] = {name: [] for name in tools}
    trees: dict[str, dict[str, int]] = {}
    for turn in range(runs):
        for name in sorted(tools, reverse=bool(turn % 2)):
            out = tmp / f"report_{name}"
            measured[name].append(measure([tools[name], str(log), "-o", str(out), *FLAGS]))
            trees.setdefault(name, tree(out))
            shutil.rmtree(out)
            print(f"  run {turn + 1}  {name:8} {measured[name][-1].wall_s:8.2f} s", flush=True)
    if "fasttl" in trees and "tlparse" in trees:
        check_complete(trees["fasttl"], trees["tlparse"], log)
    return measured, {name: Report(len(files), sum(files.values())) for name, files in trees.items()}


def medians(runs: list[Run]) -> Run:
    """The median of each quantity by itself."""
    rows = [asdict(run) for run in runs]
    return Run(**{key: statistics.median(row[key] for row in rows) for key in rows[0]})


def machine(tmp: Path) -> dict[str, Any]:
    """Say what was measured on, without what would name the machine."""
    model = platform.processor() or platform.machine()
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        lines = (line.partition(":") for line in facts.read_text().splitlines())
        model = next((value.strip() for key, _, value in lines if key.strip() == "model name"), model)
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "file_system": _file_system(tmp),
    }


def _file_system(folder: Path) -> str:
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return "unknown"
    rows = [line.split() for line in mounts.read_text().splitlines()]
    fitting = [row for row in rows if folder.resolve().is_relative_to(row[1])]
    return max(fitting, key=lambda row: len(row[1]))[2] if fitting else "unknown"


def commit() -> str:
    """The short hash that the results belong to; `-dirty` where the tree holds changes, `none` before the first."""
    git = shutil.which("git")
    if not git:
        return "none"
    head = _said([git, "rev-parse", "--short=10", "--verify", "-q", "HEAD"])
    # Results of earlier runs are no change of what is measured.
    changes = _said([git, "status", "--porcelain", "--", ".", ":!benches/results"])
    return head + ("-dirty" if changes else "") if head else "none"


def _said(command: list[str]) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def show(middle: dict[str, Run], sizes: dict[str, Report]) -> None:
    """Print the medians side by side, and the ratios to the peer where both were run."""
    print(f"\n{'':9}{'wall s':>9}{'user s':>9}{'system s':>9}{'peak MB':>9}{'files':>9}{'MB':>9}")
    for name, run in middle.items():
        print(
            f"{name:9}{run.wall_s:9.2f}{run.user_s:9.2f}{run.system_s:9.2f}{run.peak_mb:9.0f}"
            f"{sizes[name].files:9}{sizes[name].bytes / 1e6:9.1f}"
        )
    if len(middle) > 1:
        ours, peer = (asdict(middle[name]) for name in ("fasttl", "tlparse"))
        ratios = "".join(f"{peer[key] / ours[key]:8.1f}x" if ours[key] else f"{'-':>9}" for key in peer)
        files = sizes["tlparse"].files / sizes["fasttl"].files
        print(f"{'ratio':9}{ratios}{files:8.1f}x{sizes['tlparse'].bytes / sizes['fasttl'].bytes:8.1f}x")


def store(results: Path, facts: dict[str, Any]) -> Path:
    """Write the results as JSON, named by date and commit, and return the path."""
    results.mkdir(parents=True, exist_ok=True)
    path = results / f"{facts['date'][:10]}-{facts['commit']}.json"
    path.write_text(json.dumps(facts, indent=2) + "\n")
    return path


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", type=parse_size, default=parse_size("200M"), help="size of the log (200M)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each tool (3)")
    parser.add_argument("--min-ratio", type=float, default=8.0, help="fail below this ratio of wall times (8)")
    parser.add_argument("--traces", type=Path, help="folder of traces to grow from")
    parser.add_argument("--tmp", type=Path, help="where log and reports go (a tmpfs where there is one)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the JSON goes (benches/results)")
    parser.add_argument("--only", choices=("fasttl", "tlparse"), help="measure this tool alone, without a verdict")
    parser.add_argument("--fasttl", default="fasttl", help="the program to measure")
    parser.add_argument("--tlparse", default="tlparse", help="the peer's program")
    args = parser.parse_args()
    if args.runs < 1:
        parser.error("--runs must be at least 1")
    return args


def bench(args: argparse.Namespace) -> bool:
    """Measure, print and store.

    Args:
        args: The options.

    Returns:
        Whether the budget is met; always true with `--only`.

    Raises:
        BenchError: If the measurement could not be made.
    """
    names = [args.only] if args.only else ["fasttl", "tlparse"]
    tools = {name: find_tool(getattr(args, name)) for name in names}
    memory = Path("/dev/shm")  # noqa: S108  (a private folder is made in it)
    base = args.tmp or (memory if memory.is_dir() else Path(tempfile.gettempdir()))
    sources = find_sources(args.traces)
    with tempfile.TemporaryDirectory(prefix="fasttl_bench_", dir=base) as folder:
        tmp = Path(folder)
        log = tmp / "dedicated_log_torch_trace_grown000.log"
        size = grow(sources, log, args.size)
        # A log of a job that is over: fasttl copies one that was written to in the last seconds.
        os.utime(log, (time.time() - 60,) * 2)
        where = _file_system(tmp)
        print(f"{size:,} bytes grown from {len(sources)} logs, on {where}")
        if where not in ("tmpfs", "unknown"):
            print("note: this is no tmpfs, so the times are those of the disk; name one by --tmp", file=sys.stderr)
        for tool in tools.values():
            measure([tool, "--version"])  # loads the programs and lets Python write its bytecode
        runs, sizes = compare(tools, log, tmp, args.runs)
        facts: dict[str, Any] = {
            "date": dt.datetime.now(tz=dt.timezone.utc).isoformat(timespec="seconds"),
            "commit": commit(),
            "machine": machine(tmp),
            "input": {"bytes": size, "sources": [source.parent.name for source in sources]},
        }
    middle = {name: medians(done) for name, done in runs.items()}
    show(middle, sizes)
    facts["tools"] = {
        name: {"median": asdict(middle[name]), "runs": [asdict(r) for r in runs[name]], "report": asdict(sizes[name])}
        for name in tools
    }
    if args.only:
        print(f"written to {store(args.results, facts)}")
        return True
    ratio = middle["tlparse"].wall_s / middle["fasttl"].wall_s
    facts |= {"ratio": ratio, "min_ratio": args.min_ratio}
    print(f"written to {store(args.results, facts)}")
    print(f"{'ok' if ratio >= args.min_ratio else 'TOO SLOW'}: {ratio:.1f}x the peer, wanted {args.min_ratio:g}x")
    return bool(ratio >= args.min_ratio)


def main() -> None:
    """Run from the command line; exit status 0 within the budget, 1 below it, 2 where nothing could be measured."""
    try:
        sys.exit(0 if bench(options()) else 1)
    except (BenchError, GrowError, OSError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
