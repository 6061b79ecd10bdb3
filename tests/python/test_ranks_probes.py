"""Jobs by hand for which the peer gives a wrong verdict on its ranks (B53 to B62): here each comes out right.

The same faults are held against further hand-made inputs in `tests/rust/ranks.rs`; of real jobs the peer is wrong on
`dist_backward`, `dist_exec_order`, `dist_diverge_break` and `dist_crash`, which `test_ranks_variants.py` has.
"""

from __future__ import annotations

import fasttl
import polars as pl
import pytest

# The rows that are true of a probe: aspect, compile id, and the ranks on each side.
ROWS = {
    # B53: the second graph of a compile counts.
    "collective_second_graph_differs": [("collectives", "0/0", {(0,), (1,)})],
    # B55: an estimate of a nanosecond more is noise, and no tensor.
    "runtime_only_differs": [],
    # B56: a name with the right letters is no look-up in a cache. A log without metrics names the function by its start
    # alone, which is another name in these logs.
    "cache_unknown_name_hit": [("code", "0/0", {(0,), (1,)})],
    # B58: other graphs under the same id.
    "graph_code_differs": [("graph", "0/0", {(0,), (1,)})],
    # B59: ranks without a log, packed logs and logs without a rank make no difference.
    "missing_ranks": [],
    "mixed_dir": [("code", "0/0", {(0, 1), (2,)})],
    # B60: an empty log is no other set of compiles; a compile more is one.
    "one_empty_rank": [],
    "compile_ids_differ": [("compiles", "1/0", {(0,), (1,)})],
    # B61, B62, and what stops the peer.
    "rank_name_vs_content": [],
    "rank_order_10_2": [],
    "rank_only_inside": [],
    "unranked_only": [],
    "same_rank_twice": [],
    "collective_bad_json": [],
    "one_bad_utf8_rank": [("code", "0/0", {(0, 1), (2,)})],
}
# The state of each rank, where not all of them are compared.
STATES = {
    "missing_ranks": ["compared"] * 2 + ["missing", "compared"] + ["missing"] * 3 + ["compared"],
    "one_empty_rank": ["compared", "compared", "left out"],
    "rank_name_vs_content": ["missing", "compared", "missing", "missing", "missing", "compared"],
    "mixed_dir": ["compared"] * 3,
}


@pytest.fixture
def trace(data):
    def load(name):
        return fasttl.load(data("probes") / name)

    return load


@pytest.mark.parametrize("name", sorted(ROWS))
def test_only_what_differs_is_a_row(trace, name):
    table = trace(name).divergence.with_columns(pl.col(pl.Categorical).cast(pl.String))
    rows = table.select("aspect", "compile_id", "groups").rows()
    found = [(aspect, compile_id, set(map(tuple, groups))) for aspect, compile_id, groups in rows]
    assert found == ROWS[name]


@pytest.mark.parametrize("name", sorted(STATES))
def test_ranks_that_are_not_compared_are_named(trace, name):
    table = trace(name).ranks.with_columns(pl.col(pl.Categorical).cast(pl.String))
    assert table["rank"].to_list() == list(range(len(STATES[name])))
    assert table["state"].to_list() == STATES[name]
    assert all(row["why"] for row in table.filter(pl.col("state") == "left out").to_dicts())


@pytest.mark.parametrize("name", ["mixed_dir", "missing_ranks", "rank_order_10_2"])
def test_where_there_is_nothing_to_compare_the_verdict_is_unknown(trace, name):
    verdicts = dict(trace(name).diagnostics.select(pl.col("aspect", "verdict").cast(pl.String)).rows())
    for aspect in ("tensors", "runtimes", "execution order", "cache"):
        assert verdicts[aspect] == "unknown", aspect
