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
takes to write.
"""

from __future__ import annotations

import warnings

from fasttl._core import Report, Table, __version__, build_profile
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
from fasttl.trace import Column, Trace

__all__ = [
    "Column",
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
    "Table",
    "TooLargeError",
    "Trace",
    "TraceChangedError",
    "TraceNotFoundError",
    "__version__",
    "load",
    "parser",
    "scan",
    "write_index",
    "write_report",
]

if build_profile != "release":
    warnings.warn(
        f"this is a {build_profile} build of fasttl, many times slower than a release build; "
        "build it with `maturin develop --release`",
        RuntimeWarning,
        stacklevel=2,
    )
