"""Each fault of the peer that loses a report, data or a verdict has a test that is named after it."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
GROUPS = ("Aborts (no report at all)", "Silent loss or wrong content (rc 0)", "Many ranks: wrong verdicts")


@pytest.mark.shared
def test_every_fault_has_a_test(shared):
    text = (shared / "parity" / "peer-faults.md").read_text(encoding="utf-8")
    groups = dict(re.findall(r"^\*\*(.+?)\*\*\n(.*?)(?=^\*\*|\Z)", text, re.MULTILINE | re.DOTALL))
    listed = {int(number) for group in GROUPS for number in re.findall(r"^\| B(\d+) \|", groups[group], re.MULTILINE)}
    assert len(listed) == 53
    sources = [*TESTS.glob("python/test_*.py"), *TESTS.glob("rust/*.rs")]
    names = " ".join(
        name
        for path in sources
        for name in re.findall(r"(?:def test|class Test|fn )_?\w+", path.read_text(encoding="utf-8"))
    )
    tested = {int(number) for number in re.findall(r"[Bb](\d+)", names)}
    assert sorted(listed - tested) == []
