"""The large set of real traces, and what its index says of each, for the tests that hold the tables against it.

The index was not made with fasttl: its facts are those of the programs that wrote the logs, its lists of
compiles and its counts come from a script that reads the logs line by line.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import fasttl
import polars as pl

TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces"

# The index has a table of contents for these, but no lists.
WITHOUT_LISTS = ("torch214_recompiles", "torch214_dist_diverge_order", "public_recommender", "public_curve_fit")
# Names longer than this are cut in the index, and end in two dots.
MOST_OF_A_NAME = 40


class Listed(NamedTuple):
    """A compile in the list of the index."""

    name: str | None
    restart: str | None
    fails: str | None
    has_metrics: bool

    def fits(self, name: str | None) -> bool:
        """Say whether this is the function's name, which the index may have cut."""
        if self.name is None or name is None:
            return self.name is name
        if len(self.name) == MOST_OF_A_NAME + 2 and self.name.endswith(".."):
            return name.startswith(self.name[:-2])
        return self.name == name


@cache
def loaded(name: str) -> fasttl.Trace:
    """Give a trace; each is read once for all tests."""
    return fasttl.load(TRACES / name)


def folders() -> list[str]:
    """Give the names of all traces; none where the set is not at hand."""
    if not TRACES.is_dir():
        return []
    return sorted(path.name for path in TRACES.iterdir() if any(path.glob("*.log")))


def listed_folders() -> list[str]:
    """Give the names of those with lists in the index."""
    return [name for name in folders() if name not in WITHOUT_LISTS]


def rows(name: str, table: str, /, *columns: str, **where: Any) -> list[tuple[Any, ...]]:
    """Give columns of a table, of the rows with these values; null is a value, too."""
    frame = loaded(name).table(table)
    for column, value in where.items():
        frame = frame.filter(pl.col(column).is_null() if value is None else pl.col(column) == value)
    return frame.select(columns).rows()


def evidence(trace: fasttl.Trace, table: str) -> set[tuple[int, int | None]]:
    """Give file and offset of all rows that a finding may show."""
    frame = trace.table(table)
    if table == "divergence":
        frame = frame.select(file="evidence_files", offset="evidence_offsets").explode("file", "offset")
    if table == "ranks":
        # A row is about a whole log.
        return {(file, None) for file in frame["file"]}
    return set(frame.select("file", "offset").rows())


def values(name: str, table: str, column: str, /, **where: Any) -> list[Any]:
    """Give one column of a table, of the rows with these values."""
    return [value for (value,) in rows(name, table, column, **where)]


def of_kind(name: str, kind: str) -> list[dict[str, Any]]:
    """Give the findings of a kind."""
    return loaded(name).findings.filter(kind=kind).to_dicts()


def sentences(name: str, kind: str) -> list[str]:
    """Give their sentences."""
    return [row["sentence"] for row in of_kind(name, kind)]


def seconds(name: str) -> pl.DataFrame:
    """Give the compiles that took time, the slowest first; their backward counts, too."""
    spent = pl.sum_horizontal("entire_frame_s", "backward_s")
    known = loaded(name).frames.filter(pl.col("entire_frame_s").is_not_null() | pl.col("backward_s").is_not_null())
    return known.with_columns(spent.alias("spent")).sort("spent", descending=True)


@cache
def sections() -> dict[str, str]:
    """Give the text of the index about each trace."""
    text = (TRACES / "index.md").read_text(encoding="utf-8")
    parts = re.split(r"^### (\w+)$", text.split("## Where the peer falls short")[0], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def counts(name: str, title: str) -> Counter[str]:
    """Give a line of counts of the index: `Kinds: str 2, describe_tensor 2.`."""
    [line] = re.findall(rf"^{title}: (.*)\.$", sections()[name], re.MULTILINE) or [""]
    pairs = (item.rsplit(" ", 1) for item in line.split(", ") if item)
    return Counter({key: int(number) for key, number in pairs})


def listed(name: str) -> dict[str, dict[str, Listed]]:
    """Give the compiles that the index lists: by the end of the log's name, by compile id."""
    found: dict[str, dict[str, Listed]] = {}
    for logs, compiles in re.findall(r"^- (.*?): (.*)$", sections()[name], re.MULTILINE):
        entries = {} if compiles == "no compile ids" else dict(_entry(text) for text in compiles.split("; "))
        # Of eight ranks that are alike, only the beginnings of the names are given.
        alike = [f"rank_{rank}_" for rank in range(8)] if logs.startswith("8 logs ") else logs.split(", ")
        found.update(dict.fromkeys(alike, entries))
    return found


def _entry(text: str) -> tuple[str, Listed]:
    match = re.fullmatch(r"(\S+)(?: `(.*)`)?(?: \((restart: .*|fails: .*|no metrics)\))?", text)
    assert match, text
    compile_id, name, note = match.groups()
    if name is not None:
        name = name.replace(r"\n", "\n").replace(r"\t", "\t")
    kind, _, what = (note or "").partition(": ")
    return compile_id, Listed(
        name,
        restart=what if kind == "restart" else None,
        fails=what if kind == "fails" else None,
        has_metrics=note != "no metrics",
    )


def log_number(name: str, ending: str) -> int:
    """Give the number of the log whose name has this part."""
    [number] = [file for file, path in rows(name, "files", "file", "path") if ending in Path(path).name]
    return number
