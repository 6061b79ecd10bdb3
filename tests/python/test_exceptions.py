"""Every exception can be met, is what it says it is, and travels between processes."""

import gzip
import inspect
import os
import pathlib
import pickle

import fasttl
import pytest
from fasttl import exceptions
from fasttl.cli._common import exit_status

CLASSES = [
    value for value in vars(exceptions).values() if inspect.isclass(value) and issubclass(value, exceptions.FasttlError)
]


def missing(tmp_path, _example):
    fasttl.load(tmp_path / "missing")


def no_trace(tmp_path, _example):
    (tmp_path / "notes.txt").write_text("no trace\n")
    fasttl.load(tmp_path / "notes.txt")


def bad_option(_tmp_path, example):
    fasttl.load(example).table("nonsense")


def foreign_output(tmp_path, example):
    (tmp_path / "precious").write_text("mine\n")
    fasttl.write_report(example, tmp_path, overwrite=True)


def changed(tmp_path, example):
    log = tmp_path / "rank.log"
    log.write_bytes(next(example.glob("*rank_2*")).read_bytes())
    # A log that was written to lately is copied; one at rest is read from its file.
    os.utime(log, (1e9, 1e9))
    trace = fasttl.load(log)
    log.write_bytes(b"")
    trace.text(0)


def unwritable(tmp_path, example):
    (tmp_path / "file").write_text("a file is no folder\n")
    fasttl.write_report(example, tmp_path / "file" / "out")


def bomb(tmp_path, example):
    packed = tmp_path / "rank.log.gz"
    packed.write_bytes(gzip.compress(next(example.glob("*rank_2*")).read_bytes()))
    fasttl.load(packed, max_unpacked=10_000)


def unreadable(_tmp_path, _example):
    # Reading one's own memory from address 0 is an I/O error for root as well.
    source = pathlib.Path("/proc/self/mem")
    if not source.exists():
        pytest.skip("needs Linux")
    fasttl.load(source)


def damaged(tmp_path, example):
    log = tmp_path / "rank.log"
    log.write_bytes(next(example.glob("*rank_2*")).read_bytes()[:-100])
    fasttl.load(log, on_problem="raise")


REACHED = [
    (missing, exceptions.TraceNotFoundError, FileNotFoundError, 2),
    (no_trace, exceptions.NotATraceError, ValueError, 2),
    (bad_option, exceptions.OptionError, ValueError, 2),
    (foreign_output, exceptions.OptionError, ValueError, 2),
    (changed, exceptions.TraceChangedError, OSError, 2),
    (unwritable, exceptions.OutputError, OSError, 4),
    (bomb, exceptions.TooLargeError, OSError, 2),
    (unreadable, exceptions.ReadError, OSError, 2),
    (damaged, exceptions.ProblemError, Exception, 2),
]


@pytest.mark.parametrize("case", REACHED, ids=lambda case: case[0].__name__)
def test_a_cause_raises_its_class(case, tmp_path, example):
    cause, kind, builtin, status = case
    with pytest.raises(kind) as caught:
        cause(tmp_path, example)
    assert type(caught.value) is kind
    assert isinstance(caught.value, builtin)
    assert exit_status(caught.value) == status
    # The message stands alone: it names the file, or the wrong value.
    text = str(caught.value)
    assert str(tmp_path) in text or "nonsense" in text or "/proc/self/mem" in text


def test_all_classes_are_met_or_internal():
    met = {row[1] for row in REACHED}
    # An InternalError is a fault of fasttl: no input is known that causes one.
    assert set(CLASSES) - met == {exceptions.FasttlError, exceptions.InternalError}
    assert issubclass(exceptions.InternalError, RuntimeError)


def test_all_classes_are_public():
    assert sorted(kind.__name__ for kind in CLASSES) == sorted(exceptions.__all__)
    for kind in CLASSES:
        assert getattr(fasttl, kind.__name__) is kind
        assert kind.__name__ in fasttl.__all__


def test_a_foreign_folder_is_left_alone(tmp_path, example):
    with pytest.raises(exceptions.OptionError):
        foreign_output(tmp_path, example)
    assert list(tmp_path.iterdir()) == [tmp_path / "precious"]


def roundtrip(error):
    return pickle.loads(pickle.dumps(error))  # noqa: S301 - what was pickled one call before


@pytest.mark.parametrize("line", [7, None])
def test_a_problem_survives_pickling(line):
    error = exceptions.ProblemError("a.log", line, "bad_json", "cut short", 3)
    copied = roundtrip(error)
    assert vars(copied) == vars(error)
    place = "a.log:7" if line else "a.log"
    assert str(copied) == f"{place}: bad_json: cut short (and 2 more)"


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind is not exceptions.ProblemError])
def test_other_errors_survive_pickling(kind):
    copied = roundtrip(kind("a.log: gone"))
    assert type(copied) is kind
    assert str(copied) == "a.log: gone"
