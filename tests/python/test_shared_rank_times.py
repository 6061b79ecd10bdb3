"""Tables `ranks` and `skew` on real jobs, held against the programs that wrote the logs and against their metrics."""

import shutil

import fasttl
import polars as pl
import pytest
from fasttl.queries.rank_report import rank_report
from real_traces import TRACES, loaded, of_kind, rows

pytestmark = pytest.mark.shared

JOBS = sorted(path.name for path in TRACES.glob("*dist_*"))
ALIKE = ("dist_ddp", "dist_fsdp2", "dist_many", "dist_restart", "dist_collectives")

# The span of a compile has a little more than its metrics: what comes before and after.
SPAN_HAS_MORE_S = 1.0


@pytest.mark.parametrize("name", JOBS)
def test_times_are_those_of_the_metrics(name):
    frames = loaded(name).frames.filter(pl.col("rank").is_not_null())
    spent = pl.col("entire_frame_s") + pl.col("backward_s").fill_null(0.0)
    columns = ("file", "compile_id", spent.alias("seconds"))
    by_rank = {(file, compile_id): seconds for file, compile_id, seconds in frames.select(columns).iter_rows()}
    newest = dict(rows(name, "ranks", "rank", "file"))
    for rank, compile_id, seconds in rows(name, "skew", "max_rank", "compile_id", "max_s"):
        of_metrics = by_rank.get((newest.get(rank), compile_id))
        if rank is not None and of_metrics is not None:
            assert of_metrics - 0.01 <= seconds <= of_metrics + SPAN_HAS_MORE_S


@pytest.mark.parametrize("name", JOBS)
def test_a_row_holds_together(name):
    for row in loaded(name).skew.to_dicts():
        known = [row[key] for key in ("min_s", "median_s", "max_s") if row[key] is not None]
        assert known == sorted(known)
        assert row["waited_s"] is None or row["waited_s"] >= 0
        assert row["start_spread_s"] is None or 0 <= row["start_spread_s"] < 60
        assert row["ranks"] >= 1
    ranks = loaded(name).ranks
    assert ranks["rank"].to_list() == sorted({rank for rank in loaded(name).files["rank"] if rank is not None})
    assert ranks["behind_s"].min() == 0
    assert (ranks["waiting_s"] >= 0).all()


@pytest.mark.parametrize("name", ALIKE)
def test_ranks_that_are_alike_are_one_group(name):
    assert set(rows(name, "ranks", "state", "group", "last_state")) == {("compared", 0, "done")}
    assert not of_kind(name, "rank skew")
    assert not of_kind(name, "missing ranks")
    assert rank_report(loaded(name)).skew.is_empty()


def test_a_crash():
    table = loaded("dist_crash").ranks
    columns = ("rank", "compiles", "failures", "last_compile_id", "last_state")
    assert table.select(columns).rows() == [
        (0, 3, 0, "2/0", "open"),
        (1, 2, 1, "1/0", "failed"),
        (2, 3, 0, "2/0", "done"),
    ]
    # What rank 0 had begun last, and not ended.
    assert table["last_step"][0] == "build_guards"
    [finding] = of_kind("dist_crash", "unfinished compiles")
    assert finding["ranks"] == [0]
    assert "Last step: `build_guards`." in finding["sentence"]


def test_the_rank_that_fills_the_cache_is_slow():
    table = loaded("dist_diverge_cache").ranks
    assert table.select("rank", "cache_hits", "cache_misses").rows() == [(0, 0, 2), (1, 2, 0), (2, 2, 0)]
    [finding] = of_kind("dist_diverge_cache", "rank skew")
    assert (finding["ranks"], finding["compile_ids"]) == ([0], ["0/0"])


def test_a_log_that_is_not_there_is_missing(tmp_path):
    folder = tmp_path / "job"
    shutil.copytree(TRACES / "dist_many", folder)
    [log] = folder.glob("*rank_3_*")
    log.unlink()
    trace = fasttl.load(folder)
    assert trace.ranks.filter(pl.col("state").cast(pl.String) == "missing")["rank"].to_list() == [3]
    [finding] = trace.findings.filter(pl.col("kind").cast(pl.String) == "missing ranks").to_dicts()
    assert finding["sentence"] == "1 of the 8 ranks has no log: rank 3."
    assert trace.divergence.is_empty()


@pytest.mark.parametrize("name", ["killed", "killed_between", "processes", "threads"])
def test_logs_without_ranks_have_none(name):
    assert loaded(name).ranks.is_empty()
    assert loaded(name).skew.is_empty()
