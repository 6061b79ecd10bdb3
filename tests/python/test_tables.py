"""The tables of a trace: their shape, their types, and facts known of the example."""

import hashlib

import fasttl
import polars as pl
import pyarrow as pa
import pytest

TABLES = (
    "files",
    "records",
    "problems",
    "frames",
    "metrics",
    "artifacts",
    "graphs",
    "cache",
    "events",
    "phases",
    "collectives",
    "runtimes",
    "exec_order",
    "tensors",
    "guards",
    "guard_sets",
    "symbols",
    "diagnostics",
    "divergence",
    "skew",
    "ranks",
    "strings",
    "stacks",
)
# These are about the whole job: a row belongs to no log.
OF_THE_JOB = ("diagnostics", "divergence", "skew", "ranks")


@pytest.fixture(scope="module")
def trace(example):
    return fasttl.load(example)


def test_every_promised_table_is_there(trace):
    assert set(TABLES) <= set(trace.tables)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_a_frame_that_is_built_once(trace, name):
    frame = getattr(trace, name)
    assert isinstance(frame, pl.DataFrame)
    assert getattr(trace, name) is frame
    assert trace.table(name) is frame


@pytest.mark.parametrize("name", TABLES)
def test_polars_arrow_and_lazy_agree(trace, name):
    frame = trace.table(name)
    table = trace.arrow(name)
    assert isinstance(table, pa.Table)
    assert table.num_rows == frame.height
    assert table.column_names == frame.columns
    table.validate(full=True)
    assert trace.lazy(name).collect().equals(frame)


@pytest.mark.parametrize("name", TABLES)
def test_the_schema_explains_every_column(trace, name):
    columns = trace.schema(name)
    assert [column.name for column in columns] == trace.table(name).columns
    assert all(column.type and column.meaning.strip() for column in columns)


@pytest.mark.parametrize("name", TABLES)
def test_free_text_and_names_cross_without_a_copy(trace, name):
    # Plain Utf8 is the one kind of column that polars would copy.
    types = {field.name: field.type for field in trace.arrow(name).schema}
    assert not [column for column, kind in types.items() if pa.types.is_string(kind) or pa.types.is_large_string(kind)]
    if name not in OF_THE_JOB:
        assert types["file"] == pa.uint32()
        assert types["rank"] == pa.int32()
    times = {kind for kind in types.values() if pa.types.is_timestamp(kind)}
    assert times <= {pa.timestamp("us", tz="UTC")}


def test_unknown_tables_are_refused(trace):
    for ask in (trace.table, trace.lazy, trace.arrow, trace.schema):
        with pytest.raises(fasttl.OptionError, match="no_such_table"):
            ask("no_such_table")


def test_the_trace_speaks_the_arrow_interface(trace):
    assert pa.table(trace).equals(trace.arrow("records"))
    assert pl.DataFrame(trace).equals(trace.records)
    assert pa.schema(trace) == trace.arrow("records").schema
    # It can be read again.
    assert pa.table(trace).num_rows == trace.records.height


def test_files_tell_the_logs(trace, example):
    files = trace.files
    assert sorted(files["path"].to_list()) == sorted(map(str, example.glob("*.log")))
    assert files["file"].to_list() == [0, 1, 2]
    assert files["rank"].to_list() == [0, 1, 2]
    assert files["records"].sum() == trace.records.height == 224
    assert files["bytes"].sum() == 429_928


def test_times_carry_the_true_year(trace):
    assert {str(day) for day in trace.records["time"].dt.date().unique()} <= {"2026-11-29", "2026-11-30"}
    files = trace.files
    for row in files.select("file", "first_time", "last_time").rows():
        times = trace.records.filter(pl.col("file") == row[0])["time"]
        assert (row[1], row[2]) == (times.min(), times.max())


