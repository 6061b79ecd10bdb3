"""Every trace of the large set is read whole: as many records as its index counts, and a report."""

import re
from functools import cache

import polars as pl
import pytest
from real_traces import TRACES, loaded

# What the index gives no count for.
UNCOUNTED = ("torch214_recompiles", "torch214_dist_diverge_order")
# The last record of this log was cut by a full disk.
TRUNCATED = ("killed",)

pytestmark = pytest.mark.shared


@cache
def counts():
    """Give the numbers of logs and records by folder, from the table of the index."""
    if not TRACES.is_dir():
        return {}
    row = re.compile(r"\| \[(\w+)\]\(#\w+\) \|.*\| [\d-]+ / (\d+)(?: \(\d+\))? \| ([\d,]+) \| ([\d,]+) \|")
    text = (TRACES / "index.md").read_text(encoding="utf-8")
    return {
        name: (int(logs), int(size.replace(",", "")), int(records.replace(",", "")))
        for name, logs, size, records in row.findall(text)
    }


def errors(trace):
    return trace.problems.filter(pl.col("severity").cast(pl.String) == "error")


def test_the_index_counts_every_folder():
    folders = {path.name for path in TRACES.iterdir() if any(path.glob("*.log"))}
    assert len(folders) == 46
    assert folders == {*counts(), *UNCOUNTED}
    ours = [name for name in counts() if not name.startswith("public_")]
    assert len(ours) == 42
    assert sum(counts()[name][2] for name in ours) == 18_445


@pytest.mark.parametrize("name", sorted(counts()))
def test_the_records_are_those_of_the_index(name):
    logs, size, records = counts()[name]
    trace = loaded(name)
    assert trace.files.height == logs
    assert trace.files["bytes"].sum() == size
    assert trace.records.height == records
    assert errors(trace).height == (1 if name in TRUNCATED else 0), errors(trace)


@pytest.mark.parametrize("name", TRUNCATED)
def test_a_cut_log_has_one_problem_at_its_tail(name):
    trace = loaded(name)
    [problem] = errors(trace).to_dicts()
    assert problem["offset"] + problem["length"] == trace.files["bytes"].sum()


@pytest.mark.parametrize("name", UNCOUNTED)
def test_logs_of_a_newer_pytorch_have_no_problems(name):
    assert errors(loaded(name)).is_empty()


@pytest.mark.parametrize("name", sorted([*counts(), *UNCOUNTED]))
def test_every_folder_becomes_a_report(name, run, tmp_path):
    result = run(TRACES / name, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "out" / "index.html").is_file()
    assert not list(tmp_path.glob("escaped*"))


@pytest.mark.parametrize("name", sorted(counts()))
def test_every_table_of_every_folder_is_whole(name):
    trace = loaded(name)
    for table in trace.tables:
        trace.arrow(table).validate(full=True)
        assert trace.arrow(table).num_rows == trace.table(table).height


PROBES = TRACES.parent / "probes"
NOTHING_TO_READ = ("empty_file", "not_a_log", "only_blank", "stats_zero_all_bad")


@pytest.mark.parametrize(
    "name", sorted(path.name for path in PROBES.iterdir() if path.is_dir()) if PROBES.is_dir() else []
)
def test_every_probe_is_read_or_refused(name, run, tmp_path):
    target = PROBES / name / "in.log"
    result = run(target if target.exists() else PROBES / name, "-o", tmp_path / "out")
    assert result.exit_code in (0, 2), result.stderr
    if result.exit_code == 2:
        assert name in NOTHING_TO_READ
        assert name in result.stderr
    else:
        assert (tmp_path / "out" / "index.html").is_file()
    assert not [path for path in tmp_path.iterdir() if path.name != "out"]
