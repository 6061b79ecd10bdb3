# ruff: noqa: PYI021 - the extension is documented here, where readers and editors look
"""The extension module: reads logs, builds the Arrow tables, writes the report.

Its functions take plain values that are already checked; `fasttl.load` and
`fasttl.write_report` are the ones to call. All work runs without the GIL on
threads that end with the call, so a process may fork after it. The calling
thread wakes about ten times a second for Ctrl-C (`KeyboardInterrupt`) and for
`progress`, which is called with the bytes of input done and the bytes in all;
what it raises ends the work and is raised by the call.
"""

from collections.abc import Callable
from typing import final

from typing_extensions import Self

__all__ = [
    "Extras",
    "LogRecord",
    "LogRecords",
    "Part",
    "Report",
    "Selection",
    "Table",
    "Trace",
    "Visit",
    "__version__",
    "build_profile",
    "describe_diff",
    "diff",
    "finding_kinds",
    "load",
    "select",
    "write_index",
    "write_report",
]

__version__: str
"""Version of the package."""

build_profile: str
"""Cargo profile of the build: "release" or "debug"."""

@final
class Table:
    """One Arrow table; it can be read any number of times.

    Strings cross as StringView and dictionaries, so that polars takes them
    without a copy. Not made by users.
    """

    @property
    def name(self) -> str:
        """Name of the table, as in `Trace.table_names`."""

    @property
    def num_rows(self) -> int:
        """Number of rows."""

    @property
    def num_columns(self) -> int:
        """Number of columns."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give a capsule with an ``ArrowArrayStream`` over the batches.

        Args:
            requested_schema: A capsule with the schema that the reader would like.
                The interface allows to pass over it, and it is.
        """

    def __arrow_c_schema__(self) -> object:
        """Give a capsule with the ``ArrowSchema``."""

@final
class Trace:
    """What was read from one or more logs. Not made by users; see `load`."""

    @property
    def inputs(self) -> list[str]:
        """The inputs, in the order of the call."""

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """Files that were passed over: path, and what they look like or why."""

    @property
    def size(self) -> int:
        """Bytes of all logs, unpacked: what `write_report` tells its progress of."""

    def table_names(self) -> list[str]:
        """Names of the tables."""

    def table(self, name: str) -> Table:
        """Give a table, built when it is first asked for.

        Raises:
            OptionError: There is no table of that name.
        """

    def describe_table(self, name: str) -> list[tuple[str, str, str]]:
        """Give the columns of a table: name, Arrow type, meaning with unit.

        Raises:
            OptionError: There is no table of that name.
        """

    def payload(self, file: int, offset: int) -> bytes:
        """Read the payload of one record, the TAB in front of each line taken off.

        Args:
            file: Number of the log in the table ``files``.
            offset: Byte at which the record begins.

        Raises:
            OptionError: No record begins there.
            TraceChangedError: The log changed since it was read.
            ReadError: The log can no longer be read.
        """

    def payload_by_md5(self, md5: str) -> bytes | None:
        """Read the first payload with an md5; None where there is none.

        Raises:
            TraceChangedError: The log changed since it was read.
            ReadError: The log can no longer be read.
        """

    def metadata(self, file: int, offset: int) -> str:
        """Read the JSON head of one record; bytes that are no UTF-8 become U+FFFD.

        Args:
            file: Number of the log in the table ``files``.
            offset: Byte at which the record begins.

        Raises:
            OptionError: No record begins there.
            TraceChangedError: The log changed since it was read.
            ReadError: The log can no longer be read.
        """

    def records_of(self, wanted: list[tuple[str, list[str] | None]]) -> LogRecords:
        """Give the records of some kinds and names, for custom parsers.

        Args:
            wanted: Kinds, each with the names that are wanted; None for all names.
        """

    def take_parser_problems(self, other: Trace) -> None:
        """Set the failures of custom parsers to those of another trace of the same logs.

        Args:
            other: Where they were found.
        """

    def write_report(
        self,
        out: str,
        *,
        overwrite: bool,
        plain_text: bool,
        all_ranks_html: bool,
        export: bool,
        inductor_provenance: bool,
        custom_header_html: str,
        command: str,
        raw_log: str,
        max_memory: int | None,
        extras: Extras,
        progress: Callable[[int, int], None] | None,
    ) -> Report:
        """Write the report of this trace; the other arguments are those of the function of that name.

        Args:
            out: Folder to write.
            overwrite: Replace an earlier report in `out`.
            plain_text: Write code as text files.
            all_ranks_html: Write a landing page even for one log.
            export: Report on an export.
            inductor_provenance: Write the provenance pages of every compile id.
            custom_header_html: HTML for the top of the index pages.
            command: What was typed, for the page's header.
            raw_log: How logs get into the report: "copy", "link" or "skip".
            max_memory: Bytes that the process may take; None for 200 MiB.
            extras: What custom parsers made; it is empty afterwards. Their failures
                become rows of the table ``problems``, in place of earlier ones.
            progress: Called with bytes done and bytes in all.

        Raises:
            OutputError: The report could not be written.
            OptionError: `out` holds something else.
            TraceChangedError: A log changed since it was read.
        """

