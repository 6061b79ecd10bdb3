"""Faults of one log after which tlparse 0.4.3 writes nothing at all; fasttl loses what is at fault and no more.

Named after the list of tlparse's faults that `docs/differences.md` refers to. Each test says what kind of
fault it is and tries several inputs of that kind; jobs are in `test_faults_no_report_jobs.py`, the ways to call
fasttl in `test_faults_no_report_calls.py`.
"""

import gzip
import json
import lzma
import tarfile
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import fasttl
import polars as pl
import pytest
from handmade import IDS, PREFIX, artifact, log, record

OTHER_IDS = ', "frame_id": 1, "frame_compile_id": 0, "attempt": 0'
DEEP = 100_000
DEEP_LIST = b"[" * DEEP + b"]" * DEEP
DEEP_OBJECT = b'{"a":' * DEEP + b"1" + b"}" * DEEP


def found(trace):
    """Give the problems as (kind, line)."""
    return trace.problems.with_columns(pl.col("kind").cast(pl.String)).select("kind", "line").rows()


def files(out):
    """Give the files of a report with their bytes, those of fasttl itself left aside."""
    paths = (path for path in out.rglob("*") if path.is_file())
    return {str(path.relative_to(out)): path.read_bytes() for path in paths if path.parts[-2] != "fasttl"}


def payloads(out, content):
    """Give the files that hold a payload, by the names under which the page lists them."""
    listed = json.loads((out / "compile_directory.json").read_text(encoding="utf-8"))
    urls = [item["url"] for entry in listed.values() for item in entry["artifacts"]]
    return [name for name, text in files(out).items() if name in urls and text == content]


@pytest.fixture
def keep(run, tmp_path):
    """Load a log and write its report; every good record must be in both, and each damage in `problems`."""

    def call(source, *, records, problems=(), flags=()):
        path = source
        if isinstance(source, bytes):
            path = tmp_path / "in.log"
            path.write_bytes(source)
        trace = fasttl.load(path)
        assert trace.records.height == records
        assert found(trace) == list(problems)
        out = tmp_path / "out"
        result = run(path, "-o", out, *flags)
        assert result.exit_code == 0, result.stderr
        assert result.stdout == f"{out}/index.html\n"
        page = (out / "index.html").read_text(encoding="utf-8")
        for kind, _ in problems:
            assert kind in page
        errors = trace.problems.filter(pl.col("severity").cast(pl.String) == "error")
        assert (str(path) in result.stderr) == (errors.height > 0)
        # All strings are in the first line; timing events have a file of their own.
        lines = (out / "raw.jsonl").read_text(encoding="utf-8").splitlines()
        kinds = trace.records["kind"].cast(pl.String).to_list()
        assert len(lines) == 1 + len(kinds) - kinds.count("str") - kinds.count("chromium_event")
        for line in lines:
            json.loads(line)
        assert (out / "raw.log").read_bytes() == (gzip.decompress if is_gzip(path) else bytes)(path.read_bytes())
        return trace, out

    return call


def is_gzip(path):
    return path.read_bytes().startswith(b"\x1f\x8b")


@pytest.fixture
def probe(data):
    """Give a hand-made log of `tests/data/probes`."""
    return lambda name: data("probes") / name / "in.log"


class TestB12BytesThatAreNoUtf8:
    """Bytes that are no UTF-8, wherever they stand: they are kept, named, and nothing else is lost."""

    def test_in_the_peers_payload(self, keep, probe):
        _, out = keep(probe("non_utf8_payload"), records=5, problems=[("bad UTF-8", 6)])
        assert payloads(out, b"caf\xe9\nsecond")
        assert len(payloads(out, b"x")) == 2

    @pytest.mark.parametrize(
        "content",
        [
            b"caf\xe9",
            "h\u00e9".encode("utf-16"),
            b"\xed\xa0\x80 surrogate",
            b"\xc0\xaf overlong",
            b"cut \xf0\x9f\x98",
            b"\xff" * 70_000,
        ],
    )
    def test_in_a_payload(self, keep, content):
        _, out = keep(log(artifact("odd", content)), records=4, problems=[("bad UTF-8", 4)])
        assert len(payloads(out, content)) == len(payloads(out, b"x")) == 1

    @pytest.mark.parametrize(
        "odd",
        [
            record("artifact", b'{"name": "caf\xe9", "encoding": "string"}', "y"),
            record("artifact", b'{"name": "a", "encoding": "string", "k\xff": 1}', "y"),
            record("artifact", {"name": "a", "encoding": "string"}, "y", prefix=PREFIX.replace(b"torch", b"t\xffrch")),
            PREFIX + b'{"kind\xff": {}, "frame_id": 0, "frame_compile_id": 0}\n',
            record("compilation_metrics", b'{"co_name": "f\xff", "graph_op_count": 5}'),
            record("str", b'["caf\xe9.py", 1]', ids=""),
        ],
        ids=["name", "key", "prefix", "kind", "metrics", "string"],
    )
    def test_in_a_head(self, keep, odd):
        _, out = keep(log(odd), records=4, problems=[("bad UTF-8", 3)])
        assert payloads(out, b"x")

    def test_between_records(self, keep):
        keep(log(b"\xff\xfe\xfd\n"), records=3, problems=[("foreign text", 3)])


