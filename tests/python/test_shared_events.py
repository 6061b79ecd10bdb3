"""The tables `events` and `phases` over the large set of traces, held against its index and against the metrics."""

from pathlib import Path

import fasttl
import polars as pl
import pytest

TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces"
NAMES = sorted({path.parent.name for path in TRACES.glob("*/*.log")}) if TRACES.is_dir() else []
COMPILE = ["file", "generation", "frame_id", "frame_compile_id", "compiled_autograd_id"]
# Steps of which the metrics have the time, too: forward and backward in a record each.
MEASURED = {
    "entire_frame_compile": "entire_frame_compile_time_s",
    "backend_compile": "backend_compile_time_s",
    "inductor_compile": "inductor_compile_time_s",
    "code_gen": "code_gen_time_s",
}

pytestmark = pytest.mark.shared


def state(name):
    return pl.col("state").cast(pl.String) == name


def of(table, name):
    return table.filter(pl.col("name").cast(pl.String) == name)


@pytest.mark.parametrize("name", NAMES)
def test_every_event_is_in_one_row(name):
    trace = fasttl.load(TRACES / name)
    # The disk was full in the middle of an event of `killed`.
    broken = 1 if name == "killed" else 0
    records = trace.records.filter(pl.col("kind").cast(pl.String) == "chromium_event").select("file", "offset")
    starts = trace.events.select("file", "offset")
    ends = trace.events.filter(state("span")).select("file", offset="end_offset")
    rows = pl.concat([starts, ends])
    assert not rows.is_duplicated().any()
    assert rows.join(records, on=["file", "offset"], how="semi").height == rows.height == records.height - broken


@pytest.mark.parametrize("name", NAMES)
def test_times_are_those_of_the_metrics(name):
    trace = fasttl.load(TRACES / name)
    for step, field in MEASURED.items():
        said = pl.col(field).drop_nulls()
        metrics = trace.metrics.group_by(COMPILE).agg(said.sum(), told=said.len()).filter(pl.col("told") > 0)
        # Metrics of a strict export have no compile id, though its steps have.
        metrics = metrics.filter(~pl.all_horizontal(pl.col(COMPILE[2:]).is_null()))
        both = metrics.join(of(trace.phases, step), on=COMPILE, nulls_equal=True, how="left")
        assert both["total_s"].null_count() == 0
        assert (both[field] - both["total_s"]).abs().fill_null(0).max() in (None, pytest.approx(0, abs=1e-3))


@pytest.mark.parametrize("name", NAMES)
def test_own_times_make_up_the_whole(name):
    events = fasttl.load(TRACES / name).events
    assert (events["self_s"] >= 0).all()
    assert (events["self_s"] <= events["duration_s"]).all()
    # What lies in no span that has an end.
    lone = events.join(events, left_on=["file", "parent"], right_on=["file", "offset"], how="left", suffix="_around")
    outermost = lone.filter(pl.col("parent").is_null() | pl.col("duration_s_around").is_null())
    assert outermost["duration_s"].sum() == pytest.approx(events["self_s"].sum(), abs=1e-6)


def test_six_compiles_of_three_threads_have_a_tree_each():
    events = fasttl.load(TRACES / "threads").events
    roots = of(events, "dynamo")
    assert sorted(roots["compile_id"].cast(pl.String)) == ["0/0", "0/1", "1/0", "1/1", "2/0", "2/1"]
    assert (roots["depth"] == 0).all()
    assert set(events.filter(pl.col("parent").is_null())["name"].cast(pl.String)) == {"dynamo"}
    ids = events.select("offset", id=pl.col("compile_id").cast(pl.String))
    inner = events.filter(pl.col("parent").is_not_null()).join(ids, left_on="parent", right_on="offset")
    assert (inner["compile_id"].cast(pl.String) == inner["id"]).all()


def test_a_killed_compile_tells_where_it_was():
    trace = fasttl.load(TRACES / "killed_between")
    # The backend killed the process.
    open_ones = trace.events.filter(state("unfinished"))
    assert set(open_ones["compile_id"].cast(pl.String)) == {"1/0"}
    assert open_ones.select(pl.col("name").cast(pl.String), "depth").rows() == [
        ("dynamo", 0),
        ("entire_frame_compile", 1),
        ("compile_attempt_0", 2),
        ("backend_compile", 3),
    ]
    assert open_ones["duration_s"].is_null().all()
    assert of(trace.phases.filter(frame_id=1), "dynamo").select("count", "total_s", "unfinished").rows() == [
        (1, None, 1)
    ]


def test_training_has_its_steps():
    trace = fasttl.load(TRACES / "train_mlp")
    assert of(trace.events, "dynamo").height == 7
    # Two tries: the restart and what came after it.
    tries = trace.phases.filter(pl.col("name").cast(pl.String).str.starts_with("compile_attempt_"), frame_id=3)
    assert tries.select(pl.col("compile_id").cast(pl.String), pl.col("name").cast(pl.String)).rows() == [
        ("3/0", "compile_attempt_0"),
        ("3/1", "compile_attempt_0"),
        ("3/1", "compile_attempt_1"),
        ("3/2", "compile_attempt_0"),
    ]
    # One backward graph, and an Inductor compile for each of the five pieces of code.
    backward = of(trace.phases, "entire_backward_compile")
    assert backward.select(pl.col("compile_id").cast(pl.String), "count").rows() == [("0/0", 1)]
    assert of(trace.phases, "inductor_compile")["count"].sum() == 5


def test_every_name_is_known():
    for name in NAMES:
        events = fasttl.load(TRACES / name).events
        assert events["phase"].null_count() == 0, name
