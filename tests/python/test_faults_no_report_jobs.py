"""Faults of jobs and of calls after which tlparse 0.4.3 writes nothing at all.

As in `test_faults_no_report.py`, each test says what kind of fault it is and tries several inputs of it.
"""

import gzip
import json
import os

import fasttl
import polars as pl
import pytest
from handmade import METRICS, artifact, job, log, named, rank_name, record, trees, whole


def verdicts(trace):
    """Give the verdict and the sentence of each aspect."""
    rows = trace.diagnostics.with_columns(pl.col("aspect", "verdict").cast(pl.String))
    return {aspect: (verdict, text) for aspect, verdict, text in rows.select("aspect", "verdict", "sentence").rows()}


def pipe(path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(path)


def unreadable(path):
    path.write_bytes(whole(2))
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root may read everything")


class TestB20OneBadRank:
    """One log of a job is damaged or is none: the others are read, and the job's page tells of it."""

    def report(self, run, folder, out):
        result = run(folder, "-o", out)
        assert result.exit_code == 0, result.stderr
        assert trees(out) == ["rank_0", "rank_1", "rank_2"]
        landing = (out / "index.html").read_text(encoding="utf-8")
        for rank in range(3):
            assert f"rank_{rank}/index.html" in landing
        for rank in range(2):
            assert (out / f"rank_{rank}" / "raw.log").read_bytes() == whole(rank)
        return result.stderr, landing

    @pytest.mark.parametrize(
        ("bad", "words"),
        [
            (b"", "has no record"),
            (b"\n\n\n", "has no record"),
            (whole(2)[:70], "has no record"),
            (gzip.compress(b""), "has no record"),
            (gzip.compress(whole(2))[:12], "could not be read: "),
            (b"\x1f\x8b\x08" + b"\xff" * 100, "could not be read: "),
            (b"\x28\xb5\x2f\xfd" + b"\xff" * 100, "could not be read: "),
            (gzip.compress(whole(2) + b"\n" * 30_000_000), "--max-unpacked"),
            (b"\x7fELF" + bytes(100), "looks like a program or shared library (ELF)"),
            (b"rsync: connection lost\n", 'looks like text that begins with "rsync'),
            (lambda path: path.mkdir(), "a folder"),
            (lambda path: path.symlink_to("nowhere"), "could not be looked at: "),
            (lambda path: path.symlink_to(path), "could not be looked at: "),
            (pipe, "neither file nor folder"),
            (unreadable, "could not be read: "),
        ],
    )
    def test_of_one_that_cannot_be_read_nothing_is_known(self, run, tmp_path, bad, words):
        folder = job(tmp_path / "job", whole(0), whole(1))
        path = folder / rank_name(2)
        path.write_bytes(bad) if isinstance(bad, bytes) else bad(path)
        errors, landing = self.report(run, folder, tmp_path / "out")
        [message] = [line for line in errors.splitlines() if line.startswith(f"fasttl: {path}: ")]
        assert words in message
        assert "Of rank 2 nothing is known." in landing
        trace = fasttl.load(folder)
        assert trace.records.height == 8
        assert trace.files["records"].to_list() == [4, 4, 0]
        assert trace.files.row(2, named=True)["state"] in {"empty", "unreadable"}
        lost = trace.problems.filter(pl.col("kind").cast(pl.String) == "nothing read")
        assert lost.select("rank", "file", "line").rows() == [(2, 2, None)]
        assert trace.diagnostics["ranks"].to_list()[0] == [0, 1]
        assert trace.diagnostics["left_out"].to_list()[0] == [2]
        assert {verdict for verdict, _ in verdicts(trace).values()} == {"unknown"}

    @pytest.mark.parametrize(
        ("bad", "kinds"),
        [
            (log(record("compilation_metrics", METRICS, rank=2), b"\xff\xfe\n", rank=2), ["foreign text"]),
            (whole(2)[:-20], ["cut short"]),
            (whole(2, artifact("a", b"\xff", rank=2)), ["bad UTF-8"]),
            (whole(2).replace(b"\tx", b"\ty"), ["cut short"]),
            (whole(2) + b'V1129 23:59:59.000001 1 x.py:1] {"a": }\n', ["bad JSON"]),
        ],
    )
    def test_of_one_that_is_damaged_the_rest_is_read(self, run, tmp_path, bad, kinds):
        folder = job(tmp_path / "job", whole(0), whole(1), bad)
        errors, _ = self.report(run, folder, tmp_path / "out")
        assert f"{folder / rank_name(2)}: " in errors
        trace = fasttl.load(folder)
        assert trace.problems["kind"].cast(pl.String).to_list() == kinds
        assert set(trace.problems["rank"]) == {2}
        assert trace.diagnostics["ranks"].to_list()[0] == [0, 1, 2]
        assert verdicts(trace)["compiles"][0] == "same"

    def test_gzip_that_ends_early(self, run, tmp_path):
        many = [artifact(f"a{n}", f"{n * n}", rank=2) for n in range(500)]
        packed = gzip.compress(whole(2, *many))
        folder = job(tmp_path / "job", whole(0), whole(1))
        path = folder / rank_name(2, ".gz")
        path.write_bytes(packed[: len(packed) // 2])
        errors, _ = self.report(run, folder, tmp_path / "out")
        assert f"{path}: ends inside a record" in errors
        trace = fasttl.load(folder)
        assert trace.files["state"].to_list() == ["complete", "complete", "truncated"]
        assert 100 < trace.files["records"].to_list()[2] < 500

    @pytest.mark.parametrize("reason", [None, 3, ""])
    def test_a_failure_without_a_reason(self, run, tmp_path, reason):
        metrics = {"co_name": "fn", "co_firstlineno": 3, "fail_type": "X", "fail_reason": reason}
        bad = log(record("compilation_metrics", metrics, rank=2), rank=2)
        folder = job(tmp_path / "job", whole(0), whole(1), bad)
        self.report(run, folder, tmp_path / "out")
        assert fasttl.load(folder).frames["status"].to_list() == ["ok", "ok", "error"]

    def test_the_peers_job(self, run, data, tmp_path):
        folder = data("probes") / "one_bad_utf8_rank"
        result = run(folder, "-o", tmp_path / "out")
        assert result.exit_code == 0
        assert trees(tmp_path / "out") == ["rank_0", "rank_1", "rank_2"]
        assert fasttl.load(folder).files["records"].to_list() == [3, 3, 2]


class TestB21SeveralLogsOfOneRank:
    """A rank has more than one log, after a restart or by copying: each has its place, none takes another's."""

    ONE, TWO, THREE = (log(rank=0, at=b"1129 10:00:0%d" % n) for n in range(3))
    OTHER = log(rank=1, at=b"1129 10:00:02")

    @pytest.mark.parametrize(
        "files",
        [
            {rank_name(0): ONE, rank_name(0, "2"): TWO, rank_name(1): OTHER},
            {rank_name(0): THREE, rank_name(0, "2"): ONE, rank_name(0, "3"): TWO, rank_name(1): OTHER},
            {rank_name(0): ONE, "copy.log": ONE, rank_name(1): OTHER},
            {rank_name(0): ONE, rank_name(0, ".gz"): gzip.compress(ONE), rank_name(1): OTHER},
            {"dedicated_log_torch_trace_aaaaaaaa.log": ONE, "dedicated_log_torch_trace_bbbbbbbb.log": TWO},
            {"dedicated_log_torch_trace_rank_0_x.log": ONE, "dedicated_log_torch_trace_rank_00_x.log": TWO},
        ],
        ids=["restart", "two restarts", "copy", "packed copy", "rank inside", "zero in front"],
    )
    def test_each_has_a_tree(self, run, tmp_path, files):
        folder, out = named(tmp_path / "job", files), tmp_path / "out"
        texts = sorted(gzip.decompress(text) if text.startswith(b"\x1f") else text for text in files.values())
        for flags in ([], ["--overwrite"]):
            result = run(folder, "-o", out, *flags)
            assert (result.exit_code, result.stderr) == (0, "")
            assert sorted(path.read_bytes() for path in out.glob("*/raw.log")) == texts
            landing = (out / "index.html").read_text(encoding="utf-8")
            for tree in trees(out):
                assert f"{tree}/index.html" in landing
            assert "rank_0" in trees(out)
        restarts = [tree for tree in trees(out) if tree.startswith("rank_0.restart_")]
        assert len(restarts) == len(texts) - 1 - (self.OTHER in texts)

    def test_the_newest_is_compared(self, tmp_path):
        other_compile = record("compilation_metrics", METRICS, rank=0, ids=', "frame_id": 7, "frame_compile_id": 0')
        old = log(other_compile, rank=0, at=b"1129 10:00:00")
        trace = fasttl.load(named(tmp_path / "job", {"a.log": old, rank_name(0): self.THREE, rank_name(1): self.OTHER}))
        assert verdicts(trace)["compiles"][0] == "same"

    def test_the_peers_job(self, run, data, tmp_path):
        assert run(data("probes") / "same_rank_twice", "-o", tmp_path / "out").exit_code == 0
        assert trees(tmp_path / "out") == ["rank_0", "rank_0.restart_0", "rank_1"]


SCHEDULE, META, ORDER = "inductor_collective_schedule", "inductor_runtime_and_tensor_meta", "graph_execution"
GOOD = {
    SCHEDULE: '["torch.ops._c10d_functional.all_reduce_.default"]',
    META: '{"ops": [{"name": "k", "type": "compute", "estimated_runtime_ns": 100.0, "outputs": []}]}',
    ORDER: '{"graph_execution_order": [{"compile_id": "0/0"}]}',
}
UNEXPECTED, NOT_FINITE = "unexpected payload", "NaN or infinity"


def operation(estimate="100.0", outputs="[]"):
    """Give the runtimes of a graph of one operation."""
    return GOOD[META].replace("100.0", estimate).replace("[]", outputs)


class TestB22AnOddValueInAnArtifactThatRanksAreComparedBy:
    """One rank's artifact is otherwise than PyTorch writes it: the verdict is unknown, never "same", and all stands."""

    def report(self, run, tmp_path, name, odd):
        texts = [whole(rank, artifact(name, GOOD[name], rank=rank, encoding="json")) for rank in (0, 2)]
        texts.insert(1, whole(1, artifact(name, odd, rank=1, encoding="json")))
        folder, out = job(tmp_path / "job", *texts), tmp_path / "out"
        result = run(folder, "-o", out)
        assert result.exit_code == 0, result.stderr
        assert trees(out) == ["rank_0", "rank_1", "rank_2"]
        for path in out.rglob("*.json"):
            if path.parent.name != "-_0_0_0":
                json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
        trace = fasttl.load(folder)
        assert trace.records.height == 15
        assert set(trace.problems["rank"]) <= {1}
        assert set(trace.problems["line"]) <= {4}
        # What means a loss is told with the name of the file.
        errors = trace.problems.filter(pl.col("severity").cast(pl.String) == "error").height
        assert (str(folder / rank_name(1)) in result.stderr) == (errors > 0)
        return trace.problems["kind"].cast(pl.String).to_list(), verdicts(trace), out

    @pytest.mark.parametrize(
        "odd",
        [
            '{"not": "a list"}',
            "null",
            "3",
            '"all_reduce"',
            "[1, 2]",
            '["torch.ops._c10d_functional.all_reduce_.default", {"a": 1}]',
            "[NaN]",
            '[["a"]]',
            '["a"',
            "",
        ],
    )
    def test_a_schedule(self, run, tmp_path, odd):
        kinds, found, out = self.report(run, tmp_path, SCHEDULE, odd)
        assert UNEXPECTED in kinds
        verdict, sentence = found["collectives"]
        assert verdict == "unknown"
        assert "rank 1: its schedule is no list of operators" in sentence
        schedules = json.loads((out / "collective_schedules.json").read_text(encoding="utf-8"))
        assert {entry["rank"] for entry in schedules if entry.get("ops")} == {0, 2}

    @pytest.mark.parametrize(
        ("odd", "kind"),
        [
            (operation("NaN"), NOT_FINITE),
            (operation("-Infinity"), NOT_FINITE),
            (operation("1e999"), None),
            (operation("9" * 400), None),
            (operation("null"), UNEXPECTED),
            (operation('"100.0"'), UNEXPECTED),
            (operation("{}"), UNEXPECTED),
        ],
    )
    def test_an_estimate(self, run, tmp_path, odd, kind):
        kinds, found, out = self.report(run, tmp_path, META, odd)
        assert kinds == ([kind] if kind else [])
        assert found["tensors"][0] == "same"
        verdict, sentence = found["runtimes"]
        assert verdict == "unknown"
        assert "rank 1: an estimate of it is no finite number" in sentence
        estimations = json.loads((out / "runtime_estimations.json").read_text(encoding="utf-8"))
        assert [entry["ops"][0]["estimated_runtime_ns"] for entry in estimations] == [100.0, None, 100.0]

    @pytest.mark.parametrize("outputs", ["null", "NaN", '"x"', "{}", "3"])
    def test_the_outputs_of_an_operation(self, run, tmp_path, outputs):
        kinds, found, _ = self.report(run, tmp_path, META, operation(outputs=outputs))
        assert UNEXPECTED in kinds
        verdict, sentence = found["tensors"]
        assert verdict == "unknown"
        assert "rank 1: the outputs of an operation are no list" in sentence
        assert found["runtimes"][0] == "same"

    @pytest.mark.parametrize(
        "odd", ["[]", "null", "{}", '{"ops": {}}', '{"ops": null}', '{"ops": [3]}', '{"ops": [null]}', '{"ops": [']
    )
    def test_the_list_of_operations(self, run, tmp_path, odd):
        kinds, found, _ = self.report(run, tmp_path, META, odd)
        assert UNEXPECTED in kinds
        assert (found["tensors"][0], found["runtimes"][0]) == ("unknown", "unknown")

    @pytest.mark.parametrize(
        "odd",
        [
            "[]",
            "null",
            "{}",
            '{"graph_execution_order": null}',
            '{"graph_execution_order": {"0/0": 1}}',
            '{"graph_execution_order": [3]}',
            '{"graph_execution_order": [{"compile_id": 3}]}',
            '{"graph_execution_order": [{}]}',
        ],
    )
    def test_an_execution_order(self, run, tmp_path, odd):
        kinds, found, _ = self.report(run, tmp_path, ORDER, odd)
        assert kinds == [UNEXPECTED]
        assert found["execution order"][0] == "unknown"

    def test_good_values_are_the_same(self, run, tmp_path):
        for name, aspects in {
            SCHEDULE: ["collectives"],
            META: ["tensors", "runtimes"],
            ORDER: ["execution order"],
        }.items():
            (tmp_path / name).mkdir()
            kinds, found, _ = self.report(run, tmp_path / name, name, GOOD[name])
            assert kinds == []
            assert [found[aspect][0] for aspect in aspects] == ["same"] * len(aspects)

    def test_the_peers_job(self, data):
        trace = fasttl.load(data("probes") / "collective_bad_json")
        assert verdicts(trace)["collectives"][0] == "unknown"
        assert trace.problems["kind"].cast(pl.String).to_list() == [UNEXPECTED]


class TestB23LogsWithoutARankInTheirNames:
    """`--all-ranks-html` with logs whose names tell no rank: the records tell it, else the processes stand there."""

    @pytest.mark.parametrize(
        ("files", "expected"),
        [
            ({"dedicated_log_torch_trace_aaaaaaaa.log": log()}, ["process_12345"]),
            ({"a.log": log(), "b.log": log().replace(b" 12345 ", b" 7 ")}, ["process_12345", "process_7"]),
            ({"trace.txt": whole(0), "b": whole(1)}, ["rank_0", "rank_1"]),
            ({"dedicated_log_torch_trace_rank_x_1.log": log(), rank_name(0): whole(0)}, ["process_12345", "rank_0"]),
            ({"dedicated_log_torch_trace_rank_99999999999_a.log": log()}, ["process_12345"]),
            ({"a.log": log().replace(b" 12345 ", b" " + b"9" * 30 + b" ")}, ["process_unknown"]),
        ],
    )
    def test_each_has_a_tree(self, run, tmp_path, files, expected):
        folder, out = named(tmp_path / "job", files), tmp_path / "out"
        result = run(folder, "-o", out, "--all-ranks-html")
        assert result.exit_code == 0, result.stderr
        assert trees(out) == expected
        landing = (out / "index.html").read_text(encoding="utf-8")
        assert all(f"{tree}/index.html" in landing for tree in expected)
        assert sorted(path.read_bytes() for path in out.glob("*/raw.log")) == sorted(files.values())

    @pytest.mark.parametrize(
        ("name", "expected"),
        [("unranked_only", ["process_12345", "process_12345.2"]), ("rank_only_inside", ["rank_0", "rank_1"])],
    )
    def test_the_peers_jobs(self, run, data, tmp_path, name, expected):
        assert run(data("probes") / name, "-o", tmp_path / "out", "--all-ranks-html").exit_code == 0
        assert trees(tmp_path / "out") == expected
