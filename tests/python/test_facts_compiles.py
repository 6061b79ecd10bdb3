"""Which compiles each real trace has, what they were named, and how they ended.

The lists and counts are those of the index of the traces, the other values those of the programs.
"""

import re
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from real_traces import WITHOUT_LISTS, counts, folders, listed, listed_folders, loaded, log_number, rows, values

pytestmark = pytest.mark.shared

# The index counts 90 compile ids of this trace and does not list them.
COUNTED_ONLY = ("large",)


def by_id(name, **where):
    return {row["compile_id"]: row for row in loaded(name).frames.filter(**where).to_dicts()}


@pytest.mark.parametrize("name", [name for name in listed_folders() if name not in COUNTED_ONLY])
def test_the_compiles_are_those_of_the_index(name):
    for ending, expected in listed(name).items():
        found = by_id(name, file=log_number(name, ending))
        # A capture of compiled autograd is no compile of Dynamo's.
        assert list(found) == [key for key in expected if not key.endswith("/-/-")]
        for compile_id, row in found.items():
            compile_ = expected[compile_id]
            assert compile_.fits(row["code_name"]), compile_id
            assert row["fail_type"] == compile_.fails, compile_id
            assert (row["status"] == "missing") == (not compile_.has_metrics), compile_id
            assert (row["status"] == "error") == (compile_.fails is not None), compile_id
            restarts = [reason.split("\n")[0] for reason in row["restart_reasons"]]
            wanted = [] if compile_.restart is None else [compile_.restart]
            assert [reason.removeprefix("<class '").removesuffix("'>") for reason in restarts] == wanted, compile_id


@pytest.mark.parametrize("name", [name for name in listed_folders() if name not in COUNTED_ONLY])
def test_all_logs_of_a_trace_are_in_the_list(name):
    assert len(listed(name)) == loaded(name).files.height


@pytest.mark.parametrize("name", listed_folders())
def test_the_records_of_each_kind_are_as_many_as_in_the_index(name):
    # A trace without a named artifact has no such line in the index.
    kinds = Counter(loaded(name).records["kind"].cast(pl.String).to_list())
    assert kinds == counts(name, "Kinds")
    # Those without a payload count, too: what a cache gives back may lack its text.
    resumed = re.compile(r"^torch_dynamo_resume_in_.*_at_\d+_", re.DOTALL)
    names = [
        resumed.sub("torch_dynamo_resume_in_*_", name) for name in values(name, "records", "name", kind="artifact")
    ]
    assert Counter(names) == counts(name, "Artifacts")


def test_the_traces_without_a_list_are_the_four_that_are_tested_by_name():
    assert set(folders()) - set(listed_folders()) == set(WITHOUT_LISTS)


def test_every_trace_is_named_by_a_test():
    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_facts_*.py")]
    unnamed = [name for name in folders() if not any(re.search(rf'"{name}"', text) for text in texts)]
    assert unnamed == []


def test_hello_is_one_compile_of_four_operations():
    [row] = loaded("hello").frames.to_dicts()
    assert (row["compile_id"], row["code_name"], row["code_line"]) == ("0/0", "hello", 7)
    assert (row["status"], row["ops"], row["attempts"]) == ("ok", 4, 1)
    assert not row["has_graph_break"]
    assert row["recompile_reason"] is None


def test_five_of_fifteen_frames_around_graph_breaks_are_empty():
    frames = by_id("graph_breaks")
    assert len(frames) == 15
    assert [key for key, row in frames.items() if row["status"] == "empty"] == ["0/0", "2/0", "6/0", "9/0", "12/0"]
    # The lines on which `def` or its decorator stands, and for a resume function the line of the break.
    lines = {row["code_name"]: row["code_line"] for row in frames.values()}
    assert lines["main"] == 32
    assert lines["outer"] == 5
    assert lines["inner"] == 4
    assert lines["with_item"] == 15
    assert lines["with_explicit_break"] == 20
    assert lines["with_c_function"] == 26
    resumed = {name: line for name, line in lines.items() if name.startswith("torch_dynamo_resume_in_")}
    assert all(line == int(name.rsplit("_", 1)[1]) for name, line in resumed.items())
    # Branching on data ends the graph without a new try.
    assert frames["3/0"]["attempts"] == 1
    assert frames["3/0"]["status"] == "break"


