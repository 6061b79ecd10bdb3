"""Custom parsers of installed packages: found by their entry point, run by the command, left out on demand."""

import base64
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from fasttl import _find_parsers

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "parsers"


def build_wheel(folder, name, modules, points):
    """Write a wheel by hand: no machine has to have a build backend for the tests."""
    info = f"{name}-1.0.dist-info"
    files = {
        **modules,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: by-hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[fasttl.parsers]\n" + "".join(f"{left} = {right}\n" for left, right in points),
    }
    hashes = {path: hashlib.sha256(text.encode()).digest() for path, text in files.items()}
    rows = [
        f"{path},sha256={base64.urlsafe_b64encode(value).decode().rstrip('=')},{len(files[path].encode())}\n"
        for path, value in hashes.items()
    ]
    files[f"{info}/RECORD"] = "".join(rows) + f"{info}/RECORD,,\n"
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel


def install(what, site):
    """Install a package into a folder of its own, by pip where there is one and without the network."""
    if importlib.util.find_spec("pip") is None:
        with zipfile.ZipFile(what) as archive:
            archive.extractall(site)
        return
    flags = ["--no-index", "--no-build-isolation", "--no-deps", "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *flags, "--target", str(site), str(what)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def installed(tmp_path, spawn):
    """Install a package made of these modules and run the command with it on the path."""
    site = tmp_path / "site"

    def run(*args):
        paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
        return spawn(*args, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})

    def make(name, modules, points):
        install(build_wheel(tmp_path, name, modules, points), site)
        return run

    make.site = site
    make.run = run
    return make


