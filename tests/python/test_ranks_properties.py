"""One rank of many equal ones is changed at random: the table `divergence` names rank, aspect and compile, and no more.

Time is no difference: a slow compile is in `skew` and among the findings.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import fasttl
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rank_changes import (
    cut_inside,
    extra_compile,
    failed,
    graph_break,
    lost_tail,
    other_constant,
    other_function,
    other_shape,
    other_version,
    recompiled,
    slower,
    swapped_collectives,
    swapped_order,
)
from rank_logs import CACHED, COLLECTIVES, COMPILES, DATA, job, rank_records, read, written

if TYPE_CHECKING:
    from collections.abc import Callable

    from rank_logs import Record

RANKS = 4
SLOWER = dt.timedelta(seconds=30)
# Each example reads a job of 2.5 MB; the whole file takes less than a minute.
EXAMPLES = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)

ranks = st.integers(0, RANKS - 1)
compiles = st.sampled_from(sorted(COMPILES))
later_compiles = st.sampled_from(sorted(COMPILES)[1:])


class Change(NamedTuple):
    """A kind of change.

    Attributes:
        make: Makes it.
        aspect: The aspect of the first row.
        follows: Aspects of rows that may follow from it.
    """

    make: Callable[[list[Record], str], list[Record]]
    aspect: str
    follows: frozenset[str] = frozenset()


SHAPE = Change(other_shape, "inputs", frozenset({"symbols", "guards", "graph", "tensors", "runtimes"}))
BREAK = Change(graph_break, "graph breaks")
SWAPPED = Change(swapped_collectives, "graph", frozenset({"collectives"}))


def differences(folder: Path) -> list[dict]:
    table = fasttl.load(folder).divergence
    return table.with_columns(pl.col(pl.Categorical).cast(pl.String)).to_dicts()


def changed(rank: int, text: bytes) -> list[dict]:
    """Give the differences of the job in which a rank has another log."""
    with tempfile.TemporaryDirectory() as folder:
        return differences(job(Path(folder) / "job", RANKS, {rank: text}))


def check(rows: list[dict], rank: int, compile_id: str | None, change: Change) -> None:
    """See that only this rank is odd, at this compile, first in this aspect; and why in what follows."""
    others = [other for other in range(RANKS) if other != rank]
    assert rows, "nothing was found"
    assert rows[0]["aspect"] == change.aspect, rows
    for row in rows:
        assert row["odd_ranks"] == [rank], row
        assert row["groups"] == [others, [rank]], row
        assert row["compile_id"] == compile_id, row
    for row in rows[1:]:
        assert row["aspect"] in {change.aspect, *change.follows}, row
        assert row["cause"] or row["aspect"] == change.aspect, row


@pytest.mark.parametrize("log", sorted(DATA.glob("dist_*/*.log")), ids=lambda log: f"{log.parent.name}-{log.name}")
def test_a_log_that_is_taken_apart_is_put_together_again(log):
    text = log.read_bytes()
    assert written(read(text)) == text


def test_equal_ranks_have_no_difference(tmp_path):
    folder = job(tmp_path / "job", RANKS)
    trace = fasttl.load(folder)
    assert trace.problems.height == 0
    assert (
        dict(trace.frames.filter(rank=0).select(pl.col("compile_id", "code_name").cast(pl.String)).rows()) == COMPILES
    )
    # The logs are no copies of each other: rank, process and addresses are others.
    assert len({log.read_bytes() for log in folder.iterdir()}) == RANKS
    assert differences(folder) == []


@EXAMPLES
@given(rank=ranks, compile_id=compiles)
def test_another_shape(rank, compile_id):
    text = written(other_shape(rank_records(rank), compile_id))
    check(changed(rank, text), rank, compile_id, SHAPE)


@EXAMPLES
@given(rank=ranks, compile_id=compiles)
def test_an_extra_graph_break(rank, compile_id):
    text = written(graph_break(rank_records(rank), compile_id))
    rows = changed(rank, text)
    check(rows, rank, compile_id, BREAK)
    assert "builtin operator" in rows[0]["values"][1]


@EXAMPLES
@given(rank=ranks, in_graphs=st.booleans())
def test_swapped_collectives(rank, in_graphs):
    text = written(swapped_collectives(rank_records(rank), COLLECTIVES, in_graphs=in_graphs))
    rows = changed(rank, text)
    check(rows, rank, COLLECTIVES, SWAPPED if in_graphs else SWAPPED._replace(aspect="collectives"))
    [row] = [row for row in rows if row["aspect"] == "collectives"]
    assert row["position"] == 1
    assert "all_reduce" in row["values"][0]
    assert "all_gather" in row["values"][1]


@EXAMPLES
@given(rank=ranks)
def test_a_cold_cache(rank):
    rows = changed(rank, written(rank_records(rank, cold=True)))
    check(rows, rank, CACHED, Change(lambda records, _: records, "cache"))
    # A row for each layer.
    assert len(rows) == 2
    assert all("hit" in row["values"][0] and "miss" in row["values"][1] for row in rows)


@EXAMPLES
@given(rank=ranks, compile_id=later_compiles)
def test_a_lost_tail(rank, compile_id):
    rows = changed(rank, written(lost_tail(rank_records(rank), compile_id)))
    # All that the rank did not come to is one row.
    assert len(rows) == 1
    check(rows, rank, compile_id, Change(lost_tail, "compiles"))


@EXAMPLES
@given(rank=ranks, compile_id=compiles, share=st.floats(0, 1))
def test_a_tail_that_was_cut_off_is_not_known(rank, compile_id, share):
    assert changed(rank, cut_inside(rank_records(rank), compile_id, share)) == []


@EXAMPLES
@given(rank=ranks, compile_id=compiles, before=st.booleans())
def test_one_compile_more_does_not_make_what_follows_another(rank, compile_id, before):
    rows = changed(rank, written(extra_compile(rank_records(rank), compile_id, before=before)))
    assert len(rows) == 1
    [row] = rows
    # Only the odd rank has it, so that the id is the one there.
    frame = int(compile_id.partition("/")[0]) + (not before)
    check(rows, rank, f"{frame}/0", Change(extra_compile, "compiles"))
    assert "only_here" in f"{row['place']} {row['values']}"


@EXAMPLES
@given(rank=ranks)
def test_another_order_of_compiles(rank):
    rows = changed(rank, written(swapped_order(rank_records(rank), "3/0", "4/0")))
    assert [row["aspect"] for row in rows] == ["compile order"]
    assert rows[0]["odd_ranks"] == [rank]
    assert "load" in rows[0]["values"][0]
    assert "train" in rows[0]["values"][1]


@EXAMPLES
@given(st.permutations(range(RANKS + 1)), compiles, later_compiles)
def test_two_ranks_are_odd_each_in_its_own(order, compile_id, tail):
    shape, lost = order[:2]
    odd = {
        shape: written(other_shape(rank_records(shape), compile_id)),
        lost: written(lost_tail(rank_records(lost), tail)),
    }
    with tempfile.TemporaryDirectory() as folder:
        rows = differences(job(Path(folder) / "job", RANKS + 1, odd))
    of_lost = [row for row in rows if row["odd_ranks"] == [lost]]
    assert [(row["aspect"], row["compile_id"]) for row in of_lost] == [("compiles", tail)]
    of_shape = [row for row in rows if row["odd_ranks"] == [shape]]
    assert of_shape[0]["aspect"] == "inputs"
    assert {row["compile_id"] for row in of_shape} == {compile_id}
    assert len(of_lost) + len(of_shape) == len(rows)
    # A rank that lacks the compile is on no side of it.
    assert any(lost in group for group in of_shape[0]["groups"]) == (compile_id < tail)


@EXAMPLES
@given(rank=ranks, compile_id=compiles)
def test_one_compile_again(rank, compile_id):
    reason = "tensor 'x' size mismatch at index 0. expected 8, actual 5"
    rows = changed(rank, written(recompiled(rank_records(rank), compile_id, reason)))
    assert len(rows) == 1
    check(rows, rank, f"{compile_id.partition('/')[0]}/1", Change(recompiled, "compiles"))
    assert all(word in rows[0]["cause"] for word in ("size of x at index 0", "8", "5"))


@EXAMPLES
@given(rank=ranks, compile_id=compiles)
def test_a_failed_compile(rank, compile_id):
    rows = changed(rank, written(failed(rank_records(rank), compile_id)))
    # What a failed compile did not come to is not known, and no difference.
    assert len(rows) == 1
    check(rows, rank, compile_id, Change(failed, "outcome"))
    assert "BackendCompilerFailed" in rows[0]["values"][1]


@EXAMPLES
@given(rank=ranks)
def test_another_constant(rank):
    # `load` multiplies by a global that is 2 elsewhere.
    rows = changed(rank, written(other_constant(rank_records(rank), "3/0", "2", "3")))
    check(rows, rank, "3/0", Change(failed, "guards", frozenset({"graph"})))
    assert [row["aspect"] for row in rows[:2]] == ["guards", "graph"]
    assert "attempt" in rows[0]["values"][1]
    assert "attempt" in rows[1]["cause"]


@EXAMPLES
@given(rank=ranks, compile_id=compiles)
def test_another_function(rank, compile_id):
    rows = changed(rank, written(other_function(rank_records(rank), compile_id, "elsewhere")))
    assert len(rows) == 1
    check(rows, rank, compile_id, Change(other_function, "code"))
    assert "elsewhere" in rows[0]["values"][1]


@EXAMPLES
@given(rank=ranks)
def test_another_release(rank):
    rows = changed(rank, written(other_version(rank_records(rank), "2.12.0")))
    assert len(rows) == 1
    check(rows, rank, None, Change(lambda records, _: records, "versions"))
    assert "2.12.0" in rows[0]["values"][1]
    assert "2.13.0" in rows[0]["values"][0]


@EXAMPLES
@given(rank=ranks, compile_id=compiles)
def test_the_odd_rank_stands_alone_in_every_table(rank, compile_id):
    text = written(other_shape(rank_records(rank), compile_id))
    with tempfile.TemporaryDirectory() as folder:
        trace = fasttl.load(job(Path(folder) / "job", RANKS, {rank: text}))
        groups = dict(trace.ranks.select("rank", "group").rows())
        assert groups == {other: int(other == rank) for other in range(RANKS)}
        differs = {row["aspect"]: row["verdict"] for row in trace.diagnostics.to_dicts()}
        assert differs["inputs"] == "differs"
        assert differs["compiles"] == differs["code"] == differs["collectives"] == "same"
        [said] = trace.findings.filter(kind="ranks that differ").to_dicts()
        assert said["ranks"] == [rank]
        assert compile_id in said["sentence"]


@EXAMPLES
@given(rank=ranks, compile_id=compiles)
def test_a_slow_compile_is_time_and_no_difference(rank, compile_id):
    text = written(slower(rank_records(rank), compile_id, SLOWER))
    with tempfile.TemporaryDirectory() as folder:
        trace = fasttl.load(job(Path(folder) / "job", RANKS, {rank: text}))
        assert trace.divergence.height == 0
        skew = trace.skew.with_columns(pl.col(pl.Categorical).cast(pl.String))
        [row] = skew.filter(pl.col("max_s") - pl.col("median_s") > SLOWER.total_seconds() / 2).to_dicts()
        assert row["compile_id"] == compile_id
        assert row["max_rank"] == rank
        assert row["max_s"] - row["median_s"] == pytest.approx(SLOWER.total_seconds(), abs=0.01)
        assert row["waited_s"] == pytest.approx(SLOWER.total_seconds() * (RANKS - 1), rel=0.01)
        findings = trace.findings.to_dicts()
        # 30 s on top of a compile of over 10 s is not three times the median, so that it is no finding by itself.
        large = row["max_s"] >= 4 * row["median_s"]
        said = [one for one in findings if rank in (one["ranks"] or []) and one["kind"] == "rank skew"]
        assert bool(said) == large, findings
