"""Graphs, tensors and shapes of real programs: how many of each stage, which operations, which sizes."""

import json
from collections import Counter

import pytest
from real_traces import counts, folders, listed_folders, loaded, rows, values

pytestmark = pytest.mark.shared

STAGES = {
    "dynamo_output_graph": "dynamo",
    "aot_joint_graph": "aot joint",
    "aot_forward_graph": "aot forward",
    "aot_backward_graph": "aot backward",
    "aot_inference_graph": "aot inference",
    "compiled_autograd_graph": "compiled autograd",
    "optimize_ddp_split_graph": "ddp split",
    "optimize_ddp_split_child": "ddp part",
}
NAMED_STAGES = {
    "before_pre_grad_graph": "before pre grad",
    "after_pre_grad_graph": "after pre grad",
    "before_joint_graph": "before joint",
    "after_joint_graph": "after joint",
    "before_post_grad_graph": "before post grad",
}


@pytest.mark.parametrize("name", listed_folders())
def test_as_many_graphs_of_each_stage_as_in_the_index(name):
    stages = Counter(values(name, "graphs", "stage"))
    kinds, artifacts = counts(name, "Kinds"), counts(name, "Artifacts")
    for kind, stage in STAGES.items():
        assert stages[stage] == kinds[kind], stage
    for artifact, stage in NAMED_STAGES.items():
        assert stages[stage] == artifacts[artifact], stage
    # From a cache it is a kind of its own.
    assert stages["post grad"] == artifacts["inductor_post_grad_graph"] + kinds["inductor_post_grad_graph"]


@pytest.mark.parametrize("name", listed_folders())
def test_as_many_tensors_as_in_the_index(name):
    assert loaded(name).tensors.height == counts(name, "Kinds")["describe_tensor"]


# Metrics do not count what stands in inner graphs: those of an autograd function.
WITH_INNER_GRAPHS = ("dist_backward",)


@pytest.mark.parametrize("name", [name for name in folders() if name not in WITH_INNER_GRAPHS])
def test_the_graph_of_dynamo_has_the_operations_that_the_metrics_count(name):
    key = ("file", "generation", "frame_id", "frame_compile_id", "compiled_autograd_id")
    counted = {tuple(row): ops for *row, ops in rows(name, "frames", *key, "ops") if ops is not None}
    # The last try is the one that the metrics are of; reading an attribute is no operation to them.
    graphs = {}
    for *compile_, ops in rows(name, "graphs", *key, "ops", stage="dynamo"):
        numbers = Counter(json.loads(ops))
        graphs[tuple(compile_)] = numbers.total() - numbers["getattr"]
    # A failed compile, an export and a cut log do not have the number.
    assert {key: ops for key, ops in graphs.items() if key in counted} == {
        key: ops for key, ops in counted.items() if key in graphs
    }


def operations(name, **where):
    [ops] = values(name, "graphs", "ops", **where)
    return json.loads(ops)


def test_the_operations_are_those_of_the_source():
    assert operations("hello", stage="dynamo") == {"torch.sin": 1, "torch.cos": 1, "*": 1, "+": 1}
    [graph] = rows("hello", "graphs", "nodes", "placeholders", "outputs", stage="dynamo")
    assert graph == (4, 2, 1)
    assert len(values("hello", "graphs", "stage")) == 8


def test_sizes_are_those_of_the_calls():
    assert rows("hello", "tensors", "source", "size", "dtype") == [
        ("L['x']", ["8", "16"], "torch.float32"),
        ("L['y']", ["8", "16"], "torch.float32"),
    ]
    for name in ("recompiles", "torch214_recompiles"):
        sizes = rows(name, "tensors", "compile_id", "size", frame_id=0)
        assert sizes == [(f"0/{n}", [str(n + 2), "3"]) for n in range(8)]
    ranks = rows("dist_diverge_shape", "tensors", "rank", "size", frame_id=0, source="L['x']")
    batches = {}
    for rank, size in ranks:
        batches.setdefault(rank, []).append(size[0])
    assert batches[0] == batches[1] == batches[3] == ["8"]
    assert batches[2][0] == "8"


def test_a_marked_dimension_is_named():
    marked = rows("dynamic_shapes", "tensors", "source", "dynamic_dims", frame_id=0)
    assert dict(marked)["L['x']"] == ["0"]
    assert dict(marked)["L['y']"] in (None, [])


def test_all_seven_compiles_of_dynamic_shapes_are_ok():
    assert rows("dynamic_shapes", "frames", "compile_id", "code_name", "code_line", "status") == [
        ("0/0", "marked", 10, "ok"),
        ("1/0", "automatic", 22, "ok"),
        ("1/1", "automatic", 22, "ok"),
        ("2/0", "unbacked", 31, "ok"),
        ("3/0", "data_dependent_size", 42, "ok"),
        ("4/0", "specialized", 51, "ok"),
        ("5/0", "inductor_dynamic", 59, "ok"),
    ]


