"""Inputs that a reader may be slow on: much of one thing, and nothing else. P1 to P9, each of any size.

P1 to P7 and P9 are one log each, P8 is a job. Each log begins as real ones do, and its records are valid; only P9 has
lines that are none, on purpose. What is wanted of a reader is linear time: twice the amount in twice the time.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from measures.records import CompileId, artifact, first_records, frame, metrics, record, source, start, string

if TYPE_CHECKING:
    from pathlib import Path

FRAMES: Final = 60
FILES: Final = 20
CODE_START: Final = re.compile(rb'^V[^\n]*?\] \{"inductor_output_code": [^\n]*\n', re.MULTILINE)
CODE_SIZE: Final = 6_400
LINE: Final = b"        buf0 = torch.ops.aten.add.Tensor(arg0_1, arg1_1);  arg0_1 = arg1_1 = None\n"
Maker = Callable[[int], Iterator[bytes]]


@dataclass(frozen=True)
class Special:
    """One of the inputs.

    Attributes:
        key: P1 to P9.
        name: What stands in tables.
        amount: How much of it there is at size 1, in `unit`.
        unit: What is counted.
        factor: The smallest size at which growth is measured, as a multiple of `amount`: one where start-up is a small
            part of the time. The comparison with the peer is at size 1.
        make: Gives the records; None for the job of P8.
    """

    key: str
    name: str
    amount: int
    unit: str
    factor: int
    make: Maker | None


def deep_stacks(compiles: int) -> Iterator[bytes]:
    """Yield compiles whose stacks of 60 frames part early, so that their tree has a branch for nearly each of them."""
    yield from first_records()
    for number in range(1, FILES):
        yield string(f"/work/layers/block_{number}.py", number)
    for number in range(compiles):
        compile_id = CompileId(number)
        # The first frames are those of the program, the others differ in their line from compile to compile.
        stack = [frame(f"f{depth}", 10 + (number if depth > 1 else 0), depth % FILES) for depth in range(FRAMES)]
        del stack[-1]["loc"]  # the frame that is compiled never has it
        yield start(compile_id, stack)
        yield metrics(compile_id, f"f{FRAMES - 1}")


def output_code(pieces: int, code: Iterable[bytes]) -> Iterator[bytes]:
    """Yield generated code of Inductor and nothing else.

    Args:
        pieces: How many.
        code: Real code, taken in turn. A comment makes each piece differ from all others, since a reader may write
            equal payloads once.

    Yields:
        The records.
    """
    yield from first_records()
    for number, text in zip(range(pieces), itertools.cycle(code), strict=False):
        payload = text + b"\n# piece %d\n" % number
        yield record("inductor_output_code", {}, CompileId(number), place="_inductor/graph.py:2516", payload=payload)


def metrics_of_one(times: int) -> Iterator[bytes]:
    """Yield metrics that all belong to the compile 0/0."""
    yield from first_records()
    for _ in range(times):
        yield metrics(CompileId(0), "fn")


def tiny_records(count: int) -> Iterator[bytes]:
    """Yield the smallest records that belong to a compile."""
    yield from first_records()
    for number in range(count):
        yield source(number)


def artifacts(count: int) -> Iterator[bytes]:
    """Yield small artifacts, a file of the report each; 100 belong to one compile."""
    yield from first_records()
    for number in range(count):
        yield artifact(f"note_{number % 100}", b"artifact %d" % number, CompileId(number // 100))


def payload_of_lines(size: int) -> Iterator[bytes]:
    """Yield one artifact whose payload has the wanted bytes, in lines."""
    yield from first_records()
    yield artifact("large", (LINE * (size // len(LINE) + 1))[:size], CompileId(0))


def one_line_head(size: int) -> Iterator[bytes]:
    """Yield one record whose head is a line of the wanted bytes."""
    yield from first_records()
    yield start(CompileId(0), [{"line": 10, "name": "f" * size, "filename": 0}])
    yield metrics(CompileId(0), "fn")


def one_line_payload(size: int) -> Iterator[bytes]:
    """Yield one artifact whose payload is a single line of the wanted bytes."""
    yield from first_records()
    yield artifact("large", b"x" * size, CompileId(0))


def garbage(lines: int) -> Iterator[bytes]:
    """Yield lines that are no records, ten after each good one: what lies between two good ones is one problem."""
    yield from first_records()
    for number in range(lines):
        if number % 10 == 0:
            yield source(number // 10)
        yield b"step %d: loss is nan, this line is no record\n" % number


def real_code(logs: Iterable[Path]) -> list[bytes]:
    """Find the generated code of real logs.

    Args:
        logs: Where to look.

    Returns:
        Each piece once, in the order of the logs; of a long one the first lines, so that all are of about one size.
    """
    found: dict[bytes, bytes] = {}
    for log in logs:
        text = log.read_bytes()
        for match in CODE_START.finditer(text):
            end = re.compile(rb"^[^\t]|\Z", re.MULTILINE).search(text, match.end())
            lines = text[match.end() : end.start() if end else None].splitlines(keepends=True)
            piece = b"".join(line[1:] for line in lines)
            piece = piece[: piece.find(b"\n", CODE_SIZE) + 1 or None].rstrip(b"\n")
            found.setdefault(hashlib.md5(piece, usedforsecurity=False).digest(), piece)
    return list(found.values())


def specials(code: list[bytes]) -> tuple[Special, ...]:
    """List all of them.

    Args:
        code: What `real_code` found.

    Returns:
        P1 to P9, in order; P7 is two.
    """
    million = 10**6
    return (
        Special("P1", "deep stacks", 3000, "compiles of 60 frames", 1, deep_stacks),
        Special("P2", "output code only", 1000, "pieces of code", 4, lambda n: output_code(n, code)),
        Special("P3", "metrics of one compile", 20_000, "records", 1, metrics_of_one),
        Special("P4", "tiny records", million, "records", 1, tiny_records),
        Special("P5", "artifacts", 100_000, "artifacts", 1, artifacts),
        Special("P6", "one large payload", 200 * million, "bytes", 1, payload_of_lines),
        Special("P7a", "one line, a head", 200 * million, "bytes", 1, one_line_head),
        Special("P7b", "one line, a payload", 200 * million, "bytes", 1, one_line_payload),
        Special("P8", "many ranks", 64, "ranks of 4 MB", 1, None),
        Special("P9", "lines that are no records", 200_000, "lines", 8, garbage),
    )
