"""Why real programs were compiled again: which guard, what was other, which values, and where the limit was.

The values are those of the programs: sizes, numbers and lines as they stand there. A trace that is not named
here has no recompile.
"""

import polars as pl
import pytest
from real_traces import folders, loaded, rows, values

pytestmark = pytest.mark.shared

# compile id, cause, source, dimension, what the entry wants, what the call had.
SIZES = [(f"0/{n}", "size", "x", 0, str(n + 1), str(n + 2)) for n in range(1, 9)]
NUMBERS = [
    ("1/1", "float", "alpha", None, "0.5", None),
    ("1/2", "float", "alpha", None, "0.25", None),
    ("2/1", "integer", "self.depth", None, "1", None),
    ("2/2", "integer", "self.depth", None, "2", None),
]
GRAD_MODE = [("0/1", "grad mode", "grad_mode", None, None, None)]
REQUIRES_GRAD = ("1/1", "requires grad", "x", None, "requires_grad=0", None)
# Each of eight layers gets the batches 2, 3 and 4; the limit of 16 is hit in the sixth.
BATCHES = [("2", "3"), ("3", "4"), ("4", "2")]
STATE = "self.state[list(dict.keys(self.state))[0]]"

RECOMPILES = {
    "compiled_autograd": [("0/1", "size", "x", 0, "4", "6")],
    "dist_diverge_shape": [("0/1", "size", "x", 0, "8", "5")],
    # A row for each rank.
    "dist_fsdp2": [REQUIRES_GRAD, REQUIRES_GRAD],
    "dynamic_shapes": [("1/1", "size", "x", 0, "4", "5")],
    "gpt": GRAD_MODE,
    "large": [
        *((f"54/{n}", "size", "x", 0, *BATCHES[(n - 1) % 3]) for n in range(1, 17)),
        *((f"55/{n}", "size", "x", 0, str(n + 1), str(n + 2)) for n in range(1, 17)),
        ("56/1", "size", "b", 0, "16", "24"),
    ],
    "logs_to_file": [
        ("0/1", "integer", "n", None, "2", None),
        ("0/2", "size", "x", 0, "3", "4"),
        ("1/1", "size", "y", 0, "3", "4"),
    ],
    "processes": [("0/1", "size", "x", 0, "3", "4")],
    "public_curve_fit": [
        ("24/1", "object id", "_memoized_func.last_params", None, "105251315093216", None),
        ("25/1", "object id", "_memoized_func.last_params", None, "105251315093216", None),
        ("24/2", "object id", "_memoized_func.skip_lookup", None, "105251315000256", None),
    ],
    "public_recommender": [("14/1", "dimensions", "tensor", None, "2", "1")],
    "recompiles": SIZES + NUMBERS,
    "resnet": GRAD_MODE,
    "threads": [(f"{n}/1", "size", "x", 0, "3", "4") for n in range(3)],
    "torch214_recompiles": SIZES + NUMBERS,
    # The optimizer makes its momentum buffers in the first step; the schedule halves the rate after each.
    "train_mlp": [
        ("3/1", "container", STATE, None, None, None),
        ("3/2", "float", "self.param_groups[0]['lr']", None, "0.05", None),
    ],
}
REFUSED = {
    "recompiles": ["0/8"],
    "torch214_recompiles": ["0/8"],
    "large": ["54/16", "55/16"],
}


@pytest.mark.parametrize("name", folders())
def test_the_recompiles_are_those_of_the_program(name):
    found = rows(name, "recompiles", "compile_id", "cause", "source", "dimension", "expected", "actual")
    assert found == RECOMPILES.get(name, [])


@pytest.mark.parametrize("name", folders())
def test_only_what_hit_the_limit_was_refused(name):
    assert values(name, "recompiles", "compile_id", refused=True) == REFUSED.get(name, [])
    assert values(name, "frames", "compile_id", limit_hit=True) == REFUSED.get(name, [])


@pytest.mark.parametrize("name", sorted(RECOMPILES))
def test_each_recompile_has_its_reasons_its_entry_and_advice(name):
    key = ("file", "compile_id")
    frames = {row[:2]: row[2:] for row in rows(name, "frames", *key, "recompile_reason", "entire_frame_s")}
    for row in loaded(name).recompiles.to_dicts():
        logged = frames[row["file"], row["compile_id"]][0]
        # Metrics name the reason of the newest entry, which comes first.
        assert logged is None or row["reasons"][0].startswith(logged.split("\n")[0].rstrip())
        assert row["reasons"][0].startswith(f"{row['entry']}: ")
        frame = row["compile_id"].split("/")[0]
        assert row["entry"] == f"{frame}/{row['frame_compile_id'] - 1}"
        assert row["guard"] in row["reasons"][0]
        assert row["cause"] in row["causes"]
        assert row["advice"].endswith(".")
        # An early release has no time of what it does not compile; all others do.
        assert row["cost_s"] is None or row["cost_s"] >= 0


@pytest.mark.parametrize("name", sorted(RECOMPILES))
def test_groups_hold_each_recompile_once(name):
    groups = loaded(name).recompile_groups
    assert groups["count"].sum() == len(RECOMPILES[name])
    assert groups["refused"].sum() == len(REFUSED.get(name, []))
    ids = [compile_id for row in groups["compile_ids"].to_list() for compile_id in row]
    assert sorted(set(ids)) == sorted({row[0] for row in RECOMPILES[name]})
    costs = loaded(name).recompiles["cost_s"]
    assert groups["cost_s"].sum() == pytest.approx(costs.sum())


