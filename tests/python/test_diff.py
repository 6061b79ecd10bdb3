"""`fasttl.diff` and `Trace.diff`: what is told of two sides, and what is not."""

import fasttl
import polars as pl
import pytest

SHARED = pytest.mark.shared


def changes(found, aspect):
    """Give the rows of an aspect: change, place, and what both sides have."""
    rows = found.table.filter(pl.col("aspect") == aspect).select(pl.col("change").cast(pl.String), "place", "a", "b")
    return rows.rows()


def differing(found):
    """Name the aspects that differ."""
    return set(found.summary.filter(pl.col("differences") > 0)["aspect"].cast(str).to_list())


def verdicts(found):
    """Give the verdict on each aspect."""
    return dict(found.summary.select(pl.col("aspect", "verdict").cast(pl.String)).rows())


@pytest.fixture(scope="session")
def traces(shared):
    """Load a trace of the large set, once."""
    loaded = {}

    def load(name):
        if name not in loaded:
            loaded[name] = fasttl.load(shared / "traces" / name)
        return loaded[name]

    return load


def test_a_trace_does_not_differ_from_itself(example, data):
    for path in (example, data("hello"), data("provenance")):
        found = fasttl.diff(path, path)
        assert found.same
        assert found.table.is_empty()
        assert len(found.summary) == 11
        assert "only" not in str(found)
        assert "the same" in repr(found)


def test_ranks_of_the_example(example):
    found = fasttl.load(example).diff(1, 2)
    assert not found.same
    assert changes(found, "status")[0] == ("changed", "status", "error", "ok")
    # Rank 1 failed in 1/0, and has no 2/0.
    row = found.table.row(0, named=True)
    assert (row["change"], row["compile_a"], row["compile_b"], row["rank_b"]) == ("only b", None, "2/0", 2)
    text = str(found)
    assert "out of memory on rank 1" in text
    assert "late at dist_crash.py:28" in text
    assert "compiles: differs. 2 pairs of compiles, 1 only in b." in text


def test_rows_name_the_records_that_show_them(example):
    trace = fasttl.load(example)
    found = trace.diff(1, 2, aspects=["status"])
    row = found.table.row(0, named=True)
    head = trace.metadata({"file": row["file_a"], "offset": row["offset_a"]})
    assert "BackendCompilerFailed" in head
    assert '"rank": 1' in head
    assert found.summary["aspect"].to_list() == ["status"]


def test_a_selection_of_each_side(example):
    found = fasttl.diff(example, select_a="r1/1/0", select_b="r2/0/0", aspects=["compiles"])
    [(change, place, a, b)] = changes(found, "compiles")
    assert (change, place) == ("changed", "code")
    assert (a.split()[0], b.split()[0]) == ("step", "warm")
    assert fasttl.diff(example, example, rank=2).same
    assert found.sides == (f"{example} r1/1/0", f"{example} r2/0/0")


def test_wrong_options(example):
    for options, word in (
        ({}, "nothing to compare"),
        ({"select_a": "r0", "select_b": "r0"}, "nothing to compare"),
        ({"select_a": "rank 0"}, "not a selection"),
        ({"select_a": "r0", "rank": 1}, "rank names both"),
        ({"select_a": "r9"}, "no log is of rank 9"),
        ({"select_a": "r0/0/0"}, "on one side only"),
        ({"select_a": "r0", "aspects": ["graphs"]}, "the aspects are compiles"),
        ({"select_a": "r0", "min_seconds": -1}, "min_seconds"),
        ({"select_a": "r0", "min_share": float("nan")}, "min_share"),
    ):
        with pytest.raises(fasttl.OptionError, match=word):
            fasttl.diff(example, **options)


def test_the_notebook_table_escapes_what_logs_say(example):
    page = fasttl.load(example).diff(1, 2)._repr_html_()
    assert page.startswith("<table>")
    assert "<class" not in page
    assert "MemoryError" in page


def test_the_text_may_be_short(example):
    found = fasttl.load(example).diff(1, 2)
    assert "more difference" in found.text(rows=0)
    assert len(found.text(rows=None)) >= len(found.text())


# The large set. What is expected stands in its programs and its list of facts.


@SHARED
@pytest.mark.parametrize("name", ["recompiles", "graph_breaks", "cache_cold", "train_mlp", "dist_diverge_break"])
def test_large_traces_do_not_differ_from_themselves(traces, name):
    found = fasttl.diff(traces(name), traces(name))
    assert found.table.is_empty()


@SHARED
def test_cold_and_warm_differ_in_their_caches_and_times_only(traces):
    found = fasttl.diff(traces("cache_cold"), traces("cache_warm"))
    assert differing(found) == {"phases", "cache"}
    answers = changes(found, "cache")
    # 0/0 forward and backward, 1/0; 2/0 bypasses both.
    assert len(answers) == 5
    assert {(a, b) for _, _, a, b in answers} == {("miss", "hit")}
    frames = found.table.filter((pl.col("aspect") == "phases") & (pl.col("place") == "all compiles"))
    assert frames["delta"].to_list()[0] < -5
    assert verdicts(found)["guards"] == "same"


