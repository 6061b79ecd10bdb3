"""Finds custom parsers: those of this process and those of installed packages.

Most people have none, and a report must not wait for the search: what comes after
it is in `_installed_parsers`.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fasttl._installed_parsers import Broken
    from fasttl.plugins import Parser

GROUP = "fasttl.parsers"


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
        from fasttl._installed_parsers import checked  # noqa: PLC0415 - the command line gives none

        return checked(parsers), []
    found: list[Parser] = []
    broken: list[Broken] = []
    if may_be_installed():
        from fasttl._installed_parsers import installed  # noqa: PLC0415 - see the head of this file

        found, broken = installed()
    if "fasttl.plugins" in sys.modules:
        # Else nothing was decorated.
        from fasttl import plugins  # noqa: PLC0415 - as above

        found = list(dict.fromkeys([*found, *plugins.registered.values()]))
    return found, broken


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
    folders: list[object] = [*sys.path]
    for folder in folders:
        if not isinstance(folder, str):
            # Not what Python's own search looks at; it may be what somebody else's does.
            return True
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208 - pathlib costs start-up time
        except NotADirectoryError:
            # An archive, such as a zip file.
            return True
        except OSError:
            continue
        except ValueError:
            # No path at all; as above.
            return True
        for name in names:
            lower = name.lower()
            if lower.endswith((".dist-info", ".egg-info", ".egg")):
                inside = "EGG-INFO/entry_points.txt" if lower.endswith(".egg") else "entry_points.txt"
                if _holds(f"{folder or '.'}/{name}/{inside}", wanted):
                    return True
    return False


def _holds(path: str, wanted: bytes) -> bool:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as above
            return wanted in (file.read() or b"")
    except OSError:
        return False
