# ruff: noqa: INP001 - a script in the folder of the documents, not a package
"""Make docs/pictures: what the commands of docs/questions print, and what the pages of a report look like.

A picture of a terminal (SVG) shows the first command of the page of its name, with the output that stands there; a test
holds it against the page. A picture of a report (PNG) is taken by the system's Chromium, part of a page of a report of
a log of this repository. All paths in them are relative ones.

    python docs/run_examples.py              first: the outputs
    python docs/make_pictures.py             makes all pictures
    python docs/make_pictures.py size ranks  makes these
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FloatRect

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS = ROOT / "docs" / "questions"
PICTURES = ROOT / "docs" / "pictures"

# Pages whose picture is a terminal.
TERMINALS = ("caches", "diff", "extract", "many_jobs", "size", "sql")
# Wide enough for the widest table of the pages, and small enough to be read at half of a screen.
COLUMNS = 100

WIDTH = 1000  # of the browser's window, in pixels
MARGIN = 7
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class Shot(NamedTuple):
    """A part of a page of a report."""

    log: str
    page: str
    first: str | None
    """Selector of where the picture begins; the top of the page without one."""
    end: str | None
    """Selector of what is no longer in it; all of the page without one."""


SHOTS = {
    "slow": Shot("tests/data/recompiles", "index.html", ".notes > li:has-text('compile time')", "#tree"),
    "recompiles": Shot("tests/data/recompiles", "index.html", "#findings", "#time"),
    "graph_breaks": Shot("tests/data/graph_breaks", "index.html", "#findings", "#findings + ul > li:nth-child(4)"),
    "ranks": Shot("examples/crash_3_ranks", "index.html", "#divergence", "#agree"),
    "failures": Shot("examples/crash_3_ranks", "rank_1/failures_and_restarts.html", None, None),
    "killed": Shot("examples/crash_3_ranks", "index.html", None, "#divergence"),
}


def first_command(name: str) -> str:
    """Give the first block `console` of a page, the command and what it prints.

    Raises:
        LookupError: If the page has none.
    """
    page = (QUESTIONS / f"{name}.md").read_text(encoding="utf-8")
    found = re.search(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    if found is None:
        message = f"docs/questions/{name}.md has no block `console`"
        raise LookupError(message)
    return found[1]


def terminal(name: str) -> str:
    """Give the SVG of a terminal with the first command of a page."""
    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor", _environ={}
    )
    typing = False
    for line in first_command(name).splitlines():
        typed = line.startswith("$ ") or typing
        console.print(Text(line, style="bold bright_white" if typed else ""), overflow="fold")
        typing = typed and line.endswith("\\")
    # Else the frame cuts what hangs below the last line.
    console.print()
    # The form of rich loads a font from the network, which pictures in pages must not.
    form = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    form = re.sub(r"<!-- .*? -->\s*", "", form)
    form = form.replace("Fira Code, monospace", "ui-monospace, 'DejaVu Sans Mono', monospace")
    svg = console.export_svg(title="fasttl", theme=MONOKAI, code_format=form, unique_id=f"terminal-{name}")
    return "".join(line.rstrip() + "\n" for line in svg.splitlines())


def take(browser: Browser, reports: Path, name: str) -> None:
    """Write the picture of a report."""
    shot = SHOTS[name]
    # Run as a reader would, so that the page names that command: relative paths, nothing of this machine.
    here = reports / name
    here.mkdir()
    inputs = here / Path(shot.log).parts[0]
    inputs.symlink_to(ROOT / inputs.name, target_is_directory=True)
    command = [sys.executable, "-W", "ignore::RuntimeWarning", "-m", "fasttl", shot.log, "-o", "out", "--no-browser"]
    subprocess.run(command, cwd=here, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - fasttl itself
    page = browser.new_page(viewport={"width": WIDTH, "height": 800}, color_scheme="light")
    page.goto((here / "out" / shot.page).as_uri())

    def top(selector: str) -> float:
        box = page.locator(selector).first.bounding_box()
        if box is None:
            message = f"{shot.page} shows no {selector}"
            raise LookupError(message)
        return max(box["y"] - MARGIN, 0)

    begin = top(shot.first) if shot.first else 0.0
    end = top(shot.end) if shot.end else float(page.evaluate("document.body.scrollHeight"))
    clip: FloatRect = {"x": 0, "y": begin, "width": WIDTH, "height": end - begin}
    page.screenshot(path=PICTURES / f"{name}.png", full_page=True, clip=clip)
    page.close()


def take_all(names: list[str]) -> None:
    """Write pictures of reports.

    Raises:
        LookupError: If there is no Chromium, or a page lacks what is to be shown.
    """
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - terminals are made without a browser

    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        message = f"none of {', '.join(BROWSERS)} is on this machine"
        raise LookupError(message)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        for name in names:
            take(browser, Path(folder), name)
        browser.close()


def main() -> int:
    """Make the pictures that were asked for, and give the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    known = [*TERMINALS, *SHOTS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; all unless told")
    names = parser.parse_args().names or known
    PICTURES.mkdir(exist_ok=True)
    for name in names:
        if name in TERMINALS:
            (PICTURES / f"{name}.svg").write_text(terminal(name), encoding="utf-8")
    take_all([name for name in names if name in SHOTS])
    return 0


if __name__ == "__main__":
    sys.exit(main())
