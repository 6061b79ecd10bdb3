"""Loads the custom parsers of installed packages, by their entry points, and checks those that a caller gives.

Only imported where there may be one; see `_find_parsers`.
"""

from __future__ import annotations

import os
import types
from typing import TYPE_CHECKING, NamedTuple

from fasttl._find_parsers import GROUP
from fasttl.exceptions import OptionError
from fasttl.plugins import Parser

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import Distribution, EntryPoint

LONGEST_WORDS = 500


class Broken(NamedTuple):
    """An entry point that gives no parser, and why."""

    name: str
    why: str


def checked(parsers: Iterable[object]) -> list[Parser]:
    """Give the parsers of a caller, each once.

    Raises:
        OptionError: One of them is no parser.
    """
    chosen: dict[Parser, None] = {}
    for item in parsers:
        if not isinstance(item, Parser):
            message = f"no parser: {item!r}; decorate the function with fasttl.parser(kinds=…)"
            raise OptionError(message)
        chosen[item] = None
    return list(chosen)


def installed() -> tuple[list[Parser], list[Broken]]:
    """Load the parsers of installed packages, and say which of them are broken."""
    parsers: list[Parser] = []
    broken: list[Broken] = []
    for point in sorted(_entry_points(broken), key=lambda point: (point.name, point.value)):
        try:
            given = _parsers_in(point.load())
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a package raises, the report is written
            broken.append(Broken(point.name, f"cannot be loaded from {point.value}: {error_words(error)}"))
            continue
        if given is None:
            broken.append(Broken(point.name, f"{point.value} is no parser; decorate it with fasttl.parser(kinds=…)"))
        else:
            parsers += given
    return parsers, broken


def _parsers_in(found: object) -> list[Parser] | None:
    if isinstance(found, Parser):
        return [found]
    if isinstance(found, types.ModuleType):
        return [value for value in vars(found).values() if isinstance(value, Parser)]
    return None


def _entry_points(broken: list[Broken]) -> list[EntryPoint]:
    """Read the entry points package by package, so that a file of one that cannot be read loses only its own."""
    points: list[EntryPoint] = []
    seen: set[str] = set()
    try:
        import re  # noqa: PLC0415 - only where there may be one
        from importlib import metadata  # noqa: PLC0415 - see `fasttl._find_parsers.may_be_installed`

        for package in metadata.distributions():
            name = _package_name(package)
            # The first of a name on the path is the one that is imported.
            key = re.sub(r"[-_.]+", "-", name).lower()
            if name and key in seen:
                continue
            seen.add(key)
            points += _points_of(package, name, broken)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever somebody's own finder raises
        broken.append(Broken(GROUP, f"the search for installed parsers failed: {error_words(error)}"))
    return points


def _points_of(package: Distribution, name: str, broken: list[Broken]) -> list[EntryPoint]:
    try:
        text = package.read_text("entry_points.txt")
        if text is None or GROUP not in text:
            # What is wrong with entry points of other kinds loses no parser.
            return []
        return [point for point in package.entry_points if point.group == GROUP]
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever stands in the file
        why = f"its entry points could not be loaded: {error_words(error)}"
        broken.append(Broken(name or "(a package without a name)", why))
        return []


def _package_name(package: Distribution) -> str:
    try:
        return str(package.metadata["Name"] or "")
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - as above
        return ""


def error_words(error: BaseException) -> str:
    """Say what an exception is and where it was raised; its own text may fail, too."""
    try:
        return _error_words(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - whatever its class does
        return "an exception that cannot be shown"


def _error_words(error: BaseException) -> str:
    try:
        # Through bytes, since `str` may give an object of a class of somebody's own.
        text = str.encode(str(error), errors="backslashreplace").decode()
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
