"""How a trace shows itself, and that it cannot be pickled by accident."""

import copy
import pickle
import shutil
from html.parser import HTMLParser

import fasttl
import pytest
from fasttl._display import count_text, ranks_text


class Tags(HTMLParser):
    """Collects the tags and the text of a piece of HTML."""

    def __init__(self):
        super().__init__()
        self.tags = set()
        self.text = []

    def handle_starttag(self, tag, attrs):
        assert not attrs
        self.tags.add(tag)

    def handle_data(self, data):
        self.text.append(data)


def test_the_line_tells_what_was_read(example, data):
    assert repr(fasttl.load(example)) == (
        f"<fasttl.Trace of {str(example)!r}: 3 logs, ranks 0-2, 224 records, 0 problems>"
    )
    both = fasttl.load([data("killed"), data("hello")])
    assert "and 1 more: 2 logs, ranks none, " in repr(both)
    assert repr(both).endswith("1 problem>")


def test_the_notebook_shows_names_as_text(example, tmp_path):
    folder = tmp_path / "<img src=x onerror=alert(1)>&amp;"
    shutil.copytree(example, folder)
    page = Tags()
    page.feed(fasttl.load(folder)._repr_html_())
    assert page.tags == {"table", "caption", "tbody", "tr", "th", "td"}
    assert str(folder) in page.text
    assert "0-2" in page.text


def test_the_display_builds_no_large_table(example):
    trace = fasttl.load(example)
    repr(trace)
    trace._repr_html_()
    assert set(trace._frames) <= {"files", "records", "problems"}  # noqa: SLF001 - there is no public way to ask


def test_a_trace_is_not_pickled(example):
    trace = fasttl.load(example)
    with pytest.raises(TypeError, match="payloads stay in the logs"):
        pickle.dumps(trace)
    with pytest.raises(TypeError, match="payloads stay in the logs"):
        copy.deepcopy(trace)


def test_numbers_read_well():
    assert count_text(0, "log") == "0 logs"
    assert count_text(1, "kind of record", "kinds of record") == "1 kind of record"
    assert count_text(2345, "kind of record", "kinds of record") == "2,345 kinds of record"


def test_ranks_are_folded():
    assert ranks_text([]) == ""
    assert ranks_text([None]) == "none"
    assert ranks_text([5, 1, 2, 3, 9, 10, None, 5]) == "1-3,5,9-10,none"
