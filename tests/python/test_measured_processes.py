"""What the benchmark says of a process is true: its time, its memory, its end."""

from __future__ import annotations

import sys
import time

import pytest
from measures.process import (
    BenchError,
    OutOfTimeError,
    has_anonymous_memory,
    measure,
    output,
    peak_anonymous_mb,
)

needs_anonymous = pytest.mark.skipif(not has_anonymous_memory(), reason="the system does not tell it")
NAP = "import time; time.sleep(0.1)\n"


def python(code: str, *args: str) -> list[str]:
    return [sys.executable, "-c", code, *args]


def test_time_is_that_of_the_whole_process():
    run = measure(python("import time; time.sleep(0.2)"))
    assert run.wall_s >= 0.2
    assert run.cpu_s < run.wall_s
    assert run.peak_mb > 1


def test_a_process_that_fails_is_no_measurement():
    with pytest.raises(BenchError, match=r"exit status 3\nsaid so"):
        measure(python("import sys; print('said so'); sys.exit(3)"))
    with pytest.raises(BenchError, match="exit status 3"):
        output(python("import sys; sys.exit(3)"))


def test_a_process_that_takes_too_long_is_ended():
    start = time.perf_counter()
    with pytest.raises(OutOfTimeError):
        measure(python("import time; time.sleep(60)"), limit_s=0.3)
    assert time.perf_counter() - start < 30


@needs_anonymous
def test_memory_of_its_own_counts():
    assert 100 <= peak_anonymous_mb(python(f"x = b'x' * 100_000_000\n{NAP}")) < 140


@needs_anonymous
def test_the_map_of_a_file_does_not_count(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"x" * 100_000_000)
    code = (
        "import mmap, sys\nfile = open(sys.argv[1])\n"
        f"map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\nmap.find(b'y')\n{NAP}"
    )
    assert peak_anonymous_mb(python(code, str(file))) < 40
