"""`fasttl extract` and `Trace.extract`: which artifacts, where they go, and what is never written."""

import hashlib
import json
import os
import re
import subprocess
import sys

import fasttl
import polars as pl
import pytest
from fasttl.queries.names import FileNames, ending, log_folders, safe_part
from hypothesis import given
from hypothesis import strategies as st

HEAD = "V1129 23:51:41.631000 7 torch/x.py:1] "


def record(name, text, ids='"frame_id": 0, "frame_compile_id": 1, "attempt": 0', extra=""):
    head = {"name": name, "encoding": "string"}
    return f'{HEAD}{{"artifact": {json.dumps(head)}, {extra}{ids}, "has_payload": "00"}}\n' + "".join(
        f"\t{line}\n" for line in text.split("\n")
    )


@pytest.fixture
def job(tmp_path):
    """Give the logs of two ranks: two runnables of 0/1, one of a second attempt, one without an id."""
    folder = tmp_path / "job"
    folder.mkdir()
    for rank in (0, 3):
        rank_key = f'"rank": {rank}, '
        (folder / f"dedicated_log_torch_trace_rank_{rank}_abcdefgh.log").write_text(
            record("fx_graph_runnable", f"x = {rank}", extra=rank_key)
            + record("fx_graph_runnable", f"y = {rank}", extra=rank_key)
            + record("notes", "one\ntwo\n", '"frame_id": 0, "frame_compile_id": 1, "attempt": 2', rank_key)
            + record("graph_execution", "z", '"stack": []', rank_key)
        )
    return folder


def paths(run, job, *flags):
    result = run("extract", job, "--list", "--format", "json", *flags)
    assert result.exit_code == 0, result.stderr
    return [row["path"] for row in json.loads(result.stdout)["artifacts"]]


