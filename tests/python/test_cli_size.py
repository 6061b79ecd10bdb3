"""`fasttl size` and `Trace.sizes`: what makes logs large."""

import csv
import io
import json

import fasttl
import polars as pl
import pytest
from fasttl.queries.size import GROUPS, totals
from handmade import METRICS, log, record


@pytest.fixture(scope="module")
def trace(example):
    return fasttl.load(example)


@pytest.mark.parametrize("by", sorted({*GROUPS} - {"artifact"}))
def test_every_byte_and_record_is_in_one_group(trace, example, by):
    table = trace.sizes(by)
    assert table["records"].sum() == 224
    assert table["bytes"].sum() == sum(log.stat().st_size for log in example.glob("*.log"))
    assert table["share_percent"].sum() == pytest.approx(100, abs=0.1)
    assert table["bytes"].to_list() == sorted(table["bytes"], reverse=True)


def test_kinds_are_those_of_the_log(trace, example):
    text = b"".join(log.read_bytes() for log in example.glob("*.log"))
    counts = dict(trace.sizes("kind").select("kind", "records").rows())
    # Facts of this job: 141 timing events, 19 artifacts, 8 compiles begun.
    assert (counts["chromium_event"], counts["artifact"], counts["dynamo_start"]) == (141, 19, 8)
    assert text.count(b'{"chromium_event": ') == 141


def test_a_compile_has_all_its_attempts(data):
    table = fasttl.load(data("probes") / "attempts").sizes("compile")
    assert not [name for name in table["compile_id"] if name and "_" in name]


def test_a_compile_has_all_its_generations(tmp_path):
    # An id that starts again, as after a reset.
    again = log() + record("compilation_metrics", METRICS) + log()
    (tmp_path / "a.log").write_bytes(again)
    trace = fasttl.load(tmp_path / "a.log")
    assert trace.frames.select("compile_id", "generation").rows() == [("0/0", 0), ("0/0", 1)]
    rows = dict(trace.sizes("compile").select("compile_id", "records").rows())
    # Twice a start and an artifact, and the metrics of the first.
    assert rows["0/0"] == 5


def test_equal_artifacts_are_counted_once(trace):
    row = trace.sizes("artifact").filter(pl.col("artifact") == "torch_version").row(0, named=True)
    # The three processes ran one version.
    assert (row["records"], row["distinct"]) == (3, 1)
    assert row["bytes"] == 3 * row["distinct_bytes"]


def metrics(kind, ids, seconds):
    fields = f', "structured_logging_overhead_us": {seconds}' if seconds is not None else ""
    frame, compile_of_frame, attempt = ids
    return (
        f'V1129 23:51:41.631000 7 torch/x.py:1] {{"{kind}": {{"is_forward": true{fields}}}, '
        f'"frame_id": {frame}, "frame_compile_id": {compile_of_frame}, "attempt": {attempt}}}\n'
    )


def test_the_time_of_logging_counts_a_compile_once(tmp_path):
    # PyTorch counts on from forward to backward: the second number has the first in it.
    (tmp_path / "a.log").write_text(
        metrics("compilation_metrics", (0, 0, 0), 1_000_000)
        + metrics("bwd_compilation_metrics", (0, 0, 0), 3_000_000)
        + metrics("compilation_metrics", (0, 1, 1), 500_000)
        + metrics("compilation_metrics", (1, 0, 0), None)
    )
    trace = fasttl.load(tmp_path)
    assert totals(trace).logging_overhead_s == 3.5
    seconds = dict(trace.sizes("compile").select("compile_id", "logging_overhead_s").rows())
    assert seconds == {"0/0": 3.0, "0/1": 0.5, "1/0": None}
    assert trace.sizes("rank")["logging_overhead_s"].to_list() == [3.5]


def test_what_is_not_logged_is_null(tmp_path):
    (tmp_path / "a.log").write_text(metrics("compilation_metrics", (0, 0, 0), None))
    trace = fasttl.load(tmp_path)
    assert totals(trace).logging_overhead_s is None
    assert trace.sizes("rank")["logging_overhead_s"].to_list() == [None]


def test_a_wrong_group_is_refused(trace):
    with pytest.raises(fasttl.OptionError, match="by is one of kind, name"):
        trace.sizes("colour")


def test_the_command_prints_all_formats(run, example):
    value = json.loads(run("size", example, "--format", "json").stdout)
    assert list(value) == ["total", "sizes"]
    [total] = value["total"]
    assert (total["logs"], total["records"]) == (3, 224)
    assert total["bytes"] == total["record_bytes"] == sum(row["bytes"] for row in value["sizes"])
    assert 0 < total["logging_overhead_s"] < 10
    rows = list(csv.DictReader(io.StringIO(run("size", example, "--by", "rank", "--format", "csv").stdout)))
    assert {row["rank"] for row in rows} == {"0", "1", "2"}
    text = run("size", example, "--by", "source").stdout
    assert "224 records" in text
    assert "torch/_dynamo/utils.py" in text
    assert run("size", example, "--by", "source", "--format", "markdown").stdout.count("### ") == 2


def test_logs_with_foreign_text_have_bytes_outside_of_records(tmp_path, example):
    log = tmp_path / "a.log"
    log.write_bytes(next(example.glob("*rank_2*")).read_bytes() + b"not a record\n")
    found = totals(fasttl.load(log))
    assert found.bytes - found.record_bytes == len(b"not a record\n")


def test_texts_without_an_md5_are_not_taken_for_equal(tmp_path):
    head = (
        'V1129 23:51:41.631000 7 torch/x.py:1] {"artifact": {"name": "a", "encoding": "string"}, "has_payload": "?"}\n'
    )
    (tmp_path / "a.log").write_text(f"{head}\tone\n{head}\tthree\n")
    row = fasttl.load(tmp_path).sizes("artifact").row(0, named=True)
    assert (row["records"], row["bytes"], row["distinct"], row["distinct_bytes"]) == (2, 8, 2, 8)


def test_generated_code_is_one_artifact(data):
    table = fasttl.load(data("hello")).sizes("artifact")
    assert table.filter(pl.col("kind") == "inductor_output_code")["artifact"].to_list() == ["inductor_output_code"]
