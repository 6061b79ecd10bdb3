"""`Trace.payload`, `text` and `metadata`: reading the log behind the tables."""

import hashlib
import json
import os
import shutil

import fasttl
import polars as pl
import pytest


class Number:
    """A number of another library, as numpy's are."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        if self.value is None:
            raise TypeError
        return self.value


@pytest.fixture(scope="module")
def trace(example):
    return fasttl.load(example)


def the_error(trace):
    return trace.artifacts.filter(pl.col("name").cast(pl.String) == "dynamo_error")


def test_a_row_may_be_given_in_any_shape(trace):
    frame = the_error(trace)
    row = frame.row(0, named=True)
    number = trace.artifacts["md5"].to_list().index(row["md5"])
    expected = trace.payload(row)
    assert b"out of memory on rank 1" in expected
    assert hashlib.md5(expected, usedforsecurity=False).hexdigest() == row["md5"]
    for shape in (frame, frame[0], number, number - trace.artifacts.height, row["md5"]):
        assert trace.payload(shape) == expected
        assert trace.text(shape) == expected.decode()


def test_rows_of_other_tables_work_too(trace):
    row = trace.records.join(the_error(trace), on=["file", "offset"], how="semi")
    assert trace.text(row) == trace.text(the_error(trace))
    assert trace.text({"file": row["file"][0], "offset": row["offset"][0]}) == trace.text(row)


def test_bad_bytes_become_replacement_characters(data):
    trace = fasttl.load(data("probes") / "non_utf8_payload")
    raw = [trace.payload(row) for row in trace.artifacts.to_dicts()]
    bad = [payload for payload in raw if b"\xe9" in payload or b"\xff" in payload]
    assert len(bad) == 1
    number = raw.index(bad[0])
    assert "\N{REPLACEMENT CHARACTER}" in trace.text(number)
    assert trace.text(number) == bad[0].decode("utf-8", "replace")


def test_payloads_keep_their_line_ends(data):
    # Payloads may hold \r, form feeds and Unicode line ends; only "\n" ends a line of the log.
    trace = fasttl.load(data("unusual"))
    texts = [trace.text(row) for row in trace.artifacts.to_dicts()]
    assert any("\r" in text for text in texts)
    assert any("\x85" in text for text in texts)
    assert not [text for text in texts if text.startswith("\t")]


def test_metadata_is_the_head_of_the_record(trace):
    for row in trace.records.to_dicts():
        head = json.loads(trace.metadata(row))
        assert row["kind"] in head
        assert head.get("has_payload") == row["md5"]
    second = json.loads(trace.metadata(1))
    assert second["artifact"] == {"name": "torch_version", "encoding": "json"}
    assert trace.metadata(trace.records[1]) == trace.metadata(1)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0" * 32, "md5"),
        ("0/0", "md5"),
        (10**9, "no row 1000000000"),
        (-(10**9), "no row"),
        (True, "row number"),
        (Number(None), "row number"),
        ({"file": 0}, "'offset'"),
        ({"file": 0, "offset": None}, "points at no record"),
        ({"file": -1, "offset": 0}, "points at no record"),
        ({"file": 1 << 32, "offset": 0}, "points at no record"),
        ({"file": 0, "offset": 1 << 64}, "points at no record"),
        ({"file": 0, "offset": 1.5}, "points at no record"),
        ({"file": 0, "offset": 1}, "record"),
        ({"file": 99, "offset": 0}, "99"),
        (pl.DataFrame({"file": [0, 0], "offset": [0, 0]}), "2 rows"),
        (pl.DataFrame({"file": [], "offset": []}), "0 rows"),
        (pl.DataFrame({"name": ["x"]}), "'file'"),
        (None, "NoneType"),
        (1.5, "float"),
    ],
)
def test_what_is_no_row_is_refused(trace, row, message):
    with pytest.raises(fasttl.OptionError, match=message):
        trace.payload(row)


@pytest.mark.parametrize("row", [10**9, {"file": 0, "offset": 1}, {"file": 99, "offset": 0}, None])
def test_metadata_refuses_the_same(trace, row):
    with pytest.raises(fasttl.OptionError):
        trace.metadata(row)


def test_a_number_of_another_library_counts_rows(trace):
    assert trace.payload(Number(3)) == trace.payload(3)
    assert trace.payload({"file": Number(0), "offset": Number(0)}) == trace.payload({"file": 0, "offset": 0})


@pytest.mark.parametrize("change", ["cut", "grown", "replaced"])
def test_a_log_that_changed_is_not_read(example, tmp_path, change):
    log = tmp_path / "rank.log"
    shutil.copy(next(example.glob("*rank_1*")), log)
    # A log that was written to lately is copied; one at rest is read from its file.
    os.utime(log, (1e9, 1e9))
    trace = fasttl.load(log)
    row = trace.artifacts.row(trace.artifacts.height - 1, named=True)
    before = trace.text(row)
    assert before
    text = log.read_bytes()
    if change == "cut":
        log.write_bytes(text[: len(text) // 2])
    elif change == "grown":
        log.write_bytes(text + text)
    else:
        log.unlink()
        log.write_bytes(b"x" * len(text))
    for read in (trace.text, trace.metadata):
        with pytest.raises(fasttl.TraceChangedError, match=r"rank\.log"):
            read(row)


def test_a_log_that_is_gone_is_named(example, tmp_path):
    log = tmp_path / "rank.log"
    shutil.copy(next(example.glob("*rank_1*")), log)
    os.utime(log, (1e9, 1e9))
    trace = fasttl.load(log)
    log.unlink()
    with pytest.raises(fasttl.FasttlError, match=r"rank\.log") as caught:
        trace.text(0)
    assert isinstance(caught.value, OSError)


def test_a_log_that_is_still_written_is_read_as_it_was(example, tmp_path):
    log = tmp_path / "rank.log"
    text = next(example.glob("*rank_1*")).read_bytes()
    log.write_bytes(text)
    trace = fasttl.load(log)
    before = trace.text(0)
    log.write_bytes(b"")
    assert trace.text(0) == before
