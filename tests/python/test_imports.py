"""What is imported when: the report command must start without the heavy libraries."""

import pytest

HEAVY = {"polars", "pyarrow", "numpy", "pandas"}

REPORT = f"""
print(",".join(sorted(set({sorted(HEAVY)}) & set(sys.modules))))
"""


def heavy_after(python, code, *args):
    last = python(f"import sys\n{code}\n{REPORT}", *args).splitlines()[-1]
    return set(last.split(",")) - {""}


def test_importing_fasttl_imports_nothing_heavy(python):
    assert heavy_after(python, "import fasttl") == set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["report", "--help"]])
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


def test_loading_imports_nothing_heavy_until_a_table_is_asked_for(python, example):
    assert heavy_after(python, "import fasttl; fasttl.load(sys.argv[1])", example) == set()
    # This also shows that the tests above can fail.
    assert "polars" in heavy_after(python, "import fasttl; fasttl.load(sys.argv[1]).files", example)
    assert "pyarrow" in heavy_after(python, "import fasttl; fasttl.load(sys.argv[1]).arrow('files')", example)


def test_the_command_line_imports_one_command(python):
    code = "import sys, fasttl.cli\nprint([name for name in sys.modules if name.startswith('fasttl.cli.')])"
    assert python(code).strip() == "['fasttl.cli._common']"
