"""Group `load`: a log to tables, against the programs that only pass over its bytes, and against other ways to ask."""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from measures.bench import WORKERS, timing
from measures.process import BenchError, find_tool, measure, output

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from measures.bench import Bench


def lines_seconds(way: str, log: Path, records: int | None = None) -> float:
    """Ask for kind and frame id of each record in another way, in a process of its own.

    Args:
        way: One of those of `time_lines.py`.
        log: The log.
        records: How many records must be found, since a way that misses some is no comparison.

    Returns:
        The time inside the process.

    Raises:
        BenchError: If another number of records was found.
    """
    said = json.loads(output([sys.executable, str(WORKERS / "time_lines.py"), way, str(log)]))
    if records is not None and said["records"] != records:
        message = f"{way} found {said['records']} records, fasttl {records}"
        raise BenchError(message)
    return float(said["seconds"])


def _wall(words: list[str]) -> float:
    return measure(words).wall_s


def run(bench: Bench) -> dict[str, Any]:
    """Measure and judge.

    Args:
        bench: The run.

    Returns:
        Median and runs of each contender, by its name.
    """
    log, part = bench.inputs.log(bench.sizes.load), bench.inputs.log(bench.sizes.lines)
    tools = {"wc -l": ["wc", "-l"], "md5sum": ["md5sum"], "cat": ["cat"]}
    commands = {name: [find_tool(words[0]), *words[1:], str(log)] for name, words in tools.items()}
    records = bench.load(log)["records"]  # a first run also puts what is imported into the cache
    scale = log.stat().st_size / part.stat().st_size
    actions: dict[str, Callable[[], float]] = {
        "fasttl, md5 off": lambda: bench.load_seconds(log),
        "fasttl, md5 on": lambda: bench.load_seconds(log, "--verify"),
        **{name: partial(_wall, words) for name, words in commands.items()},
        "polars over the lines": lambda: lines_seconds("polars", log, records),
    }
    if importlib.util.find_spec("duckdb"):
        actions["DuckDB over the lines"] = lambda: lines_seconds("duckdb", log, records)
    else:
        bench.say("  note: duckdb is not installed, so it is left out")
    scaled = f"json in a loop ({bench.sizes.lines / 1e6:g} MB, scaled)"
    actions[scaled] = lambda: lines_seconds("json", part) * scale
    facts: dict[str, Any] = {"input_bytes": log.stat().st_size, "records": records, "times": {}}
    for name, runs in bench.in_turn(actions).items():
        facts["times"][name] = timing(runs)
        bench.say(f"  {name:42} {statistics.median(runs):8.3f} s")
    middle = {name: found["median_s"] for name, found in facts["times"].items()}
    bench.judge("load_wc", middle["fasttl, md5 off"] / middle["wc -l"])
    bench.judge("load_polars", middle["polars over the lines"] / middle["fasttl, md5 off"])
    bench.judge("load_md5sum", middle["fasttl, md5 on"] / middle["md5sum"])
    return facts
