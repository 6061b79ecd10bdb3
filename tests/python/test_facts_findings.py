"""The sentences of `findings` on real traces: which kinds there are, what they say, and the rows that show it.

Which traces have something to tell follows from the programs; what time was spent, from the metrics of the logs.
"""

import re

import pytest
from real_traces import evidence, folders, loaded, of_kind, rows, seconds, sentences, values
from test_facts_breaks import BREAKS
from test_facts_ends import UNFINISHED
from test_facts_failures import FAILURES
from test_facts_recompiles import RECOMPILES, REFUSED

pytestmark = pytest.mark.shared

SEVERITIES = ("error", "warning", "info")
MANY_GUARDS = 500
ENOUGH_SECONDS = 5.0
# Jobs with something to tell of their ranks; see the index of the traces.
OF_RANKS = {
    "ranks that differ": {
        "dist_diverge_shape",
        "dist_diverge_break",
        "dist_diverge_order",
        "torch214_dist_diverge_order",
        "dist_backward",
        "dist_late_init",
        "dist_exec_order",
        # Not dist_crash: that rank 1 failed is told as a failed compile.
    },
    # Rank 0 fills the cache, for six seconds; the others find all in it, in about one.
    "rank skew": {"dist_diverge_cache"},
}


def breaks_to_mend(name):
    """Give the breaks of a trace but for those that are told as failed compiles."""
    failed = set(rows(name, "failures", "file", "generation", "frame_id", "frame_compile_id", event="failure"))
    columns = ("file", "offset", "skips_frame", "file", "generation", "frame_id", "frame_compile_id")
    return [
        (row["file"], row["offset"])
        for row in loaded(name).graph_breaks.select(set(columns)).iter_rows(named=True)
        if not (row["skips_frame"] and tuple(row[key] for key in columns[3:]) in failed)
    ]


def expected_kinds(name):
    """Give the kinds of findings that a trace has, from what the other tests hold it against."""
    kinds = set()
    if any(row[1] != "limit" for row in FAILURES.get(name, [])):
        kinds.add("failed compiles")
    if name in RECOMPILES:
        kinds.add("recompiles")
    if breaks_to_mend(name):
        kinds.add("graph breaks")
    if name in UNFINISHED:
        kinds.add("unfinished compiles")
    if name == "killed":
        kinds.add("lost records")
    if set(values(name, "cache", "state")) & {"miss", "bypass"}:
        kinds.add("caches")
    if any((guards or 0) >= MANY_GUARDS for guards in values(name, "frames", "guards")):
        kinds.add("guards")
    kinds |= {kind for kind, jobs in OF_RANKS.items() if name in jobs}
    if seconds(name)["spent"].sum() >= ENOUGH_SECONDS:
        kinds.add("slow phases")
    return kinds


@pytest.mark.parametrize("name", folders())
def test_each_trace_has_the_findings_that_it_should_and_no_others(name):
    assert set(values(name, "findings", "kind")) == expected_kinds(name)


@pytest.mark.parametrize("name", folders())
def test_each_finding_is_a_sentence_with_advice_and_evidence(name):
    trace = loaded(name)
    tables = set(values(name, "findings", "evidence_table"))
    known = {table: evidence(trace, table) for table in tables}
    ids = set(values(name, "frames", "compile_id"))
    for row in trace.findings.to_dicts():
        assert row["sentence"].endswith(".")
        assert "\n" not in row["sentence"]
        assert row["sentence"][0].isupper() or row["sentence"][0] in "`0123456789"
        assert row["advice"].endswith((".", "`."))
        assert row["cost_s"] is None or row["cost_s"] >= 0
        assert set(row["compile_ids"]) <= ids
        assert set(row["ranks"]) <= set(values(name, "files", "rank"))
        assert row["files"]
        assert set(row["evidence_files"]) <= set(row["files"])
        shown = list(zip(row["evidence_files"], row["evidence_offsets"], strict=True))
        assert shown
        assert set(shown) <= known[row["evidence_table"]]


@pytest.mark.parametrize("name", folders())
def test_errors_come_first_and_then_what_costs_most(name):
    found = rows(name, "findings", "severity", "cost_s")
    order = [(SEVERITIES.index(severity), -(cost or 0.0)) for severity, cost in found]
    assert order == sorted(order)


@pytest.mark.parametrize("name", folders())
def test_no_sentence_says_a_rank_where_there_is_none(name):
    if values(name, "files", "rank")[0] is not None:
        return
    assert not any(re.search(r"\bon ranks? \d", sentence) for sentence in values(name, "findings", "sentence"))


