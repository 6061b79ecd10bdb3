"""The site of the documents builds without a warning, loads nothing from the network, and has the whole API."""

import os
import re
import subprocess
import sys

import fasttl
import pytest
from conftest import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", out]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return out


def test_every_page_is_there(site):
    sources = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in ROOT.glob("docs/**/*.md")}
    assert {path for path in sources if not (site / path).is_file()} == set()
    # The documents of the root, and a file that one of them links.
    for name in ("index.html", "CONTRIBUTING.html", "CHANGELOG.html", "repository/examples/slowest_compiles.py"):
        assert (site / name).is_file()


def test_pages_load_nothing_from_elsewhere(site):
    loading = re.compile(r'<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)="?(?:https?:)?//[^>]*>')
    for page in site.rglob("*.html"):
        assert loading.findall(page.read_text(encoding="utf-8")) == [], page.name
    for sheet in [*site.rglob("*.css"), *site.rglob("*.svg")]:
        assert re.findall(r"url\([\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")) == [], sheet.name


def test_scripts_of_the_repository_are_no_pages(site):
    assert list(site.glob("*.py")) == []


def test_reference_shows_the_members_of_a_trace(site):
    page = (site / "api.html").read_text(encoding="utf-8")
    members = [name for name in dir(fasttl.Trace) if not name.startswith("_")]
    assert {"frames", "sql", "text"} <= set(members)
    assert [name for name in members if f'id="fasttl.Trace.{name}"' not in page] == []
    # What the extension makes is documented beside it.
    assert 'id="fasttl.Report.index"' in page
    # Examples are code, over a folder that a reader has.
    assert "examples/crash_3_ranks" in page
    assert "(EXAMPLE)" not in page
