"""Logs written by hand in the shape of PyTorch's, for tests that need an input of one kind of fault.

A log here has the records `BEFORE`, then what the test puts there, then `AFTER`: a test that counts
them sees whether a fault took others with it.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

PREFIX = b"V1129 23:59:59.000001 12345 torch/_dynamo/convert_frame.py:123] "
METRICS = {"co_name": "fn", "co_firstlineno": 3, "graph_op_count": 5}
IDS = ', "frame_id": 0, "frame_compile_id": 0, "attempt": 0'


def record(  # noqa: PLR0913 - the parts of a record, all but two by keyword
    kind: str,
    value: object,
    payload: str | bytes | None = None,
    *,
    rank: int | None = None,
    ids: str = IDS,
    prefix: bytes = PREFIX,
) -> bytes:
    """Give one record; a value that is bytes stands as it is, any other becomes JSON as Python writes it."""
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    head = b'{"%s": %s' % (kind.encode(), text)
    if rank is not None:
        head += b', "rank": %d' % rank
    head += ids.encode()
    if payload is None:
        return prefix + head + b"}\n"
    content = payload.encode() if isinstance(payload, str) else payload
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest().encode()
    lines = b"".join(b"\t%s\n" % line for line in content.split(b"\n"))
    return prefix + head + b', "has_payload": "' + digest + b'"}\n' + lines


def artifact(name: str, payload: str | bytes, *, rank: int | None = None, **about: Any) -> bytes:
    """Give an artifact of the encoding string, or another that is told."""
    return record("artifact", {"name": name, "encoding": "string", **about}, payload, rank=rank)


def log(*odd: bytes, rank: int | None = None, at: bytes = b"1129 23:59:59") -> bytes:
    """Give a log of three good records, with the odd ones before the last of them, all of one second."""
    frame = {"line": 3, "name": "fn", "filename": 0, "loc": "f(x)"}
    good = [
        record("str", ["foo.py", 0], ids=""),
        record("dynamo_start", {"stack": [frame]}, rank=rank),
        *odd,
        artifact("after", "x", rank=rank),
    ]
    return b"".join(good).replace(b"V1129 23:59:59", b"V" + at)


def rank_name(rank: int, ending: str = "") -> str:
    """Give the name of a rank's log."""
    return f"dedicated_log_torch_trace_rank_{rank}_abcd{rank:04}.log{ending}"


def job(folder: Path, *logs: bytes) -> Path:
    """Write the logs of a job, numbered as ranks; give the folder."""
    folder.mkdir()
    for rank, text in enumerate(logs):
        (folder / rank_name(rank)).write_bytes(text)
    return folder


def whole(rank: int, *odd: bytes) -> bytes:
    """Give the log of a rank whose one compile went through."""
    return log(record("compilation_metrics", METRICS, rank=rank), *odd, rank=rank)


def named(folder: Path, files: dict[str, bytes]) -> Path:
    """Write files by their names."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_bytes(text)
    return folder


def trees(out: Path) -> list[str]:
    """Give the folders of a job's logs."""
    return sorted(path.parent.name for path in out.glob("*/index.html"))
