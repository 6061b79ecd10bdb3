"""The growth of slow inputs is measured at sizes that say something, on times that are made up."""

from __future__ import annotations

from pathlib import Path

import pytest
from measures.bench import Bench, Sizes
from measures.inputs import Inputs, bytes_of, logs_of
from measures.slow import growth_of

DATA = Path(__file__).resolve().parent.parent / "data"
START_UP = 0.1


class MadeUp(Bench):
    """A run in which a report takes as long as a function of the input says."""

    def report_seconds(self, log: Path, *_: str) -> float:
        assert len(list(self.inputs.folder.iterdir())) >= 1
        return START_UP + self.cost(bytes_of(log) if log.is_file() else 1e6 * len(logs_of(log)))


@pytest.fixture
def growth(tmp_path):
    def measure(cost, key="P6", *, judged=True):
        inputs = Inputs(tmp_path, DATA, 0.002)
        sizes = Sizes.of(200_000, 2)
        bench = MadeUp("fasttl", "tlparse", inputs, sizes, tmp_path, runs=2, judged=judged)
        bench.cost = cost
        special = next(special for special in inputs.specials() if special.key == key)
        facts = growth_of(bench, special, START_UP)
        assert list(tmp_path.iterdir()) == [], "an input was left over"
        return facts, bench.verdicts

    return measure


def test_linear_time_is_kept(growth):
    facts, verdicts = growth(lambda size: size * 1e-6)
    assert facts["factors"] == [1, 2, 4]
    assert facts["doublings"] == pytest.approx([2, 2], rel=0.02)
    assert [verdict.word for verdict in verdicts] == ["ok"]
    assert [len(times["runs_s"]) for times in facts["times"]] == [2, 2, 2]


def test_quadratic_time_is_missed(growth):
    facts, verdicts = growth(lambda size: (size / 1e6) ** 2)
    assert max(facts["doublings"]) == pytest.approx(4, rel=0.02)
    assert [verdict.word for verdict in verdicts] == ["MISSED"]


def test_an_input_that_is_read_too_quickly_is_made_larger(growth):
    facts, verdicts = growth(lambda size: size * 4e-8)
    assert facts["factors"] == [8, 16, 32]
    assert verdicts[0].kept


def test_four_times_is_left_out_where_it_takes_long(growth):
    facts, _ = growth(lambda size: size * 1e-5)
    assert facts["factors"] == [1, 2]


def test_a_quick_run_takes_the_smallest_sizes(growth):
    facts, verdicts = growth(lambda size: size * 1e-9, judged=False)
    assert facts["factors"] == [1, 2]
    assert [verdict.word for verdict in verdicts] == ["not judged"]


def test_ranks_grow_as_well(growth):
    facts, verdicts = growth(lambda size: size * 1e-7, key="P8")
    assert facts["factors"] == [1, 2, 4]
    assert verdicts[0].kept
