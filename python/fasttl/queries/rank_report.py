"""How the ranks of a job compare, brought together from the tables for a person or a program that watches jobs.

Equal ranks stand on one line, so that hundreds of them fit on a screen. polars is imported when there is a frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fasttl._display import count_text, printable, ranks_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

    from fasttl.trace import Trace

# From when on a rank that took longer stands out; see `SkewOptions` in the extension.
MIN_SECONDS = 5.0
MIN_RATIO = 3.0

# Lines of one part that the text has; tables have all.
SHOWN = 10
# Seconds from which on the ends of logs are apart.
APART = 1.0
# Groups and values of one place, and characters of a value, that the text has.
SHOWN_GROUPS = 6
WIDEST = 160


class RankReport(NamedTuple):
    """What there is to say of the ranks of a job."""

    ranks: pl.DataFrame
    """The table `ranks`."""
    differences: pl.DataFrame
    """The table `divergence`: the first row is the first difference."""
    skew: pl.DataFrame
    """Rows of the table `skew` that stand out, the one that the others waited for longest in front."""
    unknown: list[str]
    """What could not be judged on all ranks."""

    def where(self, **values: str | bool) -> pl.DataFrame:
        """Give the ranks with these values in the table `ranks`.

        Example:
            >>> import fasttl
            >>> rank_report(fasttl.load(EXAMPLE)).where(last_state="open")["rank"].to_list()
            [0]
        """
        import polars as pl  # noqa: PLC0415 - see the head of this file

        tests = [pl.col(name).cast(pl.String) == value for name, value in values.items()]
        return self.ranks.filter(*tests)

    def damaged(self) -> pl.DataFrame:
        """Give the ranks whose logs are cut, empty or cannot be read."""
        import polars as pl  # noqa: PLC0415 - see the head of this file

        return self.ranks.filter(pl.col("log_state").cast(pl.String) != "complete")

    def odd_ranks(self) -> list[int]:
        """Give the ranks that are not in the largest group at some place."""
        return sorted({rank for odd in self.differences["odd_ranks"] for rank in odd})

    def text(self) -> str:
        """Give all of it as text."""
        return "\n".join(printable(line) for line in self._lines())

    def _lines(self) -> Iterator[str]:
        if self.ranks.is_empty():
            yield "No log names a rank, so that there is nothing to compare."
            return
        yield from self._presence()
        yield from self._groups()
        yield from self._first()
        yield from self._others()
        yield from self._unknown()
        yield from self._skew()
        yield from self._last()

    def _presence(self) -> Iterator[str]:
        compared = self.where(state="compared").height
        yield f"{count_text(self.ranks.height, 'rank')}: {compared:,} compared"
        missing = self.where(state="missing")
        if missing.height:
            yield f"Missing: {_ranks(missing['rank'])} {'has' if missing.height == 1 else 'have'} no log"
        for why, ranks in _folded(self.where(state="left out"), "why"):
            yield f"Left out: {_ranks(ranks)}: {why[0]}"
        for (state, *_), ranks in _folded(self.damaged(), "log_state"):
            yield f"Damaged: {_ranks(ranks)}: the log is {state}"

    def _groups(self) -> Iterator[str]:
        groups = list(_folded(self.where(state="compared").sort("group", "rank"), "group"))
        if len(groups) == 1:
            words = "No difference was found" if groups[0][1][1:] else "Nothing to compare with"
            yield f"{words}: {_ranks(groups[0][1])}"
            return
        yield "Groups of ranks that agree in all:"
        for (number, *_), ranks in groups[:SHOWN]:
            yield f"  {number}: {_ranks(ranks)}"
        yield from _more(len(groups))

    def _first(self) -> Iterator[str]:
        for row in self.differences.head(1).iter_rows(named=True):
            yield f"First difference: {row['aspect']}: {_short(row['place'])}"
            sides = list(zip(row["groups"], row["values"], strict=True))
            for ranks, value in sides[:SHOWN_GROUPS]:
                yield f"  {_ranks(ranks)}: {_short(value)}"
            if len(sides) > SHOWN_GROUPS:
                yield f"  … {len(sides) - SHOWN_GROUPS:,} more groups"
            if row.get("cause"):
                yield f"  cause: {row['cause']}"

    def _others(self) -> Iterator[str]:
        rest = self.differences.slice(1)
        if rest.is_empty():
            return
        yield f"Other differences: {rest.height:,}"
        for row in rest.head(SHOWN).iter_rows(named=True):
            yield f"  {row['aspect']}: {_short(row['place'])}: odd {_ranks(row['odd_ranks'])}"
        if rest.height > SHOWN:
            counts = rest["aspect"].cast(str).value_counts(sort=True).iter_rows()
            yield f"  … all: {', '.join(f'{aspect} {count:,}' for aspect, count in counts)}"

    def _unknown(self) -> Iterator[str]:
        if self.unknown:
            yield f"Not known in part: {', '.join(self.unknown)}; `unknown` of table `diagnostics` says why"

    def _skew(self) -> Iterator[str]:
        if self.skew.is_empty():
            return
        yield "Slow ranks:"
        for row in self.skew.head(SHOWN).iter_rows(named=True):
            waited = (
                f"; others likely waited {row['waited_s']:.1f} s, together" if (row["waited_s"] or 0) >= APART else ""
            )
            code = _short(row["code_name"] or "a frame without a name")
            slow = row["slow_ranks"] or [row["max_rank"]]
            took = f"{_ranks(slow)} took {'up to ' if len(slow) > 1 else ''}{row['max_s']:.1f} s"
            yield f"  {row['compile_id']} {code}: {took}, the median is {row['median_s']:.1f} s{waited}"
        yield from _more(self.skew.height)

    def _last(self) -> Iterator[str]:
        """Say what odd ranks, and those that were in the middle of something, did last."""
        import polars as pl  # noqa: PLC0415 - see the head of this file

        state = pl.col("last_state").cast(pl.String)
        is_odd = (pl.col("group") > 0) | (pl.col("log_state").cast(pl.String) != "complete")
        concerned = self.ranks.filter(is_odd | state.is_in(["open", "failed"]), state.is_not_null())
        if concerned.is_empty():
            return
        yield "Last of these ranks:"
        step = pl.when(state == "open").then(pl.col("last_step").cast(pl.String))
        folded = list(_folded(concerned.with_columns(step=step), "last_state", "last_compile_id", "step"))
        for (how, compile_id, step), ranks in folded[:SHOWN]:
            ends = self.ranks.filter(pl.col("rank").is_in(ranks))["behind_s"].drop_nulls().to_list()
            longest = max(ends, default=0.0)
            before = f"; the log ends {longest:.0f} s before the last record of the job" if longest >= APART else ""
            what = "nothing was compiled" if how == "idle" else f"{compile_id or 'no compile'} {how}"
            inside = f" in {_short(step)}" if how == "open" else ""
            yield f"  {_ranks(ranks)}: {what}{inside}{before}"
        yield from _more(len(folded))


def rank_report(trace: Trace, *, min_seconds: float = MIN_SECONDS, min_ratio: float = MIN_RATIO) -> RankReport:
    """Bring together how the ranks of a trace compare.

    Args:
        trace: The trace.
        min_seconds: Seconds beyond the median from which on a rank stands out …
        min_ratio: … which must be as many times the median, too.

    Returns:
        What there is to say.

    Example:
        >>> import fasttl
        >>> rank_report(fasttl.load(EXAMPLE)).ranks.height
        3
    """
    import polars as pl  # noqa: PLC0415 - see the head of this file

    more = pl.col("max_s") - pl.col("median_s")
    skew = trace.skew.filter(more >= min_seconds, more >= min_ratio * pl.col("median_s"))
    unknown = trace.diagnostics.filter(pl.col("unknown").list.len() > 0)["aspect"].cast(pl.String)
    return RankReport(
        ranks=trace.ranks,
        differences=trace.divergence,
        skew=skew.sort(pl.col("waited_s").fill_null(0.0), descending=True, maintain_order=True),
        unknown=unknown.to_list(),
    )


def _folded(ranks: pl.DataFrame, *columns: str) -> Iterator[tuple[tuple[Any, ...], list[int]]]:
    """Give the ranks with equal values in these columns together, in the order in which they come."""
    together: dict[tuple[Any, ...], list[int]] = {}
    for rank, *values in ranks.select("rank", *columns).iter_rows():
        together.setdefault(tuple(values), []).append(rank)
    yield from together.items()


def _ranks(ranks: Iterable[int]) -> str:
    all_of = list(ranks)
    return f"rank{'' if len(all_of) == 1 else 's'} {ranks_text(all_of)}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDEST else line[: WIDEST - 1] + "…"


def _more(count: int) -> Iterator[str]:
    if count > SHOWN:
        yield f"  … {count - SHOWN:,} more"
