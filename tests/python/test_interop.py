"""Other libraries read the tables: pyarrow, polars, DuckDB and pandas, from memory and from what `export` wrote."""

import duckdb
import fasttl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

BY_RANK = [(0, 3), (1, 2), (2, 3)]


@pytest.fixture(scope="module")
def trace(example):
    return fasttl.load(example)


@pytest.fixture(scope="module")
def exported(trace, tmp_path_factory):
    out = tmp_path_factory.mktemp("interop") / "parquet"
    trace.write_parquet(out)
    return out


# From memory.


def test_a_trace_is_a_stream_of_records(trace):
    assert pa.table(trace).num_rows == pl.DataFrame(trace).height == trace.records.height == 224
    assert pa.RecordBatchReader.from_stream(trace).schema == trace.arrow("records").schema
    assert pa.schema(trace).names == trace.records.columns


def test_every_table_is_a_stream_without_polars(python, example):
    code = (
        "import sys, fasttl, pyarrow as pa\n"
        "trace = fasttl.load(sys.argv[1])\n"
        "for name in trace.tables:\n"
        "    table = trace.arrow(name)\n"
        "    assert pa.table(table).equals(table)\n"
        "    assert pa.RecordBatchReader.from_stream(table).read_all().num_rows == table.num_rows\n"
        "print('polars' in sys.modules)"
    )
    assert python(code, example).strip() == "False"


def test_polars_reads_what_pyarrow_has(trace):
    for name in trace.tables:
        assert pl.DataFrame(trace.arrow(name)).equals(trace.table(name))


def test_tables_without_views_are_the_same(trace):
    for name in trace.tables:
        plain = trace.arrow(name, views=False)
        assert "view" not in str(plain.schema.types)
        assert plain.schema.metadata == trace.arrow(name).schema.metadata
        assert plain.schema.field(0).metadata == trace.arrow(name).schema.field(0).metadata
        assert plain.to_pylist() == trace.arrow(name).to_pylist()


def test_duckdb_reads_streams(trace):
    frames = trace.arrow("frames")
    rows = duckdb.sql("select rank, count(*) from frames where status <> 'x' group by rank order by rank").fetchall()
    assert rows == BY_RANK
    assert frames.num_rows == 8
    assert duckdb.sql("select count(*) from trace where kind = 'dynamo_start'").fetchall() == [(8,)]
    for name in trace.tables:
        one = trace.arrow(name)
        assert duckdb.sql("select count(*) from one").fetchall() == [(one.num_rows,)]


def test_pandas_reads_tables(trace):
    for name in trace.tables:
        frame = trace.arrow(name, views=False).to_pandas()
        assert len(frame) == trace.table(name).height
    frame = trace.arrow("frames", views=False).to_pandas()
    assert [tuple(row) for row in frame.groupby("rank").size().reset_index().to_numpy()] == BY_RANK
    assert isinstance(frame["status"].dtype, pd.CategoricalDtype)
    assert str(frame["start"].dt.tz) == "UTC"


# From files.


def test_pyarrow_reads_exports(trace, exported):
    for name in trace.tables:
        table = ds.dataset(exported / name, partitioning="hive").to_table()
        assert table.num_rows == trace.table(name).height
        assert set(table.column_names) == set(trace.table(name).columns)
    frames = ds.dataset(exported / "frames", partitioning="hive")
    assert frames.schema.field("rank").type == pa.int32()
    assert frames.to_table(filter=ds.field("rank") == 1).num_rows == 2


def test_polars_reads_exports(trace, exported):
    for name in trace.tables:
        frame = pl.scan_parquet(exported / name, hive_partitioning=True).collect()
        assert frame.height == trace.table(name).height
    back = pl.scan_parquet(exported / "records", hive_partitioning=True).with_columns(pl.col("rank").cast(pl.Int32))
    # Polars before 1.32 takes names of two files for different ones.
    both = [
        frame.select(trace.records.columns).with_columns(pl.col(pl.Categorical).cast(pl.String)).sort("file", "offset")
        for frame in (back.collect(), trace.records)
    ]
    assert both[0].equals(both[1])


def test_polars_reads_ipc(trace, tmp_path):
    trace.write_ipc(tmp_path / "ipc")
    for name in trace.tables:
        frame = pl.scan_ipc(tmp_path / "ipc" / name, hive_partitioning=True).collect()
        assert frame.height == trace.table(name).height


def test_duckdb_reads_exports(trace, exported):
    for name in trace.tables:
        source = f"read_parquet('{(exported / name).as_posix()}/**/*.parquet', hive_partitioning=true)"
        assert duckdb.sql(f"select count(*) from {source}").fetchall() == [(trace.table(name).height,)]  # noqa: S608
    source = f"read_parquet('{exported.as_posix()}/frames/**/*.parquet', hive_partitioning=true)"
    query = f"select rank, count(*) from {source} group by rank order by rank"  # noqa: S608
    assert duckdb.sql(query).fetchall() == BY_RANK


def test_pandas_reads_exports(exported):
    frame = pd.read_parquet(exported / "frames")
    assert len(frame) == 8
    assert frame["rank"].astype(int).value_counts().sort_index().items()


def test_logs_with_and_without_a_rank_can_be_read_together(example, data, tmp_path):
    logs = [next(example.glob("*rank_1*")), next(data("hello").glob("*.log"))]
    fasttl.load(logs).write_parquet(tmp_path / "out", ["frames"])
    folder = tmp_path / "out" / "frames"
    expected = {1: 2, None: 1}
    table = ds.dataset(folder, partitioning="hive").to_table()
    assert {rank: table.column("rank").to_pylist().count(rank) for rank in expected} == expected
    ranks = pl.scan_parquet(folder, hive_partitioning=True).collect()["rank"].to_list()
    assert {rank: ranks.count(rank) for rank in expected} == expected
    source = f"read_parquet('{folder.as_posix()}/**/*.parquet', hive_partitioning=true)"
    assert dict(duckdb.sql(f"select rank, count(*) from {source} group by rank").fetchall()) == expected  # noqa: S608
