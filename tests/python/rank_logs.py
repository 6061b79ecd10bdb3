"""Variants of a job's folder, and jobs of equal ranks of which one is changed.

A variant holds the same logs in another way: other names, another order, compressed, one rank less, one rank cut.
A job of equal ranks is put together from real logs of this repository; a change is made to the records of one rank,
as PyTorch would have logged it, with the md5 of each payload right.
"""

from __future__ import annotations

import copy
import datetime as dt
import gzip
import hashlib
import itertools
import json
import os
import re
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from grow import Shift, grown, read_source, shift_compile_id

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Sequence

DATA = Path(__file__).resolve().parents[1] / "data"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"
# A log that was written to a moment ago is copied before it is read; an old one is not.
OLD_S = 60
RANK = re.compile(rb'"rank": (\d+)')


# --- The folder of a job in other forms ---


def write(path: Path, text: bytes, age_s: float = OLD_S) -> Path:
    """Write a file that nobody writes to any more."""
    path.write_bytes(text)
    os.utime(path, (time.time() - age_s,) * 2)
    return path


def rank_of(log: Path) -> int:
    """Give the rank that the records of a log name."""
    found = RANK.search(log.read_bytes())
    assert found, log
    return int(found[1])


def logs_of(folder: Path) -> list[Path]:
    """List the logs of a folder in the order of their names."""
    return sorted(path for path in folder.iterdir() if ".log" in path.name)


def _made(folder: Path, out: Path, name: Callable[[int, Path], str], order: Sequence[Path] | None = None) -> Path:
    out.mkdir()
    for number, log in enumerate(order or logs_of(folder)):
        write(out / name(number, log), log.read_bytes(), OLD_S + 7 * number)
    return out


def renamed(folder: Path, out: Path, chance: random.Random) -> Path:
    """Give each log another random ending, as another start of the same job would."""
    return _made(folder, out, lambda _, log: f"dedicated_log_torch_trace_rank_{rank_of(log)}_{_ending(chance)}.log")


def without_ranks_in_names(folder: Path, out: Path, chance: random.Random) -> Path:
    """Name the logs as PyTorch does where the process group is made late: the rank stands in the records only."""
    return _made(folder, out, lambda _, _log: f"dedicated_log_torch_trace_{_ending(chance)}.log")


def shuffled(folder: Path, out: Path, chance: random.Random) -> Path:
    """Write the logs in another order, with names and times of files that sort in yet another one."""
    order = logs_of(folder)
    chance.shuffle(order)
    places = chance.sample(range(100), len(order))
    return _made(folder, out, lambda number, log: f"node{places[number]:02}_rank_{rank_of(log)}.log", order)


def compressed(folder: Path, out: Path) -> Path:
    """Pack the logs, every other one with gzip and the rest with Zstandard."""
    out.mkdir()
    for number, log in enumerate(logs_of(folder)):
        text = log.read_bytes()
        if number % 2:
            write(out / f"{log.name}.zst", pa.compress(text, codec="zstd", asbytes=True))
        else:
            write(out / f"{log.name}.gz", gzip.compress(text, 1))
    return out


def without(folder: Path, out: Path, rank: int) -> Path:
    """Leave out the logs of a rank."""
    return _made(folder, out, lambda _, log: log.name, [log for log in logs_of(folder) if rank_of(log) != rank])


def cut(folder: Path, out: Path, name: str, at: int) -> Path:
    """End one log at a byte, as a full disk does."""
    _made(folder, out, lambda _, log: log.name)
    write(out / name, (folder / name).read_bytes()[:at])
    return out


def _ending(chance: random.Random) -> str:
    return "".join(chance.choices(LETTERS, k=8))


# --- Records ---


