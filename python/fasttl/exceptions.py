"""The exceptions of fasttl.

Each one also derives from the builtin that Python users already catch for that
case, so ``except FileNotFoundError`` works as well as
``except TraceNotFoundError``. A broken *record* raises none of them: it is a row
of the ``problems`` table, unless `fasttl.load` was told
``on_problem="raise"``.

The extension module imports these classes by name; adding one here means adding
its line to the map in the extension.
"""

from __future__ import annotations

__all__ = [
    "FasttlError",
    "InternalError",
    "NotATraceError",
    "OptionError",
    "OutputError",
    "ProblemError",
    "ReadError",
    "TooLargeError",
    "TraceChangedError",
    "TraceNotFoundError",
]


class FasttlError(Exception):
    """Base of everything that fasttl raises on its own account.

    Example:
        >>> import fasttl
        >>> try:
        ...     fasttl.load("no such folder")
        ... except fasttl.FasttlError as error:
        ...     print(type(error).__name__)
        TraceNotFoundError
    """


class TraceNotFoundError(FasttlError, FileNotFoundError):
    """A path does not exist, a pattern matches nothing, or a folder holds no log."""


class NotATraceError(FasttlError, ValueError):
    """A file was named that is no ``TORCH_TRACE`` log; the message says what it looks like."""


class OptionError(FasttlError, ValueError):
    """An argument or a flag has a value that cannot be used."""


class TraceChangedError(FasttlError, OSError):
    """A log changed or shrank since it was read, so offsets into it no longer hold.

    Load the trace again.
    """


class OutputError(FasttlError, OSError):
    """The report could not be written (disk full, no permission, …)."""


class TooLargeError(FasttlError, OSError):
    """A compressed input unpacks to more than ``max_unpacked`` or the ratio allows.

    Raise the limit if you trust the file.
    """


class ReadError(FasttlError, OSError):
    """A log is there but could not be read (no permission, an I/O error, …)."""


class InternalError(FasttlError, RuntimeError):
    """A fault of fasttl itself; please report it with the message."""


class ProblemError(FasttlError):
    """The first bad record of a trace loaded with ``on_problem="raise"``.

    Attributes:
        file: Path of the log.
        line: Line of that file where the bad stretch begins, from 1; None where
            the problem is of no line.
        kind: Kind of the problem, as in the column ``kind`` of ``problems``.
        detail: What is wrong, in words.
        count: Number of problems of severity "error" in the whole trace.
    """

    def __init__(self, file: str, line: int | None, kind: str, detail: str, count: int) -> None:
        """Keep the fields; they also are ``args``, so that the exception can be pickled."""
        super().__init__(file, line, kind, detail, count)
        self.file = file
        self.line = line
        self.kind = kind
        self.detail = detail
        self.count = count

    def __str__(self) -> str:
        """Name the place, what is wrong there, and how much more there is."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        more = f" (and {self.count - 1} more)" if self.count > 1 else ""
        return f"{place}: {self.kind}: {self.detail}{more}"