@pytest.mark.parametrize("name", ["recompiles", "torch214_recompiles"])
def test_eight_shapes_three_floats_three_depths(name):
    frames = by_id(name)
    functions = {key: row["code_name"] for key, row in frames.items()}
    assert functions == {
        **{f"0/{n}": "by_shape" for n in range(8)},
        "0/8": None,
        **{f"1/{n}": "by_float" for n in range(3)},
        **{f"2/{n}": "forward" for n in range(3)},
    }
    assert [key for key, row in frames.items() if row["status"] != "ok"] == ["0/8"]
    # A layer for each step of the depth.
    assert [frames[f"2/{n}"]["ops"] for n in range(3)] == [1, 2, 3]


def test_the_optimizer_step_is_compiled_three_times():
    frames = by_id("train_mlp")
    assert {key: row["status"] for key, row in frames.items()} == {
        "0/0": "ok",
        "1/0": "empty",
        "2/0": "empty",
        "3/0": "ok",
        "4/0": "empty",
        "3/1": "break",
        "3/2": "ok",
    }
    # Started over for a number, not for a graph break.
    assert (frames["3/1"]["attempts"], frames["3/1"]["has_graph_break"]) == (2, False)
    assert [key for key, row in frames.items() if row["skipped"]] == ["4/0"]
    assert [key for key, row in frames.items() if row["backward_s"] is not None] == ["0/0"]


def test_compiled_autograd_captures_are_compiled_under_their_own_ids():
    frames = by_id("compiled_autograd")
    assert {key: row["compiled_autograd_id"] for key, row in frames.items()} == {
        "0/0": None,
        "!0/1/0": 0,
        "!1/2/0": 1,
        "0/1": None,
        "!2/3/0": 2,
    }
    only_captured = loaded("compiled_autograd").records.filter(
        pl.col("compiled_autograd_id").is_not_null(), pl.col("frame_id").is_null()
    )
    assert only_captured["compiled_autograd_id"].unique().sort().to_list() == [0, 1, 2]


@pytest.mark.parametrize(("name", "ops"), [("gpt", 94), ("provenance_jit", 6), ("provenance_unusual", 4)])
def test_the_first_graph_has_the_operations_of_the_program(name, ops):
    assert by_id(name)["0/0"]["ops"] == ops


def test_training_and_inference_of_one_model_are_two_compiles():
    assert [row["ops"] for row in by_id("gpt").values()] == [94, 94]
    # Batch norm counts its batches in training only: one operation for each of the four.
    training, inference = by_id("resnet").values()
    assert training["ops"] - inference["ops"] == 4


def test_odd_code_is_named_as_it_is():
    frames = by_id("unusual")
    assert len(frames) == 9
    assert frames["0/0"]["code_name"] == "計算"
    assert frames["0/0"]["code_file"].endswith("my models/模型 ü.py")
    assert frames["1/0"]["code_name"] == "</script><script>alert(1)</script>"
    assert frames["3/0"]["ops"] == 1199
    assert [frames[key]["code_file"].rsplit("/", 1)[-1] for key in ("5/0", "6/0")] == [
        "<generated & 'quoted'>",
        "<string>",
    ]
    assert [key for key, row in frames.items() if row["status"] == "error"] == ["7/0", "8/0"]


def test_two_graphs_of_a_branch_on_data():
    frames = by_id("break_markup")
    assert (frames["4/0"]["ops"], frames["4/0"]["attempts"]) == (2, 1)
    assert [key for key, row in frames.items() if row["has_graph_break"]] == ["0/0", "2/0", "4/0"]
    assert frames["5/0"]["status"] == "ok"


def test_names_that_are_paths_stay_names():
    frames = by_id("hostile_names")
    assert [key for key, row in frames.items() if row["status"] == "break"] == ["0/0", "2/0", "4/0"]
    assert [frames[key]["code_name"] for key in ("0/0", "2/0", "4/0")] == ["a/../../../escaped", "..", "new\nline\ttab"]