@dataclass
class Record:
    """One record, in the parts that a change is made to.

    Attributes:
        level: The letter before the date.
        when: The time in the zone of the log; the year is made up.
        rest: Process, file and line of the prefix.
        head: The JSON object; the order of its members is kept.
        payload: The payload without tabs, or None.
    """

    level: bytes
    when: dt.datetime
    rest: bytes
    head: dict[str, Any]
    payload: bytes | None

    @property
    def kind(self) -> str:
        """Name of the record."""
        return next(iter(self.head))

    @property
    def name(self) -> str:
        """Name of an artifact; empty where there is none."""
        value = self.head[self.kind]
        return str(value.get("name", "")) if isinstance(value, dict) else ""

    @property
    def compile_id(self) -> str | None:
        """Compile id without attempt."""
        if self.head.get("frame_id") is None:
            return None
        return f"{self.head['frame_id']}/{self.head['frame_compile_id']}"

    @property
    def event(self) -> dict[str, Any]:
        """The timing event in the payload; empty where the record is none."""
        return json.loads(self.payload) if self.kind == "chromium_event" and self.payload else {}

    def write(self) -> bytes:
        """Give the bytes, with the right md5."""
        if self.payload is not None:
            self.head["has_payload"] = hashlib.md5(self.payload, usedforsecurity=False).hexdigest()
        when = self.when.strftime("%m%d %H:%M:%S.%f").encode()
        line = b"%b%b %b] %b\n" % (self.level, when, self.rest, json.dumps(self.head).encode())
        return line if self.payload is None else line + b"\t" + self.payload.replace(b"\n", b"\n\t") + b"\n"

    def set_event(self, event: dict[str, Any]) -> None:
        """Put a timing event into the payload, laid out as PyTorch does it."""
        self.payload = json.dumps(event, indent=0).encode()


PREFIX = re.compile(rb"([A-Z])(\d{4} \d\d:\d\d:\d\d\.\d{6}) (\d+ .+?:\d+)\] (?=\{)")


def read(text: bytes) -> list[Record]:
    """Take a log that is whole apart; `write` gives the same bytes again."""
    records: list[Record] = []
    payloads: list[list[bytes]] = []
    for line in text.split(b"\n")[:-1]:
        if line.startswith(b"\t"):
            payloads[-1].append(line[1:])
            continue
        found = PREFIX.match(line)
        assert found, line[:80]
        # The year is not in the log; this one has a 29th of February.
        when = dt.datetime.strptime(f"2000 {found[2].decode()}", "%Y %m%d %H:%M:%S.%f")  # noqa: DTZ007
        records.append(Record(found[1], when, found[3], json.loads(line[found.end() :]), None))
        payloads.append([])
    for record, lines in zip(records, payloads, strict=True):
        record.payload = b"\n".join(lines) if "has_payload" in record.head else None
    return records


def written(records: Iterable[Record]) -> bytes:
    """Give the bytes of a log."""
    return b"".join(record.write() for record in records)


# --- A job of equal ranks ---

# What is compiled by a rank of the job, in order; the last one is answered by a cache, or not.
PARTS = ("dist_diverge_order_rank_0", "dist_many_rank_0", "dist_restart")
WARM, COLD = "dist_diverge_cache/*rank_1*", "dist_diverge_cache/*rank_0*"
COMPILES = {
    "0/0": "reduce_first",
    "1/0": "loss_fn",
    "2/0": "average",
    "3/0": "load",
    "4/0": "train",
    "5/0": "f",
}
COLLECTIVES = "0/0"
CACHED = "5/0"
ADDRESS = re.compile(rb"(0x7[0-9a-f]|\b1[34]0[0-9]{2})([0-9a-f]{10})\b")


def _source(pattern: str) -> Path:
    # Of a job that was started twice the later log of the rank, which has more.
    return max(DATA.glob(pattern), key=lambda path: path.stat().st_size)