class TestB13WhatIsNotThePlainTextOfALog:
    """A file that is no plain text of a log: compressed ones are read, others refused with what they look like."""

    @pytest.mark.parametrize("name", ["in.log", "in.log.gz", "in.gz", "no_ending"])
    def test_gzip_is_read_whatever_its_name(self, keep, tmp_path, name):
        # Two members, as a rotated log has.
        text = log(artifact("mine", "y"))
        half = len(text) // 2
        (tmp_path / name).write_bytes(gzip.compress(text[:half]) + gzip.compress(text[half:]))
        _, out = keep(tmp_path / name, records=4)
        assert payloads(out, b"y")

    def test_the_peers_gzip_is_read(self, keep, probe):
        keep(probe("gz_input"), records=4)

    def test_gzip_that_ends_early_is_read_as_far_as_it_goes(self, run, tmp_path):
        path = tmp_path / "in.log.gz"
        many = gzip.compress(log(*[artifact(f"a{n}", f"{n * n} {n}") for n in range(500)]))
        path.write_bytes(many[: len(many) * 2 // 3])
        trace = fasttl.load(path)
        assert 100 < trace.records.height < 500
        assert trace.files["state"].to_list() == ["truncated"]
        assert ("bad compression", None) in found(trace)
        result = run(path, "-o", tmp_path / "out")
        assert result.exit_code == 0
        assert str(path) in result.stderr

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"\x7fELF\x02\x01\x01" + bytes(200), "program or shared library (ELF)"),
            (lzma.compress(log()), "xz data; unpack it first"),
            (gzip.compress(b"\x7fELF" + bytes(200)), "compressed data of a program"),
            (b"\x89PNG\r\n\x1a\n" + bytes(50), "a picture (PNG)"),
            (b'{"traceEvents": []}', "JSON"),
            (b"I1129 23:59:59.000001 1 torch/x.py:1] [0/0] guards\n", "text of TORCH_LOGS"),
            (b"one\ntwo\n", 'text that begins with "one"'),
            (b"\n \n", "an empty file"),
            (b"", "an empty file"),
            (bytes(100), "binary data"),
        ],
    )
    def test_what_is_no_log_is_refused(self, run, tmp_path, content, words):
        path = tmp_path / "in.log"
        path.write_bytes(content)
        result = run(path, "-o", tmp_path / "out")
        assert result.exit_code == 2
        assert result.stdout == ""
        assert f"{path}: is no TORCH_TRACE log: it looks like" in result.stderr
        assert words in result.stderr
        with pytest.raises(fasttl.NotATraceError):
            fasttl.load(path)
        assert [entry.name for entry in tmp_path.iterdir()] == ["in.log"]

    def test_the_peers_binary_and_archives_of_logs_are_refused(self, run, probe, tmp_path):
        (tmp_path / "in.log").write_bytes(log())
        with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
            archive.write(tmp_path / "in.log", "in.log")
        for mode in ("w", "w:gz"):
            with tarfile.open(tmp_path / f"logs.tar{mode[2:]}", mode) as archive:
                archive.add(tmp_path / "in.log", "in.log")
        cases = {
            probe("not_a_log"): "ELF",
            tmp_path / "logs.zip": "zip archive; unpack it first",
            tmp_path / "logs.tar": "tar archive; unpack it first",
            tmp_path / "logs.targz": "compressed data of a tar archive; unpack it first",
        }
        for path, words in cases.items():
            result = run(path, "-o", tmp_path / "out")
            assert result.exit_code == 2
            assert words in result.stderr
        assert not (tmp_path / "out").exists()


