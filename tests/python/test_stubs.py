"""The type stubs and the docstrings keep to what is there."""

import ast
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import fasttl
import pytest
from fasttl import _core
from fasttl.exceptions import FasttlError

ROOT = Path(__file__).resolve().parents[2]
STUB = ROOT / "python" / "fasttl" / "_core.pyi"


def test_the_stub_is_the_extension():
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "fasttl._core"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT / "python"), "PYTHONWARNINGS": "ignore"},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def documented(tree):
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node


def test_everything_in_the_stub_is_documented():
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    names = [node.name for node in documented(tree)]
    assert {"Table", "Trace", "Report", "load", "write_report", "payload"} <= set(names)
    assert not [node.name for node in documented(tree) if not ast.get_docstring(node)]


def test_the_stub_names_all_of_the_extension():
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    named = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    named |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    public = {name for name in vars(_core) if not name.startswith("_")}
    assert public == named - {"__version__"}


def public_functions():
    """Give what users call, each with its name."""
    for name in fasttl.__all__:
        value = getattr(fasttl, name)
        if inspect.isfunction(value):
            yield name, value
    for name, value in inspect.getmembers(fasttl.Trace):
        if inspect.isfunction(value) and not name.startswith("_"):
            yield f"Trace.{name}", value


@pytest.mark.parametrize(
    ("name", "function"), list(public_functions()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_public_functions_have_an_example_and_name_their_errors(name, function):
    text = inspect.getdoc(function)
    assert ">>>" in text, name
    assert "Raises:" in text, name
    raised = text.split("Raises:")[1].split("Example:")[0]
    classes = {line.split(":")[0].strip() for line in raised.splitlines() if line.startswith("    ") and line[4] != " "}
    assert classes
    for word in classes:
        assert issubclass(getattr(fasttl, word), FasttlError)


def test_every_module_says_what_it_is_for():
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(fasttl.__path__, "fasttl.")
        if found.name not in ("fasttl.__main__", "fasttl._core")
    ]
    assert len(modules) >= 10
    assert not [module.__name__ for module in modules if not module.__doc__]


def test_the_package_is_typed():
    assert (ROOT / "python" / "fasttl" / "py.typed").is_file()


def public_functions():
    for name in fasttl.__all__:
        found = getattr(fasttl, name)
        if inspect.isclass(found):
            methods = inspect.getmembers(found, inspect.isfunction)
            yield from ((f"{name}.{method}", function) for method, function in methods if not method.startswith("_"))
        elif callable(found):
            yield name, found


def test_every_public_function_has_an_example():
    found = dict(public_functions())
    assert {"load", "diff", "Trace.explain", "Trace.sql", "Diff.text", "ParserRecord.json"} <= set(found)
    # They run as doctests.
    assert not [name for name, function in found.items() if ">>> " not in (inspect.getdoc(function) or "")]
