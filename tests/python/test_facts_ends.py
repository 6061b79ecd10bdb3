"""Logs that end early: what was under way, what is known all the same, and what is not there."""

from functools import cache

import fasttl
import pytest
from real_traces import TRACES, folders, loaded, rows, values

pytestmark = pytest.mark.shared

# Compiles that a signal ended; the disk was full in `killed`.
UNFINISHED = {
    "killed": [(None, "1/0", "first", 34)],
    "killed_between": [(None, "1/0", "doomed", 17)],
    "dist_crash": [(0, "2/0", "late", 28)],
}


@pytest.mark.parametrize("name", folders())
def test_only_what_was_killed_is_unfinished(name):
    found = rows(name, "frames", "rank", "compile_id", "code_name", "code_line", unfinished=True)
    assert found == UNFINISHED.get(name, [])


@pytest.mark.parametrize("name", folders())
def test_only_the_log_on_a_full_disk_is_truncated(name):
    states = set(values(name, "files", "state"))
    assert states == ({"truncated"} if name == "killed" else {"complete"})


@pytest.mark.parametrize("name", sorted(UNFINISHED))
def test_open_spans_show_where_it_was(name):
    for rank, compile_id, *_ in UNFINISHED[name]:
        open_spans = values(name, "phases", "name", rank=rank, compile_id=compile_id)
        begun = [
            step
            for step, unfinished in rows(name, "phases", "name", "unfinished", rank=rank, compile_id=compile_id)
            if unfinished
        ]
        assert begun[:2] == ["dynamo", "entire_frame_compile"]
        assert "backend_compile" in open_spans


def test_the_signal_came_inside_of_the_backend():
    unfinished = values("killed_between", "phases", "unfinished", compile_id="1/0", name="backend_compile")
    assert unfinished == [1]
    # The graph was handed over, and nothing came back.
    stages = values("killed_between", "graphs", "stage", frame_id=1)
    assert stages == ["dynamo"]


def test_the_cut_record_is_the_last():
    trace = loaded("killed")
    [problem] = trace.problems.to_dicts()
    assert (problem["kind"], problem["severity"]) == ("cut short", "error")
    last = trace.records.sort("offset").row(-1, named=True)
    assert last["offset"] <= problem["offset"] < last["offset"] + last["length"]
    assert last["compile_id"] == "1/0"
    assert last["payload_offset"] is not None


def test_what_was_whole_before_the_cut_is_there():
    assert rows("killed", "frames", "compile_id", "code_name", "status") == [
        ("0/0", "warmup", "ok"),
        ("1/0", "first", "missing"),
    ]
    assert values("killed", "frames", "aot_cache", compile_id="1/0") == ["miss"]
    assert loaded("killed_between").problems.is_empty()


def missing(name, compile_id):
    return dict(rows(name, "missing", "name", "reason", compile_id=compile_id))


def test_what_a_killed_compile_lacks_has_its_reason():
    between = missing("killed_between", "1/0")
    assert between["compilation_metrics"] == "the log ends before the compile did"
    assert between["dynamo_cpp_guards_str"] == "the log ends before the compile did"
    cut = missing("killed", "1/0")
    assert cut["compilation_metrics"] == "the log is cut before the compile had ended"


@pytest.mark.parametrize(
    ("name", "compile_id", "reason"),
    [
        ("killed", "1/0", "the log is cut before the compile had ended"),
        ("fail_inductor", "0/2", "the compile failed before"),
        ("public_recommender", "1/0", "the compile failed before"),
    ],
)
@pytest.mark.xfail(
    strict=True,
    reason="missing says that the graph has no collective, though the compile ended before it could log a schedule",
)
def test_what_did_not_end_does_not_tell_of_collectives(name, compile_id, reason):
    assert missing(name, compile_id)["inductor_collective_schedule"] == reason


@pytest.mark.parametrize("name", ["hello", "fail_backend", "large", "dist_many"])
def test_compiles_that_ended_do_not_lack_their_metrics(name):
    assert values(name, "missing", "compile_id", name="compilation_metrics") == []


@pytest.mark.parametrize("name", ["recompiles", "torch214_recompiles", "large"])
def test_a_refused_call_lacks_its_start_for_a_reason(name):
    refused = rows(name, "missing", "compile_id", "reason", name="dynamo_start")
    assert {reason for _, reason in refused} == {
        "the call was refused at the recompile limit, so that nothing was compiled",
    }
    assert [key for key, _ in refused] == values(name, "frames", "compile_id", limit_hit=True)


@pytest.mark.xfail(
    strict=True,
    reason="metrics of a strict export have no compile id (the log has them); missing says that code from a package "
    "has none, and of the AOT graphs that the backend does not use AOTAutograd",
)
def test_an_export_is_not_taken_for_a_package():
    reasons = missing("export_plain", "0/0")
    assert loaded("export_plain").metrics.height == 1
    assert "export" in reasons["compilation_metrics"]
    assert "export" in reasons["aot graphs"]


@pytest.mark.parametrize("name", ["public_curve_fit", "public_recommender"])
@pytest.mark.xfail(
    strict=True,
    reason="PyTorch 2.6 has no inductor_runtime_and_tensor_meta (it came with 2.9) and no before_pre_grad_graph (2.8); "
    "missing says that LOG_TLPARSE=1 would have logged the first, and does not know why the second is not there",
)
def test_an_early_release_does_not_lack_what_came_later(name):
    named = set(values(name, "missing", "name"))
    assert not named & {"inductor_runtime_and_tensor_meta", "before_pre_grad_graph"}


@cache
def whole_log(name):
    [path] = (TRACES / name).glob("*.log")
    return path.read_bytes()


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_real_log_that_is_cut_anywhere_keeps_what_came_before(share, tmp_path):
    whole = whole_log("graph_breaks")
    cut = tmp_path / "dedicated_log_torch_trace_cut00000.log"
    cut.write_bytes(whole[: int(len(whole) * share)])
    trace = fasttl.load(cut)
    full = loaded("graph_breaks").graph_breaks
    kept = trace.graph_breaks
    assert 0 < kept.height <= full.height
    # The last of them may be the record that was cut.
    columns = ["compile_id", "reason", "break_line"]
    assert kept[:-1].select(columns).rows() == full[: kept.height - 1].select(columns).rows()
    assert trace.frames.filter(unfinished=True).height <= 2