@cache
def _base(rank: int, *, cold: bool = False) -> tuple[Record, ...]:
    patterns = [f"{part}/*rank_0*" for part in PARTS] + [COLD if cold else WARM]
    sources = [read_source(_source(pattern)) for pattern in patterns]
    count = sum(len(source.records) for source in sources)
    records = read(b"".join(itertools.islice(grown(sources, rank), count)))
    for record in records:
        if record.payload is not None:
            record.payload = _other_addresses(record.payload, rank)
        if record.kind == "describe_tensor":
            record.head = json.loads(_other_addresses(json.dumps(record.head).encode(), rank))
        record.rest = b"%d %b" % (4000 + rank, record.rest.partition(b" ")[2])
    return tuple(records)


def _other_addresses(text: bytes, rank: int) -> bytes:
    """Objects lie at other addresses in each process."""
    return ADDRESS.sub(lambda found: found[1] + b"%010d" % (int(found[2], 16) % 10**9 + 10**8 * rank), text)


def rank_records(rank: int, *, cold: bool = False) -> list[Record]:
    """Give the records of a rank of the job of equal ranks; they may be changed.

    Args:
        rank: The rank.
        cold: Whether the cache has nothing for the last compile, where it has it on other ranks.
    """
    return copy.deepcopy(list(_base(rank, cold=cold)))


@cache
def _base_text(rank: int) -> bytes:
    return written(_base(rank))


def job(folder: Path, ranks: int, odd: dict[int, bytes] | None = None) -> Path:
    """Write the job of equal ranks; `odd` has the logs of ranks that are changed."""
    folder.mkdir(parents=True)
    for rank in range(ranks):
        text = (odd or {}).get(rank)
        write(folder / f"dedicated_log_torch_trace_rank_{rank}_abcd{rank:04}.log", text or _base_text(rank))
    return folder


# --- Changes of one rank ---


def of(records: Iterable[Record], compile_id: str) -> list[Record]:
    """Give the records of a compile."""
    return [record for record in records if record.compile_id == compile_id]


def other_shape(records: list[Record], compile_id: str) -> list[Record]:
    """Let the first input of a compile have another size at index 0, and all that follows from it in the records."""
    mine = of(records, compile_id)
    first = next(record.head["describe_tensor"] for record in mine if record.kind == "describe_tensor")
    old = list(first["size"])
    new = [old[0] + 3, *old[1:]]
    key = (first["describer_id"], first["storage"])
    for record in mine:
        if record.kind == "describe_storage":
            storage = record.head["describe_storage"]
            if (storage["describer_id"], storage["id"]) == key:
                storage["size"] = storage["size"] * new[0] // old[0]
        before, after = json.dumps(old), json.dumps(new)
        stack = record.head.pop("stack", None)
        record.head = json.loads(json.dumps(record.head).replace(before, after))
        if stack is not None:
            record.head["stack"] = stack
        if record.payload is not None:
            record.payload = record.payload.replace(before.encode(), after.encode())
    return records


BREAK = """Graph break in user code at {file}:{line}
Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):

Failed to trace builtin operator
  Explanation: Dynamo does not know how to trace builtin operator `print` with argument types ['str'] (has_kwargs False)
  Hint: Avoid calling builtin `print` with argument types ['str'].

  Developer debug context: builtin print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False

 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html

User code traceback:
  File "{file}", line {line}, in {name}
    print("debug print")
"""
BREAK_LINE = 3


