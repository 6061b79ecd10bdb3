"""`diff`: what differs between two traces, two ranks or two compiles.

The extension compares; this module reads what was named, and shows what was found.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from fasttl import _core
from fasttl._display import count_text, printable
from fasttl._load import load
from fasttl._options import rank_list
from fasttl.exceptions import OptionError
from fasttl.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

    from fasttl._options import PathsInput, Progress

# What two runs of the same program differ by.
MIN_SECONDS = 0.05
MIN_SHARE = 0.2

# Rows of an aspect that `str` shows, and lines of a text in one.
SHOWN_ROWS = 20
SHOWN_LINES = 30

# Characters up to which values stand in the line of their place.
SHORT = 40


class Diff:
    """What differs between two sides. Made by `diff`.

    Example:
        >>> import fasttl
        >>> found = fasttl.load(EXAMPLE).diff(1, 2)
        >>> found.same
        False
        >>> found.summary.select("aspect", "verdict").rows()[1]
        ('status', 'differs')
    """

    __slots__ = ("__weakref__", "sides", "summary", "table")

    table: pl.DataFrame
    """One row for each difference: aspect, place, what each side has, and the records that show it."""

    summary: pl.DataFrame
    """One row for each aspect: verdict, number of differences, a sentence."""

    sides: tuple[str, str]
    """What was compared, for a person."""

    def __init__(self, table: pl.DataFrame, summary: pl.DataFrame, sides: tuple[str, str]) -> None:
        """Wrap what the extension found; for `diff`, not for users."""
        self.table = table
        self.summary = summary
        self.sides = sides

    @property
    def same(self) -> bool:
        """Whether no difference was found. What could not be compared stands in `summary`."""
        return bool((self.summary["differences"] == 0).all())

    def text(self, rows: int | None = SHOWN_ROWS) -> str:
        """Give the result as text.

        Args:
            rows: Rows of an aspect that are shown; all where it is None.

        Example:
            >>> import fasttl
            >>> print(fasttl.load(EXAMPLE).diff(1, 1).text().splitlines()[2])
            compiles: same. 2 pairs of compiles.
        """
        lines = [f"a: {printable(self.sides[0])}", f"b: {printable(self.sides[1])}"]
        for result in self.summary.iter_rows(named=True):
            lines.append(f"{result['aspect']}: {result['verdict']}. {printable(result['sentence'])}")
            found = self.table.filter(self.table["aspect"].cast(str) == result["aspect"])
            shown = found if rows is None else found.head(rows)
            for row in shown.iter_rows(named=True):
                lines += [f"    {printable(line)}" for line in _row_lines(row)]
            more = result["differences"] - shown.height
            if more > 0:
                lines.append(f"    … {count_text(more, 'more difference')}")
        return "\n".join(lines)

    def __str__(self) -> str:
        """Give the result as text, some rows of each aspect."""
        return self.text()

    def __repr__(self) -> str:
        """Say in one line what was found."""
        differing = self.summary.filter(self.summary["differences"] > 0)["aspect"].cast(str).to_list()
        found = f"{count_text(self.table.height, 'difference')} in {', '.join(differing)}" if differing else "the same"
        return f"<fasttl.Diff of {self.sides[0]!r} and {self.sides[1]!r}: {found}>"

    def _repr_html_(self) -> str:
        """Show the summary and the text, for notebooks. Texts come from logs, so all is escaped."""
        import html  # noqa: PLC0415 - few differences are shown in a notebook

        head = "".join(f"<th>{name}</th>" for name in ("aspect", "verdict", "differences", "result"))
        columns = ("aspect", "verdict", "differences", "sentence")
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
            for row in self.summary.select(columns).iter_rows()
        )
        text = html.escape(self.text())
        return (
            f"<table><caption>fasttl.Diff</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f"<details><summary>Differences</summary><pre>{text}</pre></details>"
        )


def _row_lines(row: dict[str, object]) -> Iterator[str]:
    """Give the lines of one difference, short values beside each other, long ones below."""
    ids = [_compile_text(row, side) for side in ("a", "b")]
    names = ids[:1] if ids[0] == ids[1] else [name for name in ids if name]
    place = "  ".join([" | ".join(filter(None, names)), str(row["place"])]).strip()
    values = [(sign, row[side]) for sign, side in (("-", "a"), ("+", "b")) if row[side] is not None]
    if all("\n" not in str(value) and len(str(value)) <= SHORT for _, value in values):
        texts = [str(value) for _, value in values]
        yield f"{place}: {' → '.join(texts)}" if len(texts) > 1 else f"{place}: {texts[0]} ({row['change']})"
        return
    yield place
    for sign, value in values:
        lines = str(value).split("\n")
        for line in lines[:SHOWN_LINES]:
            yield f"  {sign} {line}"
        if len(lines) > SHOWN_LINES:
            yield f"  {sign} … {count_text(len(lines) - SHOWN_LINES, 'more line')}"


def _compile_text(row: dict[str, object], side: str) -> str:
    compile_id = row[f"compile_{side}"]
    if compile_id is None:
        return ""
    generation = row[f"generation_{side}"]
    rank = row[f"rank_{side}"]
    prefix = f"r{rank}/" if rank is not None else ""
    return f"{prefix}{compile_id}{f'@{generation}' if generation else ''}"


class Chosen(NamedTuple):
    """A side: the trace, what of it, and the words for that."""

    trace: Trace
    selection: str
    words: str


def diff(  # noqa: PLR0913 - the options of one call, all by keyword
    a: Trace | PathsInput,
    b: Trace | PathsInput = None,
    *,
    select_a: str | None = None,
    select_b: str | None = None,
    rank: int | None = None,
    aspects: Iterable[str] | None = None,
    min_seconds: float = MIN_SECONDS,
    min_share: float = MIN_SHARE,
    progress: Progress | None = None,
) -> Diff:
    """Compare two traces, two ranks or two compiles.

    Compiles are matched by id where both sides have the same code there, else by
    code and order. What differs between any two processes is no difference:
    addresses, folders, generated names, the order of guards, keys of caches.

    Args:
        a: A trace, or what `load` takes.
        b: The same for the other side; None for two selections of `a`.
        select_a: What of `a` is compared: a rank as ``"r2"``, logs without a rank as
            ``"rnone"``, a start of a rank as ``"r2.a1"``, a process as ``"p4711"``, a compile
            as ``"0/1"``, ``"r2/0/1"`` or, of the second generation, ``"0/1@1"``.
            All unless told.
        select_b: The same for the other side. A compile is named on both or on none.
        rank: Short for the same rank on both sides.
        aspects: What is compared: "compiles", "status", "recompile reasons", "graph
            breaks", "phases", "graph", "guards", "output code", "configuration",
            "cache", "versions". All unless told.
        min_seconds: Times that differ by less are the same.
        min_share: So are times that differ by less than this share of the smaller one.
        progress: Called about ten times a second as ``progress(done, total)``, while a
            path is read.

    Raises:
        OptionError: A selection names nothing, or an option cannot be used.
        TraceChangedError: A log changed since it was loaded.

    Example:
        >>> import fasttl
        >>> found = fasttl.diff(EXAMPLE, select_a="r1/1/0", select_b="r2/1/0", aspects=["status"])
        >>> found.table["b"].to_list()
        ['ok', None]
    """
    if rank is not None:
        if select_a is not None or select_b is not None:
            message = "rank names both sides: leave out select_a and select_b"
            raise OptionError(message)
        select_a = select_b = _rank_selection(rank)
    if b is None and select_a == select_b:
        message = "nothing to compare: give a second trace, or select_a and select_b"
        raise OptionError(message)
    for name, value in (("min_seconds", min_seconds), ("min_share", min_share)):
        if not (math.isfinite(value) and value >= 0):
            message = f"{name} must be a number from 0 on, not {value!r}"
            raise OptionError(message)
    first = _chosen(a, select_a, progress)
    second = _chosen(first.trace if b is None else b, select_b, progress)
    return compare(first, second, aspects=aspects, min_seconds=min_seconds, min_share=min_share, progress=progress)


def _chosen(side: Trace | PathsInput, selection: str | None, progress: Progress | None) -> Chosen:
    trace = side if isinstance(side, Trace) else load(side, progress=progress)
    words = ", ".join(trace.inputs)
    return Chosen(trace, selection or "", f"{words} {selection}" if selection else words)


def _rank_selection(rank: int | None) -> str:
    [wanted] = rank_list([rank]) or [None]
    return "rnone" if wanted is None else f"r{wanted}"


def ranks(trace: Trace, rank_a: int | None, rank_b: int | None, aspects: Iterable[str] | None) -> Diff:
    """Compare two ranks of a trace; for `Trace.diff`."""
    words = ", ".join(trace.inputs)
    sides = [Chosen(trace, text, f"{words} {text}") for text in (_rank_selection(rank_a), _rank_selection(rank_b))]
    return compare(*sides, aspects=aspects)


def compare(  # noqa: PLR0913 - the options of one call, all by keyword
    a: Chosen,
    b: Chosen,
    *,
    aspects: Iterable[str] | None = None,
    min_seconds: float = MIN_SECONDS,
    min_share: float = MIN_SHARE,
    progress: Progress | None = None,
) -> Diff:
    """Compare two sides whose options are checked."""
    import polars as pl  # noqa: PLC0415 - importing this module shall not take as long as polars does

    table, summary = _core.diff(
        a.trace._core,  # noqa: SLF001 - both are faces of the extension
        b.trace._core,  # noqa: SLF001 - as above
        select_a=a.selection,
        select_b=b.selection,
        aspects=None if aspects is None else list(aspects),
        min_seconds=float(min_seconds),
        min_share=float(min_share),
        progress=progress,
    )
    return Diff(pl.DataFrame(table), pl.DataFrame(summary), (a.words, b.words))
