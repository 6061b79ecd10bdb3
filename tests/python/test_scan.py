"""`fasttl.scan`: the same rows as `load`, with less read."""

import os
import shutil
from pathlib import Path

import fasttl
import polars as pl
import pytest
from fasttl import _core
from fasttl._scan import Source, conjuncts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "crash_3_ranks"
TRACES = [EXAMPLE, *sorted(path for path in (ROOT / "tests" / "data").iterdir() if any(path.glob("*.log")))]


def open_source(path, *, verify=False, ranks=None, use_index=True):
    paths = [os.fspath(path)]
    options = {"latest": False, "threads": 2, "max_unpacked": None, "use_index": use_index}
    return Source(_core.select(paths, ranks=ranks, verify=verify, **options))


def expected(path, *, verify=False):
    """Give the records as `load` has them, with the heads as a column."""
    trace = fasttl.load(path, verify=verify, use_index=False)
    heads = [trace.metadata(number) for number in range(trace.records.height)]
    return trace.records.with_columns(pl.Series("metadata", heads, dtype=pl.String))


@pytest.fixture(scope="module")
def tables():
    return {path: expected(path) for path in TRACES}


@pytest.fixture(scope="module")
def many_ranks(tmp_path_factory):
    """Eight ranks, each with a log; that of rank 5 has a record of rank 2 as well, that of rank 6 has another name."""
    folder = tmp_path_factory.mktemp("ranks")
    text = next(EXAMPLE.glob("*rank_2*")).read_bytes()
    for rank in range(8):
        log = text.replace(b'"rank": 2', b'"rank": %d' % rank)
        if rank == 5:
            first, _, rest = log.partition(b"\nV")
            log = first + b"\nV" + rest.replace(b'"rank": 5', b'"rank": 2', 1)
        named = 16 if rank == 6 else rank
        (folder / f"dedicated_log_torch_trace_rank_{named}_abcdefgh.log").write_bytes(log)
    return folder


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_all_rows_are_those_of_load(path, tables):
    assert_frame_equal(fasttl.scan(path).collect(), tables[path])


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_with_verification_too(path):
    assert_frame_equal(fasttl.scan(path, verify=True).collect(), expected(path, verify=True))


COLUMNS = ["rank", "file", "generation", "compile_id", "line", "offset", "time", "kind", "name", "state", "metadata"]
KINDS = ["artifact", "chromium_event", "dynamo_start", "str", "no such kind"]
IDS = ["0/0", "1/0", "0/0_1", "7/7"]


def filters():
    value = st.one_of(
        st.sampled_from(KINDS).map(lambda kind: pl.col("kind") == kind),
        st.sampled_from(KINDS).map(lambda kind: pl.col("kind") != kind),
        st.lists(st.sampled_from(KINDS)).map(lambda kinds: pl.col("kind").is_in(kinds)),
        st.sampled_from(IDS).map(lambda text: pl.col("compile_id") == text),
        st.lists(st.sampled_from(IDS)).map(lambda texts: pl.col("compile_id").is_in(texts)),
        st.just(pl.col("compile_id").is_null()),
        st.just(pl.col("rank").is_null()),
        st.integers(-1, 3).map(lambda rank: pl.col("rank") == rank),
        st.integers(-1, 3).map(lambda rank: pl.col("rank") != rank),
        st.lists(st.integers(0, 3)).map(lambda ranks: pl.col("rank").is_in(ranks)),
        st.integers(0, 3).map(lambda file: pl.col("file") >= file),
        st.integers(0, 300).map(lambda line: pl.col("line") > line),
        st.just(pl.col("metadata").str.contains("stack")),
        st.just(pl.lit(value=True)),
    )
    either = st.tuples(value, value).map(lambda pair: pair[0] | pair[1])
    return st.lists(st.one_of(value, value, either, value.map(lambda one: ~one)), max_size=3)


