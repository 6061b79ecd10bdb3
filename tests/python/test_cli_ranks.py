"""`fasttl ranks`: what it says of the ranks of a job, and how it ends."""

import csv
import io
import json

import fasttl
import pytest
from fasttl.queries.rank_report import rank_report
from handmade import METRICS, job, log, rank_name, record, whole

# 2026-11-29, in microseconds since 1970.
DAY = 1_795_910_400_000_000


def event(rank, phase, second):
    value = {"name": "dynamo", "ts": DAY + second * 1e6, "args": {}, "ph": phase}
    return record("chromium_event", {}, json.dumps(value), rank=rank)


def timed(rank, seconds):
    """Give the log of a rank whose one compile takes so long."""
    start = record("dynamo_start", {"stack": []}, rank=rank)
    metrics = record("compilation_metrics", METRICS, rank=rank)
    return event(rank, "B", 10) + start + metrics + event(rank, "E", 10 + seconds)


def many(folder, count, *, slow=None, without=()):
    folder.mkdir()
    for rank in set(range(count)) - set(without):
        (folder / rank_name(rank)).write_bytes(timed(rank, 31 if rank == slow else 1))
    return folder


def lines(result):
    assert result.stderr == ""
    return result.stdout.splitlines()


def test_a_job_that_crashed(run, example):
    result = run("ranks", example)
    assert result.exit_code == 0
    text = lines(result)
    assert text[0] == "3 ranks: 3 compared"
    assert "  0: ranks 0,2" in text
    assert "  1: rank 1" in text
    assert "  rank 1: 1/0 failed" in text
    assert any(line.startswith("  rank 0: 2/0 open in ") for line in text)


def test_equal_ranks_stand_on_one_line(run, tmp_path):
    result = run("ranks", many(tmp_path / "job", 64))
    assert lines(result)[:2] == ["64 ranks: 64 compared", "No difference was found: ranks 0-63"]
    assert "Slow" not in result.stdout
    assert "Last" not in result.stdout


def test_a_slow_rank(run, tmp_path):
    folder = many(tmp_path / "job", 8, slow=3)
    text = lines(run("ranks", folder))
    assert "  0/0 fn: rank 3 took 31.0 s, the median is 1.0 s; others likely waited 210.0 s, together" in text
    assert "No difference was found: ranks 0-7" in text
    assert run("ranks", folder, "--fail-on", "skew").exit_code == 3
    assert run("ranks", folder, "--fail-on", "divergence").exit_code == 0
    assert run("ranks", folder, "--fail-on", "skew", "--min-seconds", "31").exit_code == 0
    assert run("ranks", folder, "--fail-on", "skew", "--min-ratio", "40").exit_code == 0


def test_missing_ranks(run, tmp_path):
    folder = many(tmp_path / "job", 8, without={2, 5, 6})
    text = lines(run("ranks", folder))
    assert text[:3] == [
        "8 ranks: 5 compared",
        "Missing: ranks 2,5-6 have no log",
        "No difference was found: ranks 0-1,3-4,7",
    ]
    assert run("ranks", folder, "--fail-on", "missing").exit_code == 3
    # Those that were not asked for are not missing.
    assert run("ranks", folder, "--ranks", "0,7", "--fail-on", "missing").exit_code == 0
    assert run("ranks", folder, "--fail-on", "damaged", "--fail-on", "unfinished").exit_code == 0


def test_damaged_logs(run, tmp_path):
    folder = job(tmp_path / "job", whole(0), whole(1)[:-5], b"", whole(3))
    text = lines(run("ranks", folder))
    assert "Damaged: rank 1: the log is truncated" in text
    assert "Damaged: rank 2: the log is empty" in text
    assert "Left out: rank 2: its log has no record" in text
    assert run("ranks", folder, "--fail-on", "damaged").exit_code == 3
    assert run("ranks", folder, "--fail-on", "missing").exit_code == 3