def heads(name, kind):
    """Give the fields of the records of a kind, with their compile ids."""
    trace = loaded(name)
    found = trace.records.filter(kind=kind).to_dicts()
    return [(record["compile_id"], json.loads(trace.metadata(record))[kind]) for record in found]


def test_symbols_of_dynamic_shapes():
    [(compile_id, specialized)] = heads("dynamic_shapes", "symbolic_shape_specialization")
    assert (compile_id, specialized["value"]) == ("4/0", "3")
    unbacked = Counter(compile_id for compile_id, _ in heads("dynamic_shapes", "create_unbacked_symbol"))
    assert set(unbacked) == {"2/0", "3/0"}
    assert unbacked.total() == 5
    backed = [(compile_id, symbol["val"]) for compile_id, symbol in heads("dynamic_shapes", "create_symbol")]
    assert len(backed) == 8
    assert ("0/0", "8") in backed
    assert ("1/1", "5") in backed


def test_compiled_autograd_has_a_graph_for_each_capture():
    captures = values("compiled_autograd", "graphs", "compiled_autograd_id", stage="compiled autograd")
    assert captures == [0, 1, 2]
    assert len(values("compiled_autograd", "graphs", "stage", stage="compiled autograd, before reordering")) == 3


def test_training_has_three_graphs_and_inference_one():
    for name in ("gpt", "resnet"):
        by_compile = {}
        for compile_id, stage in rows(name, "graphs", "compile_id", "stage"):
            if stage.startswith("aot "):
                by_compile.setdefault(compile_id, []).append(stage)
        assert sorted(by_compile["0/0"]) == ["aot backward", "aot forward", "aot joint"]
        assert by_compile["0/1"] == ["aot inference"]
    assert values("gpt", "graphs", "nodes", stage="dynamo") == [94, 94]


def test_only_the_loss_is_differentiated():
    assert values("train_mlp", "graphs", "compile_id", stage="aot backward") == ["0/0"]
    inferences = rows("train_mlp", "graphs", "frame_id", "frame_compile_id", stage="aot inference")
    # 3/1 is started over, after its graph was handed on.
    assert set(inferences) == {(3, 0), (3, 1), (3, 2)}
    assert len(inferences) == 4


def test_kernels_of_forward_and_backward_are_told_apart():
    trace = loaded("provenance_jit")
    mappings = trace.artifacts.filter(name="inductor_provenance_tracking_node_mappings").to_dicts()
    forward, backward = (json.loads(trace.text(row)) for row in mappings)
    assert len(forward["cppCodeToPost"]) == 4
    kernels = [name for name in forward["cppCodeToPost"] if name.startswith("cpp_")]
    assert len(kernels) == 2
    # Kernels of the backward are not tied to anything.
    assert list(backward) == ["version"]


def test_code_of_aot_inductor_has_no_compile_id():
    assert set(values("provenance_aoti", "records", "compile_id")) == {None}
    dumps = rows("provenance_aoti", "artifacts", "name", kind="graph_dump")
    assert sorted(dumps) == [("inductor_aot_kernel_code",), ("inductor_aot_wrapper_code",)]
    names = values("provenance_aoti", "artifacts", "name")
    assert names.count("inductor_provenance_tracking_node_mappings") == 1


def test_markup_in_sources_is_kept():
    trace = loaded("provenance_unusual")
    assert trace.frames["code_file"].to_list()[0].endswith("/src <b>dir/f.py")
    [graph] = trace.artifacts.filter(kind="dynamo_output_graph").to_dicts()
    assert "</script><script>alert(1)</script> </pre><b>日本語 🚀</b>" in trace.text(graph)


def test_what_exports_met():
    assert counts("export_plain", "Kinds")["guard_added"] == len(heads("export_plain", "guard_added")) == 19
    assert len(heads("export_plain", "exported_program")) == 2
    assert len(heads("export_plain", "export")) == 3
    # The program's dimension n is 8, and its code asks for that.
    [(_, specialized)] = heads("export_plain", "symbolic_shape_specialization")
    assert specialized["value"] == "8"
    [(_, missing)] = heads("export_draft", "missing_fake_kernel")
    assert missing["op"].startswith("demo.missing")
    [(_, mismatched)] = heads("export_draft", "mismatched_fake_kernel")
    assert mismatched["op"].startswith("demo.mismatched")
    assert "3" in mismatched["reason"]
    assert "2" in mismatched["reason"]
    [(_, guarded)] = heads("export_draft", "propagate_real_tensors_provenance")
    assert guarded["expr"] == "u0 > 2"
    [(_, guarded)] = heads("export_draft_guard", "propagate_real_tensors_provenance")
    assert guarded["expr"] == "Eq(u0, 4)"


def test_public_logs():
    stages = Counter(values("public_curve_fit", "graphs", "stage"))
    assert stages["dynamo"] == 24
    assert loaded("public_recommender").graphs.filter(stage="dynamo").height == 15
