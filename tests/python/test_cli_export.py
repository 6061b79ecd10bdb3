"""`fasttl export`, `Trace.write_parquet` and `Trace.write_ipc`: what they write, and what they leave alone."""

import json
import os
import sys
from pathlib import Path

import fasttl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fasttl.queries import export as module


@pytest.fixture(scope="module")
def trace(example):
    return fasttl.load(example)


def tree(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def test_each_rank_has_a_folder(trace, tmp_path):
    written = trace.write_parquet(tmp_path / "out", ["frames", "divergence"])
    assert tree(tmp_path / "out") == [
        "_fasttl.json",
        "divergence/part-0.parquet",
        "frames/rank=0/part-0.parquet",
        "frames/rank=1/part-0.parquet",
        "frames/rank=2/part-0.parquet",
    ]
    assert [(table.table, table.rows, table.files) for table in written] == [("frames", 8, 3), ("divergence", 2, 1)]
    sizes = sum(path.stat().st_size for path in (tmp_path / "out").rglob("*.parquet"))
    assert sum(table.bytes for table in written) == sizes


def test_the_marker_says_what_was_written(trace, example, tmp_path):
    trace.write_ipc(tmp_path / "out")
    value = json.loads((tmp_path / "out" / "_fasttl.json").read_text())
    assert (value["program"], value["version"], value["format"]) == ("fasttl", fasttl.__version__, "ipc")
    assert value["schema_version"] == int(trace.arrow("files").schema.metadata[b"schema_version"])
    assert value["inputs"] == [os.fspath(example)]
    assert {table["name"]: table["rows"] for table in value["tables"]} == {
        name: trace.table(name).height for name in trace.tables
    }


def test_records_without_a_rank_have_the_folder_of_hive(example, data, tmp_path):
    unranked = next(data("hello").glob("*.log"))
    mixed = fasttl.load([next(example.glob("*rank_1*")), unranked])
    mixed.write_parquet(tmp_path / "mixed", ["frames"])
    assert tree(tmp_path / "mixed") == [
        "_fasttl.json",
        "frames/rank=1/part-0.parquet",
        "frames/rank=__HIVE_DEFAULT_PARTITION__/part-0.parquet",
    ]
    # From that folder alone readers cannot tell that ranks are numbers.
    fasttl.load(unranked).write_parquet(tmp_path / "none", ["frames"])
    assert tree(tmp_path / "none") == ["_fasttl.json", "frames/part-0.parquet"]
    assert pq.read_schema(tmp_path / "none" / "frames" / "part-0.parquet").field("rank").type == pa.int32()


def test_meanings_names_and_times_survive(trace, tmp_path):
    trace.write_parquet(tmp_path / "out", ["frames"])
    schema = pq.read_schema(tmp_path / "out" / "frames" / "rank=1" / "part-0.parquet")
    meanings = {column.name: column.meaning for column in trace.schema("frames")}
    assert schema.metadata[b"table"] == b"frames"
    assert b"schema_version" in schema.metadata
    for field in schema:
        assert field.metadata[b"about"].decode() == meanings[field.name]
    assert schema.field("start").type == pa.timestamp("us", "UTC")
    assert pa.types.is_dictionary(schema.field("status").type)
    assert schema.field("fail_reason").type == pa.large_string()
    assert "rank" not in schema.names


def test_a_part_has_only_its_own_names(trace, tmp_path):
    trace.write_ipc(tmp_path / "out", ["frames"])
    with pa.ipc.open_file(os.fspath(tmp_path / "out" / "frames" / "rank=1" / "part-0.arrow")) as file:
        table = file.read_all()
    # Rank 1 does not get to `late`.
    assert sorted(table.column("code_name").combine_chunks().dictionary.to_pylist()) == ["step", "warm"]
    assert table.schema.field("code_name").type == pa.dictionary(pa.int32(), pa.string())


def test_rows_that_are_mixed_stay_in_order(tmp_path):
    head = "V1129 23:51:41.631000 7 torch/x.py:1] "
    log = tmp_path / "mixed.log"
    log.write_text("".join(f'{head}{{"kind_{i}": {{}}, "rank": {i % 3}}}\n' for i in range(30)))
    fasttl.load(log).write_ipc(tmp_path / "out", ["records"])
    for rank in range(3):
        with pa.ipc.open_file(os.fspath(tmp_path / f"out/records/rank={rank}/part-0.arrow")) as file:
            kinds = file.read_all().column("kind").to_pylist()
        assert kinds == [f"kind_{i}" for i in range(rank, 30, 3)]


def test_unknown_tables_are_refused(trace, tmp_path):
    for tables in (["frames", "nope"], []):
        with pytest.raises(fasttl.OptionError, match="there are files, records"):
            trace.write_parquet(tmp_path / "out", tables)
    assert not (tmp_path / "out").exists()


# The folder.


def test_an_empty_folder_is_filled_and_stays_the_same_folder(trace, tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    before = out.stat().st_ino
    monkeypatch.chdir(out)
    trace.write_parquet(".", ["files"])
    assert out.stat().st_ino == before
    assert tree(out)[0] == "_fasttl.json"
    assert {path.name for path in out.iterdir()} == {"_fasttl.json", "files"}


def test_folders_above_are_made(trace, tmp_path):
    trace.write_parquet(tmp_path / "a" / "b", ["files"])
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]


def test_an_earlier_export_is_replaced_when_asked(trace, tmp_path):
    out = tmp_path / "out"
    trace.write_parquet(out, ["frames", "files"])
    with pytest.raises(fasttl.OptionError, match="earlier export"):
        trace.write_parquet(out, ["metrics"])
    (out / "mine.txt").write_text("kept")
    trace.write_ipc(out, ["metrics"], overwrite=True)
    assert {path.name for path in out.iterdir()} == {"_fasttl.json", "metrics", "mine.txt"}
    (out / "graphs").mkdir()
    with pytest.raises(fasttl.OptionError, match="not of the earlier export"):
        trace.write_ipc(out, ["graphs"], overwrite=True)


@pytest.mark.parametrize(
    "marker", [None, "{}", "[", '{"program": "fasttl", "tables": [{"name": "../x"}]}', "[" * 100_000]
)
def test_a_foreign_folder_is_left_alone(trace, tmp_path, marker):
    out = tmp_path / "out"
    (out / "frames").mkdir(parents=True)
    (tmp_path / "x").write_text("")
    if marker is not None:
        (out / "_fasttl.json").write_text(marker)
    before = tree(tmp_path)
    for overwrite in (False, True):
        with pytest.raises(fasttl.OptionError, match="something else than an export"):
            trace.write_parquet(out, ["frames"], overwrite=overwrite)
    assert tree(tmp_path) == before


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_are_not_followed(trace, tmp_path):
    real = tmp_path / "real"
    trace.write_parquet(real, ["frames"])
    (tmp_path / "link").symlink_to(real)
    with pytest.raises(fasttl.OptionError, match="link"):
        trace.write_parquet(tmp_path / "link", ["frames"], overwrite=True)
    # A table of the export that has become a link is removed, not what it leads to.
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("kept")
    (real / "frames").rename(tmp_path / "moved")
    (real / "frames").symlink_to(tmp_path / "elsewhere")
    trace.write_parquet(real, ["frames"], overwrite=True)
    assert (tmp_path / "elsewhere" / "file").read_text() == "kept"
    assert not (real / "frames").is_symlink()


def test_a_failure_leaves_nothing_and_names_the_file(trace, tmp_path, monkeypatch):
    def full(_table, path, _layout):
        if "rank=1" in os.fspath(path):
            raise OSError(28, "No space left on device")
        Path(path).write_text("half")

    monkeypatch.setattr(module, "_write_file", full)
    with pytest.raises(fasttl.OutputError, match=r"frames/rank=1/part-0\.parquet: cannot be written: No space left"):
        trace.write_parquet(tmp_path / "out", ["frames"])
    assert list(tmp_path.iterdir()) == []


def test_a_failing_replacement_keeps_the_earlier_export(trace, tmp_path, monkeypatch):
    out = tmp_path / "out"
    trace.write_parquet(out, ["frames", "files"])
    before = {path: (out / path).read_bytes() for path in tree(out)}
    real = Path.rename

    def stubborn(self, target):
        if self.parent.name == "new":
            raise PermissionError(13, "Permission denied", os.fspath(self))
        return real(self, target)

    monkeypatch.setattr(Path, "rename", stubborn)
    with pytest.raises(fasttl.OutputError):
        trace.write_parquet(out, ["frames"], overwrite=True)
    assert {path: (out / path).read_bytes() for path in tree(out)} == before


# The command.


def test_the_command(run, example, tmp_path):
    out = tmp_path / "out"
    result = run("export", example, "-o", out, "--tables", "frames, files", "--ranks", "1-2")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "2 tables in" in result.stdout
    assert tree(out)[1:] == [f"{table}/rank={rank}/part-0.parquet" for table in ("files", "frames") for rank in (1, 2)]
    assert run("export", example, "-o", out).exit_code == 2
    assert run("export", example, "-o", out, "--overwrite", "--format", "ipc").exit_code == 0
    assert (out / "frames" / "rank=0" / "part-0.arrow").is_file()
    assert run("export", example, "-o", tmp_path / "x", "--tables", "nope").exit_code == 2
    assert run("export", example).exit_code == 2


def test_output_that_cannot_be_written_is_status_4(run, example, tmp_path):
    (tmp_path / "file").write_text("")
    result = run("export", example, "-o", tmp_path / "file" / "out", "--tables", "files")
    assert result.exit_code == 4
    assert str(tmp_path / "file") in result.stderr
