"""The comparisons of ranks on real jobs: the right verdict or "unknown", never a false one.

The facts are those of the programs that wrote the logs, from the index of the traces.
"""

import polars as pl
import pytest
from real_traces import TRACES, loaded

pytestmark = pytest.mark.shared

# In the order of the table `diagnostics`: s is same, d is differs, u is unknown.
ASPECTS = (
    "compile ids",
    "code",
    "recompile reasons",
    "cache",
    "collectives",
    "collectives and code",
    "tensors",
    "runtimes",
    "execution order",
)
VERDICTS = {
    # Alike; aot_eager, so that there is no cache, no code and no schedule.
    "dist_ddp": "sssusuuuu",
    "dist_fsdp2": "sssusuuuu",
    "dist_many": "sssusuuuu",
    "dist_restart": "sssusuuuu",
    # Alike, with Inductor and LOG_TLPARSE=1; the estimates are 0 on a CPU.
    "dist_collectives": "sssssssuu",
    # Rank 2 has 0/1 alone.
    "dist_diverge_shape": "dsdususuu",
    # Rank 1 has a resume frame, rank 3 another graph under the same ids.
    "dist_diverge_break": "ddsuduuuu",
    # Another function, whose collectives come in another order.
    "dist_diverge_order": "sdsudsuuu",
    "torch214_dist_diverge_order": "sdsudsuuu",
    # One all_reduce more in the backward graph of rank 1.
    "dist_backward": "sdsudsuuu",
    # Rank 0 misses, the others hit; no graph has a collective.
    "dist_diverge_cache": "sssdsuuuu",
    # Each rank multiplies by its own number.
    "dist_late_init": "sdsusuuuu",
    # The same ids in the same order, but 1/0 and 2/0 are each other's functions.
    "dist_exec_order": "sdsussuud",
    # Rank 1 dies in 1/0 and never comes to 2/0; rank 0 ends inside of 2/0, and may have recompiled later.
    "dist_crash": "dsuusuuuu",
}


def differences(name, aspect):
    table = loaded(name).divergence.filter(pl.col("aspect").cast(pl.String) == aspect)
    return {row["place"]: dict(zip(row["values"], row["groups"], strict=True)) for row in table.to_dicts()}


def test_every_job_has_a_row():
    folders = {path.name for path in TRACES.glob("*dist_*")}
    assert folders == set(VERDICTS)


@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_every_diagnostic_ends_right(name):
    table = loaded(name).diagnostics
    assert tuple(table["aspect"].cast(pl.String)) == ASPECTS
    found = "".join(verdict[0] for verdict in table["verdict"].cast(pl.String))
    assert found == VERDICTS[name], list(zip(ASPECTS, table["verdict"], table["sentence"], strict=True))


def test_a_shape_that_one_rank_sees_alone_is_its_own_compile():
    assert differences("dist_diverge_shape", "compile ids") == {
        "0/1": {"not compiled": [0, 1, 3], "compiled": [2]},
    }
    [(place, sides)] = differences("dist_diverge_shape", "recompile reasons").items()
    assert place == "0/1"
    [reason] = [value for value, ranks in sides.items() if ranks == [2]]
    assert "size mismatch at index 0. expected 8, actual 5" in reason


def test_a_break_on_one_rank_and_another_graph_on_another():
    assert differences("dist_diverge_break", "compile ids") == {
        "1/0": {"not compiled": [0, 2, 3], "compiled": [1]},
    }
    graphs = differences("dist_diverge_break", "code")["0/0, dynamo graph"]
    by_ranks = {tuple(ranks): value.split(" (")[0] for value, ranks in graphs.items()}
    assert by_ranks == {(0, 2): "6 nodes", (1,): "3 nodes", (3,): "7 nodes"}


@pytest.mark.parametrize("name", ["dist_diverge_order", "torch214_dist_diverge_order"])
def test_the_first_collective_that_differs_is_named(name):
    assert differences(name, "collectives") == {
        "0/0, collective 1": {
            "all_reduce_ (of 2 collectives)": [0, 2, 3],
            "all_gather_into_tensor (of 2 collectives)": [1],
        },
    }
    functions = differences(name, "code")["0/0, function"]
    assert [value.split(" at ")[0] for value in functions] == ["reduce_first", "gather_first"]


def test_forward_and_backward_are_compared_apart():
    [(place, sides)] = differences("dist_backward", "collectives").items()
    assert place == "0/0, part 2, backward, collective 3"
    assert sides == {"nothing (of 1 collective)": [0], "all_reduce_ (of 2 collectives)": [1]}


def test_a_cold_rank_among_warm_ones():
    assert differences("dist_diverge_cache", "cache") == {
        "0/0": {"fx_graph hit, aotautograd hit": [1, 2], "aotautograd miss, fx_graph miss": [0]},
    }


def test_what_ran_is_compared_and_not_its_id():
    order = differences("dist_exec_order", "execution order")
    assert set(order) == {"position 2", "position 3"}
    assert [value.split(" at ")[0] for value in order["position 2"]] == ["1/0 second", "1/0 third"]


def test_a_rank_that_died_lacks_what_came_after():
    assert differences("dist_crash", "compile ids") == {"2/0": {"compiled": [0, 2], "not compiled": [1]}}


def test_ddp_pieces_are_told_apart():
    graphs = loaded("dist_ddp").graphs.filter(
        (pl.col("rank") == 0) & (pl.col("stage").cast(pl.String) == "aot forward"),
    )
    assert graphs["occurrence"].to_list() == [0, 1, 2]
    # One layer, then twice two layers of equal sizes.
    assert graphs["nodes"][0] < graphs["nodes"][1]
    assert graphs["shape_md5"][1] == graphs["shape_md5"][2]


def test_the_landing_page_shows_the_evidence(run, tmp_path):
    result = run(TRACES / "dist_exec_order", "-o", tmp_path / "out")
    assert result.exit_code == 0
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert 'id="exec-order"' in page
    assert "rank_1/-_-_-_-/graph_execution_" in page
