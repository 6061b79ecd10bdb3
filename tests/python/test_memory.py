"""Memory does not grow with the number of logs; of a report, `--max-memory` says how much it may be."""

from __future__ import annotations

import hashlib
import os
import sys
import time

import fasttl
import pytest
from measures.process import has_anonymous_memory, peak_anonymous_mb

RANKS = 64
RECORDS = 20_000
LIMIT_MB = 100


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """Make a job whose index takes more than twice the limit: small records, of which each has its row."""
    folder = tmp_path_factory.mktemp("job")
    line = 'V1129 23:59:{:02}.{:06} {} torch/x.py:7] {{"note": {{}}, "rank": {}}}\n'
    for rank in range(RANKS):
        log = folder / f"dedicated_log_torch_trace_rank_{rank}_abcdefgh.log"
        log.write_text("".join(line.format(n // 400, n, 4000 + rank, rank) for n in range(RECORDS)))
        # One that was written to lately is copied first.
        os.utime(log, (time.time() - 60,) * 2)
    return folder


def peak_mb(job, out, limit: str) -> float:
    words = ["-m", "fasttl", str(job), "-o", str(out), "--no-browser", "--threads", "2", "--max-memory", limit]
    return peak_anonymous_mb([sys.executable, *words])


@pytest.mark.slow
@pytest.mark.skipif(not has_anonymous_memory(), reason="the system does not tell it")
def test_a_job_of_64_ranks_stays_within_its_memory(job, tmp_path):
    held = peak_mb(job, tmp_path / "small", f"{LIMIT_MB}M")
    free = peak_mb(job, tmp_path / "large", "8G")
    assert held < LIMIT_MB, f"{held:.0f} MB of {LIMIT_MB}"
    # Else the limit would be kept by itself, and this test would say nothing.
    assert free > 1.5 * LIMIT_MB, f"{free:.0f} MB without a limit"
    names = sorted(path.relative_to(tmp_path / "small") for path in (tmp_path / "small").rglob("*"))
    assert names == sorted(path.relative_to(tmp_path / "large") for path in (tmp_path / "large").rglob("*"))


GUARD_RANKS = 24
GUARDS = 40_000
READ = "import fasttl, sys; trace = fasttl.load(sys.argv[1], threads=2); getattr(trace, sys.argv[2])"


@pytest.fixture(scope="module")
def guards(tmp_path_factory):
    """Make a job of which each rank has one record with much text: its guards."""
    folder = tmp_path_factory.mktemp("guards")
    leaf = "\t| +- GuardManager: source=L['x{0}'], accessed_by=A({0})\n\t| | +- LENGTH_CHECK: len(L['x{0}']) == {0}\n"
    tree = "\tTREE_GUARD_MANAGER:\n\t+- RootGuardManager\n" + "".join(leaf.format(n) for n in range(GUARDS))
    md5 = hashlib.md5(tree.replace("\n\t", "\n")[1:-1].encode(), usedforsecurity=False).hexdigest()
    ids = f'"frame_id": 0, "frame_compile_id": 0, "attempt": 0, "has_payload": "{md5}"'
    for rank in range(GUARD_RANKS):
        log = folder / f"dedicated_log_torch_trace_rank_{rank}_abcdefgh.log"
        head = f'{{"dynamo_cpp_guards_str": {{}}, "rank": {rank}, {ids}}}'
        log.write_text(f"V1129 23:59:59.000001 {4000 + rank} torch/x.py:7] {head}\n{tree}")
        os.utime(log, (time.time() - 60,) * 2)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(not has_anonymous_memory(), reason="the system does not tell it")
def test_sets_of_guards_do_not_hold_the_guards_of_all_ranks(guards):
    def peak(table):
        return peak_anonymous_mb([sys.executable, "-c", READ, str(guards), table])

    without = peak("problems")
    size_mb = sum(log.stat().st_size for log in guards.iterdir()) / 1e6
    sets = fasttl.load(guards).guard_sets
    assert (sets["guards"].to_list(), sets["set_md5"].n_unique()) == ([GUARDS] * GUARD_RANKS, 1)
    # Two threads hold the guards of a record each.
    assert peak("guard_sets") - without < 0.6 * size_mb