def graph_break(records: list[Record], compile_id: str) -> list[Record]:
    """Let a compile meet a graph break behind its last operation: it starts over, and its graph is the same."""
    mine = of(records, compile_id)
    metrics = next(record.head["compilation_metrics"] for record in mine if record.kind == "compilation_metrics")
    place = {"file": metrics["co_filename"], "line": metrics["co_firstlineno"] + BREAK_LINE, "name": metrics["co_name"]}
    text = BREAK.format(**place)
    metrics["restart_reasons"] = [text.split("\n\n", 2)[1].split("\n\nUser")[0]]
    described = [record for record in mine if record.kind.startswith("describe_")]
    tracing_ends = next(r for r in mine if r.event.get("name") == "bytecode_tracing" and r.event["ph"] == "E")
    at = records.index(tracing_ends)
    opened = [r for r in mine if r.event.get("name") in ("compile_attempt_0", "bytecode_tracing")]
    begins = [copy.deepcopy(r) for r in opened if r.event["ph"] == "B"]
    ends = [copy.deepcopy(r) for r in reversed(begins)]
    reason = copy.deepcopy(described[-1])
    del reason.head["describe_source"]
    reason.head = {"artifact": {"name": "dynamo_graph_break_reason", "encoding": "string"}, **reason.head}
    reason.payload = text.encode()
    again = [copy.deepcopy(record) for record in described]
    for record in again:
        record.head[record.kind]["describer_id"] += 5000
    ts = tracing_ends.event["ts"]
    for record in ends:
        record.set_event({**record.event, "ph": "E", "ts": ts})
    for record in begins:
        record.set_event({**record.event, "ts": ts})
    for record in (reason, *ends, *begins, *again):
        record.when = tracing_ends.when
    later = [record for record in records[at:] if record.compile_id == compile_id]
    for record in (*begins, *again, *later):
        record.head["attempt"] = 1
        if record.event.get("name") == "compile_attempt_0":
            record.set_event({**record.event, "name": "compile_attempt_1"})
    return [*records[:at], reason, *ends, *begins, *again, *records[at:]]


def extra_compile(records: list[Record], compile_id: str, name: str = "only_here") -> list[Record]:
    """Compile one function more behind a compile; the frames that follow have the next numbers."""
    mine = of(records, compile_id)
    end = max(number for number, record in enumerate(records) if record.compile_id == compile_id) + 1
    length = mine[-1].when - mine[0].when + dt.timedelta(seconds=1)
    extra = [copy.deepcopy(record) for record in mine]
    metrics = next(record.head["compilation_metrics"] for record in mine if record.kind == "compilation_metrics")
    old = metrics["co_name"].encode()
    for record in extra:
        value = record.head[record.kind]
        if record.kind == "dynamo_start":
            value["stack"][-1] |= {"name": name, "line": value["stack"][-1]["line"] + 100}
        elif record.kind == "compilation_metrics":
            value |= {"co_name": name, "co_firstlineno": value["co_firstlineno"] + 100}
        if isinstance(value, dict) and "describer_id" in value:
            value["describer_id"] += 5000
        if record.payload is not None and record.kind != "chromium_event":
            record.payload = record.payload.replace(b" in %b," % old, b" in %b," % name.encode())
    later = [*extra, *records[end:]]
    for record in later:
        _next_frame(record)
        move(record, length)
    return [*records[:end], *later]


def _next_frame(record: Record) -> None:
    shift = Shift(frame=1, autograd=0, string=0, describer=0, key=1, time=dt.timedelta())
    if record.head.get("frame_id") is not None:
        record.head["frame_id"] += 1
    value = record.head[record.kind]
    if isinstance(value, dict) and value.get("compile_id"):
        value["compile_id"] = shift_compile_id(value["compile_id"], shift)
        if value.get("frame_key"):
            value["frame_key"] = str(int(value["frame_key"]) + 1)
    if record.payload is not None and (record.kind == "chromium_event" or record.name.startswith("aotautograd_cache")):
        pattern = rb'"compile_id": "([!/\d_]+)"'
        record.payload = re.sub(
            pattern, lambda m: b'"compile_id": "%b"' % shift_compile_id(m[1].decode(), shift).encode(), record.payload
        )


def move(record: Record, by: dt.timedelta) -> None:
    """Let a record be written later, with the times that stand in it."""
    us = by // dt.timedelta(microseconds=1)
    record.when += by
    if record.kind == "chromium_event":
        event = record.event
        record.set_event({**event, "ts": event["ts"] + us})
    value = record.head[record.kind]
    if record.kind.endswith("compilation_metrics"):
        for key, add in (("start_time", us / 1e6), ("start_time_us", us), ("end_time_us", us)):
            if value.get(key):
                value[key] += add


