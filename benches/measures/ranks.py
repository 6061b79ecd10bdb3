"""Group `ranks`: a job of 512 ranks with 2,000 compiles each is compared: time after loading, growth, and memory."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from measures.bench import WORKERS, timing
from measures.budgets import doublings
from measures.inputs import bytes_of
from measures.many_ranks import Job, part_of, write_job
from measures.process import BenchError, output

if TYPE_CHECKING:
    from pathlib import Path

    from measures.bench import Bench

WHOLE: Final = Job(ranks=512, compiles=2000)
# The smallest job that has all odd ranks in its first half.
SMALL: Final = Job(ranks=16, compiles=40)


def run(bench: Bench) -> dict[str, Any]:
    """Measure and judge.

    Args:
        bench: The run.

    Returns:
        Times and memory of the job, and of the first half of its ranks.

    Raises:
        BenchError: If the comparison does not find what is odd, and nothing else.
    """
    scale = bench.inputs.scale
    ranks = max(int(WHOLE.ranks * scale), SMALL.ranks)
    job = Job(ranks, max(int(WHOLE.compiles * scale), SMALL.compiles))
    whole = write_job(bench.inputs.folder / "many_ranks", job)
    half = part_of(whole, bench.inputs.folder / "many_ranks_half", ranks // 2)
    folders = {ranks // 2: half, ranks: whole}
    done = bench.in_turn({str(count): partial(_compare, folder, job) for count, folder in folders.items()})
    facts = {count: _facts(runs) | {"input_bytes": bytes_of(folders[int(count)])} for count, runs in done.items()}
    shutil.rmtree(half)
    shutil.rmtree(whole)
    seconds = [facts[str(count)]["seconds"]["median_s"] for count in folders]
    row = "   ".join(f"{count} ranks {value:.3f} s" for count, value in zip(folders, seconds, strict=True))
    bench.say(f"  {job.compiles} compiles each   {row}   load {facts[str(ranks)]['load']['median_s']:.3f} s")
    steps = doublings([float(count) for count in folders], seconds)
    bench.judge("ranks_time", seconds[-1])
    bench.judge("ranks_growth", max(steps))
    if (above := facts[str(ranks)]["above_mb"]) is not None:
        bench.judge("ranks_memory", above, ranks * job.compiles)
    return {"compiles": job.compiles, "jobs": facts, "doublings": steps}


def _compare(folder: Path, job: Job) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(output([sys.executable, str(WORKERS / "time_ranks.py"), str(folder)]))
    odd = [job.odd["more"], job.odd["graph"]]
    wanted = {"odd_ranks": odd, "slow_ranks": [job.odd["slow"]]}
    got = {key: said[key] for key in wanted}
    if got != wanted:
        message = f"the comparison of {folder.name} found {got}, and should have found {wanted}"
        raise BenchError(message)
    return said


def _facts(runs: list[dict[str, Any]]) -> dict[str, Any]:
    peaks = [run["above_mb"] for run in runs if run["above_mb"] is not None]
    return {
        "seconds": timing([run["divergence_s"] + run["skew_s"] for run in runs]),
        "divergence": timing([run["divergence_s"] for run in runs]),
        "skew": timing([run["skew_s"] for run in runs]),
        "load": timing([run["load_s"] for run in runs]),
        "loaded_mb": runs[0]["loaded_mb"],
        "above_mb": statistics.median(peaks) if peaks else None,
        "rows": runs[0]["rows"],
    }
