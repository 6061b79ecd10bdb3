"""The inputs P1 to P9 are what they say they are: each record is read, and only P9 has lines that are none."""

from __future__ import annotations

import time
from pathlib import Path

import fasttl
import polars as pl
import pytest
from grow import grow
from measures.inputs import Inputs, bytes_of, logs_of, rank_name
from measures.special import FILES, real_code

DATA = Path(__file__).resolve().parent.parent / "data"
SCALE = 0.002
# Records at that scale, the two at the front of each log included; `n` of each kind.
RECORDS = {
    "P1": 2 + FILES - 1 + 2 * 6,
    "P2": 2 + 2,
    "P3": 2 + 40,
    "P4": 2 + 2000,
    "P5": 2 + 200,
    "P6": 3,
    "P7a": 4,
    "P7b": 3,
    "P9": 2 + 40,
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return Inputs(tmp_path_factory.mktemp("inputs"), DATA, SCALE)


@pytest.fixture
def special(inputs):
    def find(key):
        return next(special for special in inputs.specials() if special.key == key)

    return find


@pytest.mark.parametrize("key", RECORDS)
def test_each_record_is_read(inputs, special, key):
    trace = fasttl.load(inputs.special(special(key), 1))
    assert trace.records.height == RECORDS[key]
    errors = trace.problems.filter(pl.col("severity").cast(pl.String) == "error")
    if key == "P9":
        assert errors.height == 40
        assert set(errors["kind"].cast(pl.String)) == {"foreign text"}
    else:
        assert trace.problems.height == 0


@pytest.mark.parametrize("key", RECORDS)
def test_twice_the_size_is_twice_as_much(inputs, special, key):
    once = bytes_of(inputs.special(special(key), 1))
    thrice = bytes_of(inputs.special(special(key), 3))
    five = bytes_of(inputs.special(special(key), 5))
    assert five - thrice == pytest.approx(thrice - once, rel=0.35 if key == "P2" else 0.05)


def test_pieces_of_code_are_real_and_all_different(inputs, special):
    records = fasttl.load(inputs.special(special("P2"), 20)).records
    code = records.filter(pl.col("kind").cast(pl.String) == "inductor_output_code")
    assert code.height == 40
    assert code["md5"].n_unique() == 40
    pieces = real_code(inputs.sources)
    assert pieces
    assert all(b"\t" not in piece[:1] and b"import" in piece for piece in pieces)


def test_stacks_are_deep(inputs, special):
    frames = fasttl.load(inputs.special(special("P1"), 1)).frames
    assert frames.height == 6


def test_large_ones_are_as_large_as_they_should_be(inputs, special):
    for key in ("P6", "P7a", "P7b"):
        log = inputs.special(special(key), 1)
        assert 400_000 <= log.stat().st_size < 410_000
    assert max(map(len, inputs.special(special("P7a"), 1).read_bytes().split(b"\n"))) > 400_000


def test_a_job_has_the_same_compiles_on_each_rank(inputs):
    job = inputs.job(3, 150_000)
    assert [log.name for log in logs_of(job)] == [rank_name(rank) for rank in range(3)]
    trace = fasttl.load(job)
    assert trace.files["rank"].to_list() == [0, 1, 2]
    assert trace.problems.height == 0
    ids = trace.records.select("file", pl.col("compile_id").cast(pl.String)).unique().group_by("file").len()
    assert ids["len"].n_unique() == 1
    ranks = trace.records.select("file", "rank").drop_nulls().unique().sort("file")
    assert ranks.rows() == [(0, 0), (1, 1), (2, 2)]


def test_p8_is_a_job(inputs, special):
    job = inputs.special(special("P8"), 2)
    assert len(logs_of(job)) == 6
    assert fasttl.load(job).problems.height == 0


def test_a_smaller_job_is_a_part_of_a_larger_one(inputs):
    large, small = inputs.job(5, 100_000), inputs.job(2, 100_000)
    assert [log.read_bytes() for log in logs_of(small)] == [log.read_bytes() for log in logs_of(large)[:2]]


def test_names_of_ranks_are_those_of_pytorch():
    names = {rank_name(rank) for rank in range(1000)}
    assert len(names) == 1000
    assert rank_name(3) == "dedicated_log_torch_trace_rank_3_daaaaaaa.log"
    assert rank_name(30) == "dedicated_log_torch_trace_rank_30_ebaaaaaa.log"


@pytest.mark.parametrize("order", [(300_000, 40_000), (40_000, 300_000)])
def test_a_log_is_what_growing_it_alone_gives(tmp_path, order):
    inputs = Inputs(tmp_path, DATA)
    for size in order:
        grow(inputs.sources, tmp_path / "alone", size)
        assert inputs.log(size).read_bytes() == (tmp_path / "alone").read_bytes()


def test_inputs_are_old_so_that_they_are_not_copied_when_they_are_opened(inputs, special):
    paths = [inputs.log(50_000), inputs.special(special("P3"), 1), *logs_of(inputs.job(2, 50_000))]
    assert all(time.time() - path.stat().st_mtime > 50 for path in paths)


def test_what_is_forgotten_is_gone_and_made_again(inputs, special):
    log, job = inputs.log(60_000), inputs.job(2, 60_000)
    for path in (log, job, inputs.special(special("P3"), 1)):
        inputs.forget(path)
        assert not path.exists()
    assert inputs.log(60_000).exists()
    assert inputs.job(2, 60_000).is_dir()
