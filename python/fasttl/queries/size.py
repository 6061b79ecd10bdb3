"""What makes a log large: bytes and records by kind, name, compile, rank, or line of source."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fasttl.exceptions import OptionError

if TYPE_CHECKING:
    import polars as pl

    from fasttl.trace import Trace

GROUPS = ("kind", "name", "compile", "rank", "source", "artifact")

# What ends a compile id with an attempt.
ATTEMPT = r"_\d+$"

# Digits of seconds that a sum has. What lies behind them depends on the order in which it was added up.
NANOSECOND = 9


class Totals(NamedTuple):
    """Bytes of all logs and of their records, and the seconds that PyTorch took to write them.

    The seconds are those of the compiles whose metrics say so; None where none does.
    """

    logs: int
    records: int
    bytes: int
    record_bytes: int
    logging_overhead_s: float | None


def totals(trace: Trace) -> Totals:
    """Say how large the logs are.

    Example:
        >>> import fasttl
        >>> found = totals(fasttl.load(EXAMPLE))
        >>> found.logs, found.records, found.bytes == found.record_bytes
        (3, 224, True)
    """
    seconds = _overhead(trace)["logging_overhead_s"].drop_nulls()
    return Totals(
        logs=trace.files.height,
        records=trace.records.height,
        bytes=int(trace.files["bytes"].sum()),
        record_bytes=int(trace.records["length"].sum()),
        logging_overhead_s=round(float(seconds.sum()), NANOSECOND) if len(seconds) else None,
    )


def sizes(trace: Trace, by: str = "kind") -> pl.DataFrame:
    """Count records and their bytes in groups; see `Trace.sizes`.

    Raises:
        OptionError: `by` is none of `GROUPS`.
    """
    if by not in GROUPS:
        message = f"by is one of {', '.join(GROUPS)}, not {by!r}"
        raise OptionError(message)
    if by == "artifact":
        return _artifacts(trace)
    import polars as pl  # noqa: PLC0415 - see the head of the package

    keys = {
        "kind": [pl.col("kind")],
        "name": [pl.col("kind"), pl.col("name")],
        "compile": [_compile()],
        "rank": [pl.col("rank")],
        "source": [pl.col("source_file"), pl.col("source_line")],
    }[by]
    counted = (
        _texts(trace.records)
        .group_by(keys)
        .agg(
            pl.len().alias("records"),
            pl.col("length").sum().alias("bytes"),
            pl.col("payload_length").sum().alias("payload_bytes"),
        )
    )
    names = [key.meta.output_name() for key in keys]
    if by in {"compile", "rank"}:
        seconds = _overhead(trace).lazy().group_by(names).agg(_sum_of_known("logging_overhead_s"))
        counted = counted.join(seconds, on=names, how="left", nulls_equal=True)
    return _with_shares(counted, names)


def _artifacts(trace: Trace) -> pl.DataFrame:
    """Count stored texts, and how many of them are different ones."""
    import polars as pl  # noqa: PLC0415 - as above

    # The name of generated code is that of its file, another one each time.
    name = pl.when(pl.col("kind") == "inductor_output_code").then("kind").otherwise("name").alias("artifact")
    # A text whose md5 the log does not say is not known to be equal to another one.
    is_first = pl.col("md5").is_null() | pl.col("md5").is_first_distinct()
    counted = (
        _texts(trace.artifacts)
        .group_by("kind", name)
        .agg(
            pl.len().alias("records"),
            pl.col("bytes").sum(),
            is_first.sum().alias("distinct"),
            pl.col("bytes").filter(is_first).sum().alias("distinct_bytes"),
        )
    )
    return _with_shares(counted, ["kind", "artifact"])


def _texts(frame: pl.DataFrame) -> pl.LazyFrame:
    import polars as pl  # noqa: PLC0415 - as above

    return frame.lazy().with_columns(pl.col(pl.Categorical).cast(pl.String))


def _compile() -> pl.Expr:
    """Give the id without its attempt. Generations are together: the time of logging is not logged for each."""
    import polars as pl  # noqa: PLC0415 - as above

    return pl.col("compile_id").str.replace(ATTEMPT, "")


def _overhead(trace: Trace) -> pl.DataFrame:
    """Give the seconds that logging took for each compile of each log, where a metrics record says so.

    PyTorch counts them up by frame and compile of the frame as long as the process
    lives, so that the backward's record has those of the forward in it: the largest
    number is the one for all.
    """
    import polars as pl  # noqa: PLC0415 - as above

    # Newer versions log microseconds and seconds, older ones seconds only.
    seconds = pl.coalesce(pl.col("structured_logging_overhead_us") / 1e6, pl.col("structured_logging_overhead_s"))
    return (
        _texts(trace.metrics)
        .select("file", "rank", "frame_id", "frame_compile_id", _compile(), seconds.alias("logging_overhead_s"))
        .group_by("file", "frame_id", "frame_compile_id")
        .agg(pl.col("rank", "compile_id").first(), pl.col("logging_overhead_s").max())
        .collect()
    )


def _sum_of_known(column: str) -> pl.Expr:
    """Sum a column; null, and not 0, where nothing is known."""
    import polars as pl  # noqa: PLC0415 - as above

    known = pl.col(column)
    return pl.when(known.count() > 0).then(known.sum().round(NANOSECOND)).alias(column)


def _with_shares(counted: pl.LazyFrame, names: list[str]) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415 - as above

    share = (100 * pl.col("bytes") / pl.col("bytes").sum()).round(2).alias("share_percent")
    table = counted.with_columns(share).sort(
        "bytes", *names, descending=[True, *([False] * len(names))], nulls_last=True
    )
    return table.collect()
