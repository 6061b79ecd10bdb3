"""Indexes beside logs: what is loaded is the same with and without, for every trace at hand."""

import os
import shutil
from pathlib import Path

import fasttl
import pytest
from polars.testing import assert_frame_equal

ROOT = Path(__file__).resolve().parents[2]
SMALL = sorted(path for path in (ROOT / "tests" / "data").iterdir() if any(path.glob("*.log")))
SHARED = ROOT.parent / "shared" / "traces"
LARGE = sorted(path for path in SHARED.iterdir() if any(path.glob("*.log"))) if SHARED.is_dir() else []


def at_rest(source, folder):
    """Copy a trace; its logs look as if nobody had written to them for long."""
    shutil.copytree(source, folder)
    for path in folder.rglob("*"):
        os.utime(path, (1.7e9, 1.7e9))
    return folder


def assert_same_tables(folder):
    with_index, without = fasttl.load(folder), fasttl.load(folder, use_index=False)
    for table in without.tables:
        assert_frame_equal(with_index.table(table), without.table(table))


@pytest.mark.parametrize("source", SMALL, ids=lambda path: path.name)
def test_all_tables_are_the_same(source, tmp_path):
    folder = at_rest(source, tmp_path / "job")
    assert {file.state for file in fasttl.write_index(folder)} == {"written"}
    assert_same_tables(folder)


@pytest.mark.shared
@pytest.mark.parametrize("source", LARGE, ids=lambda path: path.name)
def test_all_tables_of_the_large_set_are_the_same(source, tmp_path):
    folder = at_rest(source, tmp_path / "job")
    assert {file.state for file in fasttl.write_index(folder)} == {"written"}
    assert_same_tables(folder)


def test_a_copy_reads_its_logs(example, tmp_path):
    """An index that came with its log from elsewhere is never believed: whoever made it may say anything in it."""
    folder = at_rest(example, tmp_path / "job")
    fasttl.write_index(folder)
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    assert {file.state for file in fasttl.write_index(copy, dry_run=True)} == {"stale"}


def test_damaged_indexes_are_passed_over(example, tmp_path):
    folder = at_rest(example, tmp_path / "job")
    fasttl.write_index(folder)
    indexes = sorted((folder / ".fasttl-index").iterdir())
    indexes[0].write_bytes(indexes[0].read_bytes()[:-10])
    indexes[1].write_bytes(b"")
    indexes[2].unlink()
    os.mkfifo(indexes[2])  # to read it would take for ever
    assert [file.state for file in fasttl.write_index(folder, dry_run=True)] == ["stale"] * 3
    assert_same_tables(folder)


def test_the_result_says_what_was_written(example, tmp_path):
    folder = at_rest(example, tmp_path / "job")
    for file in fasttl.write_index(folder, threads=1):
        assert Path(file.path).parent.name == ".fasttl-index"
        assert Path(file.path).stat().st_size == file.bytes
        assert Path(file.log).stat().st_size == file.log_bytes
        assert file.detail == ""
