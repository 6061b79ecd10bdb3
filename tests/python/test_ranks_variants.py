"""What the table `divergence` says of real jobs: what differs, with its cause, and nothing else.

What differs follows from the programs that wrote the logs and from the index of the traces. The same must come out with
other names, in another order, compressed, with a rank missing, and with the log of a rank cut.
"""

from __future__ import annotations

import random
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import fasttl
import polars as pl
import pytest
from rank_logs import (
    compressed,
    cut,
    logs_of,
    rank_of,
    renamed,
    shuffled,
    without,
    without_ranks_in_names,
)
from real_traces import TRACES, loaded

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

pytestmark = pytest.mark.shared

COLUMNS = ("aspect", "compile_id", "position", "place", "odd_ranks", "groups", "values", "cause")
CUTS = 10


class Expected(NamedTuple):
    """A row that is true of a job.

    Attributes:
        aspect: Its aspect.
        compile_id: Its compile id.
        groups: What each group of ranks has: words of its value.
        cause: Words of the cause.
        position: Its position, where it has one.
        named: Whether the index names it; other rows follow from what it names, and may be there.
    """

    aspect: str
    compile_id: str | None
    groups: dict[tuple[int, ...], tuple[str, ...]]
    cause: tuple[str, ...] = ()
    position: int | None = None
    named: bool = True

    def of(self, ranks: set[int]) -> Expected | None:
        """Give what is left of it for some of the ranks."""
        left = {tuple(rank for rank in group if rank in ranks): value for group, value in self.groups.items()}
        left.pop((), None)
        return self._replace(groups=left) if len(left) > 1 else None


def _sides(rest: tuple[int, ...], odd: tuple[int, ...] = (1,)) -> dict[tuple[int, ...], tuple[str, ...]]:
    return {rest: (), odd: ()}


ORDER = [
    Expected("code", "0/0", {(0, 2, 3): ("reduce_first",), (1,): ("gather_first",)}),
    Expected("graph", "0/0", _sides((0, 2, 3)), cause=("gather_first",)),
    Expected(
        "collectives",
        "0/0",
        {(0, 2, 3): ("all_reduce",), (1,): ("all_gather",)},
        position=1,
        cause=("gather_first",),
    ),
]
EXPECTED: dict[str, list[Expected]] = {
    "dist_ddp": [],
    "dist_fsdp2": [],
    "dist_many": [],
    "dist_collectives": [],
    "dist_restart": [],
    # Rank 2 sees 5 rows where the others see 8, and compiles again.
    "dist_diverge_shape": [
        Expected("compiles", "0/1", _sides((0, 1, 3), (2,)), cause=("size of x at index 0", "8", "5")),
        # What `tail` gets is a view of the first function's output, whose size became a symbol.
        Expected("inputs", "1/0", {(0, 1, 3): ("view of [8]",), (2,): ("view of [?]",)}, named=False),
        Expected("symbols", "1/0", _sides((0, 1, 3), (2,)), named=False),
        Expected("guards", "1/0", _sides((0, 1, 3), (2,)), named=False),
    ],
    # Rank 1 prints between two collectives, rank 3 has `clamp` set.
    "dist_diverge_break": [
        Expected("guards", "0/0", {(0, 2): (), (1,): (), (3,): ("clamp",)}, named=False),
        Expected("guards", "0/0", {(0, 2): ("False",), (3,): ("True",)}, named=False),
        Expected("graph breaks", "0/0", {(0, 2, 3): (), (1,): ("builtin operator",)}),
        Expected("graph", "0/0", {(0, 2): (), (1,): (), (3,): ()}),
        # The second all_reduce stands behind the wait for the first.
        Expected("collectives", "0/0", _sides((0, 2, 3)), cause=("verbose",), position=2, named=False),
        Expected("compiles", "1/0", _sides((0, 2, 3)), cause=("break",)),
    ],
    "dist_diverge_order": ORDER,
    "torch214_dist_diverge_order": ORDER,
    # One all_reduce more in the backward graph of rank 1, since the program looks at its rank.
    "dist_backward": [
        Expected("guards", "0/0", {(0,): ("rank",), (1,): ("rank",)}, named=False),
        Expected("graph", "0/0", _sides((0,)), named=False),
        Expected("collectives", "0/0", {(0,): (), (1,): ("all_reduce",)}),
    ],
    # Rank 0 compiles first; the others find what it stored.
    "dist_diverge_cache": [
        Expected("cache", "0/0", {(1, 2): ("hit",), (0,): ("miss",)}),
        Expected("cache", "0/0", {(1, 2): ("hit",), (0,): ("miss",)}),
    ],
    # Each rank multiplies by its own number.
    "dist_late_init": [
        Expected("guards", "1/0", {(0,): ("RANK",), (1,): ("RANK",)}, named=False),
        Expected("graph", "1/0", _sides((0,))),
    ],
    # Rank 1 compiles and runs `third` before `second`.
    "dist_exec_order": [
        Expected("compile order", None, {(0,): ("second",), (1,): ("third",)}),
        Expected("execution order", None, {(0,): ("second",), (1,): ("third",)}, position=2),
        Expected("execution order", None, {(0,): ("third",), (1,): ("second",)}, position=3),
    ],
    # The backend fails on rank 1, which ends; rank 0 is terminated in 2/0, of which it is not known how it would end.
    "dist_crash": [
        Expected("outcome", "1/0", {(0, 2): (), (1,): ("BackendCompilerFailed",)}),
        Expected("compiles", "2/0", _sides((0, 2)), cause=("1/0",)),
    ],
}
# What is also true where a log is cut: in which order the rest would have come is not known.
WHERE_CUT = {
    "dist_exec_order": [
        Expected("compiles", "1/0", {(0,): ("not compiled",), (1,): ("third",)}),
        Expected("compiles", "1/0", {(0,): ("second",), (1,): ("not compiled",)}),
    ],
}
ALIKE = sorted(name for name, rows in EXPECTED.items() if not rows)
# Positions and sides that a job without an id for a row may have: the place says it.
WITHOUT_ID = {"compile order", "execution order"}