def test_every_byte_belongs_to_one_record_or_problem(trace, data):
    for loaded in (trace, fasttl.load(data("killed")), fasttl.load(data("unusual"))):
        parts = pl.concat(
            [
                loaded.records.select("file", "offset", "length"),
                loaded.problems.filter(~pl.col("in_record")).select("file", "offset", "length"),
            ]
        ).sort("file", "offset")
        for file, size in loaded.files.select("file", "bytes").rows():
            mine = parts.filter(pl.col("file") == file)
            ends = (mine["offset"] + mine["length"]).to_list()
            assert [0, *ends[:-1]] == mine["offset"].to_list()
            assert ends[-1] == size


def test_kinds_are_those_that_the_log_was_made_of(trace):
    counts = dict(trace.records.group_by(pl.col("kind").cast(pl.String)).len().rows())
    assert counts == {
        "chromium_event": 141,
        "artifact": 19,
        "dynamo_start": 8,
        "describe_storage": 8,
        "describe_tensor": 8,
        "describe_source": 8,
        "dynamo_output_graph": 8,
        "compilation_metrics": 7,
        "str": 6,
        "dynamo_cpp_guards_str": 6,
        "aot_inference_graph": 5,
    }


def test_frames_tell_what_happened_to_each_compile(trace):
    frames = trace.frames.sort("rank", "frame_id")
    told = frames.select("rank", "compile_id", "code_name", pl.col("status").cast(pl.String)).rows()
    assert told == [
        (0, "0/0", "warm", "ok"),
        (0, "1/0", "step", "ok"),
        (0, "2/0", "late", "missing"),
        (1, "0/0", "warm", "ok"),
        (1, "1/0", "step", "error"),
        (2, "0/0", "warm", "ok"),
        (2, "1/0", "step", "ok"),
        (2, "2/0", "late", "ok"),
    ]


def test_the_readme_question_finds_the_failure(trace):
    failed = trace.frames.filter(pl.col("status") == "error")
    [row] = failed.to_dicts()
    assert (row["rank"], row["compile_id"]) == (1, "1/0")
    assert row["fail_type"] == "BackendCompilerFailed"
    assert "out of memory on rank 1" in row["fail_reason"]


def test_a_compile_that_never_ended_is_unfinished(trace):
    unfinished = trace.frames.filter(pl.col("unfinished"))
    assert unfinished.select("rank", "compile_id").rows() == [(0, "2/0")]


def test_metrics_have_one_row_for_each_record(trace):
    assert trace.metrics.height == 7
    assert trace.metrics.join(trace.records, on=["file", "offset"], how="semi").height == 7


def test_artifacts_count_their_bytes_and_md5(trace):
    for row in trace.artifacts.to_dicts():
        payload = trace.payload(row)
        assert row["md5"] == hashlib.md5(payload, usedforsecurity=False).hexdigest()


@pytest.mark.shared
def test_recompiles_are_told_with_their_reasons(shared):
    frames = fasttl.load(shared / "traces" / "recompiles").frames
    limited = frames.filter(pl.col("limit_hit"))
    assert limited["compile_id"].to_list() == ["0/8"]
    by_shape = frames.filter(pl.col("frame_id") == 0).sort("frame_compile_id")
    assert by_shape["recompile_reason"].is_null().to_list() == [True] + [False] * 8


def test_a_process_without_rank_has_null(data):
    trace = fasttl.load(data("processes"))
    for name in set(TABLES) - set(OF_THE_JOB):
        assert trace.table(name)["rank"].is_null().all(), name


@pytest.mark.shared
def test_compiled_autograd_has_its_own_ids(shared):
    frames = fasttl.load(shared / "traces" / "compiled_autograd").frames
    ids = {"0/0", "0/1", "!0/1/0", "!1/2/0", "!2/3/0"}
    assert ids <= set(frames["compile_id"].drop_nulls().to_list())
    numbers = dict(frames.select("compile_id", "compiled_autograd_id").rows())
    assert [numbers[name] for name in ("0/0", "!0/1/0", "!2/3/0")] == [None, 0, 2]
