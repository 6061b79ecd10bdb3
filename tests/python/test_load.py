"""`fasttl.load`: what may be named, which options there are, and what goes wrong."""

import gzip
import shutil
import threading
from pathlib import Path

import fasttl
import polars as pl
import pytest


def ranks_of(trace):
    return sorted(trace.files["rank"].to_list())


def test_a_folder_a_log_a_pattern_and_a_list_are_read(example):
    logs = sorted(example.glob("*.log"))
    assert ranks_of(fasttl.load(example)) == [0, 1, 2]
    assert ranks_of(fasttl.load(str(logs[1]))) == [1]
    assert ranks_of(fasttl.load(example / "*rank_[02]_*")) == [0, 2]
    assert ranks_of(fasttl.load([logs[2], logs[0]])) == [0, 2]


def test_a_log_named_twice_is_read_once(example):
    log = next(example.glob("*rank_2*"))
    assert fasttl.load([log, example, log]).files.height == 3


def test_without_a_path_the_environment_names_the_folder(example, monkeypatch):
    monkeypatch.setenv("TORCH_TRACE", str(example))
    assert ranks_of(fasttl.load()) == [0, 1, 2]


@pytest.mark.parametrize(("ranks", "expected"), [("0,2", [0, 2]), (1, [1]), (range(1, 9), [1, 2]), ([2, None], [2])])
def test_only_the_wanted_ranks_are_read(example, ranks, expected):
    trace = fasttl.load(example, ranks=ranks)
    assert ranks_of(trace) == expected
    assert set(trace.frames["rank"].to_list()) == set(expected)


def test_none_stands_for_logs_without_a_rank(data):
    everything = fasttl.load(data("processes"))
    assert everything.files.height == 3
    assert set(everything.files["rank"].to_list()) == {None}
    assert fasttl.load(data("processes"), ranks="none").records.equals(everything.records)
    with pytest.raises(fasttl.FasttlError):
        fasttl.load(data("processes"), ranks=0)


def test_latest_is_the_newest_run(data):
    restarts = fasttl.load(data("dist_restart"))
    assert ranks_of(restarts) == [0, 0, 1, 1]
    newest = fasttl.load(data("dist_restart"), latest=True)
    assert ranks_of(newest) == [0, 1]
    assert newest.files["first_time"].min() > restarts.files["first_time"].min()


def test_a_compressed_log_gives_the_same_tables(example, tmp_path):
    log = next(example.glob("*rank_1*"))
    packed = tmp_path / "no_matter_which_name"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    plain, unpacked = fasttl.load(log), fasttl.load(packed)
    assert unpacked.frames.drop("start").equals(plain.frames.drop("start"))
    assert unpacked.records.drop("time").equals(plain.records.drop("time"))


def test_the_number_of_threads_changes_nothing(example):
    one, four = fasttl.load(example, threads=1), fasttl.load(example, threads=4)
    for name in one.tables:
        assert one.table(name).equals(four.table(name)), name


def test_passed_over_files_are_listed(example, tmp_path):
    log = next(example.glob("*rank_2*"))
    shutil.copy(log, tmp_path)
    (tmp_path / "notes.txt").write_text("remember the milk\n")
    trace = fasttl.load(tmp_path)
    assert trace.files.height == 1
    [(path, reason)] = trace.skipped
    assert path == str(tmp_path / "notes.txt")
    assert reason


def test_missing_paths_are_named(tmp_path):
    with pytest.raises(fasttl.TraceNotFoundError, match="no_such_folder"):
        fasttl.load(tmp_path / "no_such_folder")
    with pytest.raises(FileNotFoundError, match=r"nothing\*"):
        fasttl.load(tmp_path / "nothing*")
    (tmp_path / "empty").mkdir()
    with pytest.raises(fasttl.TraceNotFoundError, match="empty"):
        fasttl.load(tmp_path / "empty")


def test_a_file_that_is_no_trace_is_described(tmp_path):
    picture = tmp_path / "loss.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    with pytest.raises(fasttl.NotATraceError, match=r"loss\.png.*looks like"):
        fasttl.load(picture)


def test_bad_options_are_refused_before_anything_is_read():
    with pytest.raises(fasttl.OptionError, match="on_problem"):
        fasttl.load("no such folder", on_problem="ignore")
    with pytest.raises(fasttl.OptionError, match="threads"):
        fasttl.load("no such folder", threads=0)
    with pytest.raises(ValueError, match="rank"):
        fasttl.load("no such folder", ranks="a")


def test_a_bad_record_is_collected_unless_asked(data):
    trace = fasttl.load(data("killed"))
    errors = trace.problems.filter(pl.col("severity").cast(pl.String) == "error")
    assert errors.height == 1
    with pytest.raises(fasttl.ProblemError) as caught:
        fasttl.load(data("killed"), on_problem="raise")
    error = caught.value
    [log] = data("killed").glob("*.log")
    row = errors.row(0, named=True)
    assert (error.file, error.line, error.kind, error.detail) == (str(log), row["line"], row["kind"], row["detail"])
    assert error.count == 1
    assert str(error).startswith(f"{log}:{error.line}: ")


def test_a_good_trace_does_not_raise(example):
    assert fasttl.load(example, on_problem="raise").records.height == 224


def test_verify_finds_damage_inside_a_payload(example, tmp_path):
    source = next(example.glob("*rank_2*"))
    text = source.read_bytes()
    damaged = tmp_path / source.name
    assert text.count(b'\t"pytorch_version"') == 1
    damaged.write_bytes(text.replace(b'\t"pytorch_version"', b'\t"pytorch_verSion"'))
    assert fasttl.load(damaged, verify=False, on_problem="raise").files.height == 1
    with pytest.raises(fasttl.ProblemError, match="md5"):
        fasttl.load(damaged, on_problem="raise")


def test_progress_is_told_in_the_calling_thread_and_ends_at_the_total(example):
    calls = []
    fasttl.load(example, progress=lambda done, total: calls.append((done, total, threading.get_ident())))
    size = sum(log.stat().st_size for log in example.glob("*.log"))
    assert calls[-1][:2] == (size, size)
    assert {ident for _, _, ident in calls} == {threading.get_ident()}
    done = [call[0] for call in calls]
    assert done == sorted(done)


def test_what_progress_raises_ends_the_work(example):
    class EnoughError(Exception):
        pass

    def stop(_done, _total):
        raise EnoughError

    with pytest.raises(EnoughError):
        fasttl.load(example, progress=stop)


def test_paths_stay_valid_after_a_change_of_folder(example, tmp_path, monkeypatch):
    shutil.copytree(example, tmp_path / "job")
    monkeypatch.chdir(tmp_path)
    trace = fasttl.load("job")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert trace.write_report("out").logs == 3
    assert Path("out/index.html").is_file()


def test_two_traces_do_not_share_anything(data):
    first = fasttl.load(data("hello"))
    strings = first.strings
    second = fasttl.load(data("unusual"))
    assert first.strings is strings
    assert fasttl.load(data("hello")).strings.equals(strings)
    assert not second.strings.equals(strings)