def files_below(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def test_conditions(run, job):
    both = ["rank_3/0_1_0/fx_graph_runnable_0.py", "rank_3/0_1_0/fx_graph_runnable_1.py"]
    assert paths(run, job, "--kind", "fx_graph_runnable", "--cid", "0/1", "--rank", "3") == both
    assert paths(run, job, "--name", "fx_graph*", "--ranks", "3") == both
    assert paths(run, job, "--kind", "artifact", "--cid", "0/1_2") == [
        "rank_0/0_1_2/notes_0.txt",
        "rank_3/0_1_2/notes_0.txt",
    ]
    assert len(paths(run, job, "--cid", "[0/1]", "--rank", "0")) == 3
    assert paths(run, job, "--cid", "none", "--rank", "0") == ["rank_0/no_compile_id/graph_execution_0.txt"]
    assert paths(run, job, "--kind", "notes", "--kind", "graph_execution", "--rank", "0") == [
        "rank_0/0_1_2/notes_0.txt",
        "rank_0/no_compile_id/graph_execution_0.txt",
    ]
    assert len(paths(run, job)) == 8


def test_one_payload_goes_to_stdout_as_it_is(run, job):
    for out in ([], ["-o", "-"]):
        result = run("extract", job, "--name", "notes", "--rank", "3", *out)
        assert (result.exit_code, result.stdout_bytes) == (0, b"one\ntwo\n")
    assert run("extract", job, "--kind", "graph_execution", "--rank", "0").stdout_bytes == b"z"


def test_several_are_listed_unless_all_are_wanted(run, job):
    result = run("extract", job, "--kind", "fx_graph_runnable")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "4 artifacts fit" in result.stderr
    assert "rank_3/0_1_0/fx_graph_runnable_1.py" in result.stderr
    assert run("extract", job, "--kind", "fx_graph_runnable", "--all").stdout == "x = 0\ny = 0\nx = 3\ny = 3\n"


def test_equal_texts_of_ranks_are_one(run, example):
    result = run("extract", example, "--kind", "torch_version")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["pytorch_version"].startswith("2.13")
    md5 = fasttl.load(example).artifacts.filter(pl.col("name") == "torch_version")["md5"][0]
    assert run("extract", example, "--md5", md5[:6].upper()).stdout == result.stdout


def test_files_are_written_with_their_paths_on_stdout(run, job, tmp_path):
    out = tmp_path / "out"
    result = run("extract", job, "--kind", "fx_graph_runnable", "--rank", "3", "-o", out)
    assert result.exit_code == 0
    written = ["rank_3/0_1_0/fx_graph_runnable_0.py", "rank_3/0_1_0/fx_graph_runnable_1.py"]
    assert result.stdout.splitlines() == [str(out / path) for path in written]
    assert files_below(out) == written
    assert (out / written[1]).read_bytes() == b"y = 3"


def test_nothing_is_overwritten(run, job, tmp_path):
    out = tmp_path / "out"
    target = out / "rank_3/0_1_2/notes_0.txt"
    target.parent.mkdir(parents=True)
    target.write_text("mine")
    result = run("extract", job, "-o", out)
    assert result.exit_code == 2
    assert "is there already" in result.stderr
    assert files_below(out) == ["rank_3/0_1_2/notes_0.txt"]
    assert target.read_text() == "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_no_link_is_followed(run, job, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    out = tmp_path / "out"
    out.mkdir()
    (out / "rank_3").symlink_to(elsewhere)
    result = run("extract", job, "--rank", "3", "-o", out)
    assert result.exit_code == 2
    assert "is a link" in result.stderr
    (out / "rank_0/0_1_2").mkdir(parents=True)
    (out / "rank_0/0_1_2/notes_0.txt").symlink_to(elsewhere / "gone")
    assert run("extract", job, "--name", "notes", "--rank", "0", "-o", out).exit_code == 2
    assert list(elsewhere.iterdir()) == []


def test_output_that_cannot_be_written_is_status_4(run, job, tmp_path):
    (tmp_path / "file").write_text("")
    result = run("extract", job, "--name", "notes", "-o", tmp_path / "file" / "out")
    assert result.exit_code == 4
    assert "notes_0.txt" in result.stderr


def test_what_is_there_is_named_where_nothing_fits(run, job, tmp_path):
    result = run("extract", job, "--kind", "nope", "-o", tmp_path / "out")
    assert (result.exit_code, result.stdout) == (2, "")
    for word in ("kinds: artifact", "names: fx_graph_runnable, notes", "compile ids: 0/1, 0/1_2, none", "ranks: 0, 3"):
        assert word in result.stderr
    assert not (tmp_path / "out").exists()
    empty = tmp_path / "empty.log"
    empty.write_text(f'{HEAD}{{"dynamo_start": {{"stack": []}}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}}\n')
    assert "there are no artifacts" in run("extract", empty).stderr


@pytest.mark.parametrize("flags", [["--cid", "x"], ["--cid", "_1"], ["--cid", "9" * 30 + "/0"], ["--md5", "xyz"]])
def test_conditions_that_cannot_be_read_are_refused(run, job, flags):
    result = run("extract", job, *flags)
    assert result.exit_code == 2
    assert re.search("is no compile id|not an md5", result.stderr)


def test_damage_is_told(run, example, tmp_path):
    log = tmp_path / "dedicated_log_torch_trace_rank_2_abcdefgh.log"
    text = next(example.glob("*rank_2*")).read_bytes()
    log.write_bytes(text.replace(b'\t"pytorch_version"', b'\t"pytorch_verSion"'))
    result = run("extract", log, "--kind", "torch_version")
    assert result.exit_code == 0
    assert "pytorch_verSion" in result.stdout
    assert "wrong md5" in result.stderr


def test_a_payload_that_is_missing_is_not_written_as_an_empty_file(run, tmp_path):
    log = tmp_path / "a.log"
    log.write_text(record("gone", "").partition("\t")[0] + record("here", "x"))
    assert paths(run, log) == ["process_7/0_1_0/here_0.txt"]


def test_names_do_not_depend_on_what_else_is_wanted(run, job):
    text = b"".join(log.read_bytes() for log in job.glob("*rank_3*"))
    log = job / "dedicated_log_torch_trace_rank_3_abcdefgh.log"
    digest = hashlib.md5(b"y = 3", usedforsecurity=False).hexdigest().encode()
    assert text.count(b'"00"') == 4
    first, second, rest = text.split(b'"00"', 2)
    log.write_bytes(first + b'"00"' + second + b'"' + digest + b'"' + rest)
    assert paths(run, job, "--md5", digest.decode()) == ["rank_3/0_1_0/fx_graph_runnable_1.py"]


def test_in_python(job, tmp_path):
    trace = fasttl.load(job)
    written = trace.extract(tmp_path / "out", kind=["notes", "none"], rank=[3], compile_id="0/1")
    assert written == [os.path.join(tmp_path, "out", "rank_3", "0_1_2", "notes_0.txt")]  # noqa: PTH118
    with pytest.raises(fasttl.OptionError, match="no artifact fits"):
        trace.extract(tmp_path / "out", name="nope")


# Names.


HOSTILE = ["../../x", "/etc/passwd", "..", ".", "", "a\0b", "a\\..\\b", "\u202etxt.exe", "con", "NUL.txt", "x" * 5000,
           "-rf", "\udc80", "new\nline", "計算", "a/b", "~", "$(id)"]  # fmt: skip


def is_one_safe_part(part):
    return (
        part not in {"", ".", ".."}
        and not set(part) & set('/\\\0\n\r<>:"|?*$`~')
        and part[0] not in ".-"
        and part.isprintable()
        and len(part.encode()) <= 200
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_become_one_part(text):
    assert is_one_safe_part(safe_part(text))


@given(st.text())
def test_any_text_becomes_one_part(text):
    assert is_one_safe_part(safe_part(text))


def test_hostile_names_stay_in_the_folder(run, tmp_path):
    (tmp_path / "a.log").write_text("".join(record(name, name[:3]) for name in HOSTILE if "\udc80" not in name))
    out = tmp_path / "deep" / "out"
    result = run("extract", tmp_path / "a.log", "-o", out)
    assert result.exit_code == 0, result.stderr
    assert len(files_below(out)) == len(HOSTILE) - 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.log", "deep"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]


def test_paths_are_unique_whatever_the_case():
    names = FileNames({0: "rank_0"})
    row = {"file": 0, "kind": "artifact", "encoding": "string", "compiled_autograd_id": None, "frame_id": 0,
           "frame_compile_id": 0, "attempt": 0}  # fmt: skip
    given_out = [
        names.give({**row, "name": name}) for name in ("a", "A", "a_1", "a", "ä", "a\u0308", "a_1_0", "a/b", "a_b")
    ]
    assert len({path.casefold() for path in given_out}) == len(given_out)


def test_compiled_autograd_and_missing_ids_have_folders_of_their_own():
    names = FileNames({0: "rank_0"})
    row = {"file": 0, "kind": "compiled_autograd_graph", "name": "compiled_autograd_graph", "encoding": None,
           "compiled_autograd_id": 2, "frame_id": None, "frame_compile_id": None, "attempt": 0}  # fmt: skip
    assert names.give(row) == "rank_0/2_-_-_0/compiled_autograd_graph_0.py"


def test_endings():
    assert ending("inductor_output_code", "/tmp/x/abc.py", None) == "py"  # noqa: S108 - a name in a log
    assert ending("inductor_output_code", "/tmp/x/abc.cpp", None) == "cpp"  # noqa: S108
    assert ending("dynamo_output_graph", "dynamo_output_graph", None) == "py"
    assert ending("artifact", "dynamo_error", "string") == "txt"
    assert ending("dynamo_cpp_guards_str", "dynamo_cpp_guards_str", None) == "txt"


def test_restarts_and_processes_have_folders_of_their_own(data):
    files = fasttl.load(data("dist_restart")).files
    folders = log_folders(files.select("file", "rank", "process_id").rows())
    assert sorted(folders.values()) == ["rank_0", "rank_0.restart_0", "rank_1", "rank_1.restart_0"]


# Real traces.


@pytest.mark.shared
def test_every_runnable_is_a_python_program(shared):
    folders = [folder for folder in (shared / "traces").iterdir() if any(folder.glob("*.log"))]
    count = 0
    for folder in folders:
        trace = fasttl.load(folder)
        runnables = trace.artifacts.filter(pl.col("name") == "fx_graph_runnable")
        for row in runnables.iter_rows(named=True):
            compile(trace.text(row), f"{folder.name} {row['rank']} {row['compile_id']}", "exec")
        count += runnables.height
    assert count > 50


def test_the_runnable_of_a_real_log_runs_where_torch_is(data, run, tmp_path):
    pytest.importorskip("torch", reason="runs the graph itself")
    result = run("extract", data("hello"), "--kind", "fx_graph_runnable")
    assert result.exit_code == 0
    script = tmp_path / "repro.py"
    script.write_text(result.stdout)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
