"""What a start brings in: the modules of a command line and of ``import fasttl``, whose names come when asked for."""

import ast
import importlib
import inspect
import os
import pickle
import subprocess
import sys

import click
import fasttl
import pytest
from fasttl.cli import _common, cli, load_command
from hypothesis import given, settings
from hypothesis import strategies as st

# What one of these commands once imported, or may come to import, and needs nothing of. What `import click` brings
# in is taken off: that is another thing for each version of Python and click.
HEAVY = {
    "ast", "asyncio", "concurrent.futures", "csv", "ctypes", "datetime", "difflib", "dis", "email", "html",
    "html.entities", "importlib.metadata", "importlib.util", "inspect", "json", "logging", "multiprocessing", "numpy",
    "pandas", "pathlib", "platform", "polars", "pyarrow", "rich", "socket", "subprocess", "tempfile", "tokenize",
    "typing_extensions", "urllib.parse", "uuid", "webbrowser", "zipfile",
}  # fmt: skip

AT_EXIT = "import atexit, sys\natexit.register(lambda: print('\\nMODULES', *sys.modules, file=sys.stderr))\n"
MAIN = "from fasttl.cli import main\nmain()"

COMMAND_LINE = {"fasttl", "fasttl._core", "fasttl._display", "fasttl.cli", "fasttl.cli._common"}
REPORT = COMMAND_LINE | {"fasttl.cli.report", "fasttl._find_parsers", "fasttl._inputs", "fasttl._report"}


def modules_of(code, *args):
    """Give the modules that a fresh process has at its exit."""
    command = [sys.executable, "-W", "ignore::RuntimeWarning", "-c", AT_EXIT + code, *map(os.fspath, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.rpartition("\nMODULES ")[2].split())


@pytest.fixture(scope="module")
def of_click():
    return modules_of("import click")


def own(modules):
    return {name for name in modules if name.partition(".")[0] == "fasttl"}


def test_a_report_imports_what_it_uses(of_click, example, tmp_path):
    modules = modules_of(MAIN, next(example.glob("*rank_2*")), "-o", tmp_path / "out", "--no-browser")
    assert own(modules) == REPORT
    # With `locale`, click would search for translations.
    assert not (modules - of_click) & (HEAVY | {"locale"})
    assert (tmp_path / "out" / "index.html").is_file()


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_imports_no_command(of_click, flag):
    modules = modules_of(MAIN, flag)
    assert own(modules) == COMMAND_LINE | {"fasttl._inputs"}
    assert not (modules - of_click) & (HEAVY | {"locale"})


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["report", "--help"]])
def test_help_imports_the_commands_it_describes(of_click, words):
    modules = modules_of(MAIN, *words)
    assert own(modules) == REPORT
    assert not (modules - of_click) & HEAVY


def test_what_is_heavy_would_be_seen(of_click, example):
    assert {"polars", "html"} <= modules_of("import fasttl; fasttl.load(sys.argv[1])._repr_html_()", example)
    assert "click" in of_click


def test_the_package_alone_is_next_to_nothing():
    before = modules_of("")
    assert modules_of("import fasttl") - before <= {"__future__", "fasttl", "fasttl._core"}


# Names of the package.


def imports_for_type_checkers():
    """Give the names that type checkers see, each with its module."""
    tree = ast.parse(inspect.getsource(fasttl))
    [block] = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    return {name.name: node.module for node in block.body for name in node.names}


def test_names_are_those_that_type_checkers_see():
    homes = imports_for_type_checkers()
    for name, home in homes.items():
        assert getattr(fasttl, name) is getattr(importlib.import_module(home), name)
    assert set(fasttl.__all__) == set(homes) | {"Report", "Table", "__version__"}


