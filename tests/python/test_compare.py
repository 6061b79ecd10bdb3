"""The benchmark measures all it should, and fails where it should: a report that is not whole, a tool that fails."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import compare
import pytest
from measures.budgets import BUDGETS, GROUPS
from measures.inputs import SMALL_MIX, find_sources
from measures.process import BenchError, find_tool
from measures.reports import Report, check_complete, size_up

DATA = Path(__file__).resolve().parent.parent / "data"

# A stand-in for fasttl: it runs the peer, after a nap or with a file taken away.
TOOL = """#!{python}
import pathlib, subprocess, sys, time
if "--version" in sys.argv:
    sys.exit(0)
subprocess.run([{peer!r}, *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
out = pathlib.Path(sys.argv[sys.argv.index("-o") + 1])
{action}
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    def call(*extra: str, action: str | None = None) -> tuple[int, list[Path]]:
        words = ["compare.py", "--size", "200K", "--ranks", "2", "--traces", str(DATA), "--tmp", str(tmp_path)]
        words += ["--results", str(tmp_path / "results"), *extra]
        if action is not None:
            tool = tmp_path / "tool"
            tool.write_text(TOOL.format(python=sys.executable, peer=find_tool("tlparse"), action=action))
            tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
            words += ["--fasttl", str(tool)]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            compare.main()
        return ended.value.code, sorted((tmp_path / "results").glob("*.json"))

    return call


@pytest.mark.slow
def test_a_quick_run_measures_everything_and_judges_nothing(run, capsys):
    code, results = run("--quick")
    assert code == 0
    said = capsys.readouterr().out
    assert "nothing was judged" in said
    assert "MISSED" not in said
    facts = json.loads(results[0].read_text())
    assert results[0].stem.endswith("-quick")
    assert list(facts["groups"]) == list(GROUPS)
    assert facts["failed"] == {}
    # What depends on the machine, and on who writes fewer bytes, may be left out.
    optional = {budget.key for budget in BUDGETS if budget.group in ("memory", "threads") or "fewer" in budget.key}
    keys = {row["key"] for row in facts["budgets"]}
    assert {budget.key for budget in BUDGETS} - optional <= keys
    assert {row["verdict"] for row in facts["budgets"]} == {"not judged"}
    assert set(facts["machine"]) == {"cpu", "cores", "memory_gb", "system", "python", "file_system", "load"}


def test_the_report_group_says_what_both_wrote(run):
    _, results = run("--only", "report", "--runs", "2", "--quick")
    facts = json.loads(results[0].read_text())
    for row in facts["groups"]["report"].values():
        tools = row["tools"]
        assert set(tools) == {"fasttl", "tlparse"}
        assert row["ratio"] == pytest.approx(
            tools["tlparse"]["median"]["wall_s"] / tools["fasttl"]["median"]["wall_s"],
        )
        assert [len(tool["runs"]) for tool in tools.values()] == [2, 2]
        assert all(tool["report"]["files"] and tool["report"]["bytes"] for tool in tools.values())
        assert len(row["copy_s"]) == 2
    text = results[0].with_suffix(".md").read_text()
    assert "| one log | 0.2 |" in text
    assert "| 2 ranks |" in text


def test_a_budget_that_is_missed_fails(run, capsys):
    code, results = run("--only", "report", "--runs", "1", action="time.sleep(0.3)")
    assert code == 1
    assert results[0].stem.endswith("-part")
    assert "budgets MISSED" in capsys.readouterr().out
    verdicts = {row["key"]: row["verdict"] for row in json.loads(results[0].read_text())["budgets"]}
    assert verdicts["report_log_peer"] == "MISSED"


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ('(out / "index.html").unlink()', "lacks 1 of the peer's"),
        ('(out / "raw.log").write_text("")', "raw.log has 0 bytes"),
        ("sys.exit(3)", "exit status 3"),
    ],
)
def test_a_report_that_is_not_whole_is_no_result(run, capsys, action, message):
    code, results = run("--only", "report", "--quick", action=action)
    assert code == 2
    facts = json.loads(results[0].read_text())
    assert facts["groups"] == {}
    assert facts["budgets"] == []
    assert message in facts["failed"]["report"]
    assert message in capsys.readouterr().err


def test_one_group_that_fails_does_not_take_others_with_it(run):
    code, results = run("--only", "report,threads", "--quick", action="if '--threads' not in sys.argv: sys.exit(3)")
    assert code == 2
    # The stand-in hands --threads on to the peer, which refuses it: both fail, and both are told.
    assert set(json.loads(results[0].read_text())["failed"]) == {"report", "threads"}


def test_a_peer_that_takes_too_long_is_told_as_such(run, monkeypatch, tmp_path):
    slow = tmp_path / "slow"
    slow.write_text(f"#!{sys.executable}\nimport sys, time\nif '--version' not in sys.argv:\n    time.sleep(30)\n")
    slow.chmod(slow.stat().st_mode | stat.S_IXUSR)
    monkeypatch.delenv("FASTTL_THREADS", raising=False)
    code, results = run("--only", "report", "--quick", "--limit", "0.3", "--tlparse", str(slow))
    assert code == 0
    row = json.loads(results[0].read_text())["groups"]["report"]["one log"]
    assert row["peer_ended_after_s"] == 0.3
    assert list(row["tools"]) == ["fasttl"]
    assert row["ratio"] == pytest.approx(0.3 / row["tools"]["fasttl"]["median"]["wall_s"])
    assert "| > 0.30 |" in results[0].with_suffix(".md").read_text()


def test_an_unknown_group_is_refused(run, capsys):
    code, results = run("--only", "report,speed")
    assert code == 2
    assert results == []
    assert "no such group: speed" in capsys.readouterr().err


def test_a_job_is_whole_when_each_rank_is():
    ours = {"rank_0/raw.log": 3, "rank_1/raw.log": 4, "index.html": 1}
    check_complete(ours, {"index.html": 2}, 7)
    with pytest.raises(BenchError, match=r"raw.log has 7 bytes, the log 8"):
        check_complete(ours, {}, 8)


def test_a_second_name_of_a_file_is_no_second_copy(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    (tmp_path / "c").write_bytes(b"12345")
    assert size_up(tmp_path) == Report(files=3, bytes=10)


def test_without_the_large_traces_the_small_ones_are_grown():
    assert {source.parent.name for source in find_sources(DATA)} == set(SMALL_MIX)


def test_a_folder_without_traces_is_named(tmp_path):
    with pytest.raises(BenchError, match="none of the traces"):
        find_sources(tmp_path)


def test_a_missing_program_is_named():
    with pytest.raises(BenchError, match="no-such-program: not found"):
        find_tool("no-such-program")