def steps():
    """Give what a query does, one after the other: filters, columns, slices."""
    slices = st.tuples(st.integers(-20, 20), st.one_of(st.none(), st.integers(0, 40)))
    step = st.one_of(
        filters().map(lambda tests: lambda frame: frame.filter(*tests)),
        slices.map(lambda pair: lambda frame: frame.slice(*pair)),
        st.integers(0, 40).map(lambda count: lambda frame: frame.head(count)),
        st.integers(0, 10).map(lambda count: lambda frame: frame.tail(count)),
    )
    columns = st.lists(st.sampled_from(COLUMNS), min_size=1, unique=True)
    return st.tuples(st.lists(step, max_size=4), st.one_of(st.none(), columns))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(TRACES), query=steps(), engine=st.sampled_from(["in-memory", "streaming"]))
def test_any_query_gives_what_load_gives(tables, path, query, engine):
    scanned, loaded = fasttl.scan(path), tables[path].lazy()
    doing, columns = query
    for step in doing:
        scanned, loaded = step(scanned), step(loaded)
    if columns is not None:
        scanned, loaded = scanned.select(columns), loaded.select(columns)
    assert_frame_equal(scanned.collect(engine=engine), loaded.collect())


def test_columns_that_are_not_in_order_and_groups(many_ranks):
    loaded = expected(many_ranks).lazy()

    def query(frame):
        return frame.group_by("rank", "kind").agg(pl.len(), pl.col("length").sum()).sort("rank", "kind")

    assert_frame_equal(query(fasttl.scan(many_ranks)).collect(), query(loaded).collect())
    assert fasttl.scan(many_ranks).select("kind", "rank").collect().columns == ["kind", "rank"]
    assert fasttl.scan(many_ranks).select(pl.len()).collect().item() == loaded.collect().height


def collect(source, query):
    return query(source.lazy()).collect()


UNDERSTOOD = {
    "rank ==": (pl.col("rank") == 3, 1),
    "rank is_in": (pl.col("rank").is_in([3, 4]), 2),
    "rank !=": (pl.col("rank") != 3, 7),
    "rank and kind": ((pl.col("rank") == 3) & (pl.col("kind") == "dynamo_start"), 1),
    "kind and rank": ((pl.col("kind") == "dynamo_start") & (pl.col("line") > 0) & (pl.col("rank") == 3), 1),
    "file ==": (pl.col("file") == 3, 1),
    "no rank": (pl.col("rank").is_null(), 0),
}


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_logs_of_other_ranks_are_not_read(name, many_ranks):
    test, logs = UNDERSTOOD[name]
    source = open_source(many_ranks)
    rows = collect(source, lambda frame: frame.filter(test))
    assert_frame_equal(rows, expected(many_ranks).filter(test))
    # Rank 5's log has a record of rank 2 as well: it may have any.
    mixed = 0 if "file" in name or name == "rank !=" else 1
    assert (source.counts.logs_read, source.counts.logs_skipped) == (logs + mixed, 8 - logs - mixed)


def test_a_record_of_another_rank_is_found_in_whichever_log(many_ranks):
    rows = fasttl.scan(many_ranks).filter(pl.col("rank") == 2).collect()
    assert set(rows["file"]) == {2, 5}


DROPPED = {
    "kind ==": pl.col("kind") == "dynamo_start",
    "kind is_in": pl.col("kind").is_in(["dynamo_start", "artifact"]),
    "compile_id ==": pl.col("compile_id") == "0/0",
    "compile_id is_in": pl.col("compile_id").is_in(["0/0", "1/0"]),
    "both": (pl.col("compile_id") == "0/0") & (pl.col("kind") == "dynamo_start"),
    "kind !=": (pl.col("kind") != "chromium_event") & (pl.col("line") > 3),
    "compile_id null": pl.col("compile_id").is_null(),
}