def found(trace: fasttl.Trace) -> list[dict]:
    table = trace.divergence.with_columns(pl.col(pl.Categorical).cast(pl.String))
    return table.select(COLUMNS).to_dicts()


def shapes(row: dict) -> frozenset:
    return frozenset(tuple(group) for group in row["groups"])


def fits(row: dict, expected: Expected) -> bool:
    """Say whether a row is the expected one; which cause it has is looked at apart."""
    values = {tuple(ranks): value for ranks, value in zip(row["groups"], row["values"], strict=True)}
    return (
        row["aspect"] == expected.aspect
        and (row["compile_id"] == expected.compile_id or row["aspect"] in WITHOUT_ID)
        and (expected.position is None or row["position"] == expected.position)
        and set(values) == set(expected.groups)
        and all(word in values[ranks] for ranks, words in expected.groups.items() for word in words)
    )


def check(rows: list[dict], expected: Iterable[Expected], *, causes: bool = True) -> None:
    """Hold a table against what is true: each row is expected, and all that the index names are there."""
    left = list(expected)
    for row in rows:
        assert row["odd_ranks"] == sorted(chain.from_iterable(row["groups"][1:])), row
        sizes = [len(group) for group in row["groups"]]
        assert sizes == sorted(sizes, reverse=True), row
        fitting = [one for one in left if fits(row, one)]
        assert fitting, f"not true: {row}\nexpected were {left}"
        left.remove(fitting[0])
        if causes:
            cause = row["cause"] or ""
            assert all(word in cause for word in fitting[0].cause), row
    assert not [one for one in left if one.named], f"missing; there are {rows}"


def test_every_job_is_expected_to_be_something():
    assert {path.name for path in TRACES.glob("*dist_*")} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_what_differs_is_named_with_its_cause(name):
    rows = found(loaded(name))
    check(rows, EXPECTED[name])


