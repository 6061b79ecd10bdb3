"""Completion in a shell: the script, and what it is told."""

import os

import pytest
from fasttl import _core


@pytest.fixture
def complete(spawn):
    """Ask for completions as the script of bash does."""

    def ask(words, place):
        env = {**os.environ, "COMP_WORDS": words, "COMP_CWORD": str(place), "_FASTTL_COMPLETE": "bash_complete"}
        done = spawn(env=env)
        assert (done.returncode, done.stderr) == (0, b"")
        return [tuple(line.split(",", 1)) for line in done.stdout.decode().splitlines()]

    return ask


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(spawn, shell):
    done = spawn(env={**os.environ, "_FASTTL_COMPLETE": f"{shell}_source"})
    assert done.returncode == 0, done.stderr
    assert b"_FASTTL_COMPLETE=" + shell.encode() + b"_complete" in done.stdout


def test_the_first_word_is_a_command_or_a_path(complete):
    assert complete("fasttl qu", 1) == [("plain", "query"), ("file", "qu")]
    assert ("plain", "report") in complete("fasttl ", 1)


def test_the_first_word_may_be_an_option_of_the_report(complete):
    assert complete("fasttl --overw", 1) == [("plain", "--overwrite")]
    assert complete("fasttl --vers", 1) == [("plain", "--version")]


def test_further_words(complete):
    assert complete("fasttl query --form", 2) == [("plain", "--format")]
    assert complete("fasttl query --format ", 3) == [("plain", name) for name in ("table", "json", "csv", "markdown")]
    for command in ("query", "info", "index", "export"):
        assert complete(f"fasttl {command} exam", 2) == [("file", "exam")]
    assert complete("fasttl exam --out", 2) == [("plain", "--out")]


def test_kinds_of_findings_are_completed(complete):
    kinds = [("plain", name) for name, _ in _core.finding_kinds()]
    assert complete("fasttl findings --kind ", 3) == kinds
    assert complete("fasttl findings --kind re", 3) == [("plain", "recompiles")]


@pytest.mark.parametrize(
    "command", ["diff", "explain", "export", "extract", "findings", "index", "query", "report", "size"]
)
def test_to_complete_an_option_takes_no_heavy_import(python, monkeypatch, command):
    monkeypatch.setenv("COMP_WORDS", f"fasttl {command} --")
    monkeypatch.setenv("COMP_CWORD", "2")
    monkeypatch.setenv("_FASTTL_COMPLETE", "bash_complete")
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('HEAVY', *{'polars', 'pyarrow', 'numpy', 'html'}.intersection(sys.modules)))\n"
        "from fasttl.cli import main\n"
        "main()"
    )
    lines = python(code).splitlines()
    assert "plain,--latest" in lines or command == "index"
    assert lines[-1] == "HEAVY"
