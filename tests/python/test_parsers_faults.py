"""Custom parsers that misbehave, and machines that lack room: the report is written all the same."""

import sys

import fasttl
import pytest
from fasttl import _find_parsers


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
            raise RuntimeError("no index")

    site("whole", b"[fasttl.parsers]\nabsent = nowhere.to_be:found\n")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    _, broken = _find_parsers.find_parsers(parsers=True)
    assert [one.name for one in broken] == ["fasttl.parsers", "absent"]
    assert "the search for installed parsers failed: RuntimeError: no index" in broken[0].why
