"""Reports of real and hostile logs, and the system's Chromium to look at them with."""

import shutil
from pathlib import Path

import fasttl
import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome")
# The browser must not look for anything outside: a request then is one that a page made.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser():
    """Give a headless Chromium; without one on this machine the tests that need it are left out."""
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("no Chromium on this machine")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """Write the report of a folder of the repository, once each for its options, and give its folder."""
    written = {}

    def write(name, **options):
        key = (name, *sorted(options.items()))
        if key not in written:
            out = tmp_path_factory.mktemp("reports") / "report"
            fasttl.write_report(ROOT / name, out, **options)
            written[key] = out
        return written[key]

    return write


class Watched:
    """A page, and whatever it did that a report never does."""

    def __init__(self, page):
        self.page = page
        self.complaints = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", self._request)

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(f"console: {message.text}")

    def _dialog(self, dialog):
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request):
        if not request.url.startswith(("file:", "data:")):
            self.complaints.append(f"request: {request.url}")

    def open(self, path, fragment=""):
        """Open a file of a report."""
        self.page.goto(path.as_uri() + fragment)


@pytest.fixture
def watched(browser):
    """Give a page in a browser of its own that notes what must not happen."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield Watched(context.new_page())
    context.close()
