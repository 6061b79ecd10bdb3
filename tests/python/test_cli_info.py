"""`fasttl info`: what it says, in each format."""

import csv
import io
import json
import shutil

import pytest


@pytest.fixture
def job(example, tmp_path):
    """Give a folder with the example, a damaged log of a fourth rank, and a file that is no log."""
    folder = tmp_path / "job"
    shutil.copytree(example, folder)
    log = next(example.glob("*rank_2*"))
    text = log.read_bytes()
    assert text.count(b'"rank": 2') > 50
    damaged = text.replace(b'"rank": 2', b'"rank": 7').rsplit(b"\nV", 1)[0] + b"\nV1129 and then the disk was full"
    (folder / log.name.replace("rank_2", "rank_7")).write_bytes(damaged)
    (folder / "notes.txt").write_text("remember the milk\n")
    return folder


def test_json_has_every_section(run, job):
    result = run("info", job, "--format", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    value = json.loads(result.stdout)
    assert list(value) == ["summary", "files", "kinds", "problems", "skipped"]
    [summary] = value["summary"]
    assert (summary["logs"], summary["ranks"]) == (4, "0-2,7")
    assert summary["records"] == sum(row["records"] for row in value["files"])
    assert summary["records"] == sum(row["records"] for row in value["kinds"])
    assert summary["bytes"] == sum(path.stat().st_size for path in job.glob("*.log"))
    assert summary["first_time"].startswith("2026-11-29T23:58:")
    assert summary["problems"] == sum(row["count"] for row in value["problems"] if row["severity"] == "error") == 1
    [problem] = [row for row in value["problems"] if row["severity"] == "error"]
    assert "rank_7" in problem["first_path"]
    assert problem["first_line"] > 1000
    assert [row["path"] for row in value["skipped"]] == [str(job / "notes.txt")]
    assert {row["rank"] for row in value["files"]} == {0, 1, 2, 7}


def test_the_table_names_everything(run, job):
    text = run("info", job).stdout
    for word in (str(job), "0-2,7", "4 logs", "chromium_event", "1 problem", "Passed over: 1 file", "notes.txt"):
        assert word in text


def test_a_section_may_be_chosen(run, job):
    text = run("info", job, "--section", "kinds", "--section", "skipped").stdout
    assert "chromium_event" in text
    assert "notes.txt" in text
    assert "4 logs" not in text


def test_csv_is_the_files_unless_told(run, job):
    rows = list(csv.DictReader(io.StringIO(run("info", job, "--format", "csv").stdout)))
    assert sorted(int(row["rank"]) for row in rows) == [0, 1, 2, 7]
    kinds = list(csv.DictReader(io.StringIO(run("info", job, "--format", "csv", "--section", "kinds").stdout)))
    assert kinds[0]["kind"] == "chromium_event"
    counts = [int(row["records"]) for row in kinds]
    assert counts == sorted(counts, reverse=True)
    result = run("info", job, "--format", "csv", "--section", "kinds", "--section", "files")
    assert result.exit_code == 2
    assert "one --section" in result.stderr


def test_markdown_has_a_heading_for_each_section(run, job):
    text = run("info", job, "--format", "markdown").stdout
    assert sum(line.startswith("### ") for line in text.splitlines()) == 5


def test_the_options_of_reading_hold(run, job):
    value = json.loads(run("info", job, "--ranks", "1,7", "--threads", "1", "--format", "json").stdout)
    assert [row["rank"] for row in value["files"]] == [1, 7]


def test_wrong_md5_is_noticed(run, example, tmp_path):
    log = tmp_path / "rank.log"
    text = next(example.glob("*rank_2*")).read_bytes()
    log.write_bytes(text.replace(b'\t"pytorch_version"', b'\t"pytorch_verSion"'))
    value = json.loads(run("info", log, "--format", "json").stdout)
    assert [row["count"] for row in value["problems"] if "md5" in row["kind"]] == [1]


def test_a_log_without_rank_says_so(run, data):
    value = json.loads(run("info", data("processes"), "--format", "json").stdout)
    assert value["summary"][0]["ranks"] == "none"
    assert {row["rank"] for row in value["files"]} == {None}


def test_nothing_to_read_is_status_2(run, tmp_path):
    result = run("info", tmp_path)
    assert result.exit_code == 2
    assert str(tmp_path) in result.stderr
    assert result.stdout == ""
