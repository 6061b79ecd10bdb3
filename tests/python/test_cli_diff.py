"""`fasttl diff`: what it prints, and how it ends."""

import csv
import io
import json

import pytest


def test_text_is_the_default(run, example):
    result = run("diff", example, "--ranks", "1,2")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == f"a: {example} r1"
    assert "compiles: differs. 2 pairs of compiles, 1 only in b." in lines
    assert "    r2/2/0  compile: late at dist_crash.py:28, ok, 0.080 s (only b)" in lines


def test_two_paths(run, data):
    result = run("diff", data("hello"), data("hello"))
    assert result.exit_code == 0
    assert "versions: same. No difference." in result.stdout
    assert " differs." not in result.stdout


def test_selections(run, example, data):
    result = run("diff", example, data("hello"), "--a", "r0/0/0", "--b", "0/0", "--aspect", "compiles")
    assert "warm at dist_crash.py" in result.stdout
    result = run("diff", data("dist_restart"), "--a", "r0.a0", "--b", "r0.a1", "--aspect", "compiles")
    assert "1 pair of compiles, 1 only in b" in result.stdout
    result = run("diff", example, "--compiles", "r0/0/0,r1/0/0", "--aspect", "graph")
    assert "graph: same" in result.stdout


def test_json_has_all_columns(run, example):
    value = json.loads(run("diff", example, "--ranks", "1,2", "--format", "json").stdout)
    assert list(value) == ["summary", "differences"]
    assert [row["aspect"] for row in value["summary"]][:2] == ["compiles", "status"]
    [row] = [row for row in value["differences"] if row["aspect"] == "compiles"]
    assert (row["compile_b"], row["rank_b"], row["rank_a"]) == ("2/0", 2, None)
    assert isinstance(row["offset_b"], int)


def test_csv_is_the_differences_unless_told(run, example):
    rows = list(csv.DictReader(io.StringIO(run("diff", example, "--ranks", "1,2", "--format", "csv").stdout)))
    assert {"compiles", "status"} <= {row["aspect"] for row in rows}
    command = ("diff", example, "--ranks", "1,2", "--format", "csv", "--section")
    summary = list(csv.DictReader(io.StringIO(run(*command, "summary").stdout)))
    assert len(summary) == 11
    assert run(*command, "summary", "--section", "differences").exit_code == 2


def test_tables_are_for_people(run, example):
    for layout, word in (("table", "only b"), ("markdown", "| only b |")):
        text = run("diff", example, "--ranks", "1,2", "--format", layout).stdout
        assert word in text
        assert "offset_a" not in text


def test_the_exit_status_may_depend_on_the_result(run, example):
    command = ("diff", example, "--ranks", "1,2", "--fail-on", "difference")
    assert run(*command).exit_code == 3
    assert run(*command, "--aspect", "configuration").exit_code == 0
    assert run("diff", example, example, "--fail-on", "difference").exit_code == 0


def test_the_text_may_be_cut(run, example):
    cut = run("diff", example, "--ranks", "1,2", "--limit", "1").stdout
    whole = run("diff", example, "--ranks", "1,2", "--limit", "0").stdout
    assert "more difference" in cut
    assert "more difference" not in whole


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ((), "nothing to compare"),
        (("--ranks", "1"), "--ranks takes two"),
        (("--ranks", "1,2", "--a", "r0"), "give one of"),
        (("--ranks", "1,2", "--compiles", "0/0,0/1"), "give one of"),
        (("--a", "x"), "not a selection"),
        (("--ranks", "1,7"), "no log is of rank 7"),
        (("--compiles", "0/0,1/0"), "several logs have a compile"),
    ],
)
def test_wrong_use(run, example, options, word):
    result = run("diff", example, *options)
    assert result.exit_code == 2
    assert word in result.stderr


def test_more_than_two_paths(run, example):
    assert run("diff", example, example, example).exit_code == 2
