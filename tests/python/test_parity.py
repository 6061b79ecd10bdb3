"""The reports of the real logs agree with those of the peer, but for the differences that are listed with a reason."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from check import HERE, SINGLE_MODES, ParityError, judge, load_known, parse_output, run_parity
from measures.process import find_tool

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"
REAL = sorted(path for path in DATA.iterdir() if path.is_dir() and path.name != "probes")
TOOLS = ("fasttl", "tlparse")


def tools() -> dict[str, str]:
    return {name: find_tool(name) for name in TOOLS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The real logs of the tests, and the example, as one folder of cases."""
    root = tmp_path_factory.mktemp("cases")
    for case in [*REAL, ROOT / "examples" / "crash_3_ranks"]:
        shutil.copytree(case, root / case.name)
    return root


@pytest.mark.parametrize("mode", SINGLE_MODES)
def test_real_logs(folder, mode):
    outcome = run_parity(folder, mode, tools())
    logs = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.log"))
    assert sorted(outcome.cases) == [f"{log}:{mode}" for log in logs]
    assert judge(outcome, load_known(HERE / "known.toml")) == []


def test_real_jobs(folder):
    outcome = run_parity(folder, "all-ranks", tools())
    jobs = {"crash_3_ranks:all-ranks", "dist_diverge_cache:all-ranks", "dist_restart:all-ranks"}
    assert outcome.cases == jobs
    assert judge(outcome, load_known(HERE / "known.toml")) == []


def test_exports(tmp_path):
    for name in ("export_draft", "export_draft_guard"):
        shutil.copytree(DATA / name, tmp_path / name)
        (tmp_path / name / "case.json").write_text('{"modes": ["export"]}')
    outcome = run_parity(tmp_path, "export", tools())
    assert len(outcome.cases) == 3
    assert judge(outcome, load_known(HERE / "known.toml")) == []


def test_a_report_that_lacks_something_is_seen(tmp_path):
    tool = tmp_path / "fasttl"
    tool.write_text(f'#!/bin/sh\n"{find_tool("tlparse")}" "$@" && rm "$3/raw.log" && echo "x" > "$3/raw.jsonl"\n')
    tool.chmod(0o755)
    shutil.copytree(DATA / "fail_backend", tmp_path / "cases" / "fail_backend")
    outcome = run_parity(tmp_path / "cases", "plain", {"fasttl": str(tool), "tlparse": find_tool("tlparse")})
    assert [key[1:] for key in outcome.differences] == [("unreadable", "raw.jsonl"), ("tree", "raw.log")]
    lines = judge(outcome, {"difference": [], "peer_fails": []})
    assert [line.split(":")[0] for line in lines] == ["new", "new"]


OUTPUT = """ok    hello/a.log:plain
DIFF  hello/b.log:plain  {'text': 1, 'tree': 1}
        text      -_0_0_0/x.html: 2 words missing, first ['a']
        tree      y.txt: missing
skip  hello/c.log:plain  (the peer itself fails: exit 1)
1 passed, 1 failed
"""
LISTED = [
    {"case": "hello/b.log:plain", "check": "text", "path": "-_0_0_0/x.html", "reason": "r"},
    {"case": "hello/b.log:plain", "check": "tree", "path": "y.txt", "reason": "r"},
]
FAILING = [{"case": "hello/c.log:plain", "reason": "r"}]
ELSEWHERE = [{"case": "other/d.log:plain", "check": "text", "path": "z.html", "reason": "r"}]


def test_output_is_read_whole():
    outcome = parse_output(OUTPUT)
    assert outcome.same == {"hello/a.log:plain"}
    assert outcome.peer_fails == {"hello/c.log:plain"}
    assert set(outcome.differences) == {(e["case"], e["check"], e["path"]) for e in LISTED}
    with pytest.raises(ParityError, match="not understood"):
        parse_output("Traceback (most recent call last):\n")


@pytest.mark.parametrize(
    ("difference", "peer_fails", "expected"),
    [
        (LISTED + ELSEWHERE, FAILING, []),
        (LISTED[:1], FAILING, ["new: hello/b.log:plain tree y.txt: missing"]),
        (LISTED, [], ["the peer fails, and this is not listed: hello/c.log:plain"]),
        (
            [*LISTED, LISTED[0] | {"path": "gone.html"}],
            FAILING,
            ["listed, but no longer differs: hello/b.log:plain text gone.html"],
        ),
        (
            LISTED,
            [*FAILING, {"case": "hello/a.log:plain", "reason": "r"}],
            ["listed as one that the peer fails on, but it does not: hello/a.log:plain"],
        ),
    ],
)
def test_the_list_is_matched_exactly(difference, peer_fails, expected):
    assert judge(parse_output(OUTPUT), {"difference": difference, "peer_fails": peer_fails}) == expected


def test_an_entry_without_a_reason_is_refused(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text('[[peer_fails]]\ncase = "a/b.log:plain"\nreason = ""\n')
    with pytest.raises(ParityError, match="none of them empty"):
        load_known(path)


def test_no_case_at_all_is_an_error(tmp_path):
    (tmp_path / "empty").mkdir()
    assert run_parity(tmp_path, "plain", {}).cases == set()
    command = [sys.executable, HERE / "check.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no case" in done.stderr
