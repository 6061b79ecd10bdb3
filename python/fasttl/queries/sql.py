"""SQL over the tables of a trace, and queries that stand in a file.

Only tables that a query reads are built: some take a look at every payload. So the
names behind FROM and JOIN are found before polars parses the query. Where that misses
one, all tables that the query names anywhere are built and it is run again.
"""

from __future__ import annotations

import re
import runpy
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from fasttl.exceptions import FasttlError, OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from fasttl.trace import Trace

# Comments and texts, which may hold any word, then names, then what gives names their place.
_PIECE = re.compile(r"""--[^\n]*|/\*.*?\*/|'[^']*'|"[^"]*"|`[^`]*`|[^\W\d]\w*|[(),;]""", re.DOTALL)
_BEFORE_TABLES = frozenset({"from", "join", "table", "describe"})
_AFTER_TABLES = frozenset(
    {"select", "where", "group", "having", "order", "limit", "offset", "window", "qualify", "values", "set"}
    | {"union", "intersect", "except"}
)
_QUOTES = '"`'

# Name of the function that an expression file defines.
FUNCTION = "query"


def sql(trace: Trace, query: str) -> pl.DataFrame:
    """Run a query over the tables of a trace; see `Trace.sql`.

    Raises:
        OptionError: The query cannot be run.
    """
    import polars as pl  # noqa: PLC0415 - see the head of the package

    names = trace.tables
    words = table_words(query)
    shows = words.first == "show"
    # The list of tables needs their names, not their rows.
    frames = {name: pl.LazyFrame() for name in names} if shows else {}
    frames |= {name: _plain(trace, name) for name in names if name in words.tables}
    try:
        return _execute(frames, query)
    except pl.exceptions.SQLInterfaceError as error:
        missed = [name for name in names if name in words.names and name not in frames]
        if not missed:
            raise _refusal(error, names) from error
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _refusal(error, names) from error
    try:
        return _execute(frames | {name: _plain(trace, name) for name in missed}, query)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _refusal(error, names) from error


def _execute(frames: dict[str, pl.LazyFrame], query: str) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415 - as above

    return pl.SQLContext(frames).execute(query, eager=True)


def _plain(trace: Trace, name: str) -> pl.LazyFrame:
    """Give a table with its names as text, for which alone LIKE and other functions of text are made."""
    import polars as pl  # noqa: PLC0415 - as above

    return trace.lazy(name).with_columns(pl.col(pl.Categorical).cast(pl.String))


def _refusal(error: Exception, names: Iterable[str]) -> OptionError:
    # What follows the first paragraph is the plan of the query.
    reason = str(error).partition("\n\n")[0].strip()
    return OptionError(f"the query cannot be run: {reason}\nTables: {', '.join(names)}")


class Words:
    """The words of a query: names in the place of a table, all names, and the first one."""

    def __init__(self) -> None:
        """Start without a word."""
        self.tables: set[str] = set()
        self.names: set[str] = set()
        self.first = ""


def table_words(query: str) -> Words:
    """Find the names that a query has where a table stands.

    Example:
        >>> words = table_words("select records, 'from x' from files f, frames join cache using (file) where a in (1)")
        >>> sorted(words.tables)
        ['cache', 'files', 'frames']
    """
    found = Words()
    # For each open bracket: whether the list of tables goes on there.
    outer: list[bool] = []
    among, expected = False, False
    for piece in _PIECE.findall(query):
        word = piece.lower()
        if piece == "(":
            outer.append(among)
            among = expected
        elif piece == ")":
            among, expected = outer.pop() if outer else False, False
        elif piece == ",":
            expected = among
        elif piece[0] in "-/';":
            continue
        elif piece[0] not in _QUOTES and word in _BEFORE_TABLES:
            among, expected = True, True
        elif piece[0] not in _QUOTES and word in _AFTER_TABLES:
            among, expected = False, False
        else:
            name = piece.strip(_QUOTES)
            found.names.add(name)
            if expected:
                found.tables.add(name)
            expected = False
        found.first = found.first or word
    return found


def run_file(trace: Trace, path: str) -> pl.DataFrame:
    """Run the query that stands in a file.

    Args:
        trace: What to ask.
        path: A file that ends in ``.sql``, or one that ends in ``.py`` and defines
            ``query(trace)``. The latter is run as it is: it may do what its author may.

    Returns:
        The rows.

    Raises:
        OptionError: The file cannot be read, is neither, or fails.

    Example:
        >>> import fasttl, pathlib
        >>> _ = pathlib.Path("ranks.py").write_text("def query(trace): return trace.files.select('rank')")
        >>> run_file(fasttl.load(EXAMPLE), "ranks.py")["rank"].to_list()
        [0, 1, 2]
    """
    ending = Path(path).suffix.lower()
    if ending not in {".sql", ".py"}:
        message = f"{path}: the file of a query ends in .sql or .py"
        raise OptionError(message)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        message = f"{path}: cannot be read: {error}"
        raise OptionError(message) from error
    return sql(trace, text) if ending == ".sql" else _run_python(trace, path)


def _run_python(trace: Trace, path: str) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415 - as above

    try:
        function = runpy.run_path(path).get(FUNCTION)
        if not callable(function):
            message = f"{path}: defines no function {FUNCTION}(trace)"
            raise OptionError(message)  # noqa: TRY301 - passed on below, as every error of the package
        result = function(trace)
        if isinstance(result, pl.LazyFrame):
            result = result.collect()
    except FasttlError:
        raise
    except (Exception, SystemExit) as error:
        message = f"{path} failed\n{_own_traceback(error)}"
        raise OptionError(message) from error
    if not isinstance(result, pl.DataFrame):
        message = f"{path}: {FUNCTION}(trace) gave {type(result).__name__}, not a polars DataFrame or LazyFrame"
        raise OptionError(message)
    return result


def _own_traceback(error: BaseException) -> str:
    """Give the traceback from where the author's own code begins."""
    stack = error.__traceback__
    ours = {__file__, getattr(runpy, "__file__", ""), "<frozen runpy>"}
    while stack is not None and stack.tb_frame.f_code.co_filename in ours:
        stack = stack.tb_next
    return "".join(traceback.format_exception(type(error), error, stack, chain=False)).rstrip()
