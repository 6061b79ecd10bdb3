"""What is imported when: the report command must start without the heavy libraries."""

import os
import shutil

import pytest
from fasttl.cli import COMMANDS

HEAVY = {"polars", "pyarrow", "numpy", "pandas"}

REPORT = f"""
print(",".join(sorted(set({sorted(HEAVY)}) & set(sys.modules))))
"""


def heavy_after(python, code, *args):
    last = python(f"import sys\n{code}\n{REPORT}", *args).splitlines()[-1]
    return set(last.split(",")) - {""}


def test_importing_fasttl_imports_nothing_heavy(python):
    assert heavy_after(python, "import fasttl") == set()


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS if name != "info")]
)
def test_help_imports_nothing_heavy(python, arguments):
    code = f"from fasttl.cli import cli\ntry: cli.main({arguments!r})\nexcept SystemExit as e: assert not e.code"
    assert heavy_after(python, code) == set()


def test_writing_a_report_imports_nothing_heavy(python, example, tmp_path):
    code = (
        "from fasttl.cli import cli\n"
        "try: cli.main([*sys.argv[1:], '--no-browser'])\n"
        "except SystemExit as e: assert not e.code, e.code"
    )
    assert heavy_after(python, code, example, "-o", tmp_path / "out") == set()
    assert (tmp_path / "out" / "index.html").is_file()


def test_writing_indexes_imports_nothing_heavy(python, example, tmp_path):
    folder = shutil.copytree(example, tmp_path / "job")
    for log in folder.iterdir():
        os.utime(log, (1e9, 1e9))
    code = (
        "from fasttl.cli import cli\n"
        "try: cli.main(['index', *sys.argv[1:]])\n"
        "except SystemExit as e: assert not e.code, e.code"
    )
    assert heavy_after(python, code, folder) == set()
    assert len(list((folder / ".fasttl-index").iterdir())) == 3


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["{example}", "-o", "{out}", "--no-browser"]])
def test_a_process_of_the_command_line_imports_nothing_heavy(spawn, example, tmp_path, arguments):
    words = [word.format(example=example, out=tmp_path / "out") for word in arguments]
    done = spawn(*words, env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"})
    assert done.returncode == 0
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines() if "import time:" in line}
    assert "fasttl.cli" in imported
    assert not {name.partition(".")[0] for name in imported} & HEAVY


def test_loading_imports_nothing_heavy_until_a_table_is_asked_for(python, example):
    assert heavy_after(python, "import fasttl; fasttl.load(sys.argv[1])", example) == set()
    # This also shows that the tests above can fail.
    assert "polars" in heavy_after(python, "import fasttl; fasttl.load(sys.argv[1]).files", example)
    assert "polars" in heavy_after(python, "import fasttl; fasttl.scan(sys.argv[1])", example)
    assert "pyarrow" in heavy_after(python, "import fasttl; fasttl.load(sys.argv[1]).arrow('files')", example)


def test_the_command_line_imports_one_command(python):
    code = "import sys, fasttl.cli\nprint([name for name in sys.modules if name.startswith('fasttl.cli.')])"
    assert python(code).strip() == "['fasttl.cli._common']"
