"""Finds the log record that a caller points at.

People hold a record in different shapes: a row of a table as a dict or as a
frame of one row, a row number, or the md5 of a payload. All end here as a place
(file number, byte offset) or as that md5.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, TypeAlias

from fasttl.exceptions import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    Row: TypeAlias = Mapping[str, Any] | pl.DataFrame | SupportsIndex


class Place(NamedTuple):
    """Where a record begins: the number of its log in ``files`` and the byte in it."""

    file: int
    offset: int


def find_place(row: Row, table: str, frame: Callable[[], pl.DataFrame]) -> Place:
    """Say where the record of a row begins.

    Args:
        row: A row of any table with the columns ``file`` and ``offset``, or a row
            number of `table`.
        table: Name of the table that a number counts in.
        frame: Builds that table; called for a number only.

    Raises:
        OptionError: It is no such row.
    """
    if isinstance(row, Mapping):
        return _place_of_fields(row)
    if isinstance(row, SupportsIndex):
        return _place_of_number(row, table, frame())
    # A frame can only be at hand when polars is, so this costs no import.
    if not hasattr(row, "to_dicts"):
        message = f"not a row: {type(row).__name__}; give a dict, a DataFrame of one row or a row number"
        raise OptionError(message)
    if row.height != 1:
        message = f"the DataFrame has {row.height} rows; give one: frame.row(i, named=True) or frame[i]"
        raise OptionError(message)
    return _place_of_fields({name: row.item(0, name) for name in ("file", "offset") if name in row.columns})


def _place_of_number(row: SupportsIndex, table: str, frame: pl.DataFrame) -> Place:
    message = f"not a row number: {row!r}"
    if isinstance(row, bool):
        raise OptionError(message)
    try:
        number = operator.index(row)
    except TypeError as error:
        # An array has __index__ too, but only one of a single number can use it.
        raise OptionError(message) from error
    if not -frame.height <= number < frame.height:
        message = f"{table} has {frame.height} rows, so there is no row {number}"
        raise OptionError(message)
    return _place_of_fields(frame.select("file", "offset").row(number, named=True))


def _place_of_fields(fields: Mapping[str, Any]) -> Place:
    try:
        file, offset = fields["file"], fields["offset"]
    except KeyError as error:
        message = f"the row has no {error.args[0]!r}; keep the columns 'file' and 'offset' of the table"
        raise OptionError(message) from error
    if not _is_count(file, 1 << 32) or not _is_count(offset, 1 << 64):
        message = f"the row points at no record: file {file!r}, offset {offset!r}"
        raise OptionError(message)
    return Place(operator.index(file), operator.index(offset))


def _is_count(value: object, limit: int) -> bool:
    return isinstance(value, SupportsIndex) and not isinstance(value, bool) and 0 <= operator.index(value) < limit
