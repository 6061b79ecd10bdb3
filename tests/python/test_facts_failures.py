"""Which compiles of real programs failed, with what, where and how far they had come.

The classes and messages are those that the programs raise. A trace that is not named here has no failure.
"""

import pytest
from real_traces import folders, listed, listed_folders, loaded, log_number, rows, values

pytestmark = pytest.mark.shared

BACKEND = "BackendCompilerFailed"
LIMIT = ("limit", "Unsupported", None, None, None)

# compile id: event, class, stage, file name and line that the log names.
FAILURES = {
    "dist_crash": [("1/0", "failure", BACKEND, "backend", None, None)],
    # A row for each rank.
    "dist_fsdp2": [("0/0", "failure", "Unsupported", "dynamo", "_fsdp_common.py", 30)] * 2,
    "fail_backend": [("0/0", "failure", BACKEND, "backend", None, None)],
    "fail_fullgraph": [
        ("0/0", "failure", "Unsupported", "dynamo", "fail_fullgraph.py", 8),
        ("1/0", "failure", "Unsupported", "dynamo", "fail_fullgraph.py", 14),
        ("2/0", "failure", "Unsupported", "dynamo", "fail_fullgraph.py", 23),
        ("3/0", "failure", "TorchRuntimeError", "dynamo", "fail_fullgraph.py", 29),
    ],
    "fail_inductor": [
        ("0/0", "failure", "TorchRuntimeError", "dynamo", "custom_ops.py", 863),
        ("0/1", "failure", "TorchRuntimeError", "dynamo", "custom_ops.py", 863),
        ("0/2", "failure", "InductorError", "after aot", None, None),
    ],
    "large": [("54/16", *LIMIT), ("55/16", *LIMIT)],
    "public_curve_fit": [
        ("28/0", "failure", "Unsupported", "dynamo", "_minpack_py.py", 38),
        ("33/0", "failure", "Unsupported", "dynamo", "blas.py", 389),
        ("35/0", "failure", "Unsupported", "dynamo", "blas.py", 346),
        ("36/0", "failure", "Unsupported", "dynamo", "blas.py", 304),
        ("37/0", "failure", "Unsupported", "dynamo", "_minpack_py.py", 495),
    ],
    "public_recommender": [(f"{n}/0", "failure", BACKEND, "after aot", None, None) for n in range(1, 13)],
    "recompiles": [("0/8", *LIMIT)],
    "torch214_recompiles": [("0/8", *LIMIT)],
    "unusual": [
        ("7/0", "failure", "Unsupported", "dynamo", "unusual.py", 70),
        ("8/0", "failure", BACKEND, "backend", None, None),
    ],
}

# What the program raises, as it stands in the message.
MESSAGES = {
    ("dist_crash", "1/0"): "MemoryError: out of memory on rank 1",
    ("fail_backend", "0/0"): "RuntimeError: this backend never works",
    ("fail_fullgraph", "0/0"): "Call to `torch._dynamo.graph_break()`",
    ("fail_fullgraph", "1/0"): "Data-dependent branching",
    ("fail_fullgraph", "2/0"): "three rows are not allowed: <b>bad & ugly</b>",
    ("fail_fullgraph", "3/0"): "[3, 3] X [5, 5]",
    ("fail_inductor", "0/0"): "demo::no_fake",
    ("fail_inductor", "0/1"): "fake kernel is broken",
    ("fail_inductor", "0/2"): "NotImplementedError: no lowering for you",
    (
        "unusual",
        "8/0",
    ): "RuntimeError: </script><script>alert(1)</script> 日本語 🚀\nline two\r\nline three\x0b\x0c\x85 end",
    ("recompiles", "0/8"): "recompile limit",
}


@pytest.mark.parametrize("name", folders())
def test_the_failures_are_those_of_the_program(name):
    columns = ("frame_id", "frame_compile_id", "event", "type", "stage", "user_file", "user_line")
    found = [
        (f"{frame}/{again}", event, error, stage, file and file.rsplit("/", 1)[-1], line)
        for frame, again, event, error, stage, file, line in rows(name, "failures", *columns)
        if event != "restart"
    ]
    assert found == FAILURES.get(name, [])