def test_every_name_comes_when_it_is_asked_for(python):
    code = (
        "import sys, fasttl\n"
        "listed = dir(fasttl)\n"
        "assert listed == sorted(set(listed)), listed\n"
        "for name in fasttl.__all__:\n"
        "    assert name in listed, name\n"
        "    value = getattr(fasttl, name)\n"
        "    assert value is getattr(fasttl, name) is vars(fasttl)[name], name\n"
        "assert fasttl.plugins.registered == {} and fasttl.exceptions.__all__ and fasttl.trace.Trace is fasttl.Trace\n"
        "print(len(fasttl.__all__))"
    )
    assert int(python(code)) == len(fasttl.__all__) > 20


def test_the_star_gives_all_names():
    space = {}
    exec("from fasttl import *", space)  # noqa: S102 - a star is allowed at the top of a module only
    assert set(fasttl.__all__) <= set(space)
    assert space["load"] is fasttl.load


@pytest.mark.parametrize("module", ["exceptions", "plugins", "trace"])
def test_modules_are_attributes_without_an_import(python, module):
    assert python(f"import fasttl; print(fasttl.{module}.__name__)").strip() == f"fasttl.{module}"


def test_a_name_that_is_not_there_is_told_as_usual(python):
    with pytest.raises(AttributeError, match=r"^module 'fasttl' has no attribute 'laod'$") as caught:
        _ = fasttl.laod
    assert (caught.value.name, caught.value.obj) == ("laod", fasttl)
    assert not hasattr(fasttl, "__wrapped__")
    with pytest.raises(ImportError, match="cannot import name 'laod' from 'fasttl'"):
        exec("from fasttl import laod")  # noqa: S102 - so that linters do not see it
    # What is asked for first may also be a mistake.
    assert python("import fasttl; print(hasattr(fasttl, 'laod'), hasattr(fasttl, 'load'))").split() == ["False", "True"]


def test_names_travel_between_processes(python, tmp_path):
    (tmp_path / "names").write_bytes(pickle.dumps([fasttl.load, fasttl.File("a", "b"), fasttl.OptionError("c")]))
    code = (
        "import pickle, sys\nload, file, error = pickle.load(open(sys.argv[1], 'rb'))\n"
        "import fasttl\n"
        "print(load is fasttl.load, file == fasttl.File('a', 'b'), type(error) is fasttl.OptionError)"
    )
    assert python(code, tmp_path / "names").split() == ["True", "True", "True"]


def test_threads_that_ask_at_once_get_one_object(python):
    code = (
        "import fasttl\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    names = fasttl.__all__ * 8\n"
        "    found = list(pool.map(lambda name: getattr(fasttl, name), names))\n"
        "print(all(value is getattr(fasttl, name) for name, value in zip(names, found)))"
    )
    assert python(code).strip() == "True"


# Options with short names.

WORDS = ["-o", "-v", "-p", "-e", "-i", "-vp", "-ox", "-o=x", "--out", "--out=x", "-x", "-", "--", "x", "", "--verbose",
         "--verbose=1", "--nope", "--ranks", "--threads", "2", "-h", "--he", "-o-v"]  # fmt: skip


def reading(kind, words):
    """Say what a class of commands makes of words: values, an exit by its help, or the message of its refusal."""
    command = kind(
        "report",
        params=load_command("report").params,
        callback=lambda **values: values,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    try:
        return command.main(list(words), "report", standalone_mode=False)
    except click.UsageError as error:
        return type(error), error.format_message()


# The first mistake imports what makes its message, which takes as long as the machine wants.
@settings(deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=5))
def test_short_names_are_read_as_click_reads_them(words):
    assert reading(_common.QuickCommand, words) == reading(click.Command, words)


def test_short_names_after_a_command_are_left_to_it(run, example, tmp_path):
    result = run("report", example, "-o", tmp_path / "-o", "-vp")
    assert result.exit_code == 0, result.stderr
    assert f"written to {tmp_path}/-o" in result.stderr
    assert isinstance(cli.get_help_option(click.Context(cli, help_option_names=["-h", "--help"])), click.Option)