def example_points():
    text = (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8")
    table = text.partition('[project.entry-points."fasttl.parsers"]')[2].partition("\n[")[0]
    return [tuple(part.strip().strip('"') for part in line.split("=")) for line in table.splitlines() if "=" in line]


def has_setuptools():
    """Tell whether the example can be built here."""
    if importlib.util.find_spec("pip") is None or importlib.util.find_spec("setuptools") is None:
        return False
    # Before Python 3.12 it needs the package `wheel` too, unless it is a new one.
    version = importlib.import_module("importlib.metadata").version("setuptools")
    return int(version.partition(".")[0]) >= 71 or importlib.util.find_spec("wheel") is not None


@pytest.mark.parametrize("how", ["source", "wheel"])
def test_the_example_package_is_found_when_it_is_installed(how, installed, example, tmp_path):
    if how == "source":
        if not has_setuptools():
            pytest.skip("no pip or no setuptools that builds wheels")
        source = tmp_path / "source"
        shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        install(source, installed.site)
    else:
        code = (EXAMPLE / "fasttl_example_parsers.py").read_text(encoding="utf-8")
        installed("fasttl_example_parsers", {"fasttl_example_parsers.py": code}, example_points())
    out = tmp_path / "out"
    done = installed.run(example, "-o", out, "--strict")
    assert (done.returncode, done.stderr) == (0, b"")
    tables = sorted(path.relative_to(out).as_posix() for path in out.rglob("*operators_x*.csv"))
    assert tables == [
        f"rank_{rank}/-_{frame}_0_0/aot_inference_graph_operators_x{number}.csv"
        for rank, frame, number in ((0, 0, 1), (0, 2, 3), (1, 0, 1), (2, 0, 1), (2, 2, 3))
    ]
    assert (out / tables[0]).read_text() == "operator,calls\naten.add.Tensor,1\n"
    assert "script-src 'none'" in next((out / "rank_0").rglob("*operators_x*.html")).read_text()
    page = (out / "rank_0" / "index.html").read_text(encoding="utf-8")
    assert '<a href="https://github.com/pytorch/pytorch/tree/cf30153c4c131c8164ee7798e5022d810682e2cb"' in page
    done = installed.run(example, "-o", tmp_path / "without", "--no-parsers")
    assert done.returncode == 0
    assert not list((tmp_path / "without").rglob("*operators*"))
    assert "pytorch/tree" not in (tmp_path / "without" / "rank_0" / "index.html").read_text(encoding="utf-8")


BROKEN = {
    "raises.py": "raise RuntimeError('no GPU here')\n",
    "leaves.py": "import sys\nsys.exit(5)\n",
    "plain.py": "def function(record): return None\n",
    "whole.py": (
        "import fasttl\n"
        "@fasttl.parser(kinds='dynamo_output_graph', name='one')\n"
        "def one(record): return fasttl.File('one.txt', '1')\n"
        "@fasttl.parser(kinds='dynamo_output_graph')\n"
        "def two(record): raise ValueError('always')\n"
    ),
}


def test_broken_entry_points_are_problems_and_stop_nothing(installed, example, tmp_path):
    points = [
        ("absent", "nowhere.to_be:found"),
        ("raises", "raises:parser"),
        ("leaves", "leaves:parser"),
        ("plain", "plain:function"),
        ("attribute", "plain:absent"),
        ("whole", "whole"),
    ]
    run = installed("broken", BROKEN, points)
    out = tmp_path / "out"
    done = run(example, "-o", out)
    said = done.stderr.decode()
    assert done.returncode == 0, said
    for words in (
        "parser absent: cannot be loaded from nowhere.to_be:found: ModuleNotFoundError",
        "parser raises: cannot be loaded from raises:parser: RuntimeError: no GPU here (raises.py:1)",
        "parser leaves: cannot be loaded from leaves:parser: SystemExit: 5",
        "parser plain: plain:function is no parser; decorate it",
        "parser attribute: cannot be loaded from plain:absent: AttributeError",
        "parser whole.two: ValueError: always (whole.py:5) (and 7 more)",
        "13 problems; the report lists them",
    ):
        assert words in said, said
    assert len(list(out.rglob("one_x*.txt"))) == 8
    for rank in range(3):
        page = (out / f"rank_{rank}" / "index.html").read_text(encoding="utf-8")
        assert "no GPU here" in page
        assert "ValueError: always" in page
    assert run(example, "-o", tmp_path / "strict", "--strict").returncode == 1
    assert run(example, "-o", tmp_path / "quiet", "--strict", "--no-parsers").returncode == 0


def test_the_look_at_files_agrees_with_the_library(tmp_path, monkeypatch):
    def may_be(paths):
        monkeypatch.setattr(sys, "path", [str(path) for path in paths])
        return _find_parsers.may_be_installed()

    empty = tmp_path / "empty"
    empty.mkdir()
    assert not may_be([empty, tmp_path / "missing"])
    for kind, inside in (
        ("Thing-1.0.dist-info", "entry_points.txt"),
        ("Thing.egg-info", "entry_points.txt"),
        ("Thing-1.0-py3.egg", "EGG-INFO/entry_points.txt"),
    ):
        site = tmp_path / kind
        points = site / kind / inside
        points.parent.mkdir(parents=True)
        points.write_text("[console_scripts]\nx = y:z\n")
        assert not may_be([empty, site])
        points.write_text("[fasttl.parsers]\nx = y:z\n")
        assert may_be([empty, site])
    archive = tmp_path / "packages.zip"
    zipfile.ZipFile(archive, "w").close()
    assert may_be([archive])
    monkeypatch.setattr(sys, "path", [str(empty), os.fsencode(empty)])
    assert _find_parsers.may_be_installed()
    finder = type("Finder", (), {"find_distributions": None, "find_spec": lambda *_: None})
    monkeypatch.setattr(sys, "meta_path", [finder(), *sys.meta_path])
    assert may_be([empty])


def test_without_parsers_the_library_is_not_imported(python, example, tmp_path):
    code = (
        "import sys\nfrom fasttl.cli import cli\n"
        "try: cli.main([*sys.argv[1:], '--no-browser'])\n"
        "except SystemExit as e: assert not e.code, e.code\n"
        "print([name for name in ('importlib.metadata', 'json', 'fasttl._parsing') if name in sys.modules])"
    )
    assert python(code, example, "-o", tmp_path / "out").splitlines()[-1] == "[]"
