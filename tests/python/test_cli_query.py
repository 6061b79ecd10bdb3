"""`fasttl query` and `Trace.sql`: what is asked, what is printed, and what is refused."""

import csv
import io
import json
import os
import subprocess
import sys

import fasttl
import polars as pl
import pytest
from fasttl.cli._frames import frame_section
from fasttl.cli._output import FORMATS, render
from fasttl.queries.sql import run_file, table_words

FAILED = "select rank, compile_id, status from frames where status = 'error'"


@pytest.fixture
def trace(example):
    return fasttl.load(example)


def rows(result):
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)["rows"]


# The command.


def test_the_last_word_is_the_query(run, example):
    expected = [{"rank": 1, "compile_id": "1/0", "status": "error"}]
    assert rows(run("query", example, FAILED, "--format", "json")) == expected
    logs = sorted(example.glob("*.log"))
    assert rows(run("query", "--format", "json", *logs[1:], FAILED)) == expected
    assert rows(run("query", "-q", FAILED, *logs, "--format", "json")) == expected


def test_without_a_path_the_folder_of_the_environment_is_read(run, example, monkeypatch):
    monkeypatch.setenv("TORCH_TRACE", os.fspath(example))
    assert len(rows(run("query", "select * from files", "--format", "json"))) == 3


def test_a_forgotten_query_is_noticed(run, example):
    result = run("query", example)
    assert result.exit_code == 2
    assert "the last word is the path" in result.stderr
    assert run("query").exit_code == 2
    assert run("query", example, "-q", FAILED, "--tables").exit_code == 2


