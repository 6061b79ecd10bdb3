"""`fasttl index`: what is written beside the logs, and what it says."""

import json
import os
import shutil

import fasttl
import pytest

FOLDER = ".fasttl-index"


@pytest.fixture
def job(example, tmp_path):
    """Give a copy of the example whose logs are at rest."""
    folder = tmp_path / "job"
    shutil.copytree(example, folder)
    for log in folder.iterdir():
        os.utime(log, (1e9, 1e9))
    return folder


def states(run, job, *flags):
    result = run("index", job, "--format", "json", *flags)
    assert result.stderr == ""
    return [row["state"] for row in json.loads(result.stdout)["indexes"]], result.exit_code


def test_indexes_are_written_once(run, job):
    assert states(run, job, "--check") == (["missing"] * 3, 1)
    assert not (job / FOLDER).exists()
    assert states(run, job) == (["written"] * 3, 0)
    assert sorted(path.name for path in (job / FOLDER).iterdir()) == sorted(
        f"{path.name}.arrow" for path in job.glob("*.log")
    )
    assert states(run, job) == (["fresh"] * 3, 0)
    assert states(run, job, "--check") == (["fresh"] * 3, 0)
    assert states(run, job, "--force") == (["written"] * 3, 0)


def test_a_changed_log_is_written_anew_alone(run, job):
    run("index", job)
    log = next(job.glob("*rank_1*"))
    log.write_bytes(log.read_bytes()[:-100])
    os.utime(log, (1e9, 1e9))
    assert states(run, job, "--check") == (["fresh", "stale", "fresh"], 1)
    assert states(run, job) == (["fresh", "written", "fresh"], 0)
    assert fasttl.load(job).records.equals(fasttl.load(job, use_index=False).records)


def test_the_table_says_what_was_done(run, job):
    result = run("index", job)
    assert result.exit_code == 0
    assert "3 logs: 3 written" in result.stdout
    assert str(job) in result.stdout


def test_logs_that_get_none_are_told_with_the_reason(run, job, example):
    fresh = next(example.glob("*rank_2*")).read_bytes()
    (job / "dedicated_log_torch_trace_rank_7_abcdefgh.log").write_bytes(fresh)
    rows = json.loads(run("index", job, "--format", "json").stdout)["indexes"]
    [skipped] = [row for row in rows if row["state"] == "skipped"]
    assert "rank_7" in skipped["log"]
    assert "written to" in skipped["detail"]


def test_indexes_are_no_input(run, job):
    before = json.loads(run("info", job, "--format", "json").stdout)
    run("index", job)
    assert json.loads(run("info", job, "--format", "json").stdout) == before
    assert before["skipped"] == []


def test_a_report_is_the_same_with_indexes(run, job, tmp_path):
    def report():
        assert run(job, "-o", tmp_path / "out", "--overwrite").exit_code == 0
        files = (path for path in (tmp_path / "out").rglob("*") if path.is_file())
        return {path.relative_to(tmp_path): path.read_bytes() for path in files}

    before = report()
    run("index", job)
    after = report()
    assert before.keys() == after.keys()
    assert [path for path in before if before[path] != after[path]] == []


def test_what_cannot_be_written_is_status_4(run, job):
    (job / FOLDER).write_text("a file is no folder\n")
    result = run("index", job)
    assert result.exit_code == 4
    assert FOLDER in result.stderr
    assert result.stdout == ""
    assert fasttl.load(job).files.height == 3


def test_a_folder_that_is_read_only_is_status_4(run, job):
    job.chmod(0o555)
    try:
        if os.access(job, os.W_OK):
            pytest.skip("this user may write everywhere")
        assert run("index", job).exit_code == 4
    finally:
        job.chmod(0o755)


def test_without_verification_an_index_serves_those_who_do_not_verify(run, job):
    assert states(run, job, "--no-verify") == (["written"] * 3, 0)
    assert states(run, job, "--no-verify", "--check") == (["fresh"] * 3, 0)
    assert states(run, job, "--check") == (["stale"] * 3, 1)
    assert set(fasttl.load(job, verify=False).records["state"]) == {"unchecked", "no payload"}
    assert set(fasttl.load(job).records["state"]) == {"verified", "no payload"}


def test_flags_that_contradict_are_refused(run, job):
    assert run("index", job, "--force", "--check").exit_code == 2
    assert run("index", job / "missing").exit_code == 2