class TestB14AFailureWithoutItsReason:
    """Metrics of a failed compile in which type or reason is missing or of another type: it has failed, still."""

    @pytest.mark.parametrize(
        ("fields", "fail_type", "fail_reason"),
        [
            ({"fail_type": "X", "fail_reason": None}, "X", None),
            ({"fail_type": "X"}, "X", None),
            ({"fail_type": "X", "fail_reason": ""}, "X", None),
            ({"fail_type": "X", "fail_reason": 3}, "X", "3"),
            ({"fail_type": "X", "fail_reason": ["a", {"b": None}]}, "X", '["a", {"b": null}]'),
            ({"fail_type": 7, "fail_reason": "why"}, "7", "why"),
            ({"fail_type": None, "fail_reason": "why"}, None, "why"),
            ({"fail_reason": "why", "fail_user_frame_lineno": "x"}, None, "why"),
        ],
    )
    def test_it_is_a_failure(self, keep, fields, fail_type, fail_reason):
        metrics = {"co_name": "broken_fn", "graph_op_count": None, "restart_reasons": [], **fields}
        trace, out = keep(log(record("compilation_metrics", metrics)), records=4)
        frame = trace.frames.row(0, named=True)
        assert (frame["status"], frame["fail_type"], frame["fail_reason"]) == ("error", fail_type, fail_reason)
        page = (out / "failures_and_restarts.html").read_text(encoding="utf-8")
        assert "1 failed compile" in page
        assert fail_type is None or fail_type in page
        assert payloads(out, b"x")

    def test_the_peers_input(self, keep, probe):
        trace, out = keep(probe("fail_type_without_reason"), records=5)
        assert trace.frames["status"].to_list() == ["error"]
        assert len(payloads(out, b"x")) == 2

    @pytest.mark.parametrize("fields", [{}, {"fail_type": None, "fail_reason": None}, {"fail_reason": ""}])
    def test_none_of_them_is_no_failure(self, keep, fields):
        trace, _ = keep(log(record("compilation_metrics", {"graph_op_count": 5, **fields})), records=4)
        assert trace.frames["status"].to_list() == ["ok"]


class TestB15ANumberOfThePrefixThatDoesNotFit:
    """A number in front of a record that no type holds: it is lost alone, the record with its payload stays."""

    @pytest.mark.parametrize(
        ("good", "bad", "count"),
        [
            (b" 12345 ", b" " + b"9" * 30 + b" ", 1),
            (b":123]", b":" + b"9" * 23 + b"]", 1),
            (b":123]", b":4294967296]", 1),
            (b":123]", b":" + b"9" * 5000 + b"]", 1),
            (b" 12345 ", b" -5 ", 1),
            (b":123]", b":-12]", 1),
            (b" 12345 torch/_dynamo/convert_frame.py:123]", b" 99999999999999999999 torch/x.py:-1]", 2),
            (b"23:59:59", b"23:99:59", 1),
            (b"V1129", b"V1332", 1),
        ],
    )
    def test_the_record_stays(self, keep, good, bad, count):
        odd = artifact("odd", "y")
        assert odd.count(good) == 1
        trace, out = keep(log(odd.replace(good, bad)), records=4, problems=[("bad field", 3)] * count)
        assert payloads(out, b"y")
        row = trace.records.row(2, named=True)
        is_time = b"V" in bad or b":99:" in bad
        assert (row["time"] is None) == is_time
        assert trace.records["time"].null_count() == is_time
        assert trace.frames["compile_id"].to_list() == ["0/0"]

    def test_the_peers_input(self, keep, probe):
        keep(probe("lineno_gt_u64"), records=4, problems=[("bad field", 3)])

    @pytest.mark.parametrize("pid", [b"18446744073709551615", b"9223372036854775808", b"0" * 40 + b"7"])
    def test_what_fits_is_no_problem(self, keep, pid):
        keep(log(artifact("odd", "y").replace(b" 12345 ", b" " + pid + b" ")), records=4)


@pytest.mark.parametrize("flags", [[], ["--export"]], ids=["compile", "export"])
class TestB16ARecordOfAnExportWithoutItsFields:
    """Records that only the report of an export shows, with fields missing or of another type."""

    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            ("guard_added", {}),
            ("guard_added", None),
            ("guard_added", {"prefix": "eval", "expr": 3, "stack": "none"}),
            ("guard_added", {"prefix": "eval", "expr": "a", "frame_locals": {"locals": {"x": [None]}, "symbols": 3}}),
            ("missing_fake_kernel", {"op": None}),
            ("missing_fake_kernel", [1]),
            ("mismatched_fake_kernel", {"op": "a::b"}),
            ("mismatched_fake_kernel", {"reason": {}}),
            ("propagate_real_tensors_provenance", {"stack": [3, None, {}]}),
            ("create_unbacked_symbol", {}),
            ("expression_created", {"result_id": "x", "argument_ids": None}),
            ("exported_program", {}),
        ],
    )
    def test_the_report_stands(self, keep, flags, kind, value):
        trace, out = keep(log(record(kind, value)), records=4, flags=flags)
        assert trace.records["kind"].cast(pl.String).to_list().count(kind) == 1
        assert kind in (out / "raw.jsonl").read_text(encoding="utf-8")
        assert payloads(out, b"x")

    @pytest.mark.parametrize(("name", "records"), [("guard_no_expr_export", 4), ("fake_kernel_no_op_export", 3)])
    def test_the_peers_inputs(self, keep, flags, probe, name, records):
        keep(probe(name), records=records, flags=flags)