# Failed compiles.


@pytest.mark.parametrize("name", sorted(FAILURES))
def test_each_failure_is_shown_by_a_finding(name):
    found = of_kind(name, "failed compiles")
    shown = sorted(key for row in found for key in zip(row["evidence_files"], row["evidence_offsets"], strict=True))
    assert shown == sorted(rows(name, "failures", "file", "offset", event="failure"))
    # Where the function runs without being compiled, the program goes on.
    skipped = {row["severity"] for row in found if "runs without being compiled" in row["sentence"]}
    assert skipped <= {"warning"}
    assert {row["severity"] for row in found} - skipped <= {"error"}


def test_a_backend_that_fails():
    [sentence] = sentences("fail_backend", "failed compiles")
    assert sentence.startswith("The compile of `f` (fail_backend.py:9) failed: BackendCompilerFailed: ")
    assert "RuntimeError: this backend never works." in sentence


def test_failures_of_the_program_are_at_its_lines():
    place = re.compile(r"The compile of `(\w+)` .*, at (fail_fullgraph\.py:\d+): ")
    found = [place.match(text).groups() for text in sentences("fail_fullgraph", "failed compiles")]
    assert dict(found) == {
        "unsupported": "fail_fullgraph.py:8",
        "branch_on_data": "fail_fullgraph.py:14",
        "user_error": "fail_fullgraph.py:23",
        "shape_error": "fail_fullgraph.py:29",
    }


def test_the_rank_that_dies_is_named_with_its_own_words():
    [finding] = of_kind("dist_crash", "failed compiles")
    assert finding["ranks"] == [1]
    assert "failed on rank 1: BackendCompilerFailed: " in finding["sentence"]
    # The number in the message is not blanked, as it is where messages are compared.
    assert "MemoryError: out of memory on rank 1." in finding["sentence"]


def test_a_lowering_that_fails_is_told_with_its_error():
    [sentence] = [text for text in sentences("fail_inductor", "failed compiles") if "InductorError" in text]
    assert "NotImplementedError: no lowering for you" in sentence


def test_two_operators_that_fail_are_two_findings():
    found = sentences("fail_inductor", "failed compiles")
    assert len(found) == 3
    assert any("fake kernel is broken" in text for text in found)
    assert any("There was no fake impl registered" in text for text in found)


def test_shapes_that_do_not_fit_are_told():
    [sentence] = [text for text in sentences("fail_fullgraph", "failed compiles") if "shape_error" in text]
    assert "[3, 3] X [5, 5]" in sentence


def test_a_message_of_several_lines_is_told_from_its_beginning():
    [sentence] = [text for text in sentences("unusual", "failed compiles") if "BackendCompilerFailed" in text]
    assert "RuntimeError: </script><script>alert(1)</script>" in sentence


@pytest.mark.parametrize("name", ["hello", "recompiles", "killed", "dist_many"])
def test_no_failed_compile_where_none_failed(name):
    assert of_kind(name, "failed compiles") == []


# Recompiles.


@pytest.mark.parametrize("name", ["recompiles", "torch214_recompiles"])
def test_recompiles_are_told_with_their_values(name):
    found = {re.findall(r"`(\w+)`", row["sentence"])[0]: row for row in of_kind(name, "recompiles")}
    assert set(found) == {"by_shape", "by_float", "forward"}
    shapes, floats, depths = found["by_shape"], found["by_float"], found["forward"]
    assert "`by_shape` (recompiles.py:11) was compiled again 7 times and hit the recompile limit" in shapes["sentence"]
    assert "the size of `x` in dimension 0 changed (2, 3, 4, " in shapes["sentence"]
    assert "mark_dynamic(x, 0)" in shapes["advice"]
    assert "recompile_limit" in shapes["advice"]
    assert "`by_float` (recompiles.py:20) was compiled again twice" in floats["sentence"]
    assert "`alpha` changed (0.5, 0.25, 0.125)" in floats["sentence"]
    assert "`forward` (recompiles.py:35) was compiled again twice" in depths["sentence"]
    assert "`self.depth` changed (1, 2, 3)" in depths["sentence"]
    assert "allow_unspec_int_on_nn_module" in depths["advice"]
    assert [row["severity"] for row in (shapes, floats, depths)] == ["error", "warning", "warning"]


