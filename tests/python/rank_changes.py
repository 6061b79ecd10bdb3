"""Changes of the log of one rank, as PyTorch would have logged them: another shape, a graph break, a lost tail.

A change gets the records of a log and gives those of the changed one; the md5 of each payload is right again when they
are written.
"""

from __future__ import annotations

import copy
import datetime as dt
import json
import re
from typing import TYPE_CHECKING, Any

from grow import Shift, shift_compile_id
from rank_logs import Record, written

if TYPE_CHECKING:
    from collections.abc import Iterable


def of(records: Iterable[Record], compile_id: str) -> list[Record]:
    """Give the records of a compile."""
    return [record for record in records if record.compile_id == compile_id]


def _metrics(records: Iterable[Record]) -> dict[str, Any]:
    return next(record.head["compilation_metrics"] for record in records if record.kind == "compilation_metrics")


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
    metrics = _metrics(mine)
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


def extra_compile(
    records: list[Record], compile_id: str, name: str = "only_here", *, before: bool = False
) -> list[Record]:
    """Compile one function more behind a compile, or before it; the frames that follow have the next numbers."""
    mine = of(records, compile_id)
    end = max(number for number, record in enumerate(records) if record.compile_id == compile_id) + 1
    length = mine[-1].when - mine[0].when + dt.timedelta(seconds=1)
    extra = [copy.deepcopy(record) for record in mine]
    metrics = _metrics(mine)
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
    start = next(number for number, record in enumerate(records) if record.compile_id == compile_id)
    at = start if before else end
    later = records[at:] if before else [*extra, *records[at:]]
    for record in later:
        _shift_frame(record, 1)
        move(record, length)
    return [*records[:at], *(extra if before else []), *later]


def _shift_frame(record: Record, by: int) -> None:
    shift = Shift(frame=by, autograd=0, string=0, describer=0, key=by, time=dt.timedelta())
    if record.head.get("frame_id") is not None:
        record.head["frame_id"] += by
    value = record.head[record.kind]
    if isinstance(value, dict) and value.get("compile_id"):
        value["compile_id"] = shift_compile_id(value["compile_id"], shift)
        if value.get("frame_key"):
            value["frame_key"] = str(int(value["frame_key"]) + by)
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
    metrics = _metrics(mine)
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


def recompiled(records: list[Record], compile_id: str, reason: str) -> list[Record]:
    """Compile a function once more right behind its compile, for a reason; no other id changes."""
    mine = of(records, compile_id)
    end = max(number for number, record in enumerate(records) if record.compile_id == compile_id) + 1
    length = mine[-1].when - mine[0].when + dt.timedelta(seconds=1)
    again = [copy.deepcopy(record) for record in mine]
    frame = compile_id.partition("/")[0]
    for record in again:
        record.head["frame_compile_id"] = 1
        value = record.head[record.kind]
        if isinstance(value, dict) and value.get("compile_id"):
            value["compile_id"] = f"{frame}/1"
        if isinstance(value, dict) and "describer_id" in value:
            value["describer_id"] += 5000
        if record.payload is not None:
            before, after = (b'"compile_id": "%b/%d"' % (frame.encode(), times) for times in (0, 1))
            record.payload = record.payload.replace(before, after)
    why = next(copy.deepcopy(record) for record in again if record.kind == "dynamo_start")
    del why.head["dynamo_start"]
    why.head = {"artifact": {"name": "recompile_reasons", "encoding": "json"}, **why.head}
    why.payload = f"{compile_id}: {reason}".encode()
    later = [why, *again, *records[end:]]
    for record in later:
        move(record, length)
    return [*records[:end], *later]


def failed(records: list[Record], compile_id: str) -> list[Record]:
    """Let the backend of a compile fail: nothing comes of its graph, and its metrics say why."""
    mine = of(records, compile_id)
    metrics = _metrics(mine)
    metrics |= {
        "fail_type": "BackendCompilerFailed",
        "fail_reason": "backend='inductor' raised:\nMemoryError: out of memory",
        "fail_user_frame_filename": metrics["co_filename"],
        "fail_user_frame_lineno": metrics["co_firstlineno"],
        "has_guarded_code": False,
        "guard_count": None,
    }
    graph = next(n for n, r in enumerate(records) if r.compile_id == compile_id and r.kind == "dynamo_output_graph")
    ends = {"dynamo", "entire_frame_compile", "backend_compile", "compile_attempt_0"}
    return [
        record
        for number, record in enumerate(records)
        if record.compile_id != compile_id
        or number <= graph
        or record.kind == "compilation_metrics"
        or record.event.get("name") in ends
    ]


def other_constant(records: list[Record], compile_id: str, old: str, new: str) -> list[Record]:
    """Let a function see another constant: it stands in a guard, and in the graphs.

    Args:
        records: The log.
        compile_id: The compile.
        old: The constant.
        new: What the rank has.
    """
    for record in of(records, compile_id):
        text = (record.payload or b"").decode()
        if record.kind == "dynamo_cpp_guards_str":
            changed = text.replace(f" == {old} ", f" == {new} ")
            assert changed != text
        elif "graph" in record.kind:
            changed = re.sub(rf"( \* |, ){old}(;|\))", rf"\g<1>{new}\2", text)
        else:
            continue
        record.payload = changed.encode()
    return records


def other_version(records: list[Record], version: str) -> list[Record]:
    """Let the process have run another release of PyTorch."""
    for record in records:
        if record.name == "torch_version" and record.payload is not None:
            record.payload = re.sub(rb'("pytorch_version": )"[^"]*"', rb'\1"%b"' % version.encode(), record.payload)
        elif record.kind.endswith("compilation_metrics"):
            record.head[record.kind]["pytorch_version"] = version
    return records


def swapped_order(records: list[Record], first: str, second: str) -> list[Record]:
    """Compile two functions that follow each other the other way round; each gets the other's id."""
    early, late = of(records, first), of(records, second)
    start = next(number for number, record in enumerate(records) if record is early[0])
    end = next(number for number, record in enumerate(records) if record is late[-1]) + 1
    by = late[0].when - early[0].when
    length = late[-1].when - late[0].when + dt.timedelta(milliseconds=20)
    for record in late:
        _shift_frame(record, -1)
        move(record, -by)
    for record in early:
        _shift_frame(record, 1)
        move(record, length)
    # Strings belong to no compile; they are defined before they are used.
    rest = [record for record in records[start:end] if record.compile_id is None]
    return [*records[:start], *rest, *late, *early, *records[end:]]


def other_function(records: list[Record], compile_id: str, name: str) -> list[Record]:
    """Let another function with the same graph be compiled in the place of one."""
    for record in of(records, compile_id):
        value = record.head[record.kind]
        if record.kind == "dynamo_start":
            value["stack"][-1] |= {"name": name, "line": value["stack"][-1]["line"] + 100}
        elif record.kind == "compilation_metrics":
            value |= {"co_name": name, "co_firstlineno": value["co_firstlineno"] + 100}
    return records