class TestB17StringIdsOfAnySize:
    """A string id that is no index of a small table: it costs what its text takes, and names its frames."""

    @pytest.mark.parametrize("number", [2**32 - 1, 20_000_000, 2**63 - 1, -1, -7])
    def test_it_is_an_id_like_others(self, keep, number):
        frame = {"line": 3, "name": "m", "filename": number, "loc": "f(x)"}
        odd = [record("str", ["mine.py", number], ids=""), record("dynamo_start", {"stack": [frame]}, ids=OTHER_IDS)]
        trace, out = keep(log(*odd), records=5)
        assert dict(trace.strings.select("id", "text").iter_rows()) == {0: "foo.py", number: "mine.py"}
        assert trace.frames["user_stack"].to_list() == [["foo.py:3 in fn"], ["mine.py:3 in m"]]
        text = (out / "raw.jsonl").read_text(encoding="utf-8")
        assert len(text) < 2000
        first = json.loads(text.splitlines()[0])
        assert first["string_table"] == ["foo.py"]
        assert first["sparse_strings"] == {str(number): "mine.py"}

    @pytest.mark.parametrize("number", ["1" + "0" * 30, "1.5", '"3"', "null", "[4]"])
    def test_what_is_no_id_is_lost_alone(self, keep, number):
        stack = b'{"stack": [{"line": 3, "name": "m", "filename": %s, "loc": "f(x)"}]}' % number.encode()
        odd = [
            record("str", b'["mine.py", %s]' % number.encode(), ids=""),
            record("dynamo_start", stack, ids=OTHER_IDS),
        ]
        trace, _ = keep(log(*odd), records=5, problems=[("bad field", 3)])
        assert trace.frames["user_stack"].to_list() == [["foo.py:3 in fn"], ["(unknown):3 in m"]]

    def test_the_peers_input(self, keep, probe):
        _, out = keep(probe("intern_sparse_20m"), records=3)
        assert (out / "raw.jsonl").stat().st_size < 2000


class Depth(HTMLParser):
    """Counts how deep the elements of a page are nested."""

    depth = deepest = 0

    def handle_starttag(self, tag, _attributes):
        if tag not in {"meta", "link", "br", "input", "img"}:
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)

    def handle_endtag(self, _tag):
        self.depth -= 1


