"""Calls after which tlparse 0.4.3 writes nothing at all: ways to name the input, failures before, `--strict`.

As in `test_faults_no_report.py`, each test says what kind of fault it is and tries several inputs of it.
"""

import gzip
import os
import subprocess
import sys
import threading

import fasttl
import pytest
from handmade import artifact, job, log, named, trees, whole

COMMAND = [sys.executable, "-W", "ignore::RuntimeWarning", "-m", "fasttl"]


class TestB1TheNewestRunOfAFolder:
    """`--latest` with a folder: whatever it holds, the newest run in it is read, all its logs and no others."""

    def read(self, run, folder, out):
        result = run(folder, "--latest", "-o", out)
        assert result.exit_code == 0, result.stderr
        raw = sorted(path.read_bytes() for path in out.rglob("raw.log"))
        assert fasttl.load(folder, latest=True).files.height == len(raw)
        return raw

    def test_one_log(self, run, tmp_path):
        assert self.read(run, job(tmp_path / "job", whole(0)), tmp_path / "out") == [whole(0)]

    def test_one_run_of_several_ranks(self, run, example, tmp_path):
        logs = sorted(path.read_bytes() for path in example.iterdir() if path.suffix == ".log")
        assert self.read(run, example, tmp_path / "out") == logs

    @pytest.mark.parametrize("first_written", ["old", "new"])
    def test_two_runs_are_told_apart_by_their_records(self, run, tmp_path, first_written):
        folder = tmp_path / "job"
        times = {"old": b"1129 10:00:00", "new": b"1129 12:00:00"}
        texts = {f"{name}_{rank}": log(rank=rank, at=time) for name, time in times.items() for rank in range(2)}
        named(folder, {f"dedicated_log_torch_trace_rank_{key[-1]}_{key:_<8}.log": text for key, text in texts.items()})
        for path in folder.iterdir():
            written = 1_796_000_000 + (0 if first_written in path.name else 3600)
            os.utime(path, (written, written))
        assert self.read(run, folder, tmp_path / "out") == [texts["new_0"], texts["new_1"]]

    def test_logs_without_a_rank_and_other_files(self, run, tmp_path):
        new = log(at=b"1129 12:00:00")
        files = {"a.log": log(at=b"1129 10:00:00"), "b.log.gz": gzip.compress(new), "notes.txt": b"to do\n"}
        assert self.read(run, named(tmp_path / "job", files), tmp_path / "out") == [new]


class TestB24AFailureAndThenASecondTry:
    """A call that fails leaves no folder that stands in the way of the next, and an earlier report as it was.

    One that is interrupted is in `test_cli_process.py`.
    """

    @staticmethod
    def no_log(folder):
        (folder / "in.log").write_bytes(b"no log\n")
        return {"path": folder / "in.log"}

    @staticmethod
    def missing(folder):
        return {"path": folder / "missing"}

    @staticmethod
    def nothing(folder):
        return {"path": folder}

    @staticmethod
    def too_large(folder):
        (folder / "in.log").write_bytes(gzip.compress(log()))
        return {"path": folder / "in.log", "max_unpacked": 100}

    @staticmethod
    def other_ranks(folder):
        return {"path": job(folder / "job", whole(0)), "ranks": 5}

    @pytest.mark.parametrize("before", ["nothing", "empty folder", "report"])
    @pytest.mark.parametrize("cause", ["no_log", "missing", "nothing", "too_large", "other_ranks"])
    def test_the_second_try_works(self, tmp_path, cause, before):
        (tmp_path / "in").mkdir()
        place, out, good = tmp_path / "place", tmp_path / "place" / "out", job(tmp_path / "good", whole(0))
        place.mkdir()
        if before == "empty folder":
            out.mkdir()
        elif before == "report":
            fasttl.write_report(good, out)
        files = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
        overwrite = before == "report"
        with pytest.raises(fasttl.FasttlError):
            fasttl.write_report(out=out, overwrite=overwrite, **getattr(self, cause)(tmp_path / "in"))
        assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == files
        assert [path.name for path in place.iterdir()] == ([] if before == "nothing" else ["out"])
        assert fasttl.write_report(good, out, overwrite=overwrite).records == 4


