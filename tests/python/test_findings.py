"""`trace.findings` and `fasttl findings`: what a reader wants first."""

import json

import fasttl
import polars as pl
import pytest
from fasttl import _core
from handmade import artifact, log
from real_traces import evidence


@pytest.fixture(scope="module")
def findings(example):
    return fasttl.load(example).findings.with_columns(pl.col(pl.Categorical).cast(pl.String))


def test_what_failed_comes_first_with_its_words_and_its_rank(findings):
    first = findings.row(0, named=True)
    assert (first["kind"], first["severity"], first["ranks"], first["compile_ids"]) == (
        "failed compiles",
        "error",
        [1],
        ["1/0"],
    )
    assert "BackendCompilerFailed: MemoryError: out of memory on rank 1." in first["sentence"].replace(
        "backend='backend' raised: ", ""
    )
    assert "aot_eager_decomp_partition" in first["advice"]


def test_the_rank_that_was_terminated_is_named(findings):
    row = findings.filter(pl.col("kind") == "unfinished compiles").row(0, named=True)
    assert (row["ranks"], row["compile_ids"]) == ([0], ["2/0"])
    assert row["sentence"].startswith("The log ends while `late` (")


def test_severities_are_in_order(findings):
    order = ["error", "warning", "info"]
    ranks = [order.index(severity) for severity in findings["severity"]]
    assert ranks == sorted(ranks)


def test_evidence_leads_to_rows(example):
    trace = fasttl.load(example)
    for row in trace.findings.iter_rows(named=True):
        rows = evidence(trace, row["evidence_table"])
        shown = zip(row["evidence_files"], row["evidence_offsets"], strict=True)
        assert all(offset is None or place in rows for place in shown for offset in place[1:])


def test_a_log_with_nothing_to_say_has_no_finding(data, run):
    assert fasttl.load(data("dist_many_rank_0")).findings.filter(pl.col("severity").cast(str) != "info").is_empty()
    result = run("findings", data("dist_many_rank_0"), "--severity", "warning", "--fail-on", "warning")
    assert (result.exit_code, result.stdout) == (0, "Nothing was found.\n")


def test_the_text_has_sentence_advice_and_evidence(example, run):
    result = run("findings", example, "--kind", "failed compiles")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("error: The compile of `step`")
    assert any(line.startswith("    try: ") for line in lines)
    assert lines[-1] == "    evidence: 1 row of `failures`"


@pytest.mark.parametrize(("severity", "status"), [("error", 3), ("info", 3)])
def test_fail_on_ends_with_status_3(example, run, severity, status):
    assert run("findings", example, "--fail-on", severity).exit_code == status


def test_fail_on_looks_at_what_was_asked_for(example, run):
    assert run("findings", example, "--kind", "guards", "--fail-on", "info").exit_code == 0


def test_a_kind_that_is_none_is_refused(example, run):
    result = run("findings", example, "--kind", "recompile", "--fail-on", "error")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "recompiles" in result.stderr
    for kind, _ in _core.finding_kinds():
        assert run("findings", example, "--kind", kind).exit_code == 0


def test_kinds_are_those_of_the_table_and_explained(example, findings, run):
    kinds = dict(_core.finding_kinds())
    assert set(findings["kind"]) <= set(kinds)
    meanings = {column.name: column.meaning for column in fasttl.load(example).schema("findings")}
    meaning = meanings["kind"]
    assert set(meaning.rstrip(".").replace(" or ", ", ").split(", ")) == set(kinds)
    said = run("findings", "--help").stdout
    for name, about in kinds.items():
        assert f"  {name}  " in said
        assert about in said


def test_evidence_that_is_cut_says_so(tmp_path, run):
    for rows, told in ((99, "99 rows of"), (100, "100 rows and more of"), (130, "100 rows and more of")):
        (tmp_path / "a.log").write_bytes(log(*(artifact("fx_graph_cache_bypass", "{}") for _ in range(rows))))
        (found,) = fasttl.load(tmp_path / "a.log").findings.filter(pl.col("kind") == "caches").to_dicts()
        assert len(found["evidence_offsets"]) == min(rows, 100)
        assert f"    evidence: {told} `cache`" in run("findings", tmp_path, "--kind", "caches").stdout.splitlines()


def test_json_has_every_column(example, run):
    result = run("findings", example, "--format", "json", "--limit", "1")
    (row,) = json.loads(result.stdout)["findings"]
    assert row["severity"] == "error"
    assert row["evidence_table"] == "failures"
    assert "1 of" in result.stderr


def test_control_characters_of_a_log_do_not_reach_the_terminal(data, run):
    result = run("findings", data("unusual"))
    assert "\x1b" not in result.stdout
    assert "<script>" in result.stdout
