"""Grow real logs to a wanted size, for benchmarks that need more input than anyone keeps in a repository.

A grown log repeats the records of real logs, session after session, as one long-lived process would have written them:
frame ids and keys, compiled autograd ids, string ids and describer ids go on counting, the clock goes forward, the
process id stays the same, and every md5 is right. The same sources and size always give the same bytes.

    python benches/grow.py OUT.log --size 200M LOG [LOG ...]
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import itertools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PREFIX = re.compile(rb"([A-Z])(\d{4} \d\d:\d\d:\d\d\.\d{6}) (\d+) (.+?:\d+)\] (?=\{)")
COMPILE_ID = re.compile(r"(?:!(\d+))?(/)?(?:(\d+)/(\d+))?(_\d+)?")
REASON = re.compile(r"(?:!\d+/)?\d+/\d+(?=: )")
PAYLOAD_ID = re.compile(rb'"compile_id": "([!/\d_]+)"')
PAYLOAD_REASON = re.compile(rb'(^"?)((?:!\d+/)?\d+/\d+)(?=: )', re.MULTILINE)
EVENT_TIME = re.compile(rb'^"ts": (\d+(?:\.\d+)?)', re.MULTILINE)
CONTEXT_KEYS = ("frame_id", "compiled_autograd_id")
METRICS = ("compilation_metrics", "bwd_compilation_metrics", "aot_autograd_backward_compilation_metrics")
SECOND_KEYS = ("start_time", "end_time")
MICROSECOND_KEYS = ("start_time_us", "end_time_us")
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}
PAUSE = dt.timedelta(seconds=1)


class GrowError(ValueError):
    """A source cannot be grown; the message names the file, the line and what is wrong with it."""


class Lines(NamedTuple):
    """The lines of one record as they stand in the file."""

    number: int
    prefix: re.Match[bytes]
    head: bytes
    payload: list[bytes]


@dataclass(frozen=True)
class Record:
    """One record of a source log, cut into the parts that a copy changes and those that it keeps."""

    level: bytes
    when: dt.datetime
    place: bytes
    head: str
    kind: str
    name: str
    payload: bytes | None


@dataclass(frozen=True)
class Source:
    """A real log in memory, with what its ids take up and the time that it spans."""

    path: Path
    pid: bytes
    records: tuple[Record, ...]
    frames: int
    autograds: int
    strings: int
    describers: int
    keys: int

    @property
    def start(self) -> dt.datetime:
        """Time of the earliest record, in the time zone of the log."""
        return min(record.when for record in self.records)

    @property
    def end(self) -> dt.datetime:
        """Time of the latest record, in the time zone of the log."""
        return max(record.when for record in self.records)


@dataclass(frozen=True)
class Shift:
    """What one session adds to the ids and times of its source."""

    frame: int
    autograd: int
    string: int
    describer: int
    key: int
    time: dt.timedelta

    @property
    def microseconds(self) -> int:
        """The move in time as a whole number, since a float would not hold a timestamp in microseconds."""
        return self.time // dt.timedelta(microseconds=1)


def read_source(path: Path) -> Source:
    """Read a log that is to be repeated.

    Args:
        path: A whole, undamaged log of one process.

    Returns:
        Its records, with the size of each id space.

    Raises:
        GrowError: If a line is no record, or a payload does not have the md5 that its record states. Growing
            damage would give a log whose copies are damaged in ways that no process writes.
    """
    raw: list[Lines] = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        match = PREFIX.match(line)
        if match:
            raw.append(Lines(number, match, line[match.end() :], []))
        elif line.startswith(b"\t") and raw:
            raw[-1].payload.append(line[1:])
        elif line:
            message = f"{path}:{number}: this line is no record of a trace, so the log cannot be grown"
            raise GrowError(message)
    if not raw:
        message = f"{path}: no records, so there is nothing to repeat"
        raise GrowError(message)
    year = _year(raw[0].prefix[2].decode(), path)
    records = tuple(_record(path, year, lines) for lines in raw)
    heads = [json.loads(record.head) for record in records]
    return Source(
        path=path,
        pid=raw[0].prefix[3],
        records=records,
        frames=_count(head.get("frame_id") for head in heads),
        autograds=_count(head.get("compiled_autograd_id") for head in heads),
        strings=_count(head["str"][1] if "str" in head else None for head in heads),
        describers=_count(_describer(head) for head in heads),
        keys=max(int(_metrics(head).get("frame_key") or 0) for head in heads),
    )


def _record(path: Path, year: int, lines: Lines) -> Record:
    text = lines.head.decode()
    values = json.loads(text)
    if json.dumps(values) != text:
        message = (
            f"{path}:{lines.number}: the envelope is not as Python writes JSON, so a copy would change more than ids"
        )
        raise GrowError(message)
    payload = b"\n".join(lines.payload) if "has_payload" in values else None
    if payload is not None and _md5(payload) != values["has_payload"]:
        message = f"{path}:{lines.number}: the payload does not have the md5 that its record states"
        raise GrowError(message)
    kind = next(iter(values))
    name = values[kind].get("name", "") if isinstance(values[kind], dict) else ""
    return Record(
        level=lines.prefix[1],
        when=_when(lines.prefix[2].decode(), year),
        place=lines.prefix[4],
        head=text,
        kind=kind,
        name=name,
        payload=payload,
    )


def _md5(payload: bytes) -> str:
    return hashlib.md5(payload, usedforsecurity=False).hexdigest()


def _when(text: str, year: int) -> dt.datetime:
    # Without a zone on purpose: the prefix is local time, and a copy only has to move it.
    return dt.datetime.strptime(f"{year} {text}", "%Y %m%d %H:%M:%S.%f")  # noqa: DTZ007


def _year(first: str, path: Path) -> int:
    """The year that puts the first prefix nearest to the first absolute time in the log; a prefix has none."""
    found = EVENT_TIME.search(path.read_bytes().replace(b"\n\t", b"\n"))
    if not found:
        return 2000  # a leap year, so that each date of a prefix exists
    clock = dt.datetime.fromtimestamp(float(found[1]) / 1e6, tz=dt.timezone.utc).replace(tzinfo=None)
    if first.startswith("0229"):
        return clock.year
    return min((clock.year - 1, clock.year, clock.year + 1), key=lambda year: abs(_when(first, year) - clock))


def _count(ids: Iterable[int | None]) -> int:
    return max((value for value in ids if value is not None), default=-1) + 1


def _describer(head: dict[str, Any]) -> int | None:
    value = next(iter(head.values()))
    return value.get("describer_id") if isinstance(value, dict) else None


def _metrics(head: dict[str, Any]) -> dict[str, Any]:
    return next((head[kind] for kind in METRICS if kind in head), {})


def shift_compile_id(text: str, shift: Shift) -> str:
    """Move a compile id as PyTorch prints it.

    Args:
        text: `0/0`, `0/0_1`, `!0/0/0` or `!0`; anything else, such as the `None` of an event outside of a
            compile, comes back as it is.
        shift: What to add.

    Returns:
        The moved id.
    """
    match = COMPILE_ID.fullmatch(text)
    if not match or not text:
        return text
    autograd, slash, frame, times, attempt = match.groups()
    moved = f"!{int(autograd) + shift.autograd}" if autograd else ""
    moved += slash or ""
    if frame:
        moved += f"{int(frame) + shift.frame}/{times}"
    return moved + (attempt or "")


def _shift_reason(text: str, shift: Shift) -> str:
    return REASON.sub(lambda match: shift_compile_id(match[0], shift), text, count=1) if REASON.match(text) else text


def _shift_frames(value: object, shift: Shift) -> None:
    """Move the file name of every stack frame below a value; frames stand at many places of an envelope."""
    if isinstance(value, list):
        for item in value:
            _shift_frames(item, shift)
    elif isinstance(value, dict):
        name = value.get("filename")
        if isinstance(name, int) and "line" in value and name >= 0:
            value["filename"] = name + shift.string
        for item in value.values():
            if isinstance(item, (dict, list)):
                _shift_frames(item, shift)


def _shift_metrics(metrics: dict[str, Any], shift: Shift) -> None:
    if metrics.get("compile_id"):
        metrics["compile_id"] = shift_compile_id(metrics["compile_id"], shift)
    if metrics.get("recompile_reason"):
        metrics["recompile_reason"] = _shift_reason(metrics["recompile_reason"], shift)
    if metrics.get("frame_key"):
        metrics["frame_key"] = str(int(metrics["frame_key"]) + shift.key)
    for key in SECOND_KEYS:
        if metrics.get(key):
            metrics[key] += shift.time.total_seconds()
    for key in MICROSECOND_KEYS:
        if metrics.get(key):
            metrics[key] += shift.microseconds


def shift_payload(record: Record, shift: Shift) -> bytes | None:
    """Move the compile ids and times inside a payload.

    Only kinds whose payload is known to hold ids are touched, since generated code and guards have other text that
    looks like one.

    Args:
        record: The record of the source.
        shift: What to add.

    Returns:
        The payload of the copy, or None where the record has none.
    """
    payload = record.payload
    if payload is None:
        return None
    if record.kind == "artifact" and record.name == "recompile_reasons":
        return PAYLOAD_REASON.sub(lambda m: m[1] + shift_compile_id(m[2].decode(), shift).encode(), payload)
    if record.kind in ("chromium_event", "graph_execution") or record.name.startswith("aotautograd_cache_"):
        payload = PAYLOAD_ID.sub(
            lambda m: b'"compile_id": "' + shift_compile_id(m[1].decode(), shift).encode() + b'"', payload
        )
    if record.kind == "chromium_event":
        payload = EVENT_TIME.sub(lambda m: f'"ts": {json.loads(m[1]) + shift.microseconds}'.encode(), payload)
    return payload


def shift_record(record: Record, shift: Shift, pid: bytes, rank: int | None) -> bytes:
    """Write one record anew with its ids and times moved.

    Args:
        record: The record of the source.
        shift: What to add.
        pid: The process id of the grown log.
        rank: The rank that the records shall have, or None for a log without.

    Returns:
        The bytes of the record with its payload, line feeds included.
    """
    head: dict[str, Any] = json.loads(record.head)
    value = head[record.kind]
    if record.kind == "str":
        value[1] += shift.string
    elif isinstance(value, dict) and "describer_id" in value:
        value["describer_id"] += shift.describer
    if record.kind in METRICS:
        _shift_metrics(value, shift)
    _shift_frames(head, shift)
    for key, add in zip(CONTEXT_KEYS, (shift.frame, shift.autograd), strict=True):
        if head.get(key) is not None:
            head[key] += add
    head.pop("rank", None)
    # PyTorch writes these two kinds outside of any context, so they have no rank in a log of a job either.
    if rank is not None and record.kind != "str" and record.name != "torch_version":
        head = {record.kind: value, "rank": rank, **head}
    payload = shift_payload(record, shift)
    if payload is not None:
        head["has_payload"] = _md5(payload)
    when = (record.when + shift.time).strftime("%m%d %H:%M:%S.%f").encode()
    line = b"%b%b %b %b] %b\n" % (record.level, when, pid, record.place, json.dumps(head).encode())
    return line if payload is None else line + b"\t" + payload.replace(b"\n", b"\n\t") + b"\n"


def grown(sources: Sequence[Source], rank: int | None = None) -> Iterator[bytes]:
    """Yield the records of an endless log.

    Args:
        sources: The logs to repeat, in turn.
        rank: The rank that the records shall have, or None for a log without.

    Yields:
        One record after the other, ready to be written.
    """
    pid = sources[0].pid
    frame = autograd = string = describer = key = 0
    clock = sources[0].start
    for source in itertools.cycle(sources):
        # Whole seconds keep the last digits of a prefix, which are always 000 in real logs, as they are.
        seconds = -((source.start - clock) // dt.timedelta(seconds=1))
        shift = Shift(frame, autograd, string, describer, key, dt.timedelta(seconds=seconds))
        for record in source.records:
            yield shift_record(record, shift, pid, rank)
        frame += source.frames
        autograd += source.autograds
        string += source.strings
        describer += source.describers
        key += source.keys
        clock = source.end + shift.time + PAUSE


def grow(sources: Sequence[Path], out: Path, size: int, rank: int | None = None) -> int:
    """Write a grown log.

    Args:
        sources: Logs to repeat, in turn; whole logs of one process each.
        out: The file to write.
        size: Bytes wanted. The log ends with the first record that reaches them.
        rank: The rank that the records shall have, or None for a log without.

    Returns:
        The bytes written.

    Raises:
        GrowError: If a source is damaged or no log.
    """
    logs = [read_source(path) for path in sources]
    written = 0
    with out.open("wb", buffering=1 << 20) as file:
        for record in grown(logs, rank):
            written += file.write(record)
            if written >= size:
                return written
    return written


def parse_size(text: str) -> int:
    """Read a size such as `200M`; K, M and G are powers of 1000."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?)B?", text.strip().upper())
    if not match:
        message = f"{text!r} is no size; write one as 500K, 200M or 1.5G"
        raise argparse.ArgumentTypeError(message)
    return int(float(match[1]) * UNITS[match[2]])


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path, help="the log to write")
    parser.add_argument("sources", type=Path, nargs="+", help="logs to repeat")
    parser.add_argument("--size", type=parse_size, required=True, help="bytes wanted, such as 200M")
    parser.add_argument("--rank", type=int, help="give the records this rank (none: a log without rank)")
    args = parser.parse_args()
    try:
        written = grow(args.sources, args.out, args.size, args.rank)
    except (GrowError, OSError) as error:
        parser.exit(2, f"{error}\n")
    print(f"{args.out}: {written:,} bytes")


if __name__ == "__main__":
    main()
