"""The job of the group `ranks`: hundreds of ranks with thousands of small compiles each, of which three ranks are odd.

All ranks compile the same functions, each of them twice. One rank has a compile more in the middle, after which all its
ids are others; one has another graph; one takes long for a compile. What a comparison must find is known, so that a
measurement of a wrong answer is none.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from measures.inputs import ANY_RANK, RANK_MARK, age, rank_name
from measures.records import EPOCH_S, PID, CompileId, first_records, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# How far the compiles of a rank are apart, how long they take, and how long the slow one takes, in milliseconds.
STEP: Final = 50
LONG: Final = 20
SLOW: Final = 30_000
SIZE: Final = (64, 64)
OP: Final = "torch.ops._c10d_functional.{}.default"
GRAPH: Final = """class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[{rows}, 64][64, 1]cpu"):
        l_x_ = L_x_
        # File: /work/model.py:{line} in f{number}, code: y = x.{function}()
        y: "f32[{rows}, 64][64, 1]cpu" = l_x_.{function}();  l_x_ = None
        tensor: "f32[{rows}, 64][64, 1]cpu" = torch.ops._c10d_functional.all_reduce(y, 'sum', '0');  y = None
        a: "f32[{rows}, 64][64, 1]cpu" = torch.ops._c10d_functional.wait_tensor(tensor);  tensor = None
        return (a,)
"""
GUARDS: Final = """
TREE_GUARD_MANAGER:
+- RootGuardManager
| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=0), type=<class 'torch.Tensor'>, tag_safe=(True, False)
| | +- TENSOR_MATCH: check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, size=[{rows}, 64], stride=[64, 1])
"""  # noqa: E501 - as PyTorch writes it


@dataclass(frozen=True)
class Job:
    """A job of many ranks.

    Attributes:
        ranks: How many there are.
        compiles: How many each of them has.
    """

    ranks: int
    compiles: int

    @property
    def odd(self) -> dict[str, int]:
        """The ranks that differ: `more` has a compile more, `graph` another graph, `slow` a slow compile.

        They are of the first half, so that half of the job has them, too.
        """
        return {"more": self.ranks // 8, "graph": self.ranks // 4, "slow": self.ranks // 8 * 3}


def _one(at: int, number: int, compile_id: CompileId, function: str, long: int = LONG) -> Iterator[bytes]:
    """Yield the records of one compile.

    Args:
        at: When it begins, in milliseconds.
        number: The number of its function.
        compile_id: Its id.
        function: What its graph calls.
        long: How long it takes, in milliseconds.
    """
    end = at + long
    rows = SIZE[0] + compile_id.times

    def one(kind: str, value: object, payload: bytes | None = None, millis: int = at, place: str = "x.py:1") -> bytes:
        return record(kind, value, compile_id, payload=payload, rank=ANY_RANK, millis=millis, place=place)

    def span(name: str, ph: str, millis: int) -> bytes:
        event = {"name": name, "ts": (EPOCH_S * 1000 + millis) * 1000.0, "args": {"compile_id": str(compile_id)}}
        text = json.dumps({**event, "ph": ph, "cat": "dynamo_timed", "tid": 0, "pid": 0}, indent=0)
        return one("chromium_event", {}, text.encode(), millis)

    def artifact(name: str, value: object) -> bytes:
        return one("artifact", {"name": name, "encoding": "json"}, json.dumps(value).encode(), end)

    if compile_id.times:
        expected = f"expected {rows - 1}, actual {rows}"
        yield artifact("recompile_reasons", f"{compile_id.frame}/0: tensor 'x' size mismatch at index 0. {expected}")
    yield span("entire_frame_compile", "B", at)
    yield one("dynamo_start", {"stack": [{"line": 10 + number, "name": f"f{number}", "filename": 0}]})
    tensor = {"id": 0, "ndim": 2, "dtype": "torch.float32", "device": "device(type='cpu')", "size": [rows, SIZE[1]]}
    yield one("describe_tensor", {**tensor, "stride": [SIZE[1], 1], "storage": 0, "describer_id": 2 * number})
    yield one("describe_source", {"describer_id": 2 * number, "id": 0, "source": "L['x']"})
    graph = GRAPH.format(rows=rows, line=10 + number, number=number, function=function)
    yield one("dynamo_output_graph", {"sizes": {"l_x_": [rows, SIZE[1]]}}, graph.encode(), end)
    key = f"a{number:020}{compile_id.times}"
    yield artifact("aotautograd_cache_hit", {"key": key, "cache_state": "hit", "compile_id": str(compile_id)})
    yield artifact("inductor_collective_schedule", [OP.format("all_reduce_"), OP.format("wait_tensor")])
    yield one("dynamo_cpp_guards_str", {}, GUARDS.format(rows=rows).encode(), end)
    yield span("entire_frame_compile", "E", end)
    value = {
        "compile_id": str(compile_id),
        "frame_key": str(compile_id.frame + 1),
        "co_name": f"f{number}",
        "co_filename": "/work/model.py",
        "co_firstlineno": 10 + number,
        "guard_count": 2,
        "graph_op_count": 3,
        "start_time": EPOCH_S + at / 1000,
        "entire_frame_compile_time_s": long / 1000,
        "fail_type": None,
        "restart_reasons": [],
        "has_guarded_code": True,
        "is_forward": True,
        "start_time_us": (EPOCH_S * 1000 + at) * 1000,
        "duration_us": long * 1000,
        "end_time_us": (EPOCH_S * 1000 + end) * 1000,
    }
    yield one("compilation_metrics", value, None, end)


def _log(compiles: int, odd: str | None = None) -> bytes:
    """Give the log of a rank, with a mark where its number stands; `odd` is a key of `Job.odd`."""
    records = list(first_records())
    functions = compiles // 2
    at, frame = 0, 0
    for number in range(functions):
        odd_here = {"more": functions // 2, "graph": functions // 4 * 3, "slow": functions // 4}.get(
            odd or ""
        ) == number
        for times in range(2):
            other = odd == "graph" and odd_here and times == 1
            slow = odd == "slow" and odd_here and times == 0
            long = SLOW if slow else LONG
            records += _one(at, number, CompileId(frame, times), "cos" if other else "sin", long)
            at += long + STEP
        frame += 1
        if odd == "more" and odd_here:
            records += _one(at, functions + 1, CompileId(frame), "sin")
            at += LONG + STEP
            frame += 1
    return b"".join(records)


def write_job(folder: Path, job: Job) -> Path:
    """Write the logs of a job.

    Args:
        folder: Where they go; it is made.
        job: What is in it.

    Returns:
        The folder.
    """
    folder.mkdir()
    usual = _log(job.compiles)
    odd = {rank: _log(job.compiles, name) for name, rank in job.odd.items()}
    for rank in range(job.ranks):
        text = odd.get(rank, usual)
        own = text.replace(RANK_MARK, b'"rank": %d' % rank).replace(b" %d torch/" % PID, b" %d torch/" % (PID + rank))
        path = folder / rank_name(rank)
        path.write_bytes(own)
        age(path)
    return folder


def part_of(whole: Path, folder: Path, ranks: int) -> Path:
    """Give a job of the first ranks of another one; no log is copied."""
    folder.mkdir()
    for rank in range(ranks):
        os.link(whole / rank_name(rank), folder / rank_name(rank))
    return folder
