"""What a run leaves: the machine's facts, the JSON with everything, and the Markdown that is read."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measures.budgets import GROUPS, Verdict, number
from measures.inputs import ROOT
from measures.process import cores

if TYPE_CHECKING:
    from collections.abc import Sequence


def machine(tmp: Path) -> dict[str, Any]:
    """Say what was measured on, without what would name the machine."""
    model = platform.processor() or platform.machine()
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        lines = (line.partition(":") for line in facts.read_text().splitlines())
        model = next((value.strip() for key, _, value in lines if key.strip() == "model name"), model)
    return {
        "cpu": model,
        "cores": cores(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "file_system": file_system(tmp),
        "load": round(os.getloadavg()[0], 1),
    }


def file_system(folder: Path) -> str:
    """Name the file system of a folder, or say `unknown`."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return "unknown"
    rows = [line.split() for line in mounts.read_text().splitlines()]
    fitting = [row for row in rows if folder.resolve().is_relative_to(row[1])]
    return max(fitting, key=lambda row: len(row[1]))[2] if fitting else "unknown"


def commit() -> str:
    """Give the short hash that the results belong to; `-dirty` where the tree has changes, `none` before the first."""
    git = shutil.which("git")
    if not git:
        return "none"
    head = _said([git, "rev-parse", "--short=10", "--verify", "-q", "HEAD"])
    # Results of earlier runs are no change of what is measured.
    changes = _said([git, "status", "--porcelain", "--", ".", ":!benches/results"])
    return head + ("-dirty" if changes else "") if head else "none"


def _said(command: list[str]) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def budget_facts(verdicts: list[Verdict]) -> list[dict[str, Any]]:
    """Give what results hold about budgets."""
    return [
        {
            "key": found.budget.key,
            "group": found.budget.group,
            "text": found.budget.text,
            "measured": found.value,
            "bound": found.bound,
            "sense": "at least" if found.budget.at_least else "at most",
            "unit": found.budget.unit,
            "rule": found.budget.share_text or None,
            "verdict": found.word,
        }
        for found in verdicts
    ]


def store(folder: Path, facts: dict[str, Any]) -> Path:
    """Write the results.

    Args:
        folder: Where they go; it is made.
        facts: All that was found.

    Returns:
        The path of the JSON, named by date and commit; the Markdown stands beside it. A run that was not all of it has
        `part` or `quick` in its name, so that it does not take the place of a whole one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    whole = set(facts["groups"]) == set(GROUPS)
    end = "-quick" if facts["options"]["quick"] else "" if whole else "-part"
    path = folder / f"{facts['date'][:10]}-{facts['commit']}{end}.json"
    path.write_text(json.dumps(facts, indent=2) + "\n")
    path.with_suffix(".md").write_text(markdown(facts))
    return path


def table(budgets: list[dict[str, Any]]) -> str:
    """Give the table of budgets as it is printed at the end."""
    rows = [(row["text"], _wanted(row), f"{number(row['measured'])} {row['unit']}", row["verdict"]) for row in budgets]
    widths = [max(len(row[column]) for row in rows) for column in range(3)] if rows else [0, 0, 0]
    lines = [
        f"{text:{widths[0]}}  {wanted:>{widths[1]}}  {measured:>{widths[2]}}  {word}"
        for text, wanted, measured, word in rows
    ]
    return "\n".join(lines)


def markdown(facts: dict[str, Any]) -> str:
    """Give the results as tables.

    Args:
        facts: What `store` gets.

    Returns:
        The text of the Markdown file.
    """
    about = facts["machine"]
    facts_line = (
        f"{about['cores']} cores ({about['cpu']}), {about['memory_gb']} GB, {about['system']}, "
        f"Python {about['python']}, {about['file_system']}, load {about['load']} at the start; "
        f"medians of {facts['options']['runs']} runs; "
        f"the peer is {facts['peer']}."
    )
    lines = [f"# Results of {facts['date'][:10]}, commit {facts['commit']}", "", facts_line, ""]
    lines += _rows(("budget", "wanted", "measured", ""), [_budget_row(row) for row in facts["budgets"]])
    groups = facts["groups"]
    compared = dict(groups.get("report", {}))
    compared |= {f"{key}: {row['name']}": row for key, row in groups.get("slow-inputs", {}).get("inputs", {}).items()}
    if compared:
        head = ("report of", "MB", "fasttl s", "tlparse s", "times faster", "`cp -r` s", "fasttl writes MB", "tlparse")
        lines += ["", *_rows(head, [_compared_row(name, row) for name, row in compared.items()])]
    if times := groups.get("load", {}).get("times"):
        first = next(iter(times.values()))["median_s"]
        heads = (f"one log of {groups['load']['input_bytes'] / 1e6:.0f} MB", "s", "in units of the first")
        rows = [(name, f"{row['median_s']:.3f}", number(row["median_s"] / first)) for name, row in times.items()]
        lines += ["", *_rows(heads, rows)]
    if facts["failed"]:
        lines += ["", *(f"Not measured: {group}: {why.splitlines()[0]}" for group, why in facts["failed"].items())]
    return "\n".join(lines) + "\n"


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ("---", *["---:"] * (len(head) - 1)), *rows)]


def _wanted(row: dict[str, Any]) -> str:
    return f"{row['sense']} {number(row['bound'])} {row['unit']}"


def _budget_row(row: dict[str, Any]) -> tuple[str, ...]:
    rule = f" ({row['rule']})" if row["rule"] else ""
    return row["text"] + rule, _wanted(row), f"{number(row['measured'])} {row['unit']}", row["verdict"]


def _compared_row(name: str, row: dict[str, Any]) -> tuple[str, ...]:
    ours, peer = row["tools"]["fasttl"], row["tools"].get("tlparse")
    sign = "" if peer else "> "
    seconds = peer["median"]["wall_s"] if peer else row["peer_ended_after_s"]
    ratio = row["ratio_to_copy"]
    return (
        name,
        f"{row['input_bytes'] / 1e6:.1f}",
        f"{ours['median']['wall_s']:.2f}",
        f"{sign}{seconds:.2f}",
        sign + number(row["ratio"]),
        f"{ours['median']['wall_s'] / ratio:.2f}" if ratio else "",
        f"{ours['report']['bytes'] / 1e6:.1f}",
        f"{peer['report']['bytes'] / 1e6:.1f}" if peer else "",
    )