@SHARED
def test_two_releases(traces):
    found = fasttl.diff(traces("recompiles"), traces("torch214_recompiles"))
    versions = changes(found, "versions")
    assert [place for _, place, _, _ in versions] == ["PyTorch"]
    assert versions[0][2].startswith("2.13")
    assert versions[0][3].startswith("2.14")
    settings = {place: (a, b) for _, place, a, b in changes(found, "configuration")}
    assert settings["dynamo.use_lamba_guard_for_object_aliasing"] == ("true", "false")
    assert settings["inductor.numerics"] == (None, '"default"')
    assert not any("dir" in place for place in settings)
    # The same program: the same compiles, which were recompiled for the same reasons.
    assert changes(found, "compiles") == []
    assert changes(found, "recompile reasons") == []


@SHARED
def test_a_rank_with_another_shape(traces):
    found = traces("dist_diverge_shape").diff(0, 2)
    [(change, _, a, b)] = changes(found, "compiles")
    assert (change, a) == ("only b", None)
    assert b.startswith("layer at dist_diverge_shape.py:13")
    # That it knows of two sizes is guarded where `tail` takes a view.
    assert changes(found, "guards") == [("only b", "LAMBDA_GUARD", None, "2 <= L['x']._base.size()[0]")]
    assert differing(found) <= {"compiles", "phases", "guards"}
    # The compile that rank 2 has more is for another shape, which became a symbol.
    one = fasttl.diff(traces("dist_diverge_shape"), select_a="r2/0/0", select_b="r2/0/1")
    sizes = [(a, b) for _, place, a, b in changes(one, "guards") if place == "L['x'] TENSOR_MATCH"]
    assert len(sizes) == 1
    assert "size=[8, 4]" in sizes[0][0]
    assert "size=[None, 4]" in sizes[0][1]
    assert changes(one, "graph")


@SHARED
def test_a_rank_with_another_graph(traces):
    found = traces("dist_diverge_break").diff(0, 3)
    graph = changes(found, "graph")
    assert ("changed", "operations", "6", "7") in graph
    assert any(change == "only b" and b.startswith("y_1") and ".clamp(-1, 1)" in b for change, _, _, b in graph)
    assert changes(found, "compiles") == []
    guards = changes(found, "guards")
    assert ("only a", "L['clamp'] FALSE_MATCH", "L['clamp'] == False", None) in guards
    assert differing(found) <= {"graph", "guards", "phases"}


@SHARED
def test_a_rank_with_a_graph_break(traces):
    found = traces("dist_diverge_break").diff(0, 1)
    assert changes(found, "status")[0] == ("changed", "status", "ok", "break")
    [(change, place, _, reason)] = changes(found, "graph breaks")
    assert (change, place) == ("only b", "break")
    assert reason.startswith("dist_diverge_break.py:19: Failed to trace builtin operator")
    [(change, _, _, resumed)] = changes(found, "compiles")
    assert change == "only b"
    assert resumed.startswith("torch_dynamo_resume_in_step_at_19")


@SHARED
def test_ranks_that_are_the_same(traces):
    many = traces("dist_many")
    found = many.diff(0, 1)
    assert differing(found) <= {"phases"}
    assert set(verdicts(found).values()) - {"differs"} == {"same"}
    assert traces("dist_diverge_break").diff(0, 2, aspects=["graph", "guards", "status", "compiles"]).same


@SHARED
def test_collectives_in_another_order(traces):
    found = traces("dist_diverge_order").diff(0, 1)
    [(_, _, a, b)] = changes(found, "compiles")
    assert (a.split()[0], b.split()[0]) == ("reduce_first", "gather_first")
    assert any("all_gather" in (a or "") or "all_gather" in (b or "") for _, _, a, b in changes(found, "graph"))
    assert changes(found, "output code")


@SHARED
def test_a_rank_that_missed_its_cache(traces):
    found = traces("dist_diverge_cache").diff(0, 1)
    assert differing(found) <= {"cache", "phases"}
    assert len(changes(found, "cache")) == 2


@SHARED
def test_recompiles_of_one_function(traces):
    found = fasttl.diff(traces("recompiles"), select_a="0/0", select_b="0/1")
    [(change, _, _, reason)] = changes(found, "recompile reasons")
    assert change == "only b"
    assert "size mismatch at index 0" in reason or "0/0:" in reason
    assert any(place == "L['x'] TENSOR_MATCH" for _, place, _, _ in changes(found, "guards"))
    assert changes(found, "compiles") == []