@pytest.mark.parametrize("name", DROPPED)
def test_records_of_other_kinds_and_compiles_become_no_rows(name, many_ranks):
    source = open_source(many_ranks)
    rows = collect(source, lambda frame: frame.filter(DROPPED[name]))
    assert_frame_equal(rows, expected(many_ranks).filter(DROPPED[name]))
    assert 0 < rows.height <= source.counts.rows_built < source.counts.records_read


def test_what_is_not_understood_is_applied_all_the_same(many_ranks):
    test = (pl.col("kind") == "artifact") | (pl.col("rank") == 3)
    source = open_source(many_ranks)
    assert_frame_equal(collect(source, lambda frame: frame.filter(test)), expected(many_ranks).filter(test))
    assert source.counts.rows_built == source.counts.records_read
    assert [str(part) for part in conjuncts(test)] == [str(test)]


def test_a_function_of_the_user_is_not_called_for_what_is_no_row():
    test = pl.col("kind").map_elements(str.isupper, return_dtype=pl.Boolean)
    assert conjuncts(test) == conjuncts((pl.col("rank") == 3) & test) == []


def test_the_first_rows_are_enough(many_ranks, tmp_path):
    log = tmp_path / "large.log"
    text = next(EXAMPLE.glob("*rank_2*")).read_bytes()
    log.write_bytes(text * (20_000_000 // len(text)))
    columns = ["rank", "kind", "generation", "line", "metadata"]
    source = open_source(log)
    rows = collect(source, lambda frame: frame.select(columns).head(100))
    assert_frame_equal(rows, expected(log).select(columns).head(100))
    assert source.counts.records_read * 5 < fasttl.load(log, verify=False).records.height
    assert source.counts.rows_built == 100
    source = open_source(many_ranks)
    assert collect(source, lambda frame: frame.head(10)).height == 10
    assert source.counts.logs_read == 1


def test_indexes_serve_a_scan(many_ranks, tmp_path):
    folder = tmp_path / "job"
    shutil.copytree(many_ranks, folder)
    for path in folder.iterdir():
        os.utime(path, (1e9, 1e9))
    assert {file.state for file in fasttl.write_index(folder)} == {"written"}
    for verify in (False, True):
        assert_frame_equal(fasttl.scan(folder, verify=verify).collect(), expected(folder, verify=verify))
    source = open_source(folder)
    collect(source, lambda frame: frame.filter(pl.col("rank") == 3))
    # The index of rank 5's log tells that it has no record of rank 3.
    assert (source.counts.logs_read, source.counts.logs_skipped) == (1, 7)


def test_ranks_are_those_of_load(many_ranks):
    rows = fasttl.scan(many_ranks, ranks="0,6").collect()
    assert_frame_equal(rows.drop("metadata"), fasttl.load(many_ranks, ranks="0,6", verify=False).records)
    with pytest.raises(fasttl.OptionError, match="there are logs of rank"):
        fasttl.scan(many_ranks, ranks=99)


def test_errors_come_when_it_is_called(tmp_path):
    with pytest.raises(fasttl.TraceNotFoundError):
        fasttl.scan(tmp_path / "missing")


def test_a_log_that_changed_is_told(tmp_path):
    log = tmp_path / "rank.log"
    log.write_bytes(next(EXAMPLE.glob("*rank_2*")).read_bytes())
    os.utime(log, (1e9, 1e9))
    frame = fasttl.scan(log)
    log.write_bytes(b"")
    with pytest.raises((fasttl.TraceChangedError, pl.exceptions.ComputeError), match="has changed"):
        frame.collect()


def test_a_filter_on_the_head_of_records(many_ranks):
    test = pl.col("metadata").str.json_path_match("$.artifact.name") == "torch_version"
    rows = fasttl.scan(many_ranks).filter(test).select("rank", "name").collect()
    assert rows["rank"].to_list() == list(range(8))
    assert set(rows["name"].cast(pl.String)) == {"torch_version"}
