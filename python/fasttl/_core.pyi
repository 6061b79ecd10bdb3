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

__all__ = ["Report", "Table", "Trace", "__version__", "build_profile", "load", "write_report"]

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

def load(
    paths: list[str],
    *,
    ranks: list[int | None] | None,
    latest: bool,
    verify: bool,
    threads: int | None,
    max_unpacked: int | None,
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
        progress: Called with bytes done and bytes in all.

    Raises:
        TraceNotFoundError: A path does not exist, or there is no log.
        NotATraceError: A file in `paths` is no log.
        OptionError: An option cannot be used.
        ReadError: No log could be read.
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
        inductor_provenance: Write the pages of provenance for every compile id.
        custom_header_html: HTML for the top of the index pages, inserted as it is.
        command: What was typed, for the page's header.
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
