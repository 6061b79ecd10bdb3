"""Run parity.py over folders of logs and hold the result against the list of known differences.

`known.toml` names each wanted difference with its reason. A difference that is not in the list is an error, and so is
one in the list that no longer shows, and a log that the peer itself cannot read without being listed for it: nothing
is passed over in silence.

    python tests/parity/check.py FOLDER [FOLDER ...] [--modes default all-ranks ...] [--fasttl PATH] [--tlparse PATH]

Exit status: 0 where all is as the list says, 1 where it is not, 2 where parity.py could not run.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
SINGLE_MODES = ("default", "plain", "provenance")
MODES = (*SINGLE_MODES, "export", "all-ranks")
RANK_LOG = "dedicated_log_torch_trace_rank_"
CASE = re.compile(r"(ok|skip|DIFF) {2,4}(\S.*?:[a-z-]+)(?: {2}.*)?")
DETAIL = re.compile(r" {8}(\w+) +(.*?): (.*)", re.DOTALL)
STARTS = re.compile(r"(ok|skip|DIFF) | {8}\w|\d+ passed|not found: ")
SUMMARY = re.compile(r"\d+ passed, \d+ failed")


class ParityError(Exception):
    """parity.py could not run, or said something that is not understood; the message has its words."""


@dataclass
class Outcome:
    """What parity.py found, case by case; a case is `folder/log:mode`."""

    same: set[str] = field(default_factory=set)
    peer_fails: set[str] = field(default_factory=set)
    differences: dict[tuple[str, str, str], str] = field(default_factory=dict)

    @property
    def cases(self) -> set[str]:
        """All cases that were tried."""
        return self.same | self.peer_fails | {case for case, _, _ in self.differences}

    def merge(self, other: Outcome) -> None:
        """Take in the cases of another run."""
        self.same |= other.same
        self.peer_fails |= other.peer_fails
        self.differences |= other.differences


def whole_lines(text: str) -> list[str]:
    """Cut the output into lines, where a line feed inside a file's name does not end one.

    Args:
        text: What parity.py printed.

    Returns:
        The lines, without their last line feed.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        if STARTS.match(line) or not lines:
            lines.append(line)
        elif line:
            lines[-1] += "\n" + line
    return lines


def parse_output(text: str) -> Outcome:
    """Read what parity.py prints with `-v`.

    Args:
        text: Its output.

    Returns:
        The cases, sorted by how they went.

    Raises:
        ParityError: At a line of another form, since it may tell of a difference.
    """
    outcome = Outcome()
    case = ""
    for line in whole_lines(text):
        detail = DETAIL.fullmatch(line)
        head = CASE.fullmatch(line)
        if detail and case:
            outcome.differences[case, detail[1], detail[2]] = detail[3]
        elif head:
            case = head[2] if head[1] == "DIFF" else ""
            if not case:
                (outcome.same if head[1] == "ok" else outcome.peer_fails).add(head[2])
        elif not SUMMARY.fullmatch(line):
            message = f"parity.py says something that is not understood: {line!r}"
            raise ParityError(message)
    return outcome


def modes_of(case: Path) -> tuple[str, ...]:
    """Give the modes in which a case is tried.

    Args:
        case: Folder of the case.

    Returns:
        What its `case.json` says; else single logs, and the job where there are several ranks.
    """
    settings = case / "case.json"
    if settings.exists():
        return tuple(json.loads(settings.read_text())["modes"])
    several = len(list(case.glob(f"{RANK_LOG}*.log"))) > 1
    return (*SINGLE_MODES, "all-ranks") if several else SINGLE_MODES


def stage(folder: Path, into: Path, mode: str) -> int:
    """Copy the cases of a folder that are tried in a mode.

    Args:
        folder: Folder of cases.
        into: An empty folder.
        mode: The mode.

    Returns:
        How many there are.
    """
    cases = 0
    for case in sorted(path for path in folder.iterdir() if path.is_dir()):
        logs = [path for path in case.iterdir() if path.is_file() and path.suffix in (".log", ".txt")]
        if not logs or mode not in modes_of(case):
            continue
        cases += 1
        (into / case.name).mkdir()
        for log in logs:
            # A log without a time of its own is dated by its file.
            shutil.copy2(log, into / case.name / log.name)
        # Without this, parity.py would try the logs of a job only as a job.
        (into / case.name / "case.json").write_text(json.dumps({"modes": [mode]}))
    return cases


