"""Ranks, processes, runs and threads of real jobs: which logs there are, and what each of them has.

How ranks compare stands in `test_shared_ranks.py`; here is what the tables say of each one.
"""

import json
from collections import Counter

import pytest
from real_traces import folders, loaded, log_number, rows, values

pytestmark = pytest.mark.shared

# From the table of the programs: how many ranks each was started with.
RANKS = {
    "dist_backward": 2,
    "dist_collectives": 4,
    "dist_crash": 3,
    "dist_ddp": 2,
    "dist_diverge_break": 4,
    "dist_diverge_cache": 3,
    "dist_diverge_order": 4,
    "dist_diverge_shape": 4,
    "dist_exec_order": 2,
    "dist_fsdp2": 2,
    "dist_late_init": 2,
    "dist_many": 8,
    "dist_restart": 2,
    "torch214_dist_diverge_order": 4,
}
# A log is one process, but for these.
LOGS = {"dist_restart": 4, "processes": 3, "export_draft_guard": 2}


@pytest.mark.parametrize("name", folders())
def test_each_log_has_its_rank(name):
    ranks = values(name, "files", "rank")
    expected = list(range(RANKS[name])) if name in RANKS else [None]
    times = LOGS.get(name, len(expected)) // len(expected)
    assert ranks == [rank for rank in expected for _ in range(times)]


@pytest.mark.parametrize("name", folders())
def test_each_compile_has_the_rank_of_its_log(name):
    ranks = dict(rows(name, "files", "file", "rank"))
    for table in (
        "frames",
        "recompiles",
        "graph_breaks",
        "failures",
        "cache",
        "graphs",
        "tensors",
        "missing",
        "events",
    ):
        assert all(rank == ranks[file] for file, rank in set(rows(name, table, "file", "rank"))), table


@pytest.mark.parametrize("name", folders())
def test_each_job_is_one_run_but_for_the_restarted(name):
    runs = set(values(name, "files", "run"))
    assert len(runs) == (2 if name == "dist_restart" and len(runs) == 2 else 1)


def test_a_restarted_job_has_two_logs_of_each_rank():
    key = ("rank", "run", "restart")
    of_log = {file: tuple(rest) for file, *rest in rows("dist_restart", "files", "file", *key)}
    found = {}
    for file, name in rows("dist_restart", "frames", "file", "code_name"):
        found.setdefault(of_log[file], []).append(name)
    # ATTEMPT=1 fails after `load`; ATTEMPT=2 goes on.
    assert sorted(found.values()) == [["load"], ["load"], ["load", "train"], ["load", "train"]]
    for rank in (0, 1):
        ordered = [names for (of, *_), names in sorted(found.items()) if of == rank]
        assert ordered == [["load"], ["load", "train"]]
    # The second start is another process, and later.
    starts = rows("dist_restart", "files", "rank", "process_id", "first_time")
    assert len({process for _, process, _ in starts}) == 4
    assert all(starts[at][2] < starts[at + 1][2] for at in (0, 2))


def test_what_is_compiled_before_the_group_is_made_has_no_rank_of_its_own():
    trace = loaded("dist_late_init")
    assert not any("rank_" in path for path in trace.files["path"].to_list())
    for record in trace.records.filter(kind="dynamo_start").to_dicts():
        head = json.loads(trace.metadata(record))
        assert ("rank" in head) == (record["frame_id"] == 1)
        # The log has a rank all the same: that of its later records.
        assert record["rank"] == record["file"]
    assert rows("dist_late_init", "frames", "rank", "compile_id", "code_name") == [
        (0, "0/0", "before"),
        (0, "1/0", "after"),
        (1, "0/0", "before"),
        (1, "1/0", "after"),
    ]


def test_parent_and_children_are_logs_of_their_own():
    of_log = {}
    for file, compile_id, name in rows("processes", "frames", "file", "compile_id", "code_name"):
        of_log.setdefault(file, []).append((compile_id, name))
    assert of_log == {
        log_number("processes", "34sknbi7"): [("0/0", "parent"), ("0/1", "parent")],
        log_number("processes", "6jp44_9z"): [("0/0", "child")],
        # The forked child goes on with its parent's counters.
        log_number("processes", "s043pn23"): [("1/0", "child")],
    }
    assert len(set(values("processes", "files", "process_id"))) == 3


def test_two_logs_of_one_process():
    assert len(set(values("export_draft_guard", "files", "process_id"))) == 1
    assert sorted(values("export_draft_guard", "files", "restart")) == [0, 1]


def test_another_file_of_the_folder_is_no_log():
    trace = loaded("logs_to_file")
    assert trace.files.height == 1
    assert [path.rsplit("/", 1)[-1] for path, _ in trace.skipped] == ["torch_logs.txt"]


