"""`Trace.summary` and `Trace.stats`: the counts a person wants first, and what uses memory."""

import json

import fasttl
import pytest


def test_a_job_of_three_ranks(example):
    found = fasttl.load(example).summary()
    assert (found.logs, found.ranks, found.records, found.problems) == (3, [0, 1, 2], 224, 0)
    # Rank 1 fails in 1/0; rank 0 is terminated in 2/0; six compiles are whole.
    assert found.compiles == {"error": 1, "missing": 1, "ok": 6}
    assert (found.failures, found.unfinished, found.recompiles, found.graph_breaks) == (1, 1, 0, 0)
    assert found.versions["torch"] == ["2.13.0+cpu"]
    assert found.versions["python"][0].startswith("3.11")
    assert "triton" not in found.versions
    assert found.compile_s == pytest.approx(sum(fasttl.load(example).frames["entire_frame_s"].drop_nulls()))


def test_recompiles_are_compiles_of_a_frame_again(data):
    found = fasttl.load(data("processes")).summary()
    assert found.recompiles == 1
    assert found.ranks == [None]


@pytest.mark.shared
def test_caches_and_graph_breaks(shared):
    warm = fasttl.load(shared / "traces" / "dist_diverge_cache").summary()
    # Rank 0 misses, ranks 1 and 2 hit.
    assert warm.cache["aotautograd"] == {"hit": 2, "miss": 1}
    breaks = fasttl.load(shared / "traces" / "graph_breaks").summary()
    assert breaks.graph_breaks > 0


def test_what_is_not_logged_is_none(tmp_path):
    log = tmp_path / "a.log"
    log.write_text('V1129 23:51:41.631000 7 torch/x.py:1] {"str": ["a", 0]}\n')
    found = fasttl.load(log).summary()
    assert (found.records, found.compiles, found.compile_s, found.versions, found.cache) == (1, {}, None, {}, {})
    assert "Compile time: not logged" in str(found)


def test_it_is_text_a_dict_and_a_table(example):
    found = fasttl.load(example).summary()
    assert str(found) == found.text()
    assert "Compiles: 8: 1 error, 1 missing, 6 ok" in str(found).splitlines()
    assert json.loads(json.dumps(found.to_dict()))["compiles"]["ok"] == 6
    assert found._repr_html_().startswith("<table>")


def test_texts_of_logs_are_no_markup(tmp_path):
    head = "V1129 23:51:41.631000 7 torch/x.py:1] "
    log = tmp_path / "a.log"
    log.write_text(f'{head}{{"compilation_metrics": {{"pytorch_version": "<script>"}}, "frame_id": 0}}\n')
    found = fasttl.load(log).summary()
    assert found.versions["torch"] == ["<script>"]
    assert "<script>" not in found._repr_html_()


def test_a_log_that_is_gone_still_has_its_counts(example, tmp_path):
    log = tmp_path / "a.log"
    log.write_bytes(next(example.glob("*rank_2*")).read_bytes())
    trace = fasttl.load(log)
    log.unlink()
    assert trace.summary().versions["torch"] == ["2.13.0+cpu"]


def test_stats_are_of_tables_that_were_built(example):
    trace = fasttl.load(example)
    table = trace.stats()
    assert table["table"].to_list() == trace.tables
    assert not table["built"].any()
    assert table["bytes"].null_count() == len(trace.tables)
    assert trace.frames.height == 8
    assert trace.arrow("files").num_rows == 3
    built = trace.stats().filter("built")
    assert built.select("table", "rows").rows() == [("files", 3), ("frames", 8)]
    assert built["bytes"].min() > 0
    whole = trace.stats(build=True)
    assert whole["rows"].null_count() == 0
    with pytest.raises(fasttl.OptionError):
        trace.is_built("nope")
