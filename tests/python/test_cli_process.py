"""The command line as a process: exit statuses, streams, interruption."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

try:
    import fcntl
    import termios
except ImportError:  # Windows
    fcntl = termios = None

FULL = Path("/dev/full")

COMMAND = [sys.executable, "-W", "ignore::RuntimeWarning", "-m", "fasttl"]


def test_a_report_is_written_and_named(spawn, example, tmp_path):
    done = spawn(example, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout == os.fsencode(tmp_path / "out" / "index.html") + b"\n"
    assert done.stderr == b""


def test_the_statuses_reach_the_shell(spawn, data, tmp_path):
    (tmp_path / "file").write_text("")
    assert spawn(data("killed"), "-o", tmp_path / "a", "--strict").returncode == 1
    assert spawn(tmp_path / "missing").returncode == 2
    assert spawn("--nonsense").returncode == 2
    assert spawn(data("hello"), "-o", tmp_path / "file" / "out").returncode == 4


def test_the_script_is_installed():
    script = Path(sys.executable).parent / "fasttl"
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("fasttl ")


def test_a_path_that_is_no_utf_8_reaches_the_next_program(spawn, example, tmp_path):
    out = os.fsencode(tmp_path) + b"/caf\xe9"
    try:
        os.mkdir(out)  # noqa: PTH102 - a path of bytes
    except OSError:
        pytest.skip("this file system wants UTF-8")
    done = spawn(os.fsencode(example), b"-o", out)
    assert done.returncode == 0, done.stderr
    assert done.stdout == out + b"/index.html\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send")
@pytest.mark.parametrize("command", [["-"], ["info", "-"]])
def test_ctrl_c_is_status_130_and_leaves_nothing(command, tmp_path):
    # Reading from a pipe that nobody closes lasts until it is interrupted.
    with subprocess.Popen(
        [*COMMAND, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    ) as process:
        process.stdin.write(b"V1129 23:58:14.528000 18290 torch/_dynamo/utils.py:2350] ")
        process.stdin.flush()
        wait_until_reading(process)
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        errors = process.stderr.read()
    assert code == 130, errors
    assert b"fasttl: interrupted" in errors
    assert b"Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to send")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_report_that_is_stopped_leaves_nothing(number, tmp_path):
    # So many files that they cannot all be written before the signal comes.
    head = 'V1129 23:58:14.528000 1 x.py:1] {"artifact": {"name": "a", "encoding": "string"}, '
    record = head + '"has_payload": "%s"}\n\t%d\n'
    records = (record % (hashlib.md5(b"%d" % n, usedforsecurity=False).hexdigest(), n) for n in range(60_000))
    (tmp_path / "many.log").write_text("".join(records))
    with subprocess.Popen([*COMMAND, "many.log", "-o", "out"], stderr=subprocess.PIPE, cwd=tmp_path) as process:
        deadline = time.monotonic() + 30
        while not list(tmp_path.glob(".fasttl-*/report/-_-_-_-")) and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(number)
        code = process.wait(timeout=30)
        errors = process.stderr.read()
    assert code == 130, errors
    assert [path.name for path in tmp_path.iterdir()] == ["many.log"]


def wait_until_reading(process):
    """Wait until the process has taken what is in the pipe: its handlers are set up by then."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        waiting = bytearray(4)
        fcntl.ioctl(process.stdin, termios.FIONREAD, waiting)
        if not any(waiting):
            return
        time.sleep(0.02)
    pytest.fail("the process does not read its standard input")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGPIPE")
def test_a_reader_that_leaves_causes_no_traceback(example):
    with subprocess.Popen(
        [*COMMAND, "info", os.fspath(example)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        errors = process.stderr.read()
        code = process.wait(timeout=60)
    assert code == 4
    assert errors == b""


@pytest.mark.skipif(not FULL.exists(), reason="needs Linux")
def test_a_full_disk_behind_stdout_is_told(example):
    with FULL.open("wb") as full:
        done = subprocess.run(
            [*COMMAND, "info", os.fspath(example)], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert done.returncode == 4
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_terminal_without_unicode_gets_escapes(data):
    done = subprocess.run(
        [*COMMAND, "info", os.fspath(data("unusual")), "--section", "problems"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
