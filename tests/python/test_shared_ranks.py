"""The comparisons of ranks on real jobs: the right verdict or "unknown", never a false one.

The facts are those of the programs that wrote the logs, from the index of the traces. `test_ranks_variants.py` has the
rows.
"""

import polars as pl
import pytest
from real_traces import TRACES, loaded

pytestmark = pytest.mark.shared

# In the order of the table `diagnostics`: s is same, d is differs, u is unknown.
ASPECTS = (
    "versions",
    "configuration",
    "compiles",
    "compile order",
    "code",
    "inputs",
    "symbols",
    "guards",
    "recompile reasons",
    "graph breaks",
    "outcome",
    "graph",
    "cache",
    "collectives",
    "collectives and code",
    "tensors",
    "runtimes",
    "execution order",
)
VERDICTS = {
    # Alike; aot_eager, so that there is no cache, no code and no schedule.
    "dist_ddp": "ssss ssss sss s us uuuu",
    "dist_fsdp2": "ssss ssss sss s us uuuu",
    "dist_many": "ssss ssss sss s us uuuu",
    "dist_restart": "ssss ssss sss s us uuuu",
    # Alike, with Inductor and LOG_TLPARSE=1.
    "dist_collectives": "ssss ssss sss s ss sssu",
    # Rank 2 has 0/1 alone; what it gives to `tail` is a view of another size.
    "dist_diverge_shape": "ssds sddd sss s us ussu",
    # Rank 1 has a break and a resume frame, rank 3 another graph under the same ids.
    "dist_diverge_break": "ssds sssd sds d ud uuuu",
    # Another function, whose collectives come in another order.
    "dist_diverge_order": "ssss dsss sss d ud suuu",
    "torch214_dist_diverge_order": "ssss dsss sss d ud suuu",
    # One all_reduce more in the backward graph of rank 1, whose function looks at its rank.
    "dist_backward": "ssss sssd sss d ud suuu",
    # Rank 0 misses, the others hit; no graph has a collective.
    "dist_diverge_cache": "ssss ssss sss s ds uuuu",
    # Each rank multiplies by its own number.
    "dist_late_init": "ssss sssd sss d us uuuu",
    # The same functions in another order.
    "dist_exec_order": "sssd ssss sss s us suud",
    # Rank 1 dies in 1/0 and never comes to 2/0; rank 0 ends inside of 2/0, and may have recompiled later.
    "dist_crash": "suds sssu usd s us uuuu",
}


def test_every_job_has_a_row():
    folders = {path.name for path in TRACES.glob("*dist_*")}
    assert folders == set(VERDICTS)


@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_every_diagnostic_ends_right(name):
    table = loaded(name).diagnostics
    assert tuple(table["aspect"].cast(pl.String)) == ASPECTS
    found = "".join(verdict[0] for verdict in table["verdict"].cast(pl.String))
    assert found == VERDICTS[name].replace(" ", ""), list(
        zip(ASPECTS, table["verdict"], table["sentence"], strict=True)
    )


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
