"""How commands print data: text table, JSON, CSV, Markdown."""

import csv
import io
import json
from datetime import datetime, timezone

import pytest
from fasttl.cli import _output
from fasttl.cli._output import FORMATS, WIDEST_CELL, Section, render, show

TIME = datetime(2026, 11, 29, 23, 58, 14, 528000, tzinfo=timezone.utc)
NASTY = 'a\x1b[31m|`<b>\n\u202e,"q" \udcff'
SECTIONS = [
    Section("things", "2 things", ("name", "number", "when"), [("x", 1, TIME), (NASTY, None, None)]),
    Section("nothing", "0 others", ("name",), []),
]


def test_a_table_is_aligned_and_safe_to_print():
    text = render(SECTIONS, "table")
    lines = text.splitlines()
    assert lines[0] == "2 things"
    assert lines[1].split() == ["name", "number", "when"]
    assert lines[2].split() == ["x", "1", "2026-11-29T23:58:14.528000+00:00"]
    assert lines[1].index("number") + len("number") == lines[2].index("1") + 1
    assert r"a\x1b[31m|`<b>\n\u202e" in lines[3]
    assert text.replace("\n", "").isprintable()
    assert lines[-1] == "0 others"


def test_a_long_cell_is_cut_in_a_table_only():
    long = "x" * 500
    section = Section("s", "s", ("name",), [(long,)])
    assert max(map(len, render([section], "table").splitlines())) == WIDEST_CELL + 2
    for layout in ("json", "csv", "markdown"):
        assert long in render([section], layout)


def test_json_keeps_types_and_every_character():
    value = json.loads(render(SECTIONS, "json"))
    assert value == {
        "things": [
            {"name": "x", "number": 1, "when": "2026-11-29T23:58:14.528000+00:00"},
            {"name": NASTY, "number": None, "when": None},
        ],
        "nothing": [],
    }
    assert render(SECTIONS, "json").isascii()


def test_csv_is_one_table_that_reads_back():
    rows = list(csv.reader(io.StringIO(render(SECTIONS[:1], "csv"))))
    assert rows == [["name", "number", "when"], ["x", "1", "2026-11-29T23:58:14.528000+00:00"], [NASTY, "", ""]]


def test_markdown_shows_markup_as_text():
    lines = render(SECTIONS, "markdown").splitlines()
    assert lines[0] == "### 2 things"
    assert lines[2:4] == ["| name | number | when |", "| --- | --- | --- |"]
    assert r"\|\`\<b\>" in lines[5]
    assert len(lines) == 8


@pytest.mark.parametrize("layout", FORMATS)
def test_output_ends_with_one_line_feed(layout):
    text = render(SECTIONS[:1], layout)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_names_of_columns_are_safe_to_print():
    section = Section("s", "s", ("a\x1b[2J|",), [("x",)])
    for layout in ("table", "json", "markdown"):
        assert render([section], layout).replace("\n", "").isprintable()


def test_numbers_that_json_lacks_are_null():
    section = Section("s", "s", ("a", "b"), [(float("nan"), [float("inf"), {"c": float("nan")}])])
    assert json.loads(render([section], "json"))["s"] == [{"a": None, "b": [None, {"c": None}]}]
    assert render([section], "csv") == 'a,b\nnan,"[null, {""c"": null}]"\n'


@pytest.mark.parametrize("layout", FORMATS)
def test_nothing_that_a_terminal_obeys_reaches_it(monkeypatch, capsys, layout):
    monkeypatch.setattr(_output.sys.stdout, "isatty", lambda: True)
    show(SECTIONS[:1], layout)
    assert capsys.readouterr().out.replace("\n", "").isprintable()