def run_parity(folder: Path, mode: str, tools: dict[str, str]) -> Outcome:
    """Run parity.py over a folder of cases in one mode.

    Args:
        folder: Folder of cases.
        mode: One of parity.py's modes.
        tools: The programs, by `fasttl` and `tlparse`.

    Returns:
        What it found; nothing where the folder has no case for the mode.

    Raises:
        ParityError: If it could not run, or passed over a case.
    """
    with tempfile.TemporaryDirectory() as tmp:
        if not stage(folder, Path(tmp), mode):
            return Outcome()
        command = [sys.executable, str(HERE / "parity.py"), tmp, "--only", f":{mode}", "-v"]
        command += [f"--{name}={path}" for name, path in tools.items()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or done.stderr:
        message = f"parity.py: exit status {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-2000:]}"
        raise ParityError(message)
    outcome = parse_output(done.stdout)
    if not outcome.cases:
        message = f"{folder}: no case for the mode {mode}"
        raise ParityError(message)
    return outcome


def load_known(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Read the list of known differences.

    Args:
        path: A TOML file with tables `difference` and `peer_fails`.

    Returns:
        The tables.

    Raises:
        ParityError: If an entry lacks a key, or has no reason.
    """
    known: dict[str, list[dict[str, Any]]] = tomllib.loads(path.read_text(encoding="utf-8"))
    for table, keys in (("difference", ("case", "check", "path", "reason")), ("peer_fails", ("case", "reason"))):
        for entry in known.setdefault(table, []):
            # A difference in the exit status has no path.
            filled = all(value for key, value in entry.items() if (key, entry.get("check")) != ("path", "exit"))
            if sorted(entry) != sorted(keys) or not filled:
                message = f"{path.name}: an entry of {table} must have {', '.join(keys)}, none of them empty: {entry}"
                raise ParityError(message)
    return known


def judge(outcome: Outcome, known: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Hold what was found against what is known.

    Args:
        outcome: What parity.py found.
        known: The list; entries for cases that were not tried are left aside.

    Returns:
        A line for each thing that is not as the list says.
    """
    entries = [entry for entry in known["difference"] if entry["case"] in outcome.cases]
    expected = {(entry["case"], entry["check"], entry["path"]) for entry in entries}
    failing = {entry["case"] for entry in known["peer_fails"] if entry["case"] in outcome.cases}
    found = outcome.differences
    lines = [f"new: {' '.join(key)}: {found[key]}" for key in sorted(set(found) - expected)]
    lines += [f"listed, but no longer differs: {' '.join(key)}" for key in sorted(expected - set(found))]
    lines += [f"the peer fails, and this is not listed: {case}" for case in sorted(outcome.peer_fails - failing)]
    lines += [
        f"listed as one that the peer fails on, but it does not: {c}" for c in sorted(failing - outcome.peer_fails)
    ]
    return lines


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+", help="folders of cases")
    parser.add_argument("--modes", nargs="+", default=MODES, choices=MODES, help="modes to compare (default: all)")
    parser.add_argument("--known", type=Path, default=HERE / "known.toml", help="the list of known differences")
    parser.add_argument("--fasttl", default="fasttl")
    parser.add_argument("--tlparse", default="tlparse")
    args = parser.parse_args()
    outcome = Outcome()
    try:
        known = load_known(args.known)
        for folder in args.folders:
            for mode in args.modes:
                outcome.merge(run_parity(folder, mode, {"fasttl": args.fasttl, "tlparse": args.tlparse}))
    except ParityError as error:
        parser.exit(2, f"{error}\n")
    if not outcome.cases:
        parser.exit(2, f"no case for {', '.join(args.modes)} in {', '.join(map(str, args.folders))}\n")
    lines = judge(outcome, known)
    lines.append(f"{len(outcome.cases)} cases, {len(outcome.same)} without a difference, {len(lines)} not as listed")
    print("\n".join(lines))  # noqa: T201  (what the script is for)
    sys.exit(1 if len(lines) > 1 else 0)


if __name__ == "__main__":
    main()
