# ruff: noqa: INP001 - a script in the folder of the documents, not a package
"""Run the examples of docs/questions/*.md and put what they print behind them, so that no page shows what is not so.

A block `console` holds one command, `$ fasttl …` or a line of shell with it, and what it prints. The blocks `python` of
a page are run in order as one program; a block `text` right behind one is what it prints. All run in a folder that has
the repository's `examples` and `tests`, and nothing else. A test holds the pages against what this script would write.

    python docs/run_examples.py            writes the outputs into the pages
    python docs/run_examples.py --check    exit status 1 where a page is stale
    python docs/run_examples.py PAGE…      these pages only
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from click.testing import CliRunner
from fasttl.cli import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs" / "questions").glob("*.md"))
# What the examples may read.
INPUTS = ("examples", "tests")
# As wide as a page of the site shows code without scrolling.
WIDTH = 100

BLOCK = re.compile(
    r"^```(?P<language>console|python)\n(?P<text>.*?)^```\n(?P<output>\n```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL
)
# A command may go on in the next line, behind a backslash.
CONTINUED = "\\\n"
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)
NEEDS_SHELL = re.compile(r"[|<>;&$]")


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """Give a folder with links to the inputs, as the current one; it is removed afterwards."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for part in INPUTS:
            (place / part).symlink_to(ROOT / part, target_is_directory=True)
        os.chdir(place)
        try:
            # Tables are printed alike in any terminal.
            with pl.Config(tbl_width_chars=WIDTH, tbl_rows=20, fmt_str_lengths=60, tbl_hide_dataframe_shape=True):
                yield place
        finally:
            os.chdir(before)


def run_command(line: str) -> str:
    """Run a line of shell and give all that it prints, errors among it.

    Args:
        line: The line, without the prompt.

    Returns:
        The output, without blanks at the ends of its lines and empty lines at its end.

    Raises:
        RuntimeError: If `fasttl` itself fails. An exit status that is not 0 is no failure: some pages show one.
    """
    simple = not NEEDS_SHELL.search(re.sub(r"'[^']*'|\"[^\"$]*\"", "", line))
    output = _in_process(line) if simple and line.startswith("fasttl ") else _in_shell(line)
    return "".join(row.rstrip() + "\n" for row in output.rstrip().splitlines())


def _in_process(line: str) -> str:
    done = CliRunner().invoke(cli, shlex.split(line)[1:], prog_name="fasttl")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        message = f"{line}: {done.exception!r}"
        raise RuntimeError(message) from done.exception
    return done.output


def _in_shell(line: str) -> str:
    program = f'fasttl() {{ {shlex.quote(sys.executable)} -W ignore::RuntimeWarning -m fasttl "$@"; }}\n{line}'
    done = subprocess.run(  # noqa: S603 - the line is one of this repository's own pages
        ["bash", "-c", program],  # noqa: S607 - as a reader would
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    if "Traceback (most recent call last)" in done.stdout:
        raise RuntimeError(done.stdout)
    return done.stdout


def console(text: str) -> str:
    """Give the inside of a block `console`, each command with what it prints."""
    commands = COMMAND.findall(text)
    # As the shell reads a line that is continued.
    return "".join(f"$ {command}\n{run_command(command.replace(CONTINUED, ''))}" for command in commands)


def render(page: Path) -> str:
    """Give the text of a page with the outputs as they are.

    Args:
        page: The page.

    Returns:
        The whole text.
    """
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": page.stem}

    def fill(found: re.Match[str]) -> str:
        inside = found["text"]
        if found["language"] == "console":
            return f"```console\n{console(inside)}```\n{found['output'] or ''}"
        said = io.StringIO()
        # The blank lines in front make a traceback name the page's own line.
        line = text[: found.start("text")].count("\n")
        with contextlib.redirect_stdout(said):
            exec(compile("\n" * line + inside, str(page), "exec"), names)  # noqa: S102 - of this repository's own page
        output = "".join(row.rstrip() + "\n" for row in said.getvalue().splitlines())
        return f"```python\n{inside}```\n" + (f"\n```text\n{output}```\n" if output else "")

    with workplace():
        return BLOCK.sub(fill, text)


def main() -> int:
    """Write the pages or check them, and give the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 where a page is stale")
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="these pages only")
    args = parser.parse_args()
    stale = []
    for page in [path.resolve() for path in args.pages] or PAGES:
        text = render(page)
        if text == page.read_text(encoding="utf-8"):
            continue
        stale.append(page.name)
        if not args.check:
            page.write_text(text, encoding="utf-8")
    if args.check and stale:
        sys.stderr.write(f"stale: {', '.join(stale)}: run python docs/run_examples.py\n")
    return int(args.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