@final
class LogRecord:
    """One record of a log, for a custom parser. Its texts are read when they are asked for."""

    @property
    def file(self) -> int:
        """Number of the log in the table ``files``."""

    @property
    def offset(self) -> int:
        """Byte at which the record begins."""

    @property
    def line(self) -> int:
        """Line of the log, from 1."""

    @property
    def path(self) -> str:
        """Path of the log."""

    @property
    def kind(self) -> str:
        """Kind of the record."""

    @property
    def name(self) -> str | None:
        """Name of the artifact, graph or link."""

    @property
    def compile_id(self) -> str | None:
        """Compile id as PyTorch prints it."""

    @property
    def ids(self) -> tuple[int | None, int | None, int | None, int | None]:
        """Frame, compile of the frame, attempt, compiled autograd."""

    @property
    def generation(self) -> int:
        """How often the compile ids had started again."""

    @property
    def rank(self) -> int | None:
        """Rank of the record, else of the log."""

    @property
    def time_us(self) -> int | None:
        """Microseconds since 1970."""

    @property
    def is_utc(self) -> bool:
        """Whether the time is UTC; else the log does not tell its zone."""

    @property
    def thread(self) -> int | None:
        """Process, or thread, that logged it."""

    @property
    def md5(self) -> str | None:
        """The md5 that the head gives; None without a payload."""

    @property
    def payload_state(self) -> str:
        """How the payload agrees with its md5."""

    @property
    def payload_length(self) -> int:
        """Bytes of the payload."""

    def head(self) -> str:
        """Read the JSON head.

        Raises:
            TraceChangedError: The log changed since it was read.
            ReadError: The log can no longer be read.
        """

    def metadata(self) -> str:
        """Read the value of the kind's key in the head.

        Raises:
            TraceChangedError: The log changed since it was read.
            ReadError: The log can no longer be read.
        """

    def payload(self) -> bytes:
        """Read the payload; empty without one.

        Raises:
            TraceChangedError: The log changed since it was read.
            ReadError: The log can no longer be read.
        """

    def string(self, number: int) -> str | None:
        """Give the text of an interned string as this record means it."""

@final
class LogRecords:
    """An iterator over records."""

    def __iter__(self) -> Self:
        """Give itself."""

    def __next__(self) -> LogRecord:
        """Give the next record."""

@final
class Extras:
    """What custom parsers made of records, and where they failed."""

    def __new__(cls) -> Self:
        """Make an empty one."""

    def add_file(self, record: LogRecord, parser: str, name: str, content: bytes, html: bool) -> None:
        """Add a file.

        Args:
            record: The record that it belongs to.
            parser: Name of the parser.
            name: Name of the file; any text will do.
            content: What is in it.
            html: Whether it is a page.

        Raises:
            OutputError: There is no room for it in the folder for temporary files.
        """

    def add_link(self, record: LogRecord, parser: str, name: str, url: str) -> None:
        """Add a link; the report shows it as text where it is not one of the web."""

    def add_problem(self, record: LogRecord | None, parser: str, why: str) -> None:
        """Add a failure of a parser, at a record or at none."""