def swapped_collectives(records: list[Record], compile_id: str, *, in_graphs: bool = True) -> list[Record]:
    """Gather before reducing, where the records have it the other way round.

    Args:
        records: The log.
        compile_id: A compile with an `all_reduce`, then an `all_gather`.
        in_graphs: Whether the program does it, so that all graphs have it; else Inductor did, and only its last
            graph, its schedule and its code have it.
    """
    ends = {"inductor_post_grad_graph", "inductor_output_code"}
    for record in of(records, compile_id):
        if record.name == "inductor_collective_schedule":
            ops = json.loads(record.payload or b"[]")
            assert ["all_reduce" in op for op in ops] == [True, False, False, False]
            record.payload = b"[\n%b\n]" % b",\n".join(json.dumps(op).encode() for op in ops[2:] + ops[:2])
        elif record.payload is not None and b"all_gather_into_tensor" in record.payload:
            name = record.name or record.kind
            if (in_graphs and "graph" in name and record.kind != "chromium_event") or name in ends:
                record.payload = _gather_first(record.payload.decode()).encode()
    return records


GATHER = re.compile(r"\s+(\w+).* = torch\.ops\._c10d_functional\.all_gather_into_tensor")
REDUCE = re.compile(r"\s+(\w+.* = )?torch\.ops\._c10d_functional\.all_reduce")


def _gather_first(text: str) -> str:
    lines = text.split("\n")
    gather, var = next((at, found[1]) for at, line in enumerate(lines) if (found := GATHER.match(line)))
    wait = next(at for at, line in enumerate(lines) if "wait_tensor" in line and f"({var})" in line)
    reduce = next(at for at, line in enumerate(lines) if REDUCE.match(line))
    moved = [*_with_comment(lines, gather), *_with_comment(lines, wait)]
    first = _with_comment(lines, reduce)[0]
    kept = [(at, line) for at, line in enumerate(lines) if at not in moved]
    front = [line for at, line in kept if at < first]
    back = [line for at, line in kept if at >= first]
    return "\n".join([*front, *(lines[at] for at in moved), *back])


def _with_comment(lines: list[str], at: int) -> list[int]:
    return [at - 1, at] if lines[at - 1].strip().startswith("#") else [at]


def lost_tail(records: list[Record], compile_id: str) -> list[Record]:
    """End the log before the first record of a compile: the process was gone by then."""
    return records[: next(number for number, record in enumerate(records) if record.compile_id == compile_id)]


def cut_inside(records: list[Record], compile_id: str, share: float) -> bytes:
    """End the log inside a record of a compile.

    Args:
        records: The log.
        compile_id: The compile.
        share: How far into the compile, from 0 to 1.
    """
    mine = [number for number, record in enumerate(records) if record.compile_id == compile_id]
    at = mine[min(int(share * len(mine)), len(mine) - 1)]
    last = records[at].write()
    return written(records[:at]) + last[: len(last) // 2]


def slower(records: list[Record], compile_id: str, by: dt.timedelta) -> list[Record]:
    """Let a compile take longer from its middle on; all that follows comes later."""
    mine = of(records, compile_id)
    metrics = next(record.head["compilation_metrics"] for record in mine if record.kind == "compilation_metrics")
    start = next(r for r in mine if r.event.get("name") == "bytecode_tracing" and r.event["ph"] == "B")
    for record in records[records.index(start) + 1 :]:
        own = record.compile_id == compile_id and record.kind == "compilation_metrics"
        kept = {key: metrics[key] for key in ("start_time", "start_time_us")} if own else {}
        move(record, by)
        if own:
            metrics |= kept
    for key in ("duration_us", "dynamo_cumulative_compile_time_us"):
        metrics[key] += by // dt.timedelta(microseconds=1)
    metrics["entire_frame_compile_time_s"] += by.total_seconds()
    return records
