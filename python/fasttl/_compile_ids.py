"""How a person names a compile: the one grammar for `Trace.explain`, `Trace.extract` and their commands.

It reads what PyTorch and fasttl print, so that an id can be copied from a log, a page or a
table. Blanks around it do not count, and it may stand in brackets:

- ``0/1``: a frame, and the n-th compile of it;
- ``!3``: a capture of compiled autograd; ``!3/0/1``: a compile within one;
- ``0/1_2``: one attempt of it. Without, all its attempts are meant;
- ``0/1@1``: in the second generation, after `torch._dynamo.reset`. Without, it is not said which.

A number may have a sign, and ``-`` stands for one that the log lacks, as in ``-/1``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fasttl.exceptions import OptionError

if TYPE_CHECKING:
    import polars as pl

# Digits of ASCII only, and no more than 64 bits have: Python itself would refuse some thousands of them.
_NUMBER = r"-?[0-9]{1,19}"
_ID = re.compile(
    rf"(?:!(?P<autograd>{_NUMBER}))?"
    rf"(?:(?(autograd)/)(?P<frame>{_NUMBER}|-)/(?P<compile>{_NUMBER}|-))?"
    rf"(?:_(?P<attempt>[0-9]{{1,19}}))?(?:@(?P<generation>[0-9]{{1,19}}))?"
)
_BOUND = 1 << 63

# What an error message shows.
FORMS = "0/1, 0/1_2 for an attempt, !0/1/0 for compiled autograd, or 0/1@1 for the second generation"


class CompileId(NamedTuple):
    """What a person named: the numbers of the compile, and which attempt and generation where that was said.

    Example:
        >>> wanted = CompileId.parse("[!3/0/1_2]")
        >>> wanted.compiled_autograd_id, wanted.frame_id, wanted.frame_compile_id, wanted.attempt
        (3, 0, 1, 2)
        >>> CompileId.parse("0/1@1")
        CompileId(compiled_autograd_id=None, frame_id=0, frame_compile_id=1, attempt=None, generation=1)
    """

    compiled_autograd_id: int | None
    frame_id: int | None
    frame_compile_id: int | None
    attempt: int | None = None
    """None for all attempts."""
    generation: int | None = None
    """None where it was not said which."""

    @classmethod
    def parse(cls, text: str, others: str = "") -> CompileId:
        """Read an id.

        Args:
            text: What a person wrote.
            others: What else the message may offer.

        Raises:
            OptionError: The text is no compile id.
        """
        bare = text.strip()
        if bare.startswith("[") and bare.endswith("]"):
            bare = bare[1:-1]
        found = _ID.fullmatch(bare)
        words = ("autograd", "frame", "compile", "attempt", "generation")
        numbers = [_number(found[word]) for word in words] if found else []
        # An attempt or a generation alone names no compile.
        if all(number is None for number in numbers[:3]) or not all(_fits(number) for number in numbers):
            message = f"{text!r} is no compile id; write for example {FORMS}{others}"
            raise OptionError(message)
        return cls(*numbers)

    def of_compile(self) -> list[pl.Expr]:
        """Give the conditions on the rows of a table that has a row or more for each compile; not on the attempt."""
        import polars as pl  # noqa: PLC0415 - see the head of the package

        keys = ("compiled_autograd_id", "frame_id", "frame_compile_id")
        conditions = [pl.col(key).eq_missing(pl.lit(getattr(self, key), pl.Int64)) for key in keys]
        if self.generation is not None:
            conditions.append(pl.col("generation") == self.generation)
        return conditions


def _number(text: str | None) -> int | None:
    return None if text is None or text == "-" else int(text)


def _fits(number: int | None) -> bool:
    return number is None or -_BOUND <= number < _BOUND
