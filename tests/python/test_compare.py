"""The benchmark fails where it should: on a slow tool, on a report that is not whole, on a tool that fails."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import compare
import pytest

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
    def call(action: str, *extra: str) -> tuple[int, list[Path]]:
        tool = tmp_path / "tool"
        tool.write_text(TOOL.format(python=sys.executable, peer=compare.find_tool("tlparse"), action=action))
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
        words = ["compare.py", "--size", "400K", "--runs", "2", "--traces", str(DATA), "--tmp", str(tmp_path)]
        words += ["--results", str(tmp_path / "results"), "--fasttl", str(tool), *extra]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            compare.main()
        return ended.value.code, sorted((tmp_path / "results").glob("*.json"))

    return call


def test_within_the_budget(run, capsys):
    code, results = run("", "--min-ratio", "0.001")
    assert code == 0
    said = capsys.readouterr().out
    assert "ratio" in said
    assert "ok: " in said
    facts = json.loads(results[0].read_text())
    assert set(facts["tools"]) == {"fasttl", "tlparse"}
    assert facts["ratio"] == pytest.approx(
        facts["tools"]["tlparse"]["median"]["wall_s"] / facts["tools"]["fasttl"]["median"]["wall_s"]
    )
    assert len(facts["tools"]["fasttl"]["runs"]) == 2
    assert set(facts["machine"]) == {"cpu", "cores", "memory_gb", "system", "python", "file_system"}


def test_below_the_budget(run, capsys):
    code, results = run("time.sleep(0.3)", "--min-ratio", "8")
    assert code == 1
    assert len(results) == 1
    assert "TOO SLOW" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ('(out / "index.html").unlink()', "lacks 1 of the peer's"),
        ('(out / "raw.log").write_text("")', "raw.log has 0 bytes"),
        ("sys.exit(3)", "exit status 3"),
    ],
)
def test_a_report_that_is_not_whole_is_no_result(run, capsys, action, message):
    code, results = run(action, "--min-ratio", "0.001")
    assert code == 2
    assert results == []
    assert message in capsys.readouterr().err


def test_one_tool_alone_needs_no_other(run, capsys):
    code, results = run("", "--only", "tlparse", "--fasttl", "no-such-program")
    assert code == 0
    assert list(json.loads(results[0].read_text())["tools"]) == ["tlparse"]
    assert "ok: " not in capsys.readouterr().out


def test_a_folder_without_traces_is_named(tmp_path):
    with pytest.raises(compare.BenchError, match="none of the traces"):
        compare.find_sources(tmp_path)


def test_a_missing_program_is_named():
    with pytest.raises(compare.BenchError, match="no-such-program: not found"):
        compare.find_tool("no-such-program")
