"""The memory of a report does not grow with the number of logs, and `--max-memory` says how much it may be."""

from __future__ import annotations

import os
import sys
import time

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
