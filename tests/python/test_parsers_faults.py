"""Custom parsers that misbehave, and machines that lack room: the report is written all the same."""

import json
import sys
import time

import fasttl
import pytest
from fasttl import File, Link, _find_parsers

GRAPHS = "dynamo_output_graph"


def failures(trace):
    return trace.problems.filter(trace.problems["kind"].cast(str) == "parser failed")["detail"].to_list()


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Put a folder of packages first on the path; give a function that adds one with these entry points."""
    folder = tmp_path / "site"
    monkeypatch.syspath_prepend(folder)

    def add(name, points):
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_bytes(points)

    return add


@pytest.mark.parametrize(
    "points",
    [b"[fasttl.parsers]\njustaname\n", b"[fasttl.parsers]\np = q:r\n[x]\n\xff\xfe = a:b\n"],
    ids=["name", "bytes"],
)
def test_entry_points_that_cannot_be_read_lose_only_their_own(site, example, tmp_path, points):
    site("broken", points)
    site("unrelated", b"[other]\njustaname\n")
    site("whole", b"[fasttl.parsers]\nabsent = nowhere.to_be:found\n")
    trace = fasttl.load(example, ranks=2)
    report = trace.write_report(tmp_path / "out")
    [first, second] = sorted(failures(trace))
    assert report.problems == 2
    assert "absent: cannot be loaded from nowhere.to_be:found" in first
    assert "broken: its entry points could not be loaded" in second


def test_a_search_that_fails_is_a_problem(site, monkeypatch):
    class Finder:
        def find_spec(self, *_):
            return None

        def find_distributions(self, *_):
            raise LookupError

    site("whole", b"[fasttl.parsers]\nabsent = nowhere.to_be:found\n")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    _, broken = _find_parsers.find_parsers(parsers=True)
    assert [one.name for one in broken] == ["fasttl.parsers", "absent"]
    assert "the search for installed parsers failed: LookupError" in broken[0].why


class LazyFile(File):
    @property
    def name(self):
        raise LookupError


class Classless:
    @property
    def __class__(self):
        raise LookupError


class OddText(str):
    __slots__ = ()

    def __len__(self):
        raise LookupError


class OddError(Exception):
    def __str__(self):
        return OddText("odd")


def released():
    with memoryview(b"abc") as view:
        return File("x.txt", view)


def odd():
    raise OddError


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (released, "ValueError"),
        (lambda: LazyFile("x", "y"), "LookupError (test_parsers_faults.py:"),
        (lambda: [Classless()], "LookupError (test_parsers_faults.py:"),
        (lambda: [OddText("x")], "gave text of 1 characters, which is no File"),
        (lambda: File(7, OddText("x")), "whose name is a int"),
        (odd, "OddError: odd"),
    ],
)
def test_what_a_result_raises_is_a_problem(example, tmp_path, result, words):
    bad = fasttl.parser(kinds=GRAPHS)(lambda _record: result())
    trace = fasttl.load(example, ranks=2)
    report = trace.write_report(tmp_path / "out", parsers=[bad])
    assert report.problems == 3
    assert all(words in detail for detail in failures(trace))


def test_text_of_a_class_of_its_own_is_text(example, tmp_path):
    fine = fasttl.parser(kinds=GRAPHS)(lambda _record: File(OddText("own.txt"), OddText("own")))
    assert fasttl.write_report(example, tmp_path / "out", ranks=2, parsers=[fine]).problems == 0
    assert {path.read_text() for path in (tmp_path / "out").rglob("own_x*.txt")} == {"own"}


def test_no_room_for_a_file_stops_its_parser_only(example, tmp_path, python):
    code = (
        "import sys, fasttl\n"
        "large = fasttl.parser(kinds='dynamo_output_graph', name='large')"
        "(lambda r: fasttl.File('large.bin', bytes(17 << 20)))\n"
        "small = fasttl.parser(kinds='dynamo_output_graph', name='small')(lambda r: fasttl.File('small.txt', 'x'))\n"
        "import os; os.environ['TMPDIR'] = '/nonexistent'\n"
        "report = fasttl.write_report(sys.argv[1], sys.argv[2], ranks=2, parsers=[large, small])\n"
        "print(report.problems, report.messages)"
    )
    said = python(code, example, tmp_path / "out")
    assert said.startswith("1 ")
    assert "large: no room for the file 'large.bin' of 17,825,792 bytes" in said
    assert len(list((tmp_path / "out").rglob("small_x*.txt"))) == 3
    assert not list((tmp_path / "out").rglob("large*"))


def test_links_and_names_are_bounded(example, tmp_path, monkeypatch):
    @fasttl.parser(kinds=GRAPHS, name="n" * 5_000)
    def links(_record):
        yield Link("far", "https://" + "x" * 2_000)
        for _ in range(20):
            yield Link("x" * 5_000, "https://example.org/near")

    monkeypatch.setattr("fasttl._parsing.MOST_LINK_TEXT", 5_000)
    trace = fasttl.load(example, ranks="0,2")
    trace.write_report(tmp_path / "out", parsers=[links])
    details = failures(trace)
    graphs = (trace.records["kind"].cast(str) == GRAPHS).sum()
    assert sum("an address of 2,008 characters; 2,000 is the limit" in detail for detail in details) == graphs
    assert sum("gave more links than a log may have" in detail for detail in details) == 2
    assert len(details) == graphs + 2
    for rank in (0, 2):
        text = (tmp_path / "out" / f"rank_{rank}" / "compile_directory.json").read_text(encoding="utf-8")
        entries = [e for step in json.loads(text).values() for e in step["artifacts"] if "example.org" in e["url"]]
        assert len(entries) == 5_000 // (201 + 201 + len("https://example.org/near"))
        assert all(len(entry["name"]) <= 201 for entry in entries)


def test_a_trace_that_is_read_again_has_the_problems(example, tmp_path):
    @fasttl.parser(kinds=GRAPHS)
    def bad(_record):
        raise ValueError

    trace = fasttl.load(example, verify=False)
    assert failures(trace) == []
    report = trace.write_report(tmp_path / "out", parsers=[bad])
    assert len(failures(trace)) == report.problems > 0
    trace.write_report(tmp_path / "out", parsers=False, overwrite=True)
    assert failures(trace) == []


@pytest.mark.parametrize("loaded", [True, False])
def test_progress_has_one_total_while_parsers_run(example, tmp_path, loaded):
    slow = fasttl.parser(kinds="artifact")(lambda _record: time.sleep(0.02))
    calls = []
    options = {"parsers": [slow], "progress": lambda done, total: calls.append((done, total))}
    if loaded:
        fasttl.load(example).write_report(tmp_path / "out", **options)
    else:
        fasttl.write_report(example, tmp_path / "out", **options)
    size = sum(path.stat().st_size for path in example.iterdir() if path.suffix == ".log")
    begun = 0 if loaded else size
    assert (begun, size + begun) in calls
    assert {total for _, total in calls if total} == {size + begun}
    assert calls == sorted(calls)
