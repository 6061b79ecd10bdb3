"""The methods of a `Trace` that answer questions; each is a module of this package.

They stand apart from the tables, so that `trace.py` stays what it is: a thin face over
the extension. A module is imported when its question is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from fasttl._options import PathInput, RanksInput
    from fasttl.queries.explain import Explanation
    from fasttl.queries.export import Exported
    from fasttl.queries.summary import Summary
    from fasttl.trace import Trace


class TraceQueries:
    """Questions to the tables of a trace. A part of `fasttl.Trace`; not made by itself."""

    __slots__ = ()

    # Filled by `fasttl.Trace`.
    _built: set[str]

    def is_built(self, name: str) -> bool:
        """Tell whether a table was asked for and is kept; its size is then in `stats`.

        Args:
            name: Name of a table.

        Returns:
            Whether it is there.

        Raises:
            OptionError: There is no table of that name.

        Example:
            >>> import fasttl
            >>> trace = fasttl.load(EXAMPLE)
            >>> trace.is_built("frames"), trace.frames.height, trace.is_built("frames")
            (False, 8, True)
        """
        if name not in self._built:
            self._trace().schema(name)
        return name in self._built

    def sql(self, query: str) -> pl.DataFrame:
        """Run a SQL query over the tables, as `polars.SQLContext` understands it.

        Tables have the names of `tables`, and only those that the query reads are
        built. Names in the tables (kinds, statuses, functions …) are text in a query.

        Args:
            query: One statement.

        Returns:
            The rows.

        Raises:
            OptionError: The query cannot be run; the message has the reason and the
                names of the tables.

        Example:
            >>> import fasttl
            >>> trace = fasttl.load(EXAMPLE)
            >>> trace.sql("select status, count(*) as n from frames group by status order by n desc").rows()[0]
            ('ok', 6)
        """
        from fasttl.queries.sql import sql  # noqa: PLC0415 - see the head of this file

        return sql(self._trace(), query)

    def summary(self) -> Summary:
        """Count what a person wants to know first.

        Returns:
            Logs, ranks, records, problems, compiles by status, recompiles, graph
            breaks, failures, caches, seconds and versions. It prints as a few lines,
            shows as a table in notebooks, and has `to_dict`.

        Raises:
            FasttlError: A table could not be built.

        Example:
            >>> import fasttl
            >>> summary = fasttl.load(EXAMPLE).summary()
            >>> summary.failures, summary.unfinished
            (1, 1)
        """
        from fasttl.queries.summary import summary  # noqa: PLC0415 - as above

        return summary(self._trace())

    def explain(
        self, compile_id: str, *, rank: int | None = None, generation: int | None = None, file: int | None = None
    ) -> Explanation:
        """Say what a compile is, why it happened, what it cost, what it made and what it lacks.

        Args:
            compile_id: Its id, such as ``0/1``; ``!0/1/0`` for compiled autograd, and
                ``0/1@1`` for the second generation after `torch._dynamo.reset`. With an
                attempt, as in ``0/1_2``, that attempt must have been; it is the whole
                compile that is explained.
            rank: The rank; without one, the first log that has such a compile.
            generation: The generation; without one, the first that has it.
            file: Number of the log: column ``file`` of all tables. It tells apart logs
                without a rank, and the starts of a rank.

        Raises:
            OptionError: There is no such compile, or the text is no compile id.

        Example:
            >>> import fasttl
            >>> explanation = fasttl.load(EXAMPLE).explain("2/0", rank=0)
            >>> print(explanation.headline)
            2/0 `late` on rank 0: unfinished when the log ends, first compile of its frame
        """
        from fasttl.queries.explain import Place, explain  # noqa: PLC0415 - as above

        return explain(self._trace(), compile_id, Place(rank, generation, file))

    def sizes(self, by: str = "kind") -> pl.DataFrame:
        """Count records and their bytes: what makes the logs large.

        Args:
            by: "kind" of record; "name", with the kind; "compile", an id without the
                attempt, over all ranks and generations: what has the same id after
                `torch._dynamo.reset` is counted with it; "rank"; "source", the line of
                PyTorch that wrote it; "artifact", stored texts by name, with the number
                and bytes of different ones.

        Returns:
            A row for each, the largest first. ``bytes`` counts heads and payloads,
            for artifacts the text alone. For compiles and ranks,
            ``logging_overhead_s`` is what PyTorch says that writing the log took;
            null where it does not.

        Raises:
            OptionError: `by` is none of these.

        Example:
            >>> import fasttl
            >>> fasttl.load(EXAMPLE).sizes("kind").select("kind", "records").row(0)
            ('compilation_metrics', 7)
        """
        from fasttl.queries.size import sizes  # noqa: PLC0415 - as above

        return sizes(self._trace(), by)

    def stats(self, *, build: bool = False) -> pl.DataFrame:
        """Say how large the tables are in memory.

        Args:
            build: Build all tables first. Without it, those that nobody asked for yet
                have null for rows and bytes: they take no memory, and to build some
                of them is work.

        Returns:
            A row for each table: rows, and bytes as Arrow.

        Raises:
            FasttlError: A table could not be built.

        Example:
            >>> import fasttl
            >>> trace = fasttl.load(EXAMPLE)
            >>> trace.files.height
            3
            >>> trace.stats().select("table", "built", "rows").rows()[:2]
            [('files', True, 3), ('records', False, None)]
        """
        from fasttl.queries.stats import stats  # noqa: PLC0415 - as above

        return stats(self._trace(), build=build)

    def extract(  # noqa: PLR0913 - the conditions of one search, all by keyword
        self,
        out: PathInput,
        *,
        kind: str | Iterable[str] = (),
        name: str | Iterable[str] = (),
        compile_id: str | None = None,
        rank: RanksInput = None,
        md5: str | None = None,
    ) -> list[str]:
        """Write stored payloads as files such as ``rank_3/0_1_0/fx_graph_runnable_0.py``.

        Folders are those of the log (rank, earlier starts of a rank apart, else the
        process) and of the compile (frame, compile of the frame, attempt). The number
        counts what has one name there, in the order of the log. Names are made safe,
        nothing is overwritten, and no link below `out` is followed.

        Args:
            out: Folder to write into; it may be missing.
            kind: Kind of record or name of artifact, or several. ``*`` and ``?`` stand
                for any text and any character.
            name: The same for names alone.
            compile_id: Such as ``"0/1"`` for all attempts, ``"0/1_2"`` for one,
                ``"0/1@1"`` for the second generation, ``"none"`` for artifacts without.
            rank: Ranks, as for `load`.
            md5: Of the payload; its first digits will do.

        Returns:
            The paths that were written.

        Raises:
            OptionError: Nothing fits (the message says what is there), a condition
                cannot be read, or a file is there already.
            OutputError: A file could not be written; those before it are whole.
            TraceChangedError: A log changed since it was loaded.
            ReadError: A log can no longer be read.

        Example:
            >>> import fasttl
            >>> fasttl.load(EXAMPLE).extract("errors", kind="dynamo_error")
            ['errors/rank_1/1_0_0/dynamo_error_0.txt']
        """
        from fasttl.queries.extract import extract  # noqa: PLC0415 - as above

        return extract(self._trace(), out, kind=kind, name=name, compile_id=compile_id, rank=rank, md5=md5)

    def write_parquet(
        self, out: PathInput, tables: Iterable[str] | None = None, *, overwrite: bool = False
    ) -> list[Exported]:
        """Write tables as Parquet, those of each rank in a folder ``rank=N`` that readers take for a column.

        A table stands at ``out/<table>/rank=<N>/part-0.parquet``, rows without a rank
        at ``rank=__HIVE_DEFAULT_PARTITION__``; one of which no row has a rank at
        ``out/<table>/part-0.parquet``. The metadata of the schema is kept.
        ``out/_fasttl.json`` says what was written.

        Args:
            out: Folder to write. It may be missing or empty.
            tables: Names of tables; all unless told.
            overwrite: Replace an earlier export in the folder. Nothing else is ever
                replaced.

        Returns:
            For each table its rows, files and bytes on disk.

        Raises:
            OptionError: There is no such table, or `out` holds something else.
            OutputError: A file could not be written; nothing is left of the export.

        Example:
            >>> import fasttl
            >>> import polars as pl
            >>> written = fasttl.load(EXAMPLE).write_parquet("tables", ["frames"])
            >>> pl.scan_parquet("tables/frames", hive_partitioning=True).filter(pl.col("rank") == 1).collect().height
            2
        """
        from fasttl.queries.export import export  # noqa: PLC0415 - as above

        return export(self._trace(), out, layout="parquet", tables=tables, overwrite=overwrite)

    def write_ipc(
        self, out: PathInput, tables: Iterable[str] | None = None, *, overwrite: bool = False
    ) -> list[Exported]:
        """Write tables as Arrow IPC files (Feather), in the folders of `write_parquet`.

        Args:
            out: Folder to write. It may be missing or empty.
            tables: Names of tables; all unless told.
            overwrite: Replace an earlier export in the folder.

        Returns:
            For each table its rows, files and bytes on disk.

        Raises:
            OptionError: There is no such table, or `out` holds something else.
            OutputError: A file could not be written; nothing is left of the export.

        Example:
            >>> import fasttl
            >>> [table.files for table in fasttl.load(EXAMPLE).write_ipc("arrow", ["frames", "divergence"])]
            [3, 1]
        """
        from fasttl.queries.export import export  # noqa: PLC0415 - as above

        return export(self._trace(), out, layout="ipc", tables=tables, overwrite=overwrite)

    def _trace(self) -> Trace:
        return cast("Trace", self)