def test_a_name_of_300_characters_is_whole():
    frames = by_id("long_name")
    assert frames["0/0"]["code_name"] == "long_" * 60
    assert frames["1/0"]["code_name"] == "torch_dynamo_resume_in_" + "long_" * 60 + "_at_8"


def test_threads_share_a_log_and_keep_their_compiles():
    frames = by_id("threads")
    assert sorted(frames) == ["0/0", "0/1", "1/0", "1/1", "2/0", "2/1"]
    for frame in range(3):
        first, second = frames[f"{frame}/0"], frames[f"{frame}/1"]
        assert first["code_name"] == second["code_name"]
        # `thread_fn_i` has a sine and a product in each of its i + 1 turns.
        turns = int(first["code_name"].removeprefix("thread_fn_")) + 1
        assert [first["ops"], second["ops"]] == [2 * turns, 2 * turns]


def test_a_forked_child_names_what_its_parent_interned():
    frames = loaded("processes").frames
    assert frames["code_line"].to_list() == [22, 22, 13, 13]
    assert all(path.endswith("processes.py") for path in frames["code_file"].to_list())
    [child] = rows("processes", "frames", "compile_id", "user_stack", file=log_number("processes", "s043pn23"))
    assert child[0] == "1/0"
    assert not any("(unknown)" in line for line in child[1])
    # From the line that starts the child, in the parent, to the function.
    assert child[1][0].endswith("processes.py:29 in <module>")
    assert child[1][-1].endswith("processes.py:13 in child")


def test_ninety_compiles_of_a_large_log():
    frames = by_id("large")
    assert len(frames) == 90
    assert [frames[f"{n}/0"]["code_name"] for n in range(54)] == [f"pointwise_{n}" for n in range(54)]
    by_function = Counter(row["code_name"] for row in frames.values())
    assert [by_function[name] for name in ("forward", "shapes", "fused", None)] == [16, 16, 2, 2]
    assert [key for key, row in frames.items() if row["limit_hit"]] == ["54/16", "55/16"]
    assert [key for key, row in frames.items() if row["status"] == "error"] == ["54/16", "55/16"]
    # Only the layers are trained.
    assert Counter(row["code_name"] for row in frames.values() if row["backward_s"] is not None) == {"forward": 16}


def test_a_public_training_log_of_an_early_release():
    frames = by_id("public_recommender")
    assert list(frames) == [*(f"{n}/0" for n in range(15)), "14/1"]
    measured = rows("public_recommender", "metrics", "frame_id", "frame_compile_id", kind="compilation_metrics")
    assert [f"{frame}/{again}" for frame, again in measured] == list(frames)
    assert [key for key, row in frames.items() if row["attempts"] == 2] == ["0/0", "1/0"]
    failed = {key: row["fail_type"] for key, row in frames.items() if row["status"] == "error"}
    assert failed == {f"{n}/0": "BackendCompilerFailed" for n in range(1, 13)}
    assert frames["1/0"]["code_name"] == "_predict"
    assert frames["14/1"]["code_name"] == "rearrange"


def test_a_public_log_that_is_mostly_resume_functions():
    frames = by_id("public_curve_fit")
    assert len(frames) == 54
    assert loaded("public_curve_fit").metrics.height == 54
    resumed = [row for row in frames.values() if row["code_name"].startswith("torch_dynamo_resume_in_")]
    assert len(resumed) > len(frames) / 2
    failed = {key: row["fail_type"] for key, row in frames.items() if row["status"] == "error"}
    assert failed == dict.fromkeys(("28/0", "33/0", "35/0", "36/0", "37/0"), "Unsupported")


@pytest.mark.parametrize("name", ["export_plain", "export_draft", "provenance_aoti"])
def test_what_is_exported_has_no_compile_that_ended(name):
    statuses = values(name, "frames", "status")
    # Strict export takes a compile id from the counter, and logs its metrics without it.
    assert statuses == (["missing"] if name == "export_plain" else [])
    assert values(name, "frames", "unfinished") == [False] * len(statuses)


def test_a_draft_export_is_beside_the_ordinary_log():
    assert rows("export_draft_guard", "frames", "file", "compile_id", "code_name", "status") == [
        (log_number("export_draft_guard", "aeywnh43"), "0/0", "<lambda>", "ok"),
    ]
