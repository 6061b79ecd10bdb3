"""`Trace`: the tables of a trace in Python.

A `Trace` is a thin face over the extension's object of the same name: it builds
a table when it is first asked for and keeps it. polars and pyarrow are imported
only then, since the report command must not pay for them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from fasttl._display import trace_html, trace_line
from fasttl._find_parsers import find_parsers
from fasttl._inputs import STDIN, Request, absolute
from fasttl._report import COMMAND, Writing, half, read_for_report, write_trace
from fasttl._rows import find_place
from fasttl.exceptions import OptionError
from fasttl.queries.face import TraceQueries

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl
    import pyarrow as pa

    from fasttl import _core
    from fasttl._diff import Diff
    from fasttl._installed_parsers import Broken
    from fasttl._options import PathInput, Progress
    from fasttl._report import ParsersInput, RawLog
    from fasttl._rows import Row
    from fasttl.plugins import Parser


class Column(NamedTuple):
    """One column of a table: its name, its Arrow type, and what it means with its unit."""

    name: str
    type: str
    meaning: str


class Trace(TraceQueries):
    """The tables of one or more logs, and the text of their payloads.

    Each table is a `polars.DataFrame`, built when it is first asked for and kept.
    `schema` says what its columns mean. Made by `load`.

    What answers questions, such as `sql` and `summary`, stands in `TraceQueries`.

    Example:
        >>> import fasttl
        >>> trace = fasttl.load(EXAMPLE)
        >>> trace.frames.select("rank", "compile_id", "code_name").sort("rank").rows()[0]
        (0, '0/0', 'warm')
    """

    __slots__ = ("__weakref__", "_built", "_core", "_frames", "_request", "_verified")

    def __init__(self, core: _core.Trace, request: Request, *, verified: bool) -> None:
        """Wrap what the extension read; for `load`, not for users."""
        self._core = core
        self._verified = verified
        # Paths are tied to the folder of this moment: the report of this trace
        # reads the same logs again, wherever the process has moved to by then.
        self._request = request._replace(paths=[absolute(path) for path in request.paths])
        self._frames: dict[str, pl.DataFrame] = {}
        # Names of the tables that the extension has built and keeps.
        self._built: set[str] = set()

    # The tables.

    @property
    def files(self) -> pl.DataFrame:
        """One row for each log: path, rank, restart, process, size, times, state."""
        return self.table("files")

    @property
    def records(self) -> pl.DataFrame:
        """One row for each log record: where it stands, its time, kind and compile id."""
        return self.table("records")

    @property
    def problems(self) -> pl.DataFrame:
        """One row for each stretch of input that is not a good record."""
        return self.table("problems")

    @property
    def frames(self) -> pl.DataFrame:
        """One row for each compile: function, status, times, counts, failure."""
        return self.table("frames")

    @property
    def metrics(self) -> pl.DataFrame:
        """One row for each compilation-metrics record, with all its fields."""
        return self.table("metrics")

    @property
    def artifacts(self) -> pl.DataFrame:
        """One row for each stored payload: its name, kind, size and md5."""
        return self.table("artifacts")

    @property
    def graphs(self) -> pl.DataFrame:
        """One row for each graph: its stage, operators, inputs, and a hash without names."""
        return self.table("graphs")

    @property
    def recompiles(self) -> pl.DataFrame:
        """One row for each recompile that has a reason: guard, cause, values, cost, advice.

        Example:
            >>> import fasttl
            >>> fasttl.load(EXAMPLE).recompiles.is_empty()  # this job compiled each function once
            True
        """
        return self.table("recompiles")

    @property
    def recompile_groups(self) -> pl.DataFrame:
        """One row for each function and kind of reason, over all its recompiles and ranks."""
        return self.table("recompile_groups")

    @property
    def graph_breaks(self) -> pl.DataFrame:
        """One row for each graph break as logged: reason, places, hints."""
        return self.table("graph_breaks")

    @property
    def break_groups(self) -> pl.DataFrame:
        """One row for each graph break to mend, with its compiles and ranks."""
        return self.table("break_groups")

    @property
    def failures(self) -> pl.DataFrame:
        """One row for each failed compile and each try that was started over."""
        return self.table("failures")

    @property
    def cache(self) -> pl.DataFrame:
        """One row for each look-up in a cache of the compiler."""
        return self.table("cache")

    @property
    def missing(self) -> pl.DataFrame:
        """One row for what a compile could have logged and did not, with the likely reason."""
        return self.table("missing")

    @property
    def events(self) -> pl.DataFrame:
        """One row for each timed step of the compiler: its times, and the step that it lies in.

        Example:
            >>> import fasttl
            >>> events = fasttl.load(EXAMPLE).events
            >>> events.filter(rank=0, compile_id="0/0", depth=2)["name"].to_list()
            ['compile_attempt_0', 'build_guards', 'gc']
        """
        return self.table("events")

    @property
    def phases(self) -> pl.DataFrame:
        """One row for each compile and name of a timed step: how often and how long."""
        return self.table("phases")

    @property
    def collectives(self) -> pl.DataFrame:
        """One row for each collective, or wait for one, in the order of its graph."""
        return self.table("collectives")

    @property
    def runtimes(self) -> pl.DataFrame:
        """One row for each operation of a graph, with its estimated runtime."""
        return self.table("runtimes")

    @property
    def exec_order(self) -> pl.DataFrame:
        """One row for each recorded run of a compiled graph, in order."""
        return self.table("exec_order")

    @property
    def tensors(self) -> pl.DataFrame:
        """One row for each tensor that the compiler described, with its source."""
        return self.table("tensors")

    @property
    def findings(self) -> pl.DataFrame:
        """One row for each sentence that a reader wants first, with cost, evidence and advice.

        Example:
            >>> import fasttl
            >>> fasttl.load(EXAMPLE).findings.select("kind", "ranks").rows()[0]
            ('failed compiles', [1])
        """
        return self.table("findings")

    @property
    def guards(self) -> pl.DataFrame:
        """One row for each guard: a condition under which compiled code may be used again.

        Example:
            >>> import fasttl
            >>> fasttl.load(EXAMPLE).guards.select("source", "kind").rows()[4]
            ("L['x']", 'TENSOR_MATCH')
        """
        return self.table("guards")

    @property
    def guard_sets(self) -> pl.DataFrame:
        """One row for each record of guards: how many, duplicates, time of a check, and a hash of them as a set."""
        return self.table("guard_sets")

    @property
    def symbols(self) -> pl.DataFrame:
        """One row for each fact about symbolic sizes: a symbol, a condition, an expression."""
        return self.table("symbols")

    @property
    def diagnostics(self) -> pl.DataFrame:
        """One row for each comparison of the ranks: same, differs or unknown.

        Example:
            >>> import fasttl
            >>> fasttl.load(EXAMPLE).diagnostics.select("aspect", "verdict").rows()[0]
            ('versions', 'same')
        """
        return self.table("diagnostics")

    @property
    def divergence(self) -> pl.DataFrame:
        """One row for each place at which ranks differ, with the ranks on each side."""
        return self.table("divergence")

    @property
    def skew(self) -> pl.DataFrame:
        """One row for each compile, with how long the ranks took for it and which was slowest.

        Example:
            >>> import fasttl
            >>> fasttl.load(EXAMPLE).skew.select("compile_id", "code_name", "ranks").rows()
            [('0/0', 'warm', 3), ('1/0', 'step', 3), ('2/0', 'late', 2)]
        """
        return self.table("skew")

    @property
    def ranks(self) -> pl.DataFrame:
        """One row for each rank of the job, those without a log included, with what it did last.

        Example:
            >>> import fasttl
            >>> fasttl.load(EXAMPLE).ranks.select("rank", "last_compile_id", "last_state").rows()
            [(0, '2/0', 'open'), (1, '1/0', 'failed'), (2, '2/0', 'done')]
        """
        return self.table("ranks")

    @property
    def strings(self) -> pl.DataFrame:
        """One row for each interned string of a log."""
        return self.table("strings")

    @property
    def stacks(self) -> pl.DataFrame:
        """One row for each frame of a stack."""
        return self.table("stacks")

    @property
    def tables(self) -> list[str]:
        """Names of all tables.

        Example:
            >>> import fasttl
            >>> fasttl.load(EXAMPLE).tables[:3]
            ['files', 'records', 'problems']
        """
        return self._core.table_names()

    def table(self, name: str) -> pl.DataFrame:
        """Give a table by name; the properties are short for this.

        Raises:
            OptionError: There is no table of that name.

        Example:
            >>> import fasttl
            >>> trace = fasttl.load(EXAMPLE)
            >>> trace.table("frames") is trace.frames
            True
        """
        import polars as pl  # noqa: PLC0415 - see the head of this file

        frame = self._frames.get(name)
        if frame is None:
            # setdefault, so that threads that race here end with one object.
            frame = self._frames.setdefault(name, pl.DataFrame(self._table(name)))
        return frame

    def _table(self, name: str) -> _core.Table:
        table = self._core.table(name)
        self._built.add(name)
        return table

    def lazy(self, name: str) -> pl.LazyFrame:
        """Give a table as a `polars.LazyFrame`.

        Raises:
            OptionError: There is no table of that name.

        Example:
            >>> import fasttl
            >>> import polars as pl
            >>> records = fasttl.load(EXAMPLE).lazy("records")
            >>> kinds = records.filter(pl.col("kind") == "dynamo_start").collect()
            >>> kinds.height
            8
        """
        return self.table(name).lazy()

    def arrow(self, name: str, *, views: bool = True) -> pa.Table:
        """Give a table as a `pyarrow.Table`; polars is not needed for it.

        Args:
            name: Name of the table.
            views: Give text as ``string_view``, without a copy. With False it is
                ``large_string``, and names are dictionaries with signed numbers: for
                what does not know views yet, many functions of pyarrow among it, and
                for pandas.

        Raises:
            OptionError: There is no table of that name.

        Example:
            >>> import fasttl
            >>> trace = fasttl.load(EXAMPLE)
            >>> trace.arrow("files").num_rows
            3
            >>> str(trace.arrow("files", views=False).schema.field("path").type)
            'large_string'
        """
        import pyarrow as pa  # noqa: PLC0415 - see the head of this file

        table = pa.table(self._table(name))
        if views:
            return table
        from fasttl.queries.plain_arrow import without_views  # noqa: PLC0415 - as above

        return without_views(table)

    def schema(self, name: str) -> list[Column]:
        """Say what the columns of a table are: name, Arrow type, meaning with unit.

        Raises:
            OptionError: There is no table of that name.

        Example:
            >>> import fasttl
            >>> columns = fasttl.load(EXAMPLE).schema("frames")
            >>> [column.type for column in columns if column.name == "rank"]
            ['Int32']
        """
        return [Column(*fields) for fields in self._core.describe_table(name)]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the ``records`` table to any library of the Arrow PyCapsule interface.

        Example:
            >>> import fasttl
            >>> import pyarrow as pa
            >>> pa.table(fasttl.load(EXAMPLE)).num_rows
            224
        """
        return self._table("records").__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Give the schema of the ``records`` table to such a library."""
        return self._table("records").__arrow_c_schema__()

    # The text behind the tables.

    def payload(self, row: Row | str) -> bytes:
        """Read the payload of a record from its log, as it was logged.

        Args:
            row: A row of ``artifacts`` or ``records`` as a dict or as a DataFrame of
                one row, a row number of ``artifacts``, or the md5 of a payload.

        Raises:
            OptionError: There is no such row, record or md5.
            TraceChangedError: The log changed since it was loaded.
            ReadError: The log can no longer be read.

        Example:
            >>> import fasttl
            >>> trace = fasttl.load(EXAMPLE)
            >>> row = trace.artifacts.row(0, named=True)
            >>> trace.payload(row) == trace.payload(row["md5"]) == trace.payload(0)
            True
        """
        if isinstance(row, str):
            found = self._core.payload_by_md5(row)
            if found is None:
                message = f"no payload of this trace has the md5 {row!r}"
                raise OptionError(message)
            return found
        place = find_place(row, "artifacts", lambda: self.artifacts)
        return self._core.payload(place.file, place.offset)

    def text(self, row: Row | str) -> str:
        """Read the payload of a record as text.

        Args:
            row: As for `payload`.

        Returns:
            The text; bytes that are no UTF-8 are shown as U+FFFD.

        Raises:
            OptionError: There is no such row, record or md5.
            TraceChangedError: The log changed since it was loaded.
            ReadError: The log can no longer be read.

        Example:
            >>> import fasttl
            >>> import polars as pl
            >>> trace = fasttl.load(EXAMPLE)
            >>> errors = trace.artifacts.filter(pl.col("name") == "dynamo_error")
            >>> "out of memory on rank 1" in trace.text(errors)
            True
        """
        return self.payload(row).decode("utf-8", errors="replace")

    def metadata(self, row: Row) -> str:
        """Read the JSON head of a record as it stands in the log.

        Args:
            row: A row of any table with the columns ``file`` and ``offset``, as a
                dict or as a DataFrame of one row, or a row number of ``records``.

        Returns:
            The JSON text; bytes that are no UTF-8 are shown as U+FFFD.

        Raises:
            OptionError: There is no such row or record.
            TraceChangedError: The log changed since it was loaded.
            ReadError: The log can no longer be read.

        Example:
            >>> import fasttl
            >>> import json
            >>> head = json.loads(fasttl.load(EXAMPLE).metadata(1))
            >>> head["artifact"]["name"]
            'torch_version'
        """
        place = find_place(row, "records", lambda: self.records)
        return self._core.metadata(place.file, place.offset)

    # The trace as a whole.

    @property
    def inputs(self) -> list[str]:
        """What was read, in the order of the call."""
        return self._core.inputs

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """Files of the input that were passed over: path, and what they look like."""
        return self._core.skipped

    def diff(self, rank_a: int | None, rank_b: int | None, *, aspects: Iterable[str] | None = None) -> Diff:
        """Compare two ranks; None stands for logs without a rank. `fasttl.diff` compares more.

        Args:
            rank_a: The first rank.
            rank_b: The second.
            aspects: What is compared, as for `fasttl.diff`; all unless told.

        Raises:
            OptionError: The trace has no log of a rank, or there is no aspect of a name.
            TraceChangedError: A log changed since it was loaded.

        Example:
            >>> import fasttl
            >>> found = fasttl.load(EXAMPLE).diff(1, 2, aspects=["compiles"])
            >>> found.table.select("change", "compile_b", "b").rows()
            [('only b', '2/0', 'late at dist_crash.py:28, ok, 0.080 s')]
        """
        from fasttl._diff import ranks  # noqa: PLC0415 - the report command compares nothing

        return ranks(self, rank_a, rank_b, aspects)

    def write_report(  # noqa: PLR0913 - the options of one report, all by keyword
        self,
        out: PathInput,
        *,
        overwrite: bool = False,
        plain_text: bool = False,
        all_ranks_html: bool = False,
        export: bool = False,
        inductor_provenance: bool = False,
        custom_header_html: str = "",
        raw_log: RawLog = "copy",
        parsers: ParsersInput = True,
        progress: Progress | None = None,
    ) -> _core.Report:
        """Write the report of this trace; see `fasttl.write_report`.

        What `load` found is not searched again. Where it did not check payloads
        (``verify=False``), the logs are read once more and as they are by then, since
        the report takes equal md5s for equal texts. Failures of custom parsers become rows of `problems`, in
        place of those of an earlier report.

        Raises:
            OptionError: The trace came from the standard input without a check of
                its payloads, a parser is none, or `out` holds something else.
            TraceChangedError: A log changed since it was loaded; with ``verify=False``,
                while it was read once more.
            OutputError: The report could not be written.

        Example:
            >>> import fasttl
            >>> fasttl.load(EXAMPLE, ranks=1).write_report("rank_1").logs
            1
        """
        writing = Writing(
            out=os.fsdecode(out),
            overwrite=overwrite,
            plain_text=plain_text,
            all_ranks_html=all_ranks_html,
            export=export,
            inductor_provenance=inductor_provenance,
            custom_header_html=custom_header_html,
            command=COMMAND,
            raw_log=raw_log,
        )
        found, broken = find_parsers(parsers)
        try:
            if not self._verified:
                return self._write_again(writing, found, broken, progress)
            return write_trace(self._core, writing, found, broken, progress=progress)
        finally:
            self._frames.pop("problems", None)

    def _write_again(
        self, writing: Writing, parsers: list[Parser], broken: list[Broken], progress: Progress | None
    ) -> _core.Report:
        if STDIN in self._request.paths:
            message = "the standard input cannot be read again: load it with verify=True, or save it to a file first"
            raise OptionError(message)
        again = read_for_report(self._request, progress)
        try:
            return write_trace(again, writing, parsers, broken, progress=half(progress, 1))
        finally:
            self._core.take_parser_problems(again)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: a trace is a set of positions in files that stay behind."""
        message = (
            "a Trace cannot be pickled, since its payloads stay in the logs; "
            "send the paths and load them there, or send its tables"
        )
        raise TypeError(message)

    def __repr__(self) -> str:
        """Say in one line what was read."""
        return trace_line(self)

    def _repr_html_(self) -> str:
        """Say the same as a table, for notebooks."""
        return trace_html(self)
