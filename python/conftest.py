# ruff: noqa: INP001 - a folder of sources, not a package
"""Set-up of the doctests: every example runs in an empty folder, with EXAMPLE naming a real trace."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import pytest

with warnings.catch_warnings():
    # A debug build says so when it is imported; tests run with either.
    warnings.simplefilter("ignore", RuntimeWarning)
    import fasttl  # noqa: F401

from fasttl import plugins

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _doctest_world(doctest_namespace: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    doctest_namespace["EXAMPLE"] = os.fspath(ROOT / "examples" / "crash_3_ranks")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TORCH_TRACE", raising=False)
    # What one example decorates is not run by the next.
    monkeypatch.setattr(plugins, "registered", {})
    monkeypatch.delenv("FASTTL_THREADS", raising=False)
