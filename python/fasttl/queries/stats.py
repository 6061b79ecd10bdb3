"""What uses memory: rows and bytes of each table that was built."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from fasttl.trace import Trace


def stats(trace: Trace, *, build: bool = False) -> pl.DataFrame:
    """Say how large the tables are; see `Trace.stats`.

    Raises:
        FasttlError: A table could not be built.
    """
    import polars as pl  # noqa: PLC0415 - see the head of the package

    rows = []
    for name in trace.tables:
        built = build or trace.is_built(name)
        table = trace.arrow(name) if built else None
        rows.append(
            (
                name,
                built,
                None if table is None else table.num_rows,
                None if table is None else table.get_total_buffer_size(),
            )
        )
    schema = {"table": pl.String, "built": pl.Boolean, "rows": pl.UInt64, "bytes": pl.UInt64}
    return pl.DataFrame(rows, schema=schema, orient="row")