@pytest.mark.parametrize("name", ["recompiles", "torch214_recompiles"])
def test_three_functions_are_three_groups(name):
    columns = ("code_name", "code_line", "cause", "count", "refused", "values", "compile_ids")
    groups = {row[0]: row[1:] for row in rows(name, "recompile_groups", *columns)}
    assert groups == {
        # Ten shapes: the ninth is refused, and the tenth is not logged at all.
        "by_shape": (11, "size", 8, 1, [str(n) for n in range(2, 11)], [f"0/{n}" for n in range(1, 9)]),
        "by_float": (20, "float", 2, 0, ["0.5", "0.25", "0.125"], ["1/1", "1/2"]),
        "forward": (35, "integer", 2, 0, ["1", "2", "3"], ["2/1", "2/2"]),
    }
    # What was given up comes first.
    assert loaded(name).recompile_groups["refused"][0] == 1


@pytest.mark.parametrize("name", ["recompiles", "torch214_recompiles"])
def test_guards_on_numbers_name_the_line_of_the_user(name):
    columns = ("user_file", "user_line", "user_function", "user_code")
    floats, integers = (rows(name, "recompiles", *columns, cause=cause) for cause in ("float", "integer"))
    assert [row[1:] for row in floats] == [(22, "by_float", "return x * alpha")] * 2
    assert [row[1:] for row in integers] == [(36, "forward", "for _ in range(self.depth):")] * 2
    # The whole path, not what PyTorch leaves of it at its line.
    assert {row[0] for row in floats + integers} == set(values(name, "recompiles", "code_file"))
    hints = values(name, "recompiles", "hint", cause="integer")
    assert all("allow_unspec_int_on_nn_module" in hint for hint in hints)


def test_a_refused_call_is_named_after_the_function_of_its_frame():
    assert rows("recompiles", "recompiles", "code_name", "code_line", refused=True) == [("by_shape", 11)]
    names = rows("large", "recompiles", "compile_id", "code_name", "code_line", refused=True)
    assert names == [("54/16", "forward", 35), ("55/16", "shapes", 51)]


def test_every_earlier_entry_has_its_reason():
    reasons = values("recompiles", "recompiles", "reasons")
    assert [len(of_one) for of_one in reasons] == [*range(1, 9), 1, 2, 1, 2]


def test_a_second_cause_of_an_older_entry_is_kept():
    assert rows("logs_to_file", "recompiles", "compile_id", "causes") == [
        ("0/1", ["integer"]),
        ("0/2", ["size", "integer"]),
        ("1/1", ["size"]),
    ]
    assert rows("logs_to_file", "recompiles", "user_line", "user_code", cause="integer") == [(9, "y = x * n")]


def test_layers_and_shapes_of_a_large_log():
    columns = ("code_name", "cause", "count", "refused", "dimensions")
    groups = {row[0]: row[1:] for row in rows("large", "recompile_groups", *columns)}
    assert set(groups) == {"forward", "shapes", "fused"}
    assert groups["shapes"] == ("size", 16, 1, [0])
    assert groups["fused"] == ("size", 1, 0, [0])
    assert groups["forward"][:3] == ("size", 16, 1)


def test_sizes_of_a_large_log_are_those_of_the_program():
    groups = {row[0]: row[1] for row in rows("large", "recompile_groups", "code_name", "values")}
    assert groups["shapes"] == [str(n) for n in range(2, 19)]
    assert groups["fused"] == ["16", "24"]


def test_ranks_that_recompile_are_in_the_group():
    assert rows("dist_diverge_shape", "recompile_groups", "code_name", "ranks", "files", "compile_ids") == [
        ("layer", [2], [2], ["0/1"]),
    ]
    assert rows("dist_fsdp2", "recompile_groups", "code_name", "code_line", "count", "ranks") == [
        ("forward", 13, 2, [0, 1]),
    ]


@pytest.mark.xfail(
    strict=True,
    reason="the last of the values is missing, 0.025: only guards of the kind EQUALS_MATCH are read, and that of 3/2 "
    "is a LAMBDA_GUARD",
)
def test_the_learning_rates_come_in_the_order_of_the_schedule():
    [seen] = values("train_mlp", "recompiles", "values", cause="float")
    assert [float(value) for value in seen] == [0.1, 0.05, 0.025]


@pytest.mark.xfail(
    strict=True,
    reason="user_file is a file of PyTorch, _dynamo/output_graph.py, where the guard has no line of the user",
)
def test_a_line_of_the_framework_is_not_the_users():
    assert rows("train_mlp", "recompiles", "user_file", "user_line", cause="float") == [(None, None)]


@pytest.mark.parametrize("name", ["hello", "graph_breaks", "cache_warm", "dist_many"])
def test_a_program_without_recompiles_has_none(name):
    trace = loaded(name)
    assert trace.recompiles.is_empty()
    assert trace.recompile_groups.is_empty()
    assert trace.frames["recompile_reason"].null_count() == trace.frames.height


def test_the_second_compile_of_a_dynamic_size_is_the_last():
    # 4 is static, 5 makes the size dynamic, and 6 needs no compile.
    frames = loaded("dynamic_shapes").frames.filter(pl.col("code_name").cast(pl.String) == "automatic")
    assert frames["compile_id"].to_list() == ["1/0", "1/1"]
    assert values("dynamic_shapes", "recompiles", "values") == [["4", "5"]]