@pytest.mark.parametrize("name", sorted(set(EXPECTED) - set(ALIKE)))
def test_what_follows_from_an_earlier_difference_says_so(name):
    rows = found(loaded(name))
    # The first difference has no earlier one; what it has as a cause the log says itself.
    assert rows[0]["aspect"] in {one.aspect for one in EXPECTED[name]}
    odd = [set(row["odd_ranks"]) for row in rows]
    compiles = [row["compile_id"] for row in rows]
    for at, row in enumerate(rows):
        if row["aspect"] == "cache":  # an entry is there or not, whatever else differs
            continue
        earlier = [n for n in range(at) if compiles[n] == compiles[at] and odd[n] == odd[at]]
        assert row["cause"] or not earlier, row


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_evidence_is_the_record_on_each_side(name):
    trace = loaded(name)
    for row in trace.divergence.to_dicts():
        assert len(row["evidence_files"]) == len(row["evidence_offsets"]) == len(row["groups"])
        ranks = dict(trace.files.select("file", "rank").rows())
        for group, file in zip(row["groups"], row["evidence_files"], strict=True):
            assert file is None or ranks[file] in group, row


def _chance(name: str) -> random.Random:
    return random.Random(name)  # noqa: S311 - chosen at random, and the same each time


def _variants(folder: Path, out: Path, chance: random.Random) -> dict[str, Path]:
    return {
        "other names": renamed(folder, out / "renamed", chance),
        "names without ranks": without_ranks_in_names(folder, out / "unranked", chance),
        "another order": shuffled(folder, out / "shuffled", chance),
        "compressed": compressed(folder, out / "compressed"),
    }


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_names_order_and_compression_change_nothing(name, tmp_path):
    before = found(loaded(name))
    for what, folder in _variants(TRACES / name, tmp_path, _chance(name)).items():
        assert found(fasttl.load(folder)) == before, what


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_with_a_rank_missing_the_rest_is_said_of_the_others(name, tmp_path):
    ranks = {rank_of(log) for log in logs_of(TRACES / name)}
    for rank in ranks:
        rows = found(fasttl.load(without(TRACES / name, tmp_path / f"without_{rank}", rank)))
        left = [one.of(ranks - {rank}) for one in EXPECTED[name]]
        check(rows, [one for one in left if one is not None])


def _cuts(name: str) -> list[tuple[Path, int]]:
    """Choose logs and places of them that are inside a record."""
    chance = _chance(name)
    places = []
    while len(places) < CUTS:
        log = chance.choice(logs_of(TRACES / name))
        text = log.read_bytes()
        at = chance.randrange(1, len(text))
        # Behind a whole record, with its line feed or without, nothing is seen to be missing.
        if all(not text.startswith(b"V", end) for end in (at, at + 1)) and text[at:].strip():
            places.append((log, at))
    return places


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_cut_log_gives_no_false_row(name, tmp_path):
    ranks = {rank_of(log) for log in logs_of(TRACES / name)}
    for number, (log, at) in enumerate(_cuts(name)):
        rows = found(fasttl.load(cut(TRACES / name, tmp_path / str(number), log.name, at)))
        rank = rank_of(log)
        rest = [one.of(ranks - {rank}) for one in EXPECTED[name]]
        try:
            _check_cut(rows, EXPECTED[name] + WHERE_CUT.get(name, []), [one for one in rest if one is not None])
        except AssertionError as error:
            message = f"{log.name} cut at {at}: {error}"
            raise AssertionError(message) from None


def _check_cut(rows: list[dict], whole: list[Expected], rest: list[Expected]) -> None:
    for row in rows:
        assert any(fits(row, one) for one in [*whole, *rest]), f"not true: {row}"
    for one in rest:
        ranks = set(chain.from_iterable(one.groups))
        restricted = [_restricted(row, ranks) for row in rows]
        assert not one.named or any(fits(row, one) for row in restricted), f"missing: {one}\nthere are {rows}"


def _restricted(row: dict, ranks: set[int]) -> dict:
    sides = [
        (left, value)
        for group, value in zip(row["groups"], row["values"], strict=True)
        if (left := [rank for rank in group if rank in ranks])
    ]
    return row | {"groups": [group for group, _ in sides], "values": [value for _, value in sides]}
