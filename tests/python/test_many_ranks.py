"""A job of 512 ranks: its landing page stays small, and still leads to every rank."""

import json
from pathlib import Path

import fasttl
import polars as pl
import pytest
from handmade import IDS, record

RANKS = 512


def rank_log(rank):
    """Give a log of four compiles; every eighth rank has functions of its own and another collective."""
    odd = rank % 8 == 0
    metrics = {"co_name": f"f{rank}" if odd else "f", "co_filename": "/a/b.py", "graph_op_count": 1}
    schedule = json.dumps(["all_gather" if odd else "all_reduce_"])
    records = []
    for frame in range(4):
        ids = IDS.replace('"frame_id": 0', f'"frame_id": {frame}')
        about = {"name": "inductor_collective_schedule", "encoding": "json"}
        records += [
            record("dynamo_start", {"stack": []}, rank=rank, ids=ids),
            record("compilation_metrics", metrics, rank=rank, ids=ids),
            record("artifact", about, schedule, rank=rank, ids=ids),
        ]
    return b"".join(records)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    for rank in range(RANKS):
        (folder / f"dedicated_log_torch_trace_rank_{rank}_abcdefgh.log").write_bytes(rank_log(rank))
    return folder


@pytest.fixture(scope="module")
def page(job, tmp_path_factory):
    report = fasttl.write_report(job, tmp_path_factory.mktemp("report") / "out")
    return Path(report.index).read_text(encoding="utf-8")


def test_the_landing_page_is_bounded(page):
    assert len(page) < 300_000
    assert page.count("<") < 10_000


def test_every_rank_is_linked_last_in_a_closed_fold(page):
    before, _, links = page.rpartition("<details")
    assert all(f'href="rank_{rank}/index.html"' in links for rank in range(RANKS))
    assert not links.startswith(" open")
    assert "<section" not in links
    # Ranks that differ are in the table before others.
    assert all(f'href="rank_{rank}/index.html"' in before for rank in range(0, RANKS, 8))


def test_the_ranks_on_each_side_are_told_without_a_list_of_hundreds(page):
    assert "64 in all" in page
    assert "ranks 0, 8, 16, 24" in page


def test_every_difference_is_in_the_table(job):
    divergence = fasttl.load(job).divergence
    collectives = divergence.filter(pl.col("aspect").cast(pl.String) == "collectives")
    assert collectives["compile_id"].cast(pl.String).to_list() == ["0/0", "1/0", "2/0", "3/0"]
    assert collectives["odd_ranks"][0].to_list() == list(range(0, RANKS, 8))
