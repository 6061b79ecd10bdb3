# ruff: noqa: INP001 - a script in the folder of the documents, not a package
"""Write docs/records.md: every kind of record and every name that fasttl knows, as the core lists them.

The sentences stand once, in the two lists of the core; this script only arranges them. A test holds the file against
what the script would write.

    python docs/make_records.py            writes docs/records.md
    python docs/make_records.py --check    exit status 1 where docs/records.md is stale
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).resolve().parent
TARGET = DOCS / "records.md"
FORMAT = DOCS.parent / "rust" / "fasttl-core" / "src" / "format"

INTRODUCTION = """\
<!-- Made by docs/make_records.py from the code. Do not edit: change the text in the code and run the script. -->

# Kinds and names of records

The first key of a record is its kind. Artifacts and dumped graphs have a name too; in a name that is written with `*`,
the star stands for any text. What is not listed here is kept and shown all the same: kinds and fields that fasttl does
not know are on the page `other_records.html` of a log, see [report.md](report.md#other-records).

The lists are those that pages take their explanations from. They hold what PyTorch 2.3 to 2.14 writes, and what is
known of programs beside it.
"""


class Line(NamedTuple):
    """A line of one of the lists."""

    group: str
    name: str
    phase: str
    about: str


def entries(file: str, macro: str, pattern: str) -> list[Line]:
    """Read a list of the core.

    Args:
        file: Source file.
        macro: Name of the macro that the list is given to.
        pattern: What a line of the list looks like, with the groups of `Line` by name.

    Returns:
        The lines in their order.

    Raises:
        LookupError: If there is a line that the pattern does not fit.
    """
    text = (FORMAT / file).read_text(encoding="utf-8")
    body = text.partition(f"\n{macro}! {{\n")[2].partition("\n}\n")[0]
    lines = [line.strip() for line in body.splitlines()]
    found = []
    for line in lines:
        if not line or line.startswith("//"):
            continue
        match = re.fullmatch(pattern, line)
        if match is None:
            message = f"{file}: not a line of the list {macro}: {line}"
            raise LookupError(message)
        found.append(Line(match["group"], match["name"], match["phase"], match["about"].replace('\\"', '"')))
    if not found:
        message = f"{file}: no list {macro}"
        raise LookupError(message)
    return found


def phases() -> dict[str, str]:
    """Give the names of the phases by their names in the code, in the order of pages."""
    text = (FORMAT / "kind.rs").read_text(encoding="utf-8")
    of_phase = text.partition("impl Phase {")[2].partition("\n}\n")[0]
    return dict(re.findall(r'Self::(\w+) => "([^"]+)"', of_phase))


def table(lines: list[Line], head: str, names: dict[str, str]) -> str:
    """Give a table of lines, phase by phase."""
    rows = [
        f"| `{line.name}` | {names[line.phase]} | {line.about} |"
        for phase in names
        for line in lines
        if line.phase == phase
    ]
    return "\n".join([f"| {head} | made by | what it is |", "|---|---|---|", *rows])


def render() -> str:
    """Give the whole document."""
    names = phases()
    end = r'"(?P<about>(?:[^"\\]|\\.)+)";'
    kinds = entries("kind.rs", "kinds", rf'(?P<group>\w+) = "(?P<name>[^"]+)", (?P<phase>\w+), \w+, {end}')
    listed = entries("catalogue.rs", "names", rf'(?P<group>\w+) "(?P<name>[^"]+)", (?P<phase>\w+), {end}')
    parts = [INTRODUCTION.rstrip("\n"), "## Kinds", table(kinds, "kind", names)]
    for kind, heading, head in [
        ("Artifact", "Names of artifacts", "artifact"),
        ("GraphDump", "Names of dumped graphs", "graph_dump"),
    ]:
        of_kind = [line for line in listed if line.group == kind]
        parts += [f"## {heading}", table(of_kind, head, names)]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    """Write the document or check it, and give the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 where the file is stale")
    args = parser.parse_args()
    text = render()
    if not args.check:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{TARGET.name} is stale: run python docs/make_records.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