class TestB18WhatIsNestedOrStackedDeeply:
    """Depth that would exhaust the stack of a program that calls itself: frames, lists, objects, brackets."""

    @pytest.mark.parametrize("function", ["same", "other{}"])
    def test_a_stack_of_many_frames(self, keep, function):
        frames = [{"line": 1, "name": function.format(n), "filename": 0, "loc": "f(x)"} for n in range(50_000)]
        odd = record("dynamo_start", {"stack": frames}, ids=OTHER_IDS)
        trace, out = keep(log(odd), records=4)
        assert list(map(len, trace.frames["user_stack"].to_list())) == [1, 50_000]
        # Nested elements as deep as the stack would be cut by browsers.
        page = Depth()
        page.feed((out / "index.html").read_text(encoding="utf-8"))
        assert page.deepest < 50

    @pytest.mark.parametrize(
        "odd",
        [
            record("new_kind", b'{"k": ' + DEEP_LIST + b"}"),
            record("compilation_metrics", b'{"co_name": "fn", "graph_op_count": 5, "k": ' + DEEP_OBJECT + b"}"),
            record("artifact", {"name": "a", "encoding": "string"}, "y", ids=f'{IDS}, "stack": {DEEP_LIST.decode()}'),
            record("dynamo_start", b'{"stack": [{"line": 1, "name": "f", "loc": ' + DEEP_LIST + b"}]}", ids=OTHER_IDS),
        ],
        ids=["unknown kind", "metrics", "stack", "frame"],
    )
    def test_a_head_of_deep_json(self, keep, odd):
        _, out = keep(log(odd), records=4, problems=[("deep JSON", 3)])
        assert payloads(out, b"x")

    @pytest.mark.parametrize(
        ("odd", "problems"),
        [
            (artifact("a", DEEP_LIST, encoding="json"), ["deep JSON"]),
            (artifact("fx_graph_cache_hit", DEEP_OBJECT, encoding="json"), ["deep JSON"]),
            (artifact("inductor_collective_schedule", DEEP_LIST, encoding="json"), ["deep JSON", "unexpected payload"]),
            (artifact("graph_execution", DEEP_OBJECT, encoding="json"), ["deep JSON", "unexpected payload"]),
            (artifact("recompile_reasons", DEEP_LIST, encoding="json"), []),
            (artifact("a", DEEP_OBJECT), []),
            (record("dynamo_guards", {}, DEEP_LIST), []),
            (record("chromium_event", {}, b'{"name": "a", "ph": "B", "args": ' + DEEP_OBJECT + b"}"), ["deep JSON"]),
            (record("dynamo_output_graph", {}, b"def forward(self):\n    a = " + DEEP_LIST.replace(b"[", b"(")), []),
        ],
    )
    def test_a_payload_of_deep_text(self, keep, odd, problems):
        _, out = keep(log(odd), records=4, problems=[(kind, 3) for kind in problems])
        text = odd.split(b"\n\t", 1)[1].replace(b"\n\t", b"\n").rstrip(b"\n")
        if b'"artifact"' in odd:
            assert payloads(out, text)
        json.loads((out / "chromium_events.json").read_text(encoding="utf-8"))

    def test_brackets_that_are_never_closed(self, keep):
        keep(log(PREFIX + b'{"a": ' + b"[" * DEEP + b"\n"), records=3, problems=[("bad JSON", 3)])


class TestB19NamesThatNoFileCanHave:
    """Names from the log that a file system refuses: too long as a part or as a whole, NUL, dots, nothing."""

    @pytest.mark.parametrize(
        "name",
        [
            "n" * 300,
            "\u00e9" * 300,
            "\U0001f600" * 100,
            "x" * 5000,
            "a\0b",
            "\0",
            "..",
            "",
            "/",
            "a\nb\r\x1b",
            "a\ud800b",
            "d" * 300 + "/" + "e" * 300,
            "/".join(["p" * 190] * 16),
            "/".join("abcdefghijklmnopqrstuvwxyz"),
        ],
    )
    def test_an_artifact(self, keep, name):
        _, out = keep(log(artifact(name, "mine")), records=4)
        [path] = payloads(out, b"mine")
        assert path.startswith("-_0_0_0/")
        # The peer reads no lone surrogate: such a file stands outside of its numbers.
        number, after = ("_x0", "_0") if "\ud800" in name else ("_0", "_1")
        assert path.endswith(f"{number}.txt")
        assert max(len(part.encode()) for part in Path(path).parts) <= 255
        assert len(path.encode()) < 1500
        assert payloads(out, b"x") == [f"-_0_0_0/after{after}.txt"]

    def test_names_that_differ_at_their_end_have_a_file_each(self, keep):
        names = ["n" * 300 + ending for ending in ("a", "b", "\0")]
        _, out = keep(log(*[artifact(name, f"mine {n}") for n, name in enumerate(names)]), records=6)
        paths = {payloads(out, f"mine {n}".encode())[0] for n in range(3)}
        assert len(paths) == 3

    @pytest.mark.parametrize(
        "odd",
        [
            record("dump_file", {"name": "d" * 300}, "mine"),
            record("graph_dump", {"name": "g\0" * 200, "type": "cpp", "filename": "x"}, "mine"),
            record("inductor_output_code", {"filename": "/tmp/" + "c" * 400 + ".py"}, "mine"),  # noqa: S108
            record("optimize_ddp_split_child", {"name": "s" * 400}, "mine"),
            record("k" * 400, {}, "mine"),
            record("artifact", {"name": "a", "encoding": "string"}, "mine", ids=IDS.replace("0", str(2**63 - 1))),
        ],
        ids=["dump_file", "graph_dump", "output code", "split child", "kind", "ids"],
    )
    def test_another_record(self, keep, odd):
        _, out = keep(log(odd), records=4)
        whole = {name for name, text in files(out).items() if b"mine" in text} - {"raw.log", "raw.jsonl"}
        assert whole
        assert max(len(part.encode()) for name in files(out) for part in Path(name).parts) <= 255
        assert payloads(out, b"x")

    def test_the_peers_input(self, keep, probe):
        _, out = keep(probe("name_too_long"), records=4)
        assert payloads(out, b"x")