def test_a_query_of_a_file(run, example, tmp_path):
    (tmp_path / "q.sql").write_text(f"-- what failed\n{FAILED}\n")
    assert len(rows(run("query", example, "-f", tmp_path / "q.sql", "--format", "json"))) == 1
    (tmp_path / "q.py").write_text(
        "import polars as pl\n\n\ndef query(trace):\n    return trace.lazy('frames').filter(pl.col('rank') == 1)\n"
    )
    assert len(rows(run("query", example, "--file", tmp_path / "q.py", "--format", "json"))) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def query(trace):\n    return 1 / 0\n", "line 2, in query\n"),
        ("x = (", "SyntaxError"),
        ("x = 1", "defines no function query(trace)"),
        ("def query(trace): return 7", "gave int"),
        ("import sys\nsys.exit(0)", "SystemExit"),
    ],
)
def test_a_file_that_fails_says_where(run, example, tmp_path, text, said):
    path = tmp_path / "q.py"
    path.write_text(text)
    result = run("query", example, "-f", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert str(path) in result.stderr
    # The author's own code alone.
    assert "queries/sql.py" not in result.stderr
    assert "runpy" not in result.stderr


def test_a_file_that_is_no_query_is_refused(run, example, tmp_path):
    (tmp_path / "q.txt").write_text(FAILED)
    (tmp_path / "bad.sql").write_bytes(b"\xff\xfe")
    for name in ("q.txt", "none.sql", "bad.sql"):
        result = run("query", example, "-f", tmp_path / name)
        assert result.exit_code == 2
        assert name in result.stderr


def test_the_limit_is_told_on_stderr(run, example):
    result = run("query", example, "select compile_id from frames", "--limit", "3", "--format", "csv")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 4
    assert "3 of 8 rows printed" in result.stderr
    assert run("query", example, "select compile_id from frames", "--limit", "8").stderr == ""


def test_the_list_of_tables_says_what_they_mean(run, example, trace):
    text = run("query", example, "--tables").stdout
    assert "frames: One row for each compile: function, status, times, counts, failure." in text
    value = json.loads(run("query", example, "--tables", "--format", "json").stdout)
    assert list(value) == trace.tables
    found = list(csv.DictReader(io.StringIO(run("query", example, "--tables", "--format", "csv").stdout)))
    assert {row["table"] for row in found} == set(trace.tables)
    assert all(row["meaning"] for row in found)


def test_a_wrong_query_is_status_2_with_the_names_of_the_tables(run, example):
    for query in ("selec 1", "select * from nope", "select nope from frames", "", "select 1; select 2"):
        result = run("query", example, "-q", query)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "Tables: files, records, problems, frames" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
def test_a_reader_that_leaves_is_no_error_message(example):
    words = ["query", example, "select * from records", "--format", "json"]
    command = [sys.executable, "-W", "ignore::RuntimeWarning", "-m", "fasttl", *words]
    # Without its buffer, Python takes half a write for a whole one.
    env = {**os.environ, "PYTHONUNBUFFERED": ""}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 4


# Cells.


@pytest.fixture
def odd():
    return pl.DataFrame(
        {
            "^name$": pl.Series(["a\x1b[2J", None], dtype=pl.Categorical),
            "bad\x1b[31m": [float("nan"), float("inf")],
            "list": [[1, 2], None],
            "nested": [{"a": [float("nan")], "b": "x\x1b"}, None],
            "time": pl.Series([0, None], dtype=pl.Datetime("us", "UTC")),
            "local": pl.Series([1, None], dtype=pl.Datetime("ms")),
            "span": pl.Series([1_500_000, None], dtype=pl.Duration("us")),
            "times": pl.Series([[0], None], dtype=pl.List(pl.Datetime("us"))),
            "bytes": [b"\xffa", None],
        }
    )


@pytest.mark.parametrize("layout", FORMATS)
def test_every_kind_of_cell_can_be_printed(odd, layout):
    text = render([frame_section("rows", "2 rows", odd)], layout)
    if layout != "csv":  # which programs read; `show` takes care of a terminal
        assert text.replace("\n", "").isprintable()
    assert "1970-01-01T00:00:00.000000Z" in text
    assert ("null" if layout == "json" else "NaN").lower() in text.lower()


def test_json_has_the_values(odd):
    first, second = json.loads(render([frame_section("rows", "2 rows", odd)], "json"))["rows"]
    assert first == {
        "^name$": "a\x1b[2J",
        "bad\x1b[31m": None,
        "list": [1, 2],
        "nested": {"a": [None], "b": "x\x1b"},
        "time": "1970-01-01T00:00:00.000000Z",
        "local": "1970-01-01T00:00:00.001000",
        "span": "PT1.5S",
        "times": ["1970-01-01T00:00:00"],
        "bytes": "\\xffa",
    }
    assert set(second.values()) == {None}


def test_a_frame_without_rows_has_its_columns():
    section = frame_section("rows", "0 rows", pl.DataFrame({"a": [], "b": []}))
    assert render([section], "csv") == "a,b\n"


# SQL in Python.


def test_names_are_text(trace):
    assert trace.sql("select distinct status from frames where status like 'o%'")["status"].to_list() == ["ok"]
    joined = trace.sql(
        "select r.rank, count(*) as n from records r join frames f on r.file = f.file and r.compile_id = f.compile_id"
        " where r.kind = 'dynamo_start' group by r.rank order by r.rank"
    )
    assert joined.rows() == [(0, 3), (1, 2), (2, 3)]
    assert trace.sql("select max(kind) as k from records").item() == "str"


def test_lists_and_times_can_be_asked(trace):
    assert trace.sql("select user_stack from frames limit 1").schema["user_stack"] == pl.List(pl.String)
    assert trace.sql("select count(*) as n from frames where start > '2026-01-01'").item() == 8


def test_every_table_can_be_asked(trace):
    for name in trace.tables:
        assert trace.sql(f"select * from {name}").shape == trace.table(name).shape  # noqa: S608 - names of ours


def test_only_tables_that_are_read_are_built(trace):
    # `records`, `problems` and `artifacts` are columns of other tables, too.
    trace.sql("select records, problems, 'from frames' as metrics from files /* from stacks */ -- join cache\n")
    assert [name for name in trace.tables if trace.is_built(name)] == ["files"]
    assert sorted(trace.sql("show tables").to_series().to_list()) == sorted(trace.tables)
    assert [name for name in trace.tables if trace.is_built(name)] == ["files"]


@pytest.mark.parametrize(
    ("query", "tables"),
    [
        ("select * from frames", {"frames"}),
        ("select a, b from frames f, files where x in (1, 2)", {"frames", "files"}),
        ("with x as (select * from records) select * from x join cache using (file)", {"records", "cache", "x"}),
        ("select * from (frames join files using (file)), metrics", {"frames", "files", "metrics"}),
        ('select * from "frames" left join `files` on true', {"frames", "files"}),
        ("select (select max(a) from cache), records from files", {"cache", "files"}),
        ("select a from frames union all select b from graphs order by cache, stacks", {"frames", "graphs"}),
        ("select * from ((((", set()),
        (")))) from frames", {"frames"}),
    ],
)
def test_tables_of_a_query_are_found(query, tables):
    assert table_words(query).tables == tables


def test_a_table_that_was_not_found_is_looked_for_again(trace, monkeypatch):
    real = table_words

    def blind(query):
        found = real(query)
        found.tables.clear()
        return found

    monkeypatch.setattr("fasttl.queries.sql.table_words", blind)
    assert trace.sql("select count(*) as n from frames").item() == 8


def test_errors_are_option_errors(trace):
    with pytest.raises(fasttl.OptionError, match=r"(?s)relation 'nope' was not found.*Tables: files"):
        trace.sql("select * from nope")
    with pytest.raises(fasttl.OptionError, match="nope"):
        trace.sql("select nope from frames")
    with pytest.raises(fasttl.OptionError):
        trace.sql("select * from read_csv('no such file')")
    with pytest.raises(fasttl.OptionError, match=r"ends in \.sql or \.py"):
        run_file(trace, "query")


def test_a_query_that_is_long_is_read_at_once():
    assert table_words("(" * 200_000 + "'" * 200_001 + ")" * 200_000 + '"').tables == set()