def test_three_breaks_and_one_model_on_each_rank_of_ddp():
    for rank in (0, 1):
        frames = rows("dist_ddp", "frames", "compile_id", "code_name", "status", "has_graph_break", rank=rank)
        assert frames == [
            ("0/0", "inner", "empty", True),
            ("1/0", "helper", "empty", True),
            ("2/0", "__init__", "empty", True),
            ("3/0", "torch_dynamo_resume_in___init___at_105", "empty", False),
            ("4/0", "forward", "ok", False),
        ]
        stages = Counter(values("dist_ddp", "graphs", "stage", rank=rank, frame_id=4))
        assert stages == {
            "dynamo": 1,
            "ddp split": 1,
            "ddp part": 3,
            "aot joint": 3,
            "aot forward": 3,
            "aot backward": 3,
        }
        # The backward of each of the three pieces is compiled for itself.
        assert len(values("dist_ddp", "metrics", "frame_id", rank=rank, kind="bwd_compilation_metrics")) == 3


def test_fsdp_falls_back_and_compiles_each_block():
    for rank in (0, 1):
        frames = rows("dist_fsdp2", "frames", "compile_id", "code_line", "status", "has_graph_break", rank=rank)
        assert frames == [("0/0", 22, "error", True), ("1/0", 13, "ok", False), ("1/1", 13, "ok", False)]
        backwards = rows("dist_fsdp2", "graphs", "compile_id", rank=rank, stage="aot backward")
        assert backwards == [("1/0",), ("1/1",)]


def test_a_rank_that_dies_and_one_that_is_terminated():
    ends = rows("dist_crash", "frames", "rank", "compile_id", "status", "unfinished")
    assert ends == [
        (0, "0/0", "ok", False),
        (0, "1/0", "ok", False),
        (0, "2/0", "missing", True),
        (1, "0/0", "ok", False),
        (1, "1/0", "error", False),
        (2, "0/0", "ok", False),
        (2, "1/0", "ok", False),
        (2, "2/0", "ok", False),
    ]
    assert set(values("dist_crash", "files", "state")) == {"complete"}


def test_collectives_of_each_rank_in_order():
    def ops(name, **where):
        return [op.split(".")[3] for op in values(name, "collectives", "op", is_wait=False, **where)]

    for rank in range(4):
        assert ops("dist_collectives", rank=rank, frame_id=0) == ["all_reduce_", "all_gather_into_tensor"]
        assert ops("dist_collectives", rank=rank, frame_id=1) == ["reduce_scatter_tensor"]
        for name in ("dist_diverge_order", "torch214_dist_diverge_order"):
            order = (
                ["all_gather_into_tensor", "all_reduce_"] if rank == 1 else ["all_reduce_", "all_gather_into_tensor"]
            )
            assert ops(name, rank=rank) == order
    for rank in (0, 1):
        assert ops("dist_backward", rank=rank, is_backward=False) == ["all_reduce_", "all_gather_into_tensor"]
        assert ops("dist_backward", rank=rank, is_backward=True) == ["all_reduce_"] * (rank + 1)


def test_estimates_of_a_processor_without_a_model_are_zero():
    runtimes = loaded("dist_collectives").runtimes
    assert runtimes["estimated_ns"].unique().to_list() == [0.0]
    assert len(rows("dist_collectives", "runtimes", "op", rank=0, type="collective")) == 3


def test_each_rank_records_what_it_ran():
    functions = {
        (rank, key): name for rank, key, name in rows("dist_exec_order", "frames", "rank", "compile_id", "code_name")
    }
    for rank, order in ((0, ["first", "second", "third", "first"]), (1, ["first", "third", "second", "first"])):
        ran = values("dist_exec_order", "exec_order", "compile_id", rank=rank)
        assert ran == ["0/0", "1/0", "2/0", "0/0"]
        assert [functions[rank, key] for key in ran] == order


def test_eight_ranks_alike():
    for rank in range(8):
        assert rows("dist_many", "frames", "compile_id", "code_name", "status", "ops", rank=rank) == [
            ("0/0", "loss_fn", "ok", 3),
            ("1/0", "average", "ok", 2),
        ]
        backward = values("dist_many", "frames", "backward_s", rank=rank)
        assert backward[0] > 0
        assert backward[1] is None


def test_ranks_with_another_shape_or_graph():
    shapes = {}
    for rank, key in rows("dist_diverge_shape", "frames", "rank", "compile_id"):
        shapes.setdefault(rank, []).append(key)
    assert shapes == {0: ["0/0", "1/0"], 1: ["0/0", "1/0"], 2: ["0/0", "0/1", "1/0"], 3: ["0/0", "1/0"]}
    assert rows("dist_diverge_break", "frames", "rank", "compile_id", "ops") == [
        (0, "0/0", 6),
        (1, "0/0", 3),
        (1, "1/0", 3),
        (2, "0/0", 6),
        (3, "0/0", 7),
    ]
    [functions] = [dict(rows("dist_diverge_order", "frames", "rank", "code_name"))]
    assert functions == {0: "reduce_first", 1: "gather_first", 2: "reduce_first", 3: "reduce_first"}
    assert dict(rows("torch214_dist_diverge_order", "frames", "rank", "code_name")) == functions
