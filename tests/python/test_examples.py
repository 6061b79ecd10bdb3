"""The example scripts run as their README says and find what is known to be in the example trace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


def run(script: str, *words: str) -> list[str]:
    command = [sys.executable, "-W", "error", str(EXAMPLES / script), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("words", [(), (str(EXAMPLES / "crash_3_ranks"),)], ids=["default", "named"])
def test_failed_compiles(words):
    said = run("failed_compiles.py", *words)
    assert said[0] == "1 failed"
    assert said[2].startswith("rank 1, 1/0 step (")
    assert said[3].startswith("BackendCompilerFailed: ")
    assert "MemoryError: out of memory on rank 1" in "\n".join(said[3:])


def test_slowest_compiles():
    said = run("slowest_compiles.py")
    # Eight compiles were started, and the one of rank 0 that the launcher cut off has no metrics.
    assert len(said) == 7
    seconds = [float(line.split()[0]) for line in said]
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[0] > 0
    places = sorted(line.split("backend  ")[1].split()[:4] for line in said)
    ok = {"0/0": "warm", "1/0": "step", "2/0": "late"}
    assert places == [
        ["rank", str(rank), compile_id, ok[compile_id]]
        for rank, ids in enumerate((("0/0", "1/0"), ("0/0", "1/0"), ("0/0", "1/0", "2/0")))
        for compile_id in ids
    ]
    assert [line.split()[-1] for line in said].count("error") == 1
