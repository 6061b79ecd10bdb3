"""`scan`: the records of logs as a `polars.LazyFrame` that reads what a query needs.

polars hands a query's columns, its filter and its first rows to `Source`. What a
filter says about single columns is worked out by polars itself on the few values
that a column has, so that nothing here has to understand expressions: the parts of
an ``&`` that name one column are applied to the ranks of the logs, and then to the
kinds and compile ids of each log. The whole filter is applied again to what is
left. polars only hands over filters that look at each row by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fasttl import _core
from fasttl._options import make_request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from fasttl._options import PathsInput, RanksInput

# Rows of a batch, where polars does not say how many it likes.
BATCH_ROWS = 1 << 17
# A filter that is written in more characters is not taken apart: a list of a million ids, say.
LONGEST_FILTER = 1 << 20
PRUNED = ("rank", "file", "kind", "compile_id")


class Counts(NamedTuple):
    """What the last query read: logs, logs that were left out, records, and rows before the filter."""

    logs_read: int
    logs_skipped: int
    records_read: int
    rows_built: int


def scan(  # noqa: PLR0913 - the options of one call, all by keyword
    path: PathsInput = None,
    *,
    ranks: RanksInput = None,
    latest: bool = False,
    verify: bool = False,
    threads: int | None = None,
    max_unpacked: int | str | None = None,
    use_index: bool = True,
) -> pl.LazyFrame:
    """Query the table ``records`` without loading all of it.

    The result of a query is that of ``load(path, verify=verify).records.lazy()``. Logs
    are read one after the other, so that memory stays small for any number of ranks;
    logs of other ranks are not read, records of other kinds or compile ids become no
    rows, columns that are not asked for are not built, and ``head`` stops early. A
    column ``metadata`` has the JSON head of each record.

    The logs are found, and put in order, when this is called; their records are read
    by each ``collect``.

    Args:
        path: A log, a folder of logs, a pattern, or several of these; None stands
            for what ``$TORCH_TRACE`` names.
        ranks: Ranks to read; see `load`.
        latest: Read the newest run only, with all its ranks.
        verify: Check the md5 of each payload. Without it the column ``state`` says
            "unchecked", and a record that was torn into a payload is not found.
        threads: Worker threads; ``$FASTTL_THREADS``, else one for each core.
        max_unpacked: Limit for what compressed inputs unpack to, in bytes or as
            text such as ``"64G"``.
        use_index: Take the indexes that `write_index` left beside the logs, where
            they hold.

    Returns:
        The frame.

    Raises:
        TraceNotFoundError: There is no log at `path`.
        NotATraceError: A file named in `path` is no log.
        OptionError: An option cannot be used.
        TooLargeError: A compressed input is larger than `max_unpacked`.

    Example:
        >>> import fasttl
        >>> import polars as pl
        >>> records = fasttl.scan(EXAMPLE)
        >>> wanted = (pl.col("kind") == "dynamo_start") & (pl.col("rank") == 2)
        >>> records.filter(wanted).select("compile_id").collect()["compile_id"].to_list()
        ['0/0', '1/0', '2/0']
    """
    request = make_request(path, ranks=ranks, latest=latest, threads=threads, max_unpacked=max_unpacked)
    selection = _core.select(
        request.paths,
        ranks=request.ranks,
        latest=request.latest,
        verify=verify,
        threads=request.threads,
        max_unpacked=request.max_unpacked,
        use_index=use_index,
    )
    return Source(selection).lazy()


class Source:
    """What polars calls for a query."""

    def __init__(self, selection: _core.Selection) -> None:
        """Take the logs that queries are about."""
        import polars as pl  # noqa: PLC0415 - not needed until here; see fasttl.trace

        self._selection = selection
        self._empty = pl.DataFrame(selection.schema())
        self.counts: Counts | None = None

    def lazy(self) -> pl.LazyFrame:
        """Give the frame."""
        from polars.io.plugins import register_io_source  # noqa: PLC0415 - as above

        return register_io_source(self, schema=self._empty.schema)

    def __call__(
        self, with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        """Give the rows of a query, log by log.

        `n_rows` counts before `predicate`, so that with it nothing may be dropped early.
        """
        import polars as pl  # noqa: PLC0415 - as above

        parts = [] if predicate is None or n_rows is not None else conjuncts(predicate)
        tests = {name: [part for part in parts if set(part.meta.root_names()) == {name}] for name in PRUNED}
        columns = needed(with_columns, predicate)
        visit = self._visit(columns, tests, n_rows)
        left = n_rows
        size = max(batch_size or BATCH_ROWS, 1)
        built = 0
        yield self._shaped(self._empty, with_columns)
        while left != 0 and (part := visit.next()) is not None:
            if tests["kind"]:
                part.keep_kinds(self._holds(tests["kind"], "kind", part.kinds()))
            if tests["compile_id"]:
                part.keep_compile_ids(self._holds(tests["compile_id"], "compile_id", part.compile_ids()))
            wanted = part.rows if left is None else min(part.rows, left)
            left = None if left is None else left - wanted
            for start in range(0, wanted, size):
                frame = pl.DataFrame(part.table(columns, start, min(size, wanted - start)))
                built += frame.height
                self.counts = Counts(*visit.counts(), built)
                yield self._shaped(frame if predicate is None else frame.filter(predicate), with_columns)
        self.counts = Counts(*visit.counts(), built)

    def _visit(self, columns: list[str] | None, tests: dict[str, list[pl.Expr]], n_rows: int | None) -> _core.Visit:
        """Start to go over the logs that may have wanted rows."""
        files = None
        logs = self._selection.ranks()
        if tests["file"]:
            numbers = list(range(len(logs)))
            holds = self._holds(tests["file"], "file", numbers)
            files = [number for number, hold in zip(numbers, holds, strict=True) if hold]
        without = []
        if tests["rank"]:
            ranks = list({rank for log in logs if log is not None for rank in log})
            holds = self._holds(tests["rank"], "rank", ranks)
            without = [rank for rank, hold in zip(ranks, holds, strict=True) if not hold]
        return self._selection.visit(columns=columns, files=files, without_ranks=without, rows=n_rows)

    def _holds(self, tests: list[pl.Expr], column: str, values: Sequence[Any]) -> list[bool]:
        """Say for each value of a column whether a row with it can be wanted."""
        import polars as pl  # noqa: PLC0415 - as above

        frame = pl.DataFrame({column: values}, schema={column: self._empty.schema[column]}, strict=False)
        keep = pl.repeat(value=True, n=len(values), dtype=pl.Boolean, eager=True)
        for test in tests:
            try:
                found = frame.select(test.alias(column))[column]
            except pl.exceptions.PolarsError:
                continue  # whatever is wrong with it shows when it is applied to the rows
            if found.dtype == pl.Boolean and len(found) == len(values):
                keep &= found.fill_null(value=False)
        return keep.to_list()

    @staticmethod
    def _shaped(frame: pl.DataFrame, with_columns: list[str] | None) -> pl.DataFrame:
        return frame if with_columns is None else frame.select(with_columns)


def needed(with_columns: list[str] | None, predicate: pl.Expr | None) -> list[str] | None:
    """Name the columns that a query looks at; None for all."""
    if with_columns is None:
        return None
    asked = [] if predicate is None else predicate.meta.root_names()
    return list(dict.fromkeys([*with_columns, *asked]))


def conjuncts(predicate: pl.Expr) -> list[pl.Expr]:
    """Take a filter apart at its outermost ``&``; one that cannot be looked into stays whole.

    Example:
        >>> import polars as pl
        >>> [str(part) for part in conjuncts((pl.col("a") == 1) & (pl.col("b") > 2))]
        ['[(col("a")) == (dyn int: 1)]', '[(col("b")) > (dyn int: 2)]']
    """
    import json  # noqa: PLC0415 - the report command does without it

    import polars as pl  # noqa: PLC0415 - not needed until here; see fasttl.trace

    try:
        text = predicate.meta.serialize(format="json")
    except pl.exceptions.PolarsError:
        text = "AnonymousFunction"
    if "AnonymousFunction" in text:
        # Somebody's own function may have reasons to see each row once.
        return []
    try:
        node = json.loads(text) if len(text) < LONGEST_FILTER else {}
        operator = node["BinaryExpr"]["op"] if set(node) == {"BinaryExpr"} else None
    except (KeyError, TypeError, ValueError):
        # The form is polars' own, and may be another one tomorrow.
        return [predicate]
    if operator != "And":
        return [predicate]
    right, left = predicate.meta.pop()
    return [*conjuncts(left), *conjuncts(right)]