@final
class Selection:
    """Logs in the order of their numbers, most of them not read; see `select`."""

    def schema(self) -> Table:
        """Give the columns of the rows, in a table without rows."""

    def ranks(self) -> list[list[int | None] | None]:
        """Give for each log its rank and that of its records; None where that is not known."""

    def visit(
        self,
        *,
        columns: list[str] | None,
        files: list[int] | None,
        without_ranks: list[int | None],
        rows: int | None,
    ) -> Visit:
        """Start to go over the logs that may have wanted records.

        Args:
            columns: Columns that will be asked for; None for all.
            files: Numbers of the logs that may have wanted records; None for all.
            without_ranks: Ranks whose records are not wanted. A log is left out only
                where certainly all its records have one of them.
            rows: So many records, the first ones, are enough; None for all.
        """

@final
class Visit:
    """A way over the logs of a `Selection`."""

    def next(self) -> Part | None:
        """Read the next log, and a few behind it; None at the end.

        Raises:
            TraceChangedError: A log changed since it was found.
        """

    def counts(self) -> tuple[int, int, int]:
        """Give what was done so far: logs read, logs left out, records read."""

@final
class Part:
    """The records of one log."""

    @property
    def rows(self) -> int:
        """Number of records that are left."""

    def kinds(self) -> list[str]:
        """Give the kinds of the records that are left, each once."""

    def keep_kinds(self, keep: list[bool]) -> None:
        """Drop records by kind.

        Args:
            keep: For each of `kinds` whether it stays.
        """

    def compile_ids(self) -> list[str | None]:
        """Give the compile ids of the records that are left, each once."""

    def keep_compile_ids(self, keep: list[bool]) -> None:
        """Drop records by compile id.

        Args:
            keep: For each of `compile_ids` whether it stays.
        """

    def table(self, columns: list[str] | None, start: int, length: int) -> Table:
        """Build rows of the records that are left.

        Args:
            columns: Columns to build, in whichever order; None for all.
            start: Number of the first record.
            length: Number of records.

        Raises:
            TraceChangedError: The log changed since it was found, and ``metadata`` is
                asked for.
        """

@final
class Report:
    """What `write_report` did."""

    @property
    def out(self) -> str:
        """Absolute path of the folder that was written."""

    @property
    def index(self) -> str:
        """Absolute path of the page to open."""

    @property
    def logs(self) -> int:
        """Number of logs read."""

    @property
    def records(self) -> int:
        """Number of log records."""

    @property
    def problems(self) -> int:
        """Number of stretches of input that are no good record; ``--strict`` asks for none."""

    @property
    def unknown_compile_ids(self) -> int:
        """Number of records without a compile id; ``--strict-compile-id`` asks for none."""

    @property
    def files_written(self) -> int:
        """Number of files in the report."""

    @property
    def messages(self) -> list[str]:
        """One line for each input that was unreadable or damaged, naming the file."""

def diff(
    a: Trace,
    b: Trace,
    *,
    select_a: str,
    select_b: str,
    aspects: list[str] | None,
    min_seconds: float,
    min_share: float,
    progress: Callable[[int, int], None] | None,
) -> tuple[Table, Table]:
    """Compare two traces, or two selections of one; see `fasttl.diff`.

    Returns:
        The differences, and the result of each aspect.

    Raises:
        OptionError: A selection is none or names nothing; there is no aspect of a name.
        TraceChangedError: A log changed since it was read.
    """