@pytest.mark.parametrize("name", folders())
def test_frames_name_the_same_failures(name):
    failed = rows(name, "frames", "compile_id", "fail_type", status="error")
    assert failed == [(row[0], row[2]) for row in FAILURES.get(name, [])]


@pytest.mark.parametrize(("name", "compile_id"), sorted(MESSAGES))
def test_the_message_is_the_programs(name, compile_id):
    [(reason, row)] = [(row["reason"], row) for row in loaded(name).failures.filter(compile_id=compile_id).to_dicts()]
    assert MESSAGES[name, compile_id] in reason
    assert reason == values(name, "frames", "fail_reason", compile_id=compile_id, status="error")[0]
    assert row["advice"].endswith(".")


@pytest.mark.parametrize("name", listed_folders())
def test_each_restart_of_the_index_is_a_row(name):
    if name == "large":
        assert values(name, "failures", "compile_id", event="restart") == []
        return
    expected = [
        (log_number(name, ending), compile_id, compile_.restart)
        for ending, compiles in listed(name).items()
        for compile_id, compile_ in compiles.items()
        if compile_.restart is not None
    ]
    columns = ("file", "frame_id", "frame_compile_id", "reason")
    found = [
        (file, f"{frame}/{again}", reason.split("\n")[0].removeprefix("<class '").removesuffix("'>"))
        for file, frame, again, reason in rows(name, "failures", *columns, event="restart")
    ]
    assert sorted(found) == sorted(expected)
    # A restart is no fault: there is nothing to mend.
    assert set(values(name, "failures", "advice", event="restart")) <= {None}


def test_nine_restarts_of_five_breaks():
    restarts = rows("graph_breaks", "failures", "frame_id", "type", "lost_s", event="restart")
    # Frame 3 breaks without being started over.
    assert [row[0] for row in restarts] == [0, 1, 2, 6, 7, 9, 10, 12, 13]
    assert {row[1] for row in restarts} == {None}
    assert all(row[2] > 0 for row in restarts)


@pytest.mark.parametrize(
    "name", ["fail_backend", "fail_fullgraph", "fail_inductor", "unusual", "dist_crash", "dist_fsdp2"]
)
def test_each_failure_leads_to_its_traceback(name):
    for row in loaded(name).failures.filter(event="failure").to_dicts():
        record = {"file": row["file"], "offset": row["traceback_offset"]}
        assert '"name": "dynamo_error"' in loaded(name).metadata(record)
        assert loaded(name).text(record).startswith("Traceback (most recent call last):")
        assert row["lost_s"] > 0
        assert row["suppressed"] is False


def test_each_failure_of_one_function_is_told_apart():
    assert rows("fail_inductor", "failures", "code_name", "code_line", "stage") == [
        ("f", 39, "dynamo"),
        ("f", 39, "dynamo"),
        ("f", 39, "after aot"),
    ]
    # A compile after a failure has no entry that could turn its call away.
    reasons = values("fail_inductor", "missing", "reason", name="recompile_reasons")
    assert len(reasons) == 2
    assert all("earlier compiles of the frame failed" in reason for reason in reasons)


def test_a_failure_of_the_framework_is_not_the_users():
    assert values("dist_fsdp2", "failures", "owner") == ["framework", "framework"]
    assert values("fail_fullgraph", "failures", "owner") == ["user"] * 4


def test_the_rank_that_failed_is_named():
    assert rows("dist_crash", "failures", "rank", "code_name", "code_line") == [(1, "step", 23)]


def test_a_public_log_fails_for_its_compiler():
    reasons = values("public_recommender", "failures", "reason", event="failure")
    assert len(reasons) == 12
    assert all(reason.startswith("backend='inductor' raised:\nCalledProcessError: ") for reason in reasons)


@pytest.mark.parametrize("name", ["hello", "cache_cold", "gpt", "dist_many", "killed", "killed_between"])
def test_a_program_that_does_not_fail_has_no_failure(name):
    assert loaded(name).failures.is_empty()
