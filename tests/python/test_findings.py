"""`trace.findings` and `fasttl findings`: what a reader wants first."""

import json

import fasttl
import polars as pl
import pytest


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
        table = trace.table(row["evidence_table"])
        rows = set(table.select("file", "offset").rows())
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
