"""fasttl reads PyTorch ``TORCH_TRACE`` logs into tables and writes the compile report.

    >>> import fasttl
    >>> import polars as pl
    >>> trace = fasttl.load(EXAMPLE)
    >>> failed = trace.frames.filter(pl.col("status") == "error")
    >>> failed["compile_id"].to_list()
    ['1/0']

`load` gives a `Trace`, whose tables are polars frames; `write_report` writes the
HTML pages. Importing this package imports neither polars nor pyarrow: the report
command does not need them, and they take longer to import than a small report
takes to write. For the same reason a name of this package is imported when it is
first asked for.
"""

from __future__ import annotations

from fasttl._core import Report, Table, __version__, build_profile

# Type checkers take this name as true; the module `typing` would cost more than all the rest here.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from fasttl._diff import Diff, diff
    from fasttl._index import IndexFile, write_index
    from fasttl._load import load
    from fasttl._report import write_report
    from fasttl._scan import scan
    from fasttl.exceptions import (
        FasttlError,
        InternalError,
        NotATraceError,
        OptionError,
        OutputError,
        ProblemError,
        ReadError,
        TooLargeError,
        TraceChangedError,
        TraceNotFoundError,
    )
    from fasttl.plugins import File, Link, Parser, ParserRecord, parser
    from fasttl.queries.explain import Explanation
    from fasttl.queries.export import Exported
    from fasttl.queries.summary import Summary
    from fasttl.trace import Column, Trace

__all__ = [
    "Column",
    "Diff",
    "Explanation",
    "Exported",
    "FasttlError",
    "File",
    "IndexFile",
    "InternalError",
    "Link",
    "NotATraceError",
    "OptionError",
    "OutputError",
    "Parser",
    "ParserRecord",
    "ProblemError",
    "ReadError",
    "Report",
    "Summary",
    "Table",
    "TooLargeError",
    "Trace",
    "TraceChangedError",
    "TraceNotFoundError",
    "__version__",
    "diff",
    "load",
    "parser",
    "scan",
    "write_index",
    "write_report",
]

# The same names for `__getattr__`, each with its module.
_HOMES = {
    "load": "_load",
    "scan": "_scan",
    "write_report": "_report",
    **dict.fromkeys(
        (
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
        ),
        "exceptions",
    ),
    **dict.fromkeys(("File", "Link", "Parser", "ParserRecord", "parser"), "plugins"),
    **dict.fromkeys(("Column", "Trace"), "trace"),
    **dict.fromkeys(("Diff", "diff"), "_diff"),
    **dict.fromkeys(("IndexFile", "write_index"), "_index"),
    "Explanation": "queries.explain",
    "Exported": "queries.export",
    "Summary": "queries.summary",
}
# Modules that are attributes of the package without an import of their own.
_MODULES = frozenset({"exceptions", "plugins", "trace"})

# Not for type checkers: to them, it would make every name one of the package.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a name of the package when it is first asked for."""
        import importlib  # noqa: PLC0415 - the command line may need no name

        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        if name not in _HOMES:
            import sys  # noqa: PLC0415 - only a mistake needs it

            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=sys.modules[__name__])
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        # From now on it is an attribute like any other.
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        """Name what is there and what would be imported."""
        return sorted({*globals(), *_HOMES, *_MODULES})


if build_profile != "release":
    import warnings

    warnings.warn(
        f"this is a {build_profile} build of fasttl, many times slower than a release build; "
        "build it with `maturin develop --release`",
        RuntimeWarning,
        stacklevel=2,
    )
