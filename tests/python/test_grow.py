"""Grown logs are what one long-lived process would have written: ids go on, clocks agree, every md5 is right."""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from grow import METRICS, GrowError, Shift, grow, parse_size, shift_compile_id
from measures.process import find_tool

DATA = Path(__file__).resolve().parent.parent / "data"
# Logs that the peer takes with --strict; together they have backward metrics, a recompile, Inductor and a failure.
SOURCES = [
    next((DATA / "hello").glob("*.log")),
    next((DATA / "fail_backend").glob("*.log")),
    next((DATA / "processes").glob("*34sknbi7.log")),
    next((DATA / "killed_between").glob("*.log")),
    next((DATA / "dist_many_rank_0").glob("*.log")),
]
SIZE = 2_000_000
HEADER = re.compile(r"V(\d{4} \d\d:\d\d:\d\d\.\d{6}) (\d+) (\S+:\d+)\] (\{.*)")


class Row(NamedTuple):
    when: str
    pid: str
    head: dict[str, Any]
    payload: str | None

    @property
    def kind(self) -> str:
        return next(iter(self.head))

    @property
    def name(self) -> str:
        return self.head[self.kind].get("name", "") if isinstance(self.head[self.kind], dict) else ""

    @property
    def frame(self) -> str | None:
        return f"{self.head['frame_id']}/{self.head['frame_compile_id']}" if "frame_id" in self.head else None


def read(path: Path) -> list[Row]:
    """Read a log by another way than the program does: record by record from the front, no line left over."""
    lines = path.read_bytes().decode().split("\n")
    assert lines.pop() == ""
    rows = []
    for line in lines:
        match = HEADER.fullmatch(line)
        if match:
            rows.append(Row(match[1], match[2], json.loads(match[4]), None))
        else:
            assert line.startswith("\t")
            before = rows[-1].payload
            rows[-1] = rows[-1]._replace(payload=line[1:] if before is None else f"{before}\n{line[1:]}")
    return rows


