"""Variants of a job's folder, and jobs of equal ranks.

A variant holds the same logs in another way: other names, another order, compressed, one rank less, one rank cut.
A job of equal ranks is put together from real logs of this repository; `rank_changes.py` changes the records of one.
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
from grow import grown, read_source

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
