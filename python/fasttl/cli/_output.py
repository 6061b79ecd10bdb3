"""Prints sections of data as a text table, JSON, CSV or Markdown.

Every command that prints data takes ``--format`` and ends here. Data goes to
stdout. What comes from a log is made safe for where it goes: control characters
for the terminal, markup for Markdown.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import click

from fasttl._display import printable, printable_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Cell: TypeAlias = str | int | float | bool | datetime | list[Any] | dict[str, Any] | None

FORMATS = ("table", "json", "csv", "markdown")

# Where a text table cuts a cell: a log's error message may be pages long.
WIDEST_CELL = 100


class Section(NamedTuple):
    """A part of the answer: a name for programs, a title for people, and rows."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]


def render(sections: Sequence[Section], layout: str) -> str:
    """Give the text of sections in one of `FORMATS`, with a line feed at its end.

    Example:
        >>> print(render([Section("kinds", "Kinds", ("kind", "records"), [("artifact", 2)])], "csv"), end="")
        kind,records
        artifact,2
    """
    renderers: dict[str, Callable[[Sequence[Section]], str]] = {
        "table": _as_table,
        "json": _as_json,
        "csv": _as_csv,
        "markdown": _as_markdown,
    }
    return renderers[layout](sections)


def show(sections: Sequence[Section], layout: str) -> None:
    """Write sections to stdout; on a terminal no format lets through what it would obey."""
    text = render(sections, layout)
    if sys.stdout.isatty():
        text = "\n".join(printable_lines(text))
    click.echo(text, nl=False)


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime):
        return cell.isoformat()
    if isinstance(cell, (list, dict)):
        return json.dumps(_json_cell(cell), ensure_ascii=False, allow_nan=False)
    return str(cell)


def _as_table(sections: Sequence[Section]) -> str:
    parts = []
    for section in sections:
        columns = [printable(column) for column in section.columns]
        rows = [[_cut(printable(_text(cell))) for cell in row] for row in section.rows]
        numeric = [
            all(isinstance(row[i], (int, float)) or row[i] is None for row in section.rows)
            for i in range(len(section.columns))
        ]
        widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
        lines = [section.title]
        if rows:
            lines += [_align(row, widths, numeric) for row in (columns, *rows)]
        parts.append("".join(f"{line}\n" for line in lines))
    return "\n".join(parts)


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST_CELL else text[: WIDEST_CELL - 1] + "…"


def _align(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    cells = (
        text.rjust(width) if number else text.ljust(width)
        for text, width, number in zip(row, widths, numeric, strict=True)
    )
    return "  " + "  ".join(cells).rstrip()


def _as_json(sections: Sequence[Section]) -> str:
    value = {
        section.name: [dict(zip(section.columns, map(_json_cell, row), strict=True)) for row in section.rows]
        for section in sections
    }
    # ASCII, since names may hold lone surrogates that no encoding can write.
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def _json_cell(cell: Any) -> Any:  # noqa: ANN401 - whatever a cell holds
    """Make a cell what JSON can hold: it has no number for NaN and the infinities, so they are null."""
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    if isinstance(cell, list):
        return [_json_cell(item) for item in cell]
    if isinstance(cell, dict):
        return {str(key): _json_cell(item) for key, item in cell.items()}
    if cell is None or isinstance(cell, (str, int)):
        return cell
    return cell.isoformat() if isinstance(cell, datetime) else str(cell)


def _as_csv(sections: Sequence[Section]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for section in sections:
        writer.writerow(section.columns)
        writer.writerows([_text(cell) for cell in row] for row in section.rows)
    return buffer.getvalue()


def _as_markdown(sections: Sequence[Section]) -> str:
    parts = []
    for section in sections:
        lines = [f"### {_markdown_text(section.title)}"]
        if section.rows:
            lines += ["", *_markdown_rows(section)]
        parts.append("".join(f"{line}\n" for line in lines))
    return "\n".join(parts)


def _markdown_rows(section: Section) -> list[str]:
    header = [[_markdown_text(column) for column in section.columns], ["---"] * len(section.columns)]
    rows = [[_markdown_text(_text(cell)) for cell in row] for row in section.rows]
    return [f"| {' | '.join(row)} |" for row in (*header, *rows)]


def _markdown_text(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|&])", r"\\\1", printable(text))
