"""Turns polars frames into sections that commands print.

polars is imported when there is a frame, so that help texts and shell completion do without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fasttl.cli._output import Section

if TYPE_CHECKING:
    import polars as pl

    from fasttl.cli._output import Cell

_TIME = "%Y-%m-%dT%H:%M:%S%.6f"


def frame_section(name: str, title: str, frame: pl.DataFrame) -> Section:
    """Give a frame as a section, its cells as values that can be printed.

    Example:
        >>> import fasttl
        >>> frame_section("logs", "Logs", fasttl.load(EXAMPLE).files.select("rank", "state")).rows[0]
        (0, 'complete')
    """
    columns = [_readable(column).to_list() for column in frame.get_columns()]
    rows: list[tuple[Cell, ...]] = [tuple(map(_cell, row)) for row in zip(*columns, strict=True)]
    return Section(name, title, tuple(frame.columns), rows)


def _readable(column: pl.Series) -> pl.Series:
    """Turn names and times into text, without the time-zone data that Python would want for these."""
    import polars as pl  # noqa: PLC0415 - see the head of this file

    kind = column.dtype
    if isinstance(kind, pl.Datetime):
        zone = "Z" if kind.time_zone == "UTC" else "%:z" if kind.time_zone else ""
        return column.dt.to_string(_TIME + zone)
    if isinstance(kind, (pl.Date, pl.Time, pl.Duration)):
        return column.dt.to_string("iso")
    return column.cast(pl.String) if isinstance(kind, (pl.Categorical, pl.Enum, pl.Decimal)) else column


def _cell(value: object) -> Cell:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if value is None or isinstance(value, (str, int, float, list, dict)):
        return value
    return str(value)
