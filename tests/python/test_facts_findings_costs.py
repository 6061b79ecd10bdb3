"""Sentences of `findings` on real traces about what costs time: caches, CUDA graphs, guards, phases."""

import fasttl
import pytest
from handmade import METRICS, job, log, record
from real_traces import folders, of_kind, rows, seconds, sentences, values

pytestmark = pytest.mark.shared

ENOUGH_SECONDS = 5.0

# Caches.


def test_cold_caches_count_their_look_ups():
    for name, graphs, results in (("cache_cold", 3, 2), ("gpt", 3, 2), ("train_mlp", 5, 5)):
        cold = [text for text in sentences(name, "caches") if "cold" in text]
        assert any(f"FX graph cache was cold: {graphs} " in text for text in cold), name
        assert any(f"AOTAutograd cache was cold: {results} " in text for text in cold), name


@pytest.mark.parametrize("name", ["cache_cold", "cache_warm"])
def test_a_bypass_is_told_with_its_reason(name):
    bypassed = [row for row in of_kind(name, "caches") if row["severity"] == "warning"]
    assert len(bypassed) == 2
    assert all(row["compile_ids"] == ["2/0"] for row in bypassed)
    assert all("Unsupported post grad custom pass" in row["sentence"] for row in bypassed)


def test_a_warm_cache_is_not_called_cold():
    assert not any("cold" in text or "missed" in text for text in sentences("cache_warm", "caches"))


def test_one_cold_rank_among_warm_ones_is_named():
    found = of_kind("dist_diverge_cache", "caches")
    assert [row["ranks"] for row in found] == [[0], [0]]
    assert all("missed 1 of 3 look-ups on rank 0" in row["sentence"] for row in found)


@pytest.mark.parametrize("name", ["recompiles", "dist_backward", "dist_diverge_order", "torch214_dist_diverge_order"])
def test_no_word_of_caches_that_were_not_asked(name):
    assert of_kind(name, "caches") == []


# CUDA graphs: no program of the set runs on a GPU.


def test_skipped_cuda_graphs_are_told_with_their_reason(tmp_path):
    reason = "skipping cudagraphs due to cpu device (arg0_1)"
    skipped = {**METRICS, "cudagraph_skip_reason": reason}
    logs = [log(record("compilation_metrics", skipped, rank=rank), rank=rank) for rank in (0, 1)]
    logs.append(log(record("compilation_metrics", METRICS, rank=2), rank=2))
    findings = fasttl.load(job(tmp_path / "job", *logs)).findings
    [finding] = findings.filter(kind="cudagraphs").to_dicts()
    assert finding["ranks"] == [0, 1]
    assert finding["compile_ids"] == ["0/0"]
    assert finding["sentence"] == f"CUDA graphs were skipped for 2 compiles on ranks 0, 1: {reason}."
    assert finding["evidence_table"] == "metrics"
    assert len(finding["evidence_offsets"]) == 2


@pytest.mark.parametrize("name", ["hello", "public_recommender"])
def test_no_word_of_cuda_graphs_that_were_not_skipped(name):
    assert of_kind(name, "cudagraphs") == []


# Guards and time.


def test_many_guards_are_told_with_the_most_of_a_compile():
    for name, function in (("gpt", "`forward` (gpt.py:35)"), ("public_curve_fit", "`forward` (modeling_bert.py:1001)")):
        most = max(guards or 0 for guards in values(name, "frames", "guards"))
        [finding] = of_kind(name, "guards")
        assert finding["sentence"].startswith(f"{function} has up to {most} guards")
        assert finding["severity"] == "info"


@pytest.mark.parametrize("name", ["hello", "resnet", "large"])
def test_no_word_of_few_guards(name):
    assert of_kind(name, "guards") == []


@pytest.mark.parametrize("name", folders())
def test_the_time_is_that_of_all_compiles(name):
    spent = seconds(name)["spent"].sum()
    found = of_kind(name, "slow phases")
    assert len(found) == (spent >= ENOUGH_SECONDS)
    for finding in found:
        assert finding["cost_s"] == pytest.approx(spent)
        assert finding["severity"] == "info"


@pytest.mark.parametrize("name", folders())
def test_the_slowest_compile_is_the_one_that_is_named(name):
    for finding in of_kind(name, "slow phases"):
        slowest = seconds(name).row(0, named=True)
        assert f"compile id {slowest['compile_id']}:" in finding["sentence"]
        assert len(finding["evidence_offsets"]) <= 5
        where = {"file": finding["evidence_files"][0], "offset": finding["evidence_offsets"][0]}
        assert rows(name, "metrics", "frame_id", "frame_compile_id", **where) == [
            (slowest["frame_id"], slowest["frame_compile_id"]),
        ]


@pytest.mark.parametrize("name", ["fail_backend", "graph_breaks", "processes", "torch214_recompiles"])
def test_no_word_of_little_time(name):
    assert seconds(name)["spent"].sum() < ENOUGH_SECONDS
    assert of_kind(name, "slow phases") == []
