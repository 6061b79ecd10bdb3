"""What to read: the paths that a caller named, and the request that loading and reporting share.

Apart from `_options`, of which a report without special wishes needs nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import fasttl

if TYPE_CHECKING:
    from fasttl._options import PathInput, PathsInput

TRACE_VARIABLE = "TORCH_TRACE"
THREADS_VARIABLE = "FASTTL_THREADS"
STDIN = "-"


class Request(NamedTuple):
    """What to read: the part of the options that loading and reporting share."""

    paths: list[str]
    ranks: list[int | None] | None
    latest: bool
    threads: int | None
    max_unpacked: int | None


def input_paths(path: PathsInput) -> list[str]:
    """Give the inputs as strings; without any, what ``$TORCH_TRACE`` names.

    Raises:
        OptionError: There is no input, or an input is no path.
    """
    if path is None:
        named = os.environ.get(TRACE_VARIABLE, "")
        if not named:
            message = f"no input: give a trace folder or a log, or set ${TRACE_VARIABLE} to the folder"
            raise fasttl.OptionError(message)
        return [named]
    items = [path] if isinstance(path, (str, bytes, os.PathLike)) else list(path)
    if not items:
        message = "no input: the list of paths is empty"
        raise fasttl.OptionError(message)
    return [_path_text(item) for item in items]


def _path_text(path: PathInput) -> str:
    try:
        text = os.fsdecode(path)
    except TypeError as error:
        message = f"not a path: {path!r}"
        raise fasttl.OptionError(message) from error
    if not text:
        message = "a path is empty; for the current folder give '.'"
        raise fasttl.OptionError(message)
    if "\0" in text:
        message = f"not a path: {text!r} holds a NUL character"
        raise fasttl.OptionError(message)
    return text


def absolute(path: str) -> str:
    """Tie a path to the current folder, so that it still names the same file after a ``chdir``.

    The standard input stays what it is, and ``..`` is kept: behind a link it does
    not mean the folder that the text suggests.
    """
    return path if path == STDIN else os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH118 - pathlib costs start-up time