@pytest.mark.parametrize("name", sorted(RECOMPILES))
def test_recompiles_are_errors_at_the_limit_only(name):
    found = of_kind(name, "recompiles")
    refused = {compile_id for row in found if row["severity"] == "error" for compile_id in row["compile_ids"]}
    assert set(REFUSED.get(name, [])) <= refused
    assert bool(refused) == (name in REFUSED)
    costs = [cost for cost in values(name, "recompiles", "cost_s") if cost is not None]
    assert sum(row["cost_s"] or 0.0 for row in found) == pytest.approx(sum(costs))


def test_a_rank_that_recompiles_alone_is_named():
    [finding] = of_kind("dist_diverge_shape", "recompiles")
    assert finding["ranks"] == [2]
    assert "once on rank 2: the size of `x` in dimension 0 changed (8, 5)" in finding["sentence"]


@pytest.mark.parametrize("name", ["gpt", "resnet"])
def test_training_and_evaluation_are_told_as_such(name):
    [finding] = of_kind(name, "recompiles")
    assert "the grad mode changed" in finding["sentence"]
    assert "normal" in finding["advice"]


def test_values_of_one_dimension_are_not_told_as_those_of_two():
    [sentence] = [text for text in sentences("large", "recompiles") if "`forward`" in text]
    assert "in dimensions 0, 1 changed (2, 3, 4)" not in sentence


@pytest.mark.parametrize("name", ["hello", "graph_breaks", "dist_many", "cache_warm"])
def test_no_recompile_where_nothing_was_compiled_again(name):
    assert of_kind(name, "recompiles") == []


# Graph breaks.


def test_each_line_that_breaks_is_one_finding():
    found = [text.split(":", 2) for text in sentences("graph_breaks", "graph breaks")]
    places = sorted(f"{start.rsplit(' ', 1)[-1]}:{line.split(',')[0]}" for start, line, _ in found)
    assert places == ["graph_breaks.py:16", "graph_breaks.py:22", "graph_breaks.py:28", "inner.py:5", "outer.py:7"]
    assert all("in 2 compiles" in line for _, line, _ in found)


@pytest.mark.parametrize("name", sorted(BREAKS))
def test_each_break_is_shown_by_a_finding(name):
    found = of_kind(name, "graph breaks")
    shown = sorted(key for row in found for key in zip(row["evidence_files"], row["evidence_offsets"], strict=True))
    assert shown == sorted(breaks_to_mend(name))
    assert {row["severity"] for row in found} <= {"warning"}
    assert len(found) <= loaded(name).break_groups.height


def test_a_break_inside_of_a_library_is_told_at_the_users_line():
    found = sentences("dist_ddp", "graph breaks")
    places = sorted(re.findall(r"\b(\w+\.py:\d+)", text)[:2] for text in found)
    assert places == [["contextlib.py:105", "dist_ddp.py:23"], ["distributed.py:1757", "dist_ddp.py:23"]]
    assert all("on ranks 0, 1" in text for text in found)
    [sentence] = sentences("dist_diverge_break", "graph breaks")
    assert "at dist_diverge_break.py:19, in 1 compile on rank 1" in sentence


def test_nobody_is_told_to_change_pytorch():
    [finding] = [row for row in of_kind("train_mlp", "graph breaks") if "optimizer.py" in row["sentence"]]
    assert not finding["advice"].startswith("Remove the `torch._dynamo.graph_break()` call")


@pytest.mark.parametrize("name", ["hello", "recompiles", "gpt", "dist_many"])
def test_no_graph_break_where_there_is_none(name):
    assert of_kind(name, "graph breaks") == []


# Compiles without an end, and lost records.


@pytest.mark.parametrize("name", sorted(UNFINISHED))
def test_what_a_process_was_doing_when_it_ended(name):
    [(rank, compile_id, function, line)] = UNFINISHED[name]
    [finding] = of_kind(name, "unfinished compiles")
    assert finding["compile_ids"] == [compile_id]
    assert finding["ranks"] == ([] if rank is None else [rank])
    assert f"while `{function}` ({name}.py:{line}) is being compiled" in finding["sentence"]
    assert ("inside a record" in finding["sentence"]) == (name == "killed")


@pytest.mark.parametrize("name", ["hello", "fail_backend", "dist_restart", "export_plain"])
def test_nothing_is_unfinished_where_all_ended(name):
    assert of_kind(name, "unfinished compiles") == []


def test_a_record_that_was_cut_is_lost():
    [finding] = of_kind("killed", "lost records")
    assert finding["severity"] == "error"
    assert "cut short" in finding["sentence"]
    assert finding["evidence_table"] == "problems"


@pytest.mark.parametrize("name", ["hello", "killed_between", "unusual", "hostile_names"])
def test_nothing_is_lost_in_a_whole_log(name):
    assert of_kind(name, "lost records") == []
