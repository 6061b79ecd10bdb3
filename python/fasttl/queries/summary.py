"""What a person wants to know first about a trace, in a few counts."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from fasttl._display import count_text, printable, ranks_text
from fasttl.exceptions import ReadError, TraceChangedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from fasttl.trace import Trace

# Findings that a summary has room for.
FINDINGS = 3

# Values of `cache`: what tells of remote look-ups as a number only, and what is no look-up.
METRICS = "metrics"
STORED = "stored"


class Summary(NamedTuple):
    """Counts over all logs of a trace. As text it is what `print` shows; notebooks show a table.

    Example:
        >>> import fasttl
        >>> summary = fasttl.load(EXAMPLE).summary()
        >>> summary.compiles
        {'error': 1, 'missing': 1, 'ok': 6}
        >>> print(summary.text().splitlines()[0])
        Logs: 3, ranks 0-2
    """

    inputs: list[str]
    logs: int
    ranks: list[int | None]
    records: int
    problems: int
    """Problems of severity error."""
    notes: int
    compiles: dict[str, int]
    """Compiles by status, see the table `frames`."""
    recompiles: int
    """Compiles of a frame that had been compiled before."""
    graph_breaks: int
    """Compiles in which a graph break was logged."""
    failures: int
    """Compiles that ended in an error."""
    unfinished: int
    """Compiles that were at work when their log ended."""
    cache: dict[str, dict[str, int]]
    """Look-ups for each cache of the compiler by their outcome, such as hit or miss. Those that metrics
    only count are left out where the same log has records of that cache, which tell of them, too."""
    cache_stored: dict[str, int]
    """How often something was stored in each cache, as far as the log says."""
    compile_s: float | None
    """Seconds of all compiles of all ranks, backward graphs included; None where no log says."""
    findings: list[str]
    """The first findings, the worst first; the table `findings` has all of them."""
    versions: dict[str, list[str]]
    """Versions of torch, Python, CUDA and Triton that the logs name."""

    def to_dict(self) -> dict[str, Any]:
        """Give all counts as plain values, which `json.dumps` takes.

        Example:
            >>> import fasttl
            >>> fasttl.load(EXAMPLE).summary().to_dict()["failures"]
            1
        """
        return self._asdict()

    def text(self) -> str:
        """Give the summary as lines of text, what a terminal would obey made visible.

        Example:
            >>> import fasttl
            >>> fasttl.load(EXAMPLE).summary().text().splitlines()[1]
            'Records: 224'
        """
        return "\n".join(printable(f"{label}: {text}") for label, text in self._lines())

    def _lines(self) -> list[tuple[str, str]]:
        seconds = "not logged" if self.compile_s is None else f"{self.compile_s:,.2f} s"
        lines = [
            ("Logs", f"{self.logs:,}, ranks {ranks_text(self.ranks) or 'none'}"),
            ("Records", f"{self.records:,}"),
            ("Problems", f"{self.problems:,}, and {count_text(self.notes, 'note')}"),
            ("Compiles", f"{sum(self.compiles.values()):,}{_counts(self.compiles, ': ')}"),
            ("Compile time", seconds),
            ("Recompiles", f"{self.recompiles:,}"),
            ("Compiles with a graph break", f"{self.graph_breaks:,}"),
            ("Failures", f"{self.failures:,}"),
            ("Unfinished", f"{self.unfinished:,}"),
        ]
        lines += [(f"Cache {layer}", _counts(states, "")) for layer, states in self.cache.items()]
        lines += [(f"Stored in cache {layer}", f"{count:,}") for layer, count in self.cache_stored.items()]
        lines += [(f"Version of {name}", ", ".join(found)) for name, found in self.versions.items()]
        return lines + [("Finding", sentence) for sentence in self.findings]

    def __str__(self) -> str:
        """Give the lines of text."""
        return self.text()

    def _repr_html_(self) -> str:
        """Give the table that notebooks show. Texts come from logs, so all are escaped."""
        import html  # noqa: PLC0415 - few summaries are shown in a notebook

        cells = "".join(
            f"<tr><th>{html.escape(label)}</th><td>{html.escape(text)}</td></tr>" for label, text in self._lines()
        )
        return f"<table><caption>fasttl.Trace, summary</caption><tbody>{cells}</tbody></table>"


def _counts(counts: dict[str, int], before: str) -> str:
    return before + ", ".join(f"{count:,} {name}" for name, count in counts.items()) if counts else ""


def summary(trace: Trace) -> Summary:
    """Count what a person wants to know first; see `Trace.summary`."""
    files, frames = trace.files, trace.frames
    severities = trace.problems["severity"].cast(str).to_list()
    errors = severities.count("error")
    compiles = _count_values(frames["status"])
    look_ups, stored = _cache(trace.cache)
    return Summary(
        inputs=trace.inputs,
        logs=files.height,
        ranks=files["rank"].unique().sort(nulls_last=True).to_list(),
        records=trace.records.height,
        problems=errors,
        notes=len(severities) - errors,
        compiles=compiles,
        recompiles=int((frames["frame_compile_id"] > 0).sum()),
        graph_breaks=int(frames["has_graph_break"].sum()),
        failures=compiles.get("error", 0),
        unfinished=int(frames["unfinished"].sum()),
        cache=look_ups,
        cache_stored=stored,
        compile_s=_sum_of_known([frames["entire_frame_s"], frames["backward_s"]]),
        findings=trace.findings["sentence"].head(FINDINGS).to_list(),
        versions=_versions(trace),
    )


def _count_values(column: pl.Series) -> dict[str, int]:
    return dict(sorted(Counter(column.cast(str).drop_nulls().to_list()).items()))


def _cache(cache: pl.DataFrame) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """Count look-ups by layer and state, and what was stored by layer.

    A row stands for `count` look-ups. A remote one is counted by metrics, and by the artifact
    that says how the look-up of its graph ended: it is one look-up.
    """
    import polars as pl  # noqa: PLC0415 - see the head of the package

    rows = cache.select("file", pl.col("layer", "state", "origin").cast(pl.String), "count")
    asked = rows.filter(pl.col("state") != STORED)
    recorded, only_counted = (
        asked.filter(found) for found in (pl.col("origin") != METRICS, pl.col("origin") == METRICS)
    )
    counted = pl.concat([recorded, only_counted.join(recorded, on=["file", "layer"], how="anti")])
    look_ups: dict[str, dict[str, int]] = {}
    for layer, state, count in (
        counted.group_by("layer", "state").agg(pl.col("count").sum()).sort("layer", "state").rows()
    ):
        look_ups.setdefault(layer, {})[state] = count
    stored = rows.filter(pl.col("state") == STORED).group_by("layer").agg(pl.col("count").sum()).sort("layer")
    return look_ups, dict(stored.rows())


def _sum_of_known(columns: Iterable[pl.Series]) -> float | None:
    known = [column.drop_nulls() for column in columns]
    return float(sum(column.sum() for column in known)) if any(len(column) for column in known) else None


def _versions(trace: Trace) -> dict[str, list[str]]:
    """Give the versions that logs name: in metrics, and that of torch also in a record of its own."""
    metrics = trace.metrics
    found: dict[str, set[str]] = {
        # Python's own has the build and the compiler behind it, and Triton's is empty where there is none.
        name: {str(text).split()[0] for text in metrics[column].drop_nulls().unique().to_list() if str(text).strip()}
        for name, column in (
            ("torch", "pytorch_version"),
            ("python", "python_version"),
            ("cuda", "cuda_version"),
            ("triton", "triton_version"),
        )
    }
    artifacts = trace.artifacts
    records = artifacts.filter(artifacts["name"].cast(str) == "torch_version").unique("md5", maintain_order=True)
    for row in records.select("file", "offset").iter_rows(named=True):
        try:
            version = json.loads(trace.text(row)).get("pytorch_version")
        except (ReadError, TraceChangedError, ValueError, AttributeError, RecursionError):
            # Damaged, or no longer there: what the metrics say still stands.
            continue
        if isinstance(version, str) and version:
            found["torch"].add(version)
    return {name: sorted(texts) for name, texts in found.items() if texts}