class TestB25StrictWithBadRecords:
    """`--strict` and a log with bad records: status 1, and the report is the one that is written without it."""

    @pytest.mark.parametrize(
        ("text", "count"),
        [
            (log(artifact("a", "one").replace(b"\tone", b"\ttwo")), 1),
            (log(artifact("a", b"\xff")), 1),
            (log(b"noise\n", artifact("a", "y"), b"noise\n"), 2),
            (log()[:-10], 1),
            (log(artifact("a", "y", rank=4), rank=3), 1),
            (log(artifact("a", "y").replace(b":123]", b":99999999999]")), 1),
        ],
        ids=["md5", "UTF-8", "noise", "cut", "rank", "number"],
    )
    def test_the_report_is_the_same(self, run, tmp_path, text, count):
        (tmp_path / "in.log").write_bytes(text)
        results = {}
        for name, flags in {"strict": ["--strict"], "relaxed": []}.items():
            result = run(tmp_path / "in.log", "-o", tmp_path / name, *flags)
            out = tmp_path / name
            # The command line stands on the page.
            page = (out / "index.html").read_text(encoding="utf-8").replace(" --strict", "").replace(name, "")
            results[name] = {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
            results[name] |= {"page": page, "said": result.stderr}
            del results[name][next(path for path in results[name] if str(path) == "index.html")]
            assert result.exit_code == (name == "strict")
            assert result.stdout == f"{out}/index.html\n"
        assert results["strict"] == results["relaxed"]
        assert f"{count} problem" in results["strict"]["said"]

    @pytest.mark.parametrize("bad", [b"", b"\x7fELF" + bytes(50), gzip.compress(whole(1))[:12]])
    def test_a_job_with_a_log_that_cannot_be_read(self, run, tmp_path, bad):
        result = run(job(tmp_path / "job", whole(0), bad), "-o", tmp_path / "out", "--strict")
        assert result.exit_code == 1
        assert "1 problem; the report lists them" in result.stderr
        assert trees(tmp_path / "out") == ["rank_0", "rank_1"]

    def test_the_peers_input(self, run, data, tmp_path):
        result = run(data("probes") / "wrong_md5" / "in.log", "-o", tmp_path / "out", "--strict")
        assert result.exit_code == 1
        assert "2 problems" in result.stderr
        assert (tmp_path / "out" / "index.html").is_file()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has none of these files")
class TestB26AStreamInPlaceOfAFile:
    """What can be read only once: standard input by each of its names, pipes; also when nothing useful comes."""

    @pytest.mark.parametrize("name", ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
    @pytest.mark.parametrize("kind", ["pipe", "file"])
    def test_standard_input(self, tmp_path, name, kind):
        if name != "-" and not os.path.exists(name):  # noqa: PTH110 - a link to what is open now
            pytest.skip("this system has no such file")
        (tmp_path / "in.log").write_bytes(log())
        with (tmp_path / "in.log").open("rb") as stream:
            source = {"stdin": stream} if kind == "file" else {"input": log()}
            done = subprocess.run([*COMMAND, name, "-o", tmp_path / "out"], capture_output=True, check=False, **source)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "out" / "raw.log").read_bytes() == log()

    def test_a_named_pipe(self, run, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=lambda: pipe.write_bytes(log()))
        writer.start()
        result = run(pipe, "-o", tmp_path / "out")
        writer.join()
        assert result.exit_code == 0, result.stderr
        assert (tmp_path / "out" / "raw.log").read_bytes() == log()

    @pytest.mark.parametrize(
        ("text", "words"),
        [(b"", "is empty"), (b"hello\n", "is no TORCH_TRACE log"), (gzip.compress(log()), "unpack it first")],
    )
    def test_what_is_no_log_is_refused(self, tmp_path, text, words):
        done = subprocess.run(
            [*COMMAND, "-", "-o", tmp_path / "out"], input=text, capture_output=True, text=False, check=False
        )
        assert done.returncode == 2
        assert words in done.stderr.decode()
        assert not (tmp_path / "out").exists()
