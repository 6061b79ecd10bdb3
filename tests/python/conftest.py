"""Fixtures of the Python tests: where the traces are, and a clean place to run in."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

with warnings.catch_warnings():
    # A debug build says so when it is imported; tests run with either.
    warnings.simplefilter("ignore", RuntimeWarning)
    import fasttl  # noqa: F401

from fasttl import plugins
from fasttl.cli import cli

ROOT = Path(__file__).resolve().parents[2]

# What a developer's shell may have set, and what would then decide a test.
VARIABLES = ("TORCH_TRACE", "FASTTL_THREADS", "DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION")


def pytest_collection_modifyitems(items):
    """Skip what needs the large set of traces where that is not at hand."""
    if (ROOT.parent / "shared" / "traces").is_dir():
        return
    skip = pytest.mark.skip(reason="the folder `shared` is not beside the repository")
    for item in items:
        if item.get_closest_marker("shared"):
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def _clean_world(tmp_path_factory, monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    # What a test, or an example of a document, decorates is not run by the tests after it.
    monkeypatch.setattr(plugins, "registered", {})
    # Not `tmp_path`, which tests fill with inputs: a report would be written among them.
    monkeypatch.chdir(tmp_path_factory.mktemp("cwd"))


@pytest.fixture(scope="session")
def example():
    """Three ranks: rank 1 fails in 1/0, rank 0 is terminated in 2/0, rank 2 is complete."""
    return ROOT / "examples" / "crash_3_ranks"


@pytest.fixture(scope="session")
def data():
    """Give the folder of a small trace kept in this repository."""

    def find(name):
        folder = ROOT / "tests" / "data" / name
        assert folder.is_dir(), f"tests/data/{name} is missing"
        return folder

    return find


@pytest.fixture(scope="session")
def shared():
    """Give the folder beside the repository; tests that use it carry the marker `shared`."""
    return ROOT.parent / "shared"


@pytest.fixture
def run():
    """Run the command line inside this process; paths may be given as such."""

    def call(*args, **options):
        return CliRunner().invoke(cli, [os.fspath(arg) for arg in args], prog_name="fasttl", **options)

    return call


@pytest.fixture
def spawn():
    """Run the command line as a process of its own, as users do."""

    def call(*args, **options):
        command = [sys.executable, "-W", "ignore::RuntimeWarning", "-m", "fasttl", *map(os.fspath, args)]
        return subprocess.run(command, capture_output=True, timeout=120, check=False, **options)

    return call


@pytest.fixture
def python():
    """Run a piece of Python in a fresh interpreter and give what it printed."""

    def call(code, *args):
        command = [sys.executable, "-W", "ignore::RuntimeWarning", "-c", code, *map(os.fspath, args)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call
