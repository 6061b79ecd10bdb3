"""Records as PyTorch writes them, for inputs that are made from nothing: prefix, JSON head, payload with its md5.

What is made here is valid in each byte: the grammar is that of `docs/format.md`, and the order of the keys is that of
the real thing, so that no reader takes a short cut that it would not take with a real log.
"""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

PID: Final = 4242
PREFIX: Final = "V{when} {pid} torch/{place}] "
EPOCH_S: Final = 1_764_460_301
"""The time at which these logs begin: the 29th of November, 23:51:41."""


class CompileId(NamedTuple):
    """The compile that a record belongs to."""

    frame: int
    times: int = 0

    def __str__(self) -> str:
        """As PyTorch prints it."""
        return f"{self.frame}/{self.times}"


def record(  # noqa: PLR0913 - the parts of a record, all but three by keyword
    kind: str,
    value: object,
    compile_id: CompileId | None = None,
    *,
    place: str = "_logging/_internal.py:1345",
    payload: bytes | None = None,
    rank: int | None = None,
    millis: int | None = None,
) -> bytes:
    """Write one record.

    Args:
        kind: Its name, the first key of its head.
        value: What stands under that key.
        compile_id: Its compile; None for the kinds that PyTorch writes outside of any.
        place: File and line that logged it, below the folder of PyTorch.
        payload: What follows the head; None for a record without.
        rank: The rank of its process; None for the log of one without.
        millis: Its time after `EPOCH_S`. Without one the clock goes forward as long as a second lasts, and then
            stands: times are not what most of these logs are about.

    Returns:
        The bytes, line feeds included.
    """
    head: dict[str, Any] = {kind: value} if rank is None else {kind: value, "rank": rank}
    if compile_id:
        head |= {"frame_id": compile_id.frame, "frame_compile_id": compile_id.times, "attempt": 0}
    if payload is not None:
        head["has_payload"] = hashlib.md5(payload, usedforsecurity=False).hexdigest()
    if millis is None:
        millis = min(compile_id.frame, 999) if compile_id else 0
    seconds = EPOCH_S + millis // 1000
    when = f"{time.strftime('%m%d %H:%M:%S', time.gmtime(seconds))}.{millis % 1000:03d}000"
    line = (PREFIX.format(when=when, pid=PID, place=place) + json.dumps(head)).encode()
    return line + b"\n" if payload is None else line + b"\n\t" + payload.replace(b"\n", b"\n\t") + b"\n"


def first_records() -> Iterator[bytes]:
    """Yield what stands at the front of each log of PyTorch 2.12 and later: the first string and the version."""
    yield string("/work/model.py", 0)
    version = b'{\n"pytorch_version": "2.13.0",\n"commit": "0000000000",\n"oss": true\n}'
    yield record("artifact", {"name": "torch_version", "encoding": "json"}, payload=version)


FIRST: Final = 2
"""How many records `first_records` gives."""


def string(text: str, number: int) -> bytes:
    """Write the record that gives a text of stack frames its id."""
    return record("str", [text, number], place="_logging/structured.py:28")


def artifact(name: str, payload: bytes, compile_id: CompileId) -> bytes:
    """Write an artifact that is text."""
    return record("artifact", {"name": name, "encoding": "string"}, compile_id, payload=payload)


def source(number: int) -> bytes:
    """Write where a tensor comes from, the smallest record that has a compile; a thousand belong to one."""
    value = {"describer_id": 0, "id": number, "source": "L['x']"}
    return record("describe_source", value, CompileId(number // 1000), place="_subclasses/meta_utils.py:260")


def start(compile_id: CompileId, frames: list[dict[str, Any]]) -> bytes:
    """Write the start of a compile."""
    return record("dynamo_start", {"stack": frames}, compile_id, place="_dynamo/convert_frame.py:1216")


def frame(name: str, line: int, filename: int = 0) -> dict[str, Any]:
    """Give a frame of a stack whose file is an interned string."""
    return {"line": line, "name": name, "filename": filename, "loc": f"x = {name}(x)"}


def metrics(compile_id: CompileId, name: str) -> bytes:
    """Write the metrics of a compile that went well; few of their fields, since their number is not what costs."""
    value = {
        "compile_id": str(compile_id),
        "frame_key": str(compile_id.frame + 1),
        "co_name": name,
        "co_filename": "/work/model.py",
        "guard_count": 5,
        "graph_op_count": 3,
        "start_time": 1764460301.5,
        "entire_frame_compile_time_s": 0.25,
        "fail_type": None,
        "has_guarded_code": True,
        "is_forward": True,
    }
    return record("compilation_metrics", value, compile_id, place="_dynamo/utils.py:2093")