def test_the_exit_status_may_depend_on_the_result(run, example):
    for reason, status in (("divergence", 3), ("unfinished", 3), ("skew", 0), ("missing", 0), ("damaged", 0)):
        assert run("ranks", example, "--fail-on", reason).exit_code == status, reason
    assert run("ranks", example, "--fail-on", "skew", "--fail-on", "divergence").exit_code == 3
    assert run("ranks", example, "--fail-on", "rain").exit_code == 2


def test_logs_without_ranks(run, data):
    result = run("ranks", data("processes"), "--fail-on", "missing", "--fail-on", "divergence")
    assert (result.exit_code, result.stdout) == (0, "No log names a rank, so that there is nothing to compare.\n")


def test_one_rank_has_nothing_to_be_compared_with(run, example):
    assert lines(run("ranks", example, "--ranks", "2"))[:2] == ["1 rank: 1 compared", "Nothing to compare with: rank 2"]


def test_json_has_all_columns(run, example):
    value = json.loads(run("ranks", example, "--format", "json").stdout)
    assert list(value) == ["ranks", "differences", "skew"]
    assert [(row["rank"], row["group"], row["last_state"]) for row in value["ranks"]] == [
        (0, 0, "open"),
        (1, 1, "failed"),
        (2, 0, "done"),
    ]
    assert value["ranks"][0]["first_time"].endswith("Z")
    assert value["differences"][0]["odd_ranks"] == [1]
    assert "evidence_offsets" in value["differences"][0]
    assert value["skew"] == []


def test_csv_is_one_section(run, example):
    def rows(*flags):
        return list(csv.DictReader(io.StringIO(run("ranks", example, "--format", "csv", *flags).stdout)))

    assert "aspect" in rows()[0]
    assert [row["rank"] for row in rows("--section", "ranks")] == ["0", "1", "2"]
    assert run("ranks", example, "--format", "csv", "--section", "ranks", "--section", "skew").exit_code == 2


@pytest.mark.parametrize("layout", ["table", "markdown"])
def test_tables_are_for_people(run, example, layout):
    text = run("ranks", example, "--format", layout).stdout
    assert "last_step" in text.replace("\\", "")
    assert "first_time" not in text.replace("\\", "")


def test_text_of_a_log_is_made_printable(run, tmp_path):
    name = "f\x1b[2J"
    odd = record("compilation_metrics", {**METRICS, "co_name": name}, rank=1)
    text = run("ranks", job(tmp_path / "job", whole(0), log(odd, rank=1))).stdout
    assert "\x1b" not in text


def test_help_has_an_example(run):
    result = run("ranks", "--help")
    assert result.exit_code == 0
    assert "fasttl ranks /tmp/tracedir --fail-on divergence" in result.stdout


def test_the_report_for_programs(example):
    found = rank_report(fasttl.load(example))
    assert found.odd_ranks() == [1]
    assert found.where(state="compared").height == 3
    assert found.text().splitlines()[0] == "3 ranks: 3 compared"


def test_one_cause_is_one_finding_that_names_who_joins(tmp_path):
    def of(rank):
        parts = []
        for frame, odd in enumerate(({1}, {1, 3})):
            ids = f', "frame_id": {frame}, "frame_compile_id": 0, "attempt": 0'
            schedule = json.dumps(["torch.ops._c10d_functional.all_reduce_.default"] * (2 if rank in odd else 1))
            parts.append(record("dynamo_start", {"stack": []}, rank=rank, ids=ids))
            about = {"name": "inductor_collective_schedule", "encoding": "json"}
            parts.append(record("artifact", about, schedule, rank=rank, ids=ids))
            parts.append(record("compilation_metrics", {**METRICS, "co_name": f"f{frame}"}, rank=rank, ids=ids))
        return b"".join(parts)

    trace = fasttl.load(job(tmp_path / "job", *map(of, range(5))))
    found = [row for row in trace.findings.to_dicts() if row["kind"] == "ranks that differ"]
    assert [(row["ranks"], row["severity"]) for row in found] == [([1, 3], "error")]
    assert found[0]["sentence"].startswith("Rank 1 differs first at 0/0, collective 2")
    assert " There rank 3 differs, too." in found[0]["sentence"]
