"""`Trace.summary` and `Trace.stats`: the counts a person wants first, and what uses memory."""

import json

import fasttl
import pytest
from handmade import METRICS, artifact, log, record


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


def counted(**counts):
    """Give metrics that count remote look-ups."""
    return record("compilation_metrics", {**METRICS, **counts})


REMOTE = {"inductor_fx_remote_cache_hit_count": 3, "inductor_fx_remote_cache_miss_count": 2}


def test_a_look_up_counts_once_and_as_often_as_it_was_made(tmp_path):
    # Metrics alone tell of five look-ups.
    (tmp_path / "counted.log").write_bytes(log(counted(**REMOTE)))
    found = fasttl.load(tmp_path / "counted.log").summary()
    assert (found.cache, found.cache_stored) == ({"fx_graph": {"hit": 3, "miss": 2}}, {})
    # Where records tell of the same, these count; the other cache has none.
    told = log(
        artifact("fx_graph_cache_hit", "{}"),
        artifact("fx_graph_cache_miss", "{}"),
        counted(**REMOTE, aotautograd_remote_cache_hit_count=4),
    )
    (tmp_path / "told.log").write_bytes(told)
    found = fasttl.load(tmp_path / "told.log").summary()
    assert found.cache == {"aotautograd": {"hit": 4}, "fx_graph": {"hit": 1, "miss": 1}}
    # Each log tells for itself.
    found = fasttl.load(tmp_path).summary()
    assert found.cache == {"aotautograd": {"hit": 4}, "fx_graph": {"hit": 4, "miss": 3}}


def test_what_was_stored_is_no_look_up(tmp_path):
    names = ("get_local_code_state", "put_local_code_state", "put_remote_code_state")
    (tmp_path / "a.log").write_bytes(log(*(artifact(name, "x") for name in names)))
    found = fasttl.load(tmp_path / "a.log").summary()
    assert (found.cache, found.cache_stored) == ({"pgo": {"hit": 1}}, {"pgo": 2})
    assert {"Cache pgo: 1 hit", "Stored in cache pgo: 2"} <= set(str(found).splitlines())


def test_what_a_terminal_would_obey_is_shown_as_text(tmp_path):
    bad = "\x1b[2J\x1b]0;pwn\x07 \u202e bad"
    (tmp_path / "a.log").write_bytes(
        log(
            artifact("dynamo_graph_break_reason", f"Graph break in user code at a.py:3\nReason: {bad}\nmore"),
            artifact("fx_graph_cache_hash", json.dumps({"cache_state": bad})),
            record("compilation_metrics", {**METRICS, "pytorch_version": "2\x1b[1m", "restart_reasons": [bad]}),
        )
    )
    found = fasttl.load(tmp_path / "a.log").summary()
    assert "\x1b" in found.versions["torch"][0]
    assert any("\x1b" in sentence for sentence in found.findings)
    for text in (str(found), found.text()):
        assert text.replace("\n", "").isprintable()
        assert r"Version of torch: 2\x1b[1m" in text


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
