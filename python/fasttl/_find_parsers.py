"""Finds custom parsers: those of this process and those of installed packages.

Most people have none, and a report must not wait for the search.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from fasttl import plugins
from fasttl.exceptions import OptionError
from fasttl.plugins import Parser

if TYPE_CHECKING:
    from collections.abc import Iterable

GROUP = "fasttl.parsers"
LONGEST_WORDS = 500


class Broken(NamedTuple):
    """An entry point that gives no parser, and why."""

    name: str
    why: str


def find_parsers(parsers: bool | Iterable[Parser]) -> tuple[list[Parser], list[Broken]]:  # noqa: FBT001 - as in `write_report`
    """Give the parsers to run, and the entry points that are broken.

    Args:
        parsers: True for all that are registered and installed, False for none, else the parsers themselves.

    Raises:
        OptionError: One of `parsers` is no parser.
    """
    if parsers is False:
        return [], []
    if parsers is not True:
        return _checked(parsers), []
    installed, broken = _installed() if may_be_installed() else ([], [])
    return list(dict.fromkeys([*installed, *plugins.registered.values()])), broken


def _checked(parsers: Iterable[object]) -> list[Parser]:
    chosen: dict[Parser, None] = {}
    for item in parsers:
        if not isinstance(item, Parser):
            message = f"no parser: {item!r}; decorate the function with fasttl.parser(kinds=…)"
            raise OptionError(message)
        chosen[item] = None
    return list(chosen)


def may_be_installed() -> bool:
    """Tell whether a package on the path may have an entry point of the group.

    ``importlib.metadata`` takes twenty times longer to import than this look at its
    files takes, and most people have no parser.
    """
    own = "_frozen_importlib_external"
    if any(hasattr(finder, "find_distributions") and finder.__module__ != own for finder in sys.meta_path):
        # Somebody's own way to find packages.
        return True
    wanted = GROUP.encode()
    for folder in sys.path:
        try:
            entries = list(os.scandir(folder or "."))
        except NotADirectoryError:
            # An archive, such as a zip file.
            return True
        except OSError:
            continue
        for entry in entries:
            if entry.name.lower().endswith((".dist-info", ".egg-info", ".egg")):
                inside = "EGG-INFO/entry_points.txt" if entry.name.lower().endswith(".egg") else "entry_points.txt"
                try:
                    with open(f"{entry.path}/{inside}", "rb") as file:  # noqa: PTH123 - pathlib costs start-up time
                        if wanted in file.read():
                            return True
                except OSError:
                    continue
    return False


def _installed() -> tuple[list[Parser], list[Broken]]:
    import types  # noqa: PLC0415 - only where there may be one
    from importlib import metadata  # noqa: PLC0415 - see `may_be_installed`

    parsers: list[Parser] = []
    broken: list[Broken] = []
    for point in sorted(metadata.entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        try:
            found = point.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a package raises, the report is written
            broken.append(Broken(point.name, f"cannot be loaded from {point.value}: {error_words(error)}"))
            continue
        if isinstance(found, Parser):
            parsers.append(found)
        elif isinstance(found, types.ModuleType):
            parsers += [value for value in vars(found).values() if isinstance(value, Parser)]
        else:
            broken.append(Broken(point.name, f"{point.value} is no parser; decorate it with fasttl.parser(kinds=…)"))
    return parsers, broken


def error_words(error: BaseException) -> str:
    """Say what an exception is and where it was raised; its own text may fail, too."""
    try:
        text = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - whatever it raises
        text = "(no message)"
    words = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if len(words) > LONGEST_WORDS:
        words = words[:LONGEST_WORDS] + "…"
    trace = error.__traceback__
    if trace is None:
        return words
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{words} ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})"  # noqa: PTH119 - as above
