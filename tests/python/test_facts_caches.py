"""What the caches of the compiler answered in real programs: layer, state, compile and direction.

As many look-ups of each kind as the index counts; the compiles are those of the programs.
"""

import pytest
from real_traces import counts, folders, listed_folders, loaded, rows, values

pytestmark = pytest.mark.shared

LAYERS = {"fx_graph": "fx_graph_cache", "aotautograd": "aotautograd_cache"}


@pytest.mark.parametrize("name", listed_folders())
def test_as_many_answers_as_the_index_counts(name):
    artifacts = counts(name, "Artifacts")
    for layer, start in LAYERS.items():
        for state in ("hit", "miss", "bypass"):
            found = rows(name, "cache", "compile_id", layer=layer, state=state)
            assert len(found) == artifacts[f"{start}_{state}"], (layer, state)
    known = sum(number for name, number in artifacts.items() if name.startswith(tuple(LAYERS.values())))
    assert loaded(name).cache.height == known


def look_ups(name):
    return sorted(rows(name, "cache", "compile_id", "layer", "is_backward", "state"), key=str)


def program(state, state_of_bypassed="bypass"):
    """`f` has a forward and a backward, `g` is inference, and a pass without a key keeps `bypassed` out."""
    return sorted(
        [
            ("0/0", "aotautograd", None, state),
            ("0/0", "fx_graph", False, state),
            ("0/0", "fx_graph", True, state),
            ("1/0", "aotautograd", None, state),
            ("1/0", "fx_graph", False, state),
            ("2/0", "aotautograd", None, state_of_bypassed),
            ("2/0", "fx_graph", False, state_of_bypassed),
        ],
        key=str,
    )


@pytest.mark.parametrize(("name", "state"), [("cache_cold", "miss"), ("cache_warm", "hit")])
def test_the_second_run_hits_what_the_first_missed(name, state):
    assert look_ups(name) == program(state)
    assert rows(name, "frames", "code_name", "fx_cache", "aot_cache") == [
        ("f", state, state),
        ("g", state, state),
        ("bypassed", "bypass", "bypass"),
    ]


@pytest.mark.parametrize("name", ["cache_cold", "cache_warm"])
def test_a_pass_without_a_key_is_the_reason(name):
    reasons = values(name, "cache", "reason", state="bypass")
    assert reasons == ["Unsupported post grad custom pass"] * 2
    assert values(name, "cache", "key", state="bypass") == [None, None]


def test_both_runs_have_the_same_keys():
    def keys(name):
        table = rows(name, "cache", "compile_id", "layer", "is_backward", "key")
        return sorted((row for row in table if row[0] != "2/0"), key=str)

    assert keys("cache_cold") == keys("cache_warm")
    assert None not in {row[3] for row in keys("cache_cold")}


def test_hits_say_what_they_saved():
    saved = values("cache_warm", "cache", "time_saved_s", state="hit")
    assert len(saved) == 5
    assert all(seconds > 0 for seconds in saved)
    assert set(values("cache_cold", "cache", "time_saved_s")) == {None}


def test_graphs_from_the_cache_are_graphs():
    # The code of `f` comes back as forward and backward, that of `g` as one.
    posts = rows("cache_warm", "graphs", "compile_id", "stage", stage="post grad")
    assert [row[0] for row in posts] == ["0/0", "0/0", "1/0", "2/0"]
    kinds = {kind for (kind,) in rows("cache_warm", "records", "kind", name="inductor_post_grad_graph")}
    assert kinds == {"artifact"}
    assert len(rows("cache_warm", "records", "kind", kind="inductor_post_grad_graph")) == 3


def test_one_cold_rank():
    assert rows("dist_diverge_cache", "frames", "rank", "fx_cache", "aot_cache") == [
        (0, "miss", "miss"),
        (1, "hit", "hit"),
        (2, "hit", "hit"),
    ]


def test_ranks_that_share_a_folder_may_all_miss():
    frames = rows("dist_collectives", "frames", "rank", "fx_cache", "aot_cache")
    assert frames == [(rank, "miss", "miss") for rank in range(4) for _ in range(2)]


@pytest.mark.parametrize(
    "name",
    ["dist_backward", "dist_diverge_order", "dist_diverge_shape", "dist_exec_order", "torch214_dist_diverge_order"],
)
def test_caches_that_are_off_have_no_look_up(name):
    assert loaded(name).cache.is_empty()
    assert set(rows(name, "frames", "fx_cache", "aot_cache")) == {(None, None)}


@pytest.mark.parametrize("name", ["graph_breaks", "recompiles", "torch214_recompiles", "threads", "dist_many"])
def test_backends_without_inductor_ask_no_cache(name):
    assert loaded(name).cache.is_empty()


@pytest.mark.parametrize(("name", "fx", "aot"), [("hello", 1, 1), ("gpt", 3, 2), ("resnet", 3, 2), ("train_mlp", 5, 5)])
def test_first_runs_miss(name, fx, aot):
    assert set(values(name, "cache", "state")) == {"miss"}
    assert len(values(name, "cache", "state", layer="fx_graph")) == fx
    assert len(values(name, "cache", "state", layer="aotautograd")) == aot


def test_a_compile_that_failed_after_the_first_cache():
    assert look_ups("fail_inductor") == [("0/2", "aotautograd", None, "miss")]
    assert look_ups("killed") == [("1/0", "aotautograd", None, "miss")]


def test_an_early_release_names_the_hash_of_its_cache():
    # Two records `fx_graph_cache_hash`; both of code that was there already.
    names = rows("public_recommender", "records", "compile_id", "name", kind="artifact")
    asked = [compile_id for compile_id, name in names if name == "fx_graph_cache_hash"]
    assert asked == ["14/0", "14/1"]
    found = rows("public_recommender", "cache", "compile_id", "layer", "state")
    assert found == [(key, "fx_graph", "hit") for key in asked]
    assert set(rows("public_curve_fit", "cache", "layer", "state")) == {("fx_graph", "hit")}


@pytest.mark.parametrize("name", folders())
def test_every_look_up_has_a_key_or_a_reason(name):
    for row in loaded(name).cache.to_dicts():
        assert row["state"] in {"hit", "miss", "bypass"}
        assert (row["key"] is None) == (row["state"] == "bypass")
        assert (row["reason"] is not None) == (row["state"] == "bypass")


# What `frames` makes of the look-ups of one layer: hits beside misses are mixed.
def summed(states):
    return None if not states else states[0] if len(set(states)) == 1 else "mixed"


def with_mark(name):
    reason = "frames.fx_cache is null, though the artifact `fx_graph_cache_hash` says hit and `cache` has it"
    marks = [pytest.mark.xfail(strict=True, reason=reason)] if name.startswith("public_") else []
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", [with_mark(name) for name in folders()])
def test_frames_and_look_ups_agree(name):
    key = ("file", "generation", "frame_id", "frame_compile_id", "compiled_autograd_id")
    asked = {}
    for *compile_, layer, state in rows(name, "cache", *key, "layer", "state"):
        asked.setdefault((*compile_, layer), []).append(state)
    for *compile_, fx, aot in rows(name, "frames", *key, "fx_cache", "aot_cache"):
        assert fx == summed(asked.get((*compile_, "fx_graph"), [])), compile_
        assert aot == summed(asked.get((*compile_, "aotautograd"), [])), compile_