def describe_diff() -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Give both tables of `diff`: name, and name, Arrow type and meaning of each column."""

def finding_kinds() -> list[tuple[str, str]]:
    """Give the kinds of findings: name, as in the table `findings`, and what each tells."""

def load(
    paths: list[str],
    *,
    ranks: list[int | None] | None,
    latest: bool,
    verify: bool,
    threads: int | None,
    max_unpacked: int | None,
    use_index: bool,
    progress: Callable[[int, int], None] | None,
) -> Trace:
    """Read logs.

    Args:
        paths: Logs, folders, patterns; "-" is the standard input.
        ranks: Ranks to read, None in it standing for logs without a rank; None
            for all.
        latest: Read the newest run only.
        verify: Check the md5 of each payload.
        threads: Worker threads, from 1 on; None for one for each core.
        max_unpacked: Limit in bytes for what compressed inputs unpack to; None for
            64 GiB.
        use_index: Take the indexes beside the logs where they hold.
        progress: Called with bytes done and bytes in all.

    Raises:
        TraceNotFoundError: A path does not exist, or there is no log.
        NotATraceError: A file in `paths` is no log.
        OptionError: An option cannot be used.
        ReadError: No log could be read.
        TooLargeError: A compressed input is larger than allowed.
    """

def select(
    paths: list[str],
    *,
    ranks: list[int | None] | None,
    latest: bool,
    verify: bool,
    threads: int | None,
    max_unpacked: int | None,
    use_index: bool,
) -> Selection:
    """Find logs and their order, with as little reading as that takes.

    Args:
        paths: Logs, folders, patterns; "-" is the standard input.
        ranks: Ranks of the logs; see `load`.
        latest: The newest run only.
        verify: Check the md5 of each payload.
        threads: Worker threads; see `load`.
        max_unpacked: Limit in bytes; see `load`.
        use_index: Take the indexes beside the logs where they hold.

    Raises:
        TraceNotFoundError: A path does not exist, or there is no log.
        NotATraceError: A file in `paths` is no log.
        OptionError: An option cannot be used.
        TooLargeError: A compressed input is larger than allowed.
    """

def write_index(
    paths: list[str],
    *,
    verify: bool,
    force: bool,
    dry_run: bool,
    threads: int | None,
    progress: Callable[[int, int], None] | None,
) -> list[tuple[str, str, str, int, int, str]]:
    """Write an index beside each log; see `fasttl.write_index`.

    Args:
        paths: Logs, folders, patterns.
        verify: Check the md5 of each payload.
        force: Write also those that hold.
        dry_run: Write none.
        threads: Worker threads; see `load`.
        progress: Called with bytes done and bytes in all.

    Returns:
        For each log: its path, that of its index, how the index is, bytes of the
        log, bytes of the index, why it is so.

    Raises:
        OutputError: An index could not be written.
        TraceNotFoundError: A path does not exist, or there is no log.
        NotATraceError: A file in `paths` is no log.
        TooLargeError: A compressed input is larger than allowed.
    """

def write_report(
    paths: list[str],
    out: str,
    *,
    ranks: list[int | None] | None,
    latest: bool,
    overwrite: bool,
    plain_text: bool,
    all_ranks_html: bool,
    export: bool,
    inductor_provenance: bool,
    custom_header_html: str,
    command: str,
    raw_log: str,
    max_memory: int | None,
    threads: int | None,
    max_unpacked: int | None,
    progress: Callable[[int, int], None] | None,
) -> Report:
    """Read logs and write their report.

    Args:
        paths: Logs, folders, patterns; "-" is the standard input.
        out: Folder to write.
        ranks: Ranks to read; see `load`.
        latest: Read the newest run only.
        overwrite: Replace an earlier report in `out`.
        plain_text: Write code as text files.
        all_ranks_html: Write a landing page even for one log.
        export: Write the report of an export.
        inductor_provenance: Write the pages that tie graphs to code for every id.
        custom_header_html: HTML for the top of the index pages, inserted as it is.
        command: What was typed, for the page's header.
        raw_log: How logs get into the report: "copy", "link" or "skip".
        max_memory: Bytes that the process may take; None for 200 MiB.
        threads: Worker threads; see `load`.
        max_unpacked: Limit in bytes; see `load`.
        progress: Called with bytes done and bytes in all.

    Raises:
        OutputError: The report could not be written.
        OptionError: `out` holds something else, or an option cannot be used.
        TraceNotFoundError: A path does not exist, or there is no log.
        NotATraceError: A file in `paths` is no log.
        ReadError: No log could be read.
        TooLargeError: A compressed input is larger than allowed.
    """
