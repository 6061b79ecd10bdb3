"""Turns what a caller typed into the plain values that the extension takes.

The Python functions and the command line share these, so that both accept the
same spellings and refuse the same mistakes with the same words.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, SupportsIndex, TypeAlias

from fasttl._inputs import THREADS_VARIABLE, Request, input_paths
from fasttl.exceptions import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    PathInput: TypeAlias = str | os.PathLike[str]
    PathsInput: TypeAlias = PathInput | Iterable[PathInput] | None
    RanksInput: TypeAlias = str | int | Iterable[int | None] | None
    Progress: TypeAlias = Callable[[int, int], None]

# A range such as 0-4000000000 is a slip of the finger, not a wish for a list of that length.
MAX_RANKS = 1 << 20
MAX_RANK = (1 << 31) - 1
MAX_BYTES = (1 << 63) - 1

_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def make_request(
    path: PathsInput,
    *,
    ranks: RanksInput,
    latest: bool,
    threads: int | None,
    max_unpacked: int | str | None,
) -> Request:
    """Check the options that say what to read and how.

    Raises:
        OptionError: One of them cannot be used.
    """
    return Request(
        paths=input_paths(path),
        ranks=rank_list(ranks),
        latest=latest,
        threads=thread_count(threads),
        max_unpacked=byte_count(max_unpacked),
    )


def rank_list(ranks: RanksInput) -> list[int | None] | None:
    """Give the wanted ranks in order, None standing for logs without a rank.

    Args:
        ranks: None for all, a number, numbers, or text such as ``"0-7,64,none"``.

    Raises:
        OptionError: A rank is no number from 0 on, or the list is empty.
    """
    if ranks is None:
        return None
    if isinstance(ranks, str):
        wanted = _ranks_of_text(ranks)
    elif isinstance(ranks, Iterable):
        wanted = {None if rank is None else _rank_number(rank) for rank in ranks}
    else:
        wanted = {_rank_number(ranks)}
    if not wanted:
        message = "the list of ranks is empty; leave it out to read all"
        raise OptionError(message)
    return sorted(wanted, key=lambda rank: MAX_RANK + 1 if rank is None else rank)


def _rank_number(rank: object) -> int:
    number = _whole_number(rank, 0, MAX_RANK)
    if number is None:
        message = f"not a rank: {rank!r}"
        raise OptionError(message)
    return number


def _whole_number(value: object, low: int, high: int) -> int | None:
    """Give a value as int where it is a whole number in the range; numpy's numbers are."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        number = operator.index(value)
    except TypeError:
        # Arrays have __index__ too, but only those of one number can use it.
        return None
    return number if low <= number <= high else None


def _ranks_of_text(text: str) -> set[int | None]:
    wanted: set[int | None] = set()
    for part in text.split(","):
        word = part.strip().lower()
        if not word:
            continue
        if word == "none":
            wanted.add(None)
            continue
        first, dash, last = (piece.strip() for piece in word.partition("-"))
        if not _is_number(first) or (dash and not _is_number(last)):
            message = f"not a rank: {part.strip()!r}; write for example 0-7,64,none"
            raise OptionError(message)
        low = int(first)
        high = int(last) if dash else low
        if high < low or high > MAX_RANK or high - low >= MAX_RANKS:
            message = f"not a range of ranks: {part.strip()!r}"
            raise OptionError(message)
        wanted.update(range(low, high + 1))
    return wanted


def _is_number(text: str) -> bool:
    # isdigit() alone also takes digits of other scripts, and a number of a
    # thousand digits would be refused by int() with words about its own limit.
    return text.isascii() and text.isdigit() and len(text) <= len(str(MAX_RANK))


def thread_count(threads: int | None) -> int | None:
    """Give the number of worker threads, from ``$FASTTL_THREADS`` where none is given.

    None means one for each core that the process may use.

    Raises:
        OptionError: It is not a number from 1 on.
    """
    if threads is not None:
        number = _whole_number(threads, 1, MAX_RANK)
        if number is None:
            message = f"threads must be a whole number from 1 on, not {threads!r}"
            raise OptionError(message)
        return number
    text = os.environ.get(THREADS_VARIABLE, "").strip()
    if not text:
        return None
    if not _is_number(text) or int(text) < 1:
        message = f"${THREADS_VARIABLE} must be a whole number from 1 on, not {text!r}"
        raise OptionError(message)
    return int(text)


def byte_count(size: int | str | None) -> int | None:
    """Give a size in bytes.

    Args:
        size: Bytes, or text with a unit of 1024: ``"500M"``, ``"64G"``, ``"1.5 GiB"``.

    Raises:
        OptionError: It is no size above 0.
    """
    if size is None:
        return None
    if isinstance(size, str):
        return _bytes_of_text(size)
    number = _whole_number(size, 1, MAX_BYTES)
    if number is None:
        message = f"not a size in bytes: {size!r}"
        raise OptionError(message)
    return number


def _bytes_of_text(text: str) -> int:
    word = text.strip().upper()
    number = word.rstrip("KMGTIB ")
    unit = word[len(number) :].strip()
    # "G", "GB" and "GiB" are one thing here: nobody means a limit in powers of ten.
    unit = unit.removesuffix("B").removesuffix("I") if unit not in {"I", "IB"} else unit
    plain = number.replace(".", "", 1)
    if unit in _UNITS and plain.isascii() and plain.isdigit() and len(plain) <= len(str(MAX_BYTES)):
        count = int(float(number) * 1024 ** _UNITS[unit]) if "." in number else None
        count = int(number) * 1024 ** _UNITS[unit] if count is None else count
        if 0 < count <= MAX_BYTES:
            return count
    message = f"not a size: {text!r}; write for example 500M or 64G"
    raise OptionError(message)