@pytest.fixture(scope="module")
def log(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("grown") / "grown.log"
    written = grow(SOURCES, out, SIZE)
    assert written == out.stat().st_size
    return out


@pytest.fixture(scope="module")
def rows(log) -> list[Row]:
    return read(log)


def test_size_is_reached_by_the_last_record(log):
    text = log.read_bytes()
    last = max(text.rfind(b"\nV", 0, len(text)) + 1, 0)
    assert last < SIZE <= len(text)


def test_same_input_gives_the_same_bytes(log, tmp_path):
    grow(SOURCES, tmp_path / "again.log", SIZE)
    assert (tmp_path / "again.log").read_bytes() == log.read_bytes()


@pytest.mark.parametrize("source", SOURCES[:-1], ids=lambda path: path.parent.name)
def test_first_session_is_the_source_itself(source, tmp_path):
    grow([source], tmp_path / "once.log", source.stat().st_size)
    assert (tmp_path / "once.log").read_bytes() == source.read_bytes()


def test_every_md5_is_right(rows):
    for row in rows:
        assert ("has_payload" in row.head) == (row.payload is not None)
        if row.payload is not None:
            assert hashlib.md5(row.payload.encode(), usedforsecurity=False).hexdigest() == row.head["has_payload"]


def test_one_process_without_rank(rows):
    assert {row.pid for row in rows} == {"17918"}
    assert not any("rank" in row.head for row in rows)


def test_string_ids_are_given_once_and_in_order(rows):
    ids = [row.head["str"][1] for row in rows if row.kind == "str"]
    assert ids == list(range(len(ids)))
    assert len(ids) > 2 * len([row for source in SOURCES for row in read(source) if row.kind == "str"])


def test_frames_name_the_files_of_their_source(rows):
    table: dict[int, str] = {}
    found = Counter()
    for row in rows:
        if row.kind == "str":
            table[row.head["str"][1]] = row.head["str"][0]
        if row.kind == "dynamo_start":
            found[Path(table[row.head["dynamo_start"]["stack"][-1]["filename"]]).name] += 1
    assert set(found) == {"hello.py", "fail_backend.py", "processes.py", "killed_between.py", "dist_many.py"}
    assert found["hello.py"] == 3


def test_compile_ids_are_not_repeated(rows):
    starts = Counter((row.frame, row.head["attempt"]) for row in rows if row.kind == "dynamo_start")
    assert len(starts) > 15
    assert set(starts.values()) == {1}
    frames = {row.head["frame_id"] for row in rows if row.kind == "dynamo_start"}
    assert frames == set(range(len(frames)))


def test_other_counters_of_the_process_go_on(rows):
    tensors = [row.head[row.kind] for row in rows if row.kind == "describe_tensor"]
    assert len({(tensor["describer_id"], tensor["id"]) for tensor in tensors}) == len(tensors)
    keys = [int(row.head[row.kind]["frame_key"]) for row in rows if row.kind == "compilation_metrics"]
    assert len(keys) > 15
    assert keys == sorted(set(keys))


def test_payloads_and_metrics_name_the_compile_id_of_their_record(rows):
    seen = Counter()
    for row in rows:
        if row.frame is None:
            continue
        if row.kind == "chromium_event":
            compile_id = json.loads(row.payload)["args"].get("compile_id")
            assert compile_id in (row.frame, None)
            seen["event"] += compile_id is not None
        elif row.name.startswith("aotautograd_cache_"):
            assert json.loads(row.payload)["compile_id"] == row.frame
            seen["cache"] += 1
        elif row.name == "recompile_reasons":
            assert row.payload.startswith(f"{row.head['frame_id']}/0: ")
            seen["reasons"] += 1
        elif row.kind in METRICS:
            metrics = row.head[row.kind]
            assert metrics["compile_id"] == row.frame
            reason = metrics["recompile_reason"]
            assert reason is None or reason.startswith(f"{row.head['frame_id']}/0: ")
            seen["reason"] += reason is not None
            seen[row.kind] += 1
    assert min(seen[key] for key in ("event", "cache", "reasons", "reason", *METRICS[:2])) >= 2


def test_times_go_forward_and_agree_with_each_other(rows):
    headers = [dt.datetime.strptime(f"2026 {row.when} +0000", "%Y %m%d %H:%M:%S.%f %z") for row in rows]
    assert headers == sorted(headers)
    assert all(row.when.endswith("000") for row in rows)
    for header, row in zip(headers, rows, strict=True):
        if row.kind == "chromium_event":
            event = json.loads(row.payload)
            if event["ph"] in "BE":
                assert abs(header.timestamp() - event["ts"] / 1e6) < 0.5
        elif row.kind in METRICS and row.head[row.kind]["start_time"]:
            metrics = row.head[row.kind]
            assert metrics["start_time"] == pytest.approx(metrics["start_time_us"] / 1e6, abs=1e-5)
            assert 0 <= header.timestamp() - metrics["end_time_us"] / 1e6 < 0.5


def test_the_peer_accepts_it(log, rows, tmp_path):
    command = [find_tool("tlparse"), str(log), "-o", str(tmp_path / "out"), "--strict", "--no-browser"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    entries = json.loads((tmp_path / "out" / "compile_directory.json").read_text())
    wanted = {f"[{row.frame}]" for row in rows if row.kind == "compilation_metrics"}
    assert wanted <= set(entries)


def test_rank_stands_where_pytorch_writes_it(tmp_path):
    grow(SOURCES, tmp_path / "rank.log", 300_000, rank=7)
    for row in read(tmp_path / "rank.log"):
        if row.kind == "str" or row.name == "torch_version":
            assert "rank" not in row.head
        else:
            assert list(row.head)[1] == "rank"
            assert row.head["rank"] == 7


def test_damaged_log_is_refused_by_name_and_line(tmp_path):
    cut = next((DATA / "killed").glob("*.log"))
    with pytest.raises(GrowError, match=rf"{cut.name}:\d+: the payload does not have the md5"):
        grow([cut], tmp_path / "x.log", 1000)
    text = tmp_path / "notes.log"
    text.write_text("hello\n")
    with pytest.raises(GrowError, match=r"notes\.log:1: this line is no record"):
        grow([text], tmp_path / "x.log", 1000)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("0/0", "10/0"),
        ("3/2_1", "13/2_1"),
        ("!0/1/0", "!100/11/0"),
        ("!4", "!104"),
        ("None", "None"),
        ("", ""),
    ],
)
def test_compile_ids_of_every_shape(before, after):
    assert shift_compile_id(before, Shift(10, 100, 0, 0, 0, dt.timedelta())) == after


def test_sizes():
    assert [parse_size(text) for text in ("200M", "1.5g", "12", "3KB")] == [200_000_000, 1_500_000_000, 12, 3000]
    with pytest.raises(argparse.ArgumentTypeError, match="is no size"):
        parse_size("big")
