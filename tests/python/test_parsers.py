"""Custom parsers: what they get, what the report makes of what they give, and that none stops it."""

import datetime as dt
import json
import math
import os
import signal
import threading
import time

import fasttl
import polars as pl
import pytest
from fasttl import File, Link, plugins

GRAPHS = "dynamo_output_graph"
# Six files of twice a megabyte do not fit into the memory that results may take.
MEGABYTE = 1 << 20


@pytest.fixture
def write(example, tmp_path):
    """Write the report of rank 2 of the example with some parsers; give the trace, the report and its files."""

    def run(*parsers, path=None, **options):
        trace = fasttl.load(path or example, **({"ranks": 2} if path is None else {}))
        report = trace.write_report(tmp_path / "out", parsers=parsers or True, overwrite=True, **options)
        out = tmp_path / "out"
        files = {file.relative_to(out).as_posix(): file for file in out.rglob("*_x*") if file.is_file()}
        return trace, report, files

    return run


def failures(trace):
    rows = trace.problems.filter(pl.col("kind").cast(str) == "parser failed")
    return rows.select("severity", "line", "detail").rows()


def entries(out):
    """Give the entries of the directory, by compile id."""
    text = (out / "compile_directory.json").read_text(encoding="utf-8")
    return {key: value["artifacts"] for key, value in json.loads(text).items()}


def test_a_file_and_a_link_stand_at_the_compile_id(write, tmp_path):
    @fasttl.parser(kinds=GRAPHS)
    def both(record):
        return [File("sub/ops.csv", f"{record.compile_id}\n"), Link("more", f"https://example.org/{record.compile_id}")]

    trace, report, files = write(both)
    assert (report.problems, report.messages, failures(trace)) == (0, [], [])
    assert sorted(path for path in files if "ops" in path) == [
        "-_0_0_0/sub/ops_x1.csv",
        "-_1_0_0/sub/ops_x2.csv",
        "-_2_0_0/sub/ops_x3.csv",
    ]
    assert files["-_1_0_0/sub/ops_x2.csv"].read_text() == "1/0\n"
    of_step = entries(tmp_path / "out")["[1/0]"]
    made = [
        entry for entry in of_step if entry["number"] is None and ("ops" in entry["url"] or "example" in entry["url"])
    ]
    assert [(entry["name"], entry["url"]) for entry in made] == [
        ("ops_x2.csv", "-_1_0_0/sub/ops_x2.csv"),
        ("more", "https://example.org/1/0"),
    ]
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert '<a href="https://example.org/1/0"' in page
    assert "Made by the custom parser " in page


def test_other_names_do_not_depend_on_parsers(write, tmp_path):
    @fasttl.parser(kinds=["artifact", "chromium_event", "str", "compilation_metrics"])
    def noise(_record):
        return File("noise", "")

    @fasttl.parser(kinds="artifact")
    def nothing(_record):
        return None

    def names():
        return {
            file.relative_to(tmp_path / "out") for file in (tmp_path / "out").rglob("*") if "noise" not in file.name
        }

    _, plain, _ = write(nothing)
    before = names()
    _, report, _ = write(noise)
    assert names() == before
    assert report.files_written > plain.files_written


def test_what_a_record_tells(write):
    seen = {}

    @fasttl.parser(kinds=["dynamo_start", "artifact", GRAPHS])
    def look(record):
        seen[record.kind, record.name] = record

    trace, report, _ = write(look)
    assert report.problems == 0
    start = seen["dynamo_start", None]
    assert (start.compile_id, start.frame_id, start.frame_compile_id, start.attempt) == ("2/0", 2, 0, 0)
    assert (start.compiled_autograd_id, start.generation, start.rank, start.file) == (None, 0, 2, 0)
    assert start.stack
    assert start.stack[-1].file.endswith(".py")
    assert start.stack[-1].line > 0
    assert (
        start.resolve([{"filename": -1}, 3, {"filename": 1 << 70}]) == [plugins.StackFrame(None, None, None, None)] * 2
    )
    row = trace.records.filter(pl.col("line") == start.line).row(0, named=True)
    assert start.offset == row["offset"]
    assert start.time.tzinfo in (None, dt.timezone.utc)
    assert start.time.replace(tzinfo=None) == row["time"].replace(tzinfo=None)
    assert start.path.endswith(".log")
    version = seen["artifact", "torch_version"]
    assert version.metadata == {"name": "torch_version", "encoding": "json"}
    assert version.head["artifact"] == version.metadata
    assert version.json()["oss"] is True
    graph = seen[GRAPHS, None]
    assert graph.payload.encode() == graph.payload_bytes == trace.payload(graph.md5)
    assert (graph.payload_length, graph.payload_state) == (len(graph.payload_bytes), "verified")
    assert "dynamo_output_graph" in repr(graph)


def test_lenient_json(write, tmp_path):
    head = (
        'V1129 23:51:41.631000 7 torch/x.py:3] {"odd": {"a": NaN, "b": [Infinity], "s": "\\ud800", "n": '
        + "9" * 5000
        + '}, "frame_id": 0, "frame_compile_id": 0, "has_payload": "d41d8cd98f00b204e9800998ecf8427e"}\n\t'
    )
    log = tmp_path / "odd.log"
    log.write_bytes(head.encode() + b"bytes \xff\n")
    seen = []

    @fasttl.parser(kinds="odd")
    def look(record):
        seen.append((record.metadata, record.payload, record.payload_bytes))
        return File(record.metadata["s"], record.metadata["s"])

    _, _, files = write(look, path=log)
    [(metadata, text, raw)] = seen
    assert math.isnan(metadata["a"])
    assert (metadata["b"], metadata["n"]) == ([float("inf")], float("inf"))
    assert (text, raw) == ("bytes \ufffd", b"bytes \xff")
    [name] = (name for name in files if "ud800" in name)
    assert files[name].read_text() == "\\ud800"


@pytest.mark.parametrize(
    ("name", "content", "ending"),
    [
        ("../../../../evil.txt", "x", "txt"),
        ("/etc/passwd", "x", "txt"),
        ("a\0b\nc", "x", "txt"),
        ("", "x", "txt"),
        ("..", "x", "txt"),
        ("x" * 5000, "x", "txt"),
        ("a/" * 3000 + "b.json", "{}", "json"),
        ("page.html", "<script>alert(1)</script>", "html.txt"),
        ("picture.svg", "<svg onload='alert(1)'/>", "svg.txt"),
        ("page.xhtml", "<script>alert(1)</script>", "xhtml.txt"),
        ("raw.bin", b"\xff\x00\xfe", "bin"),
        ("view.bin", memoryview(b"abc"), "bin"),
        ("half.txt", "\ud800", "txt"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_any_name_and_content_stay_in_the_report(write, tmp_path, name, content, ending):
    @fasttl.parser(kinds=GRAPHS)
    def evil(_record):
        yield File(name, content)

    def all_files():
        return {file for file in tmp_path.rglob("*") if file.is_file() and tmp_path / "out" not in file.parents}

    before = all_files()
    trace, _, files = write(evil)
    assert failures(trace) == []
    assert all_files() == before
    made = sorted(set(files) - {path for path in files if "torch_version" in path})
    assert len(made) == 3, made
    stem, _, suffix = ending.rpartition(".")
    assert all(path.endswith("." + suffix) and (not stem or f".{stem}_x" in path) for path in made)
    expected = content.encode(errors="backslashreplace") if isinstance(content, str) else bytes(content)
    assert all(files[path].read_bytes() == expected for path in made)


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,<script>", "file:///etc/passwd", " https://x", ""]
)
def test_only_web_links_are_links(write, tmp_path, url):
    @fasttl.parser(kinds=GRAPHS)
    def evil(_record):
        return Link('<b onclick="x">name', url)

    write(evil)
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "&lt;b onclick=&quot;x&quot;&gt;name" in page
    assert "<b onclick" not in page
    assert f'href="{url}"' not in page or not url


def test_html_is_shown_as_html_only_where_it_is_registered(write):
    markup = "<html><head><base href='//evil'></head><script>alert(1)</script><p>é</p>"

    @fasttl.parser(kinds=GRAPHS)
    def pages(_record):
        yield File("shown.html", markup, html=True)
        yield File("text.html", markup)
        yield File("bytes", markup.encode() + b"\xff", html=True)

    _, _, files = write(pages)
    shown = [
        file.read_text(encoding="utf-8") for path, file in files.items() if path.endswith(".html") and "shown" in path
    ]
    assert len(shown) == 3
    for text in shown:
        policy = text.index('http-equiv="Content-Security-Policy"')
        assert text.startswith("<!DOCTYPE html>\n<meta charset")
        assert "script-src 'none'" in text[policy:]
        assert policy < text.index("<html>")
        assert text.endswith(markup)
    assert sum("/text.html_x" in path and path.endswith(".txt") for path in files) == 3
    assert all(files[path].read_text(encoding="utf-8").endswith("\ufffd") for path in files if "/bytes_x" in path)


def test_a_generator_that_raises_midway_keeps_what_it_gave(write, tmp_path):
    @fasttl.parser(kinds=GRAPHS, name="my parser")
    def broken(record):
        yield File("before.txt", "kept")
        message = f"bad\n<b>{record.compile_id}</b>"
        raise RuntimeError(message)

    trace, report, files = write(broken)
    assert sum("before" in path for path in files) == 3
    found = failures(trace)
    assert len(found) == report.problems == 3
    severity, line, detail = found[0]
    assert (severity, line > 1) == ("error", True)
    assert detail.startswith("parser my parser: RuntimeError: bad\n<b>0/0</b> (test_parsers.py:")
    assert report.messages == [f"{detail} (and 2 more)"]
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "parser failed" in page
    assert "&lt;b&gt;0/0&lt;/b&gt;" in page
    assert "None: every byte of the log was read" in page
    # A report without that parser takes the rows back.
    trace.write_report(tmp_path / "again", parsers=False)
    assert failures(trace) == []


class Sly(BaseException):
    def __str__(self):
        raise Sly


def leave():
    raise SystemExit(7)


@pytest.mark.parametrize(
    "result",
    [
        lambda: 7,
        lambda: "text",
        lambda: b"bytes",
        lambda: {"a": 1},
        lambda: [None],
        lambda: [("name", "content")],
        lambda: File(None, "x"),
        lambda: File("x", 7),
        lambda: File("x", None),
        lambda: File("x" * 20_000, "x"),
        lambda: Link("x", None),
        lambda: Link(7, "https://x"),
        lambda: Link("x", "https://" + "x" * 20_000),
        lambda: (_ for _ in ()).throw(Sly()),
        leave,
        lambda: leave.nothing,
        lambda: json.loads("[" * 100_000),
    ],
    ids=range(17),
)
def test_nonsense_is_a_problem_and_nothing_else(write, result):
    @fasttl.parser(kinds=GRAPHS)
    def broken(_record):
        return result()

    @fasttl.parser(kinds=GRAPHS)
    def good(_record):
        return File("good.txt", "good")

    trace, report, files = write(broken, good)
    assert len(failures(trace)) == report.problems == 3
    assert all("broken" in detail for _, _, detail in failures(trace))
    assert sum("good" in path for path in files) == 3


def test_a_parser_is_bounded(write, monkeypatch):
    @fasttl.parser(kinds=GRAPHS)
    def endless(_record):
        while True:
            yield File("x", "x")

    @fasttl.parser(kinds=GRAPHS)
    def huge(_record):
        return File("huge", bytes(65 * MEGABYTE))

    @fasttl.parser(kinds="chromium_event")
    def failing(_record):
        raise ValueError

    trace, _, files = write(endless, huge, failing)
    details = [detail for _, _, detail in failures(trace)]
    assert sum("gave more than 1,000 files and links for one record" in detail for detail in details) == 3
    assert sum("68,157,440 bytes; 67,108,864 is the limit" in detail for detail in details) == 3
    events = (trace.records["kind"].cast(str) == "chromium_event").sum()
    assert sum("failing: ValueError" in detail for detail in details) == min(events, 100)
    assert sum("/x_x" in path for path in files) == 3000
    monkeypatch.setattr("fasttl._parsing.MOST_FAILURES", 5)
    trace, _, _ = write(failing)
    assert len(failures(trace)) == 6
    assert failures(trace)[-1][2].endswith("failed 5 times, and was not called again")
    monkeypatch.setattr("fasttl._parsing.MOST_RESULTS", 7)
    trace, _, files = write(endless)
    assert sum("/x_x" in path for path in files) == 7
    assert len(failures(trace)) == 1


def test_large_results_do_not_stay_in_memory(write):
    @fasttl.parser(kinds=GRAPHS)
    def large(record):
        for n in range(6):
            yield File(f"large{n}.bin", bytes([n + record.frame_id]) * 2 * MEGABYTE)

    _, report, files = write(large)
    assert report.problems == 0
    for frame in range(3):
        for n in range(6):
            [path] = (path for path in files if path.startswith(f"-_{frame}_0_0/large{n}_x"))
            assert files[path].read_bytes() == bytes([n + frame]) * 2 * MEGABYTE


def test_what_one_parser_changes_the_next_does_not_see(write):
    seen = []

    @fasttl.parser(kinds="artifact", names="torch_version")
    def vandal(record):
        record.metadata.clear()
        record.head.clear()
        with pytest.raises(AttributeError):
            record.kind = "other"

    @fasttl.parser(kinds="artifact", names="torch_version")
    def next_one(record):
        seen.append((record.metadata["name"], "artifact" in record.head))

    trace, _, _ = write(vandal, next_one)
    assert seen == [("torch_version", True)]
    assert failures(trace) == []


def test_only_wanted_records_are_asked_for(write):
    names = set()

    @fasttl.parser(kinds=("artifact", GRAPHS), names=["torch_version", "nowhere"])
    def some(record):
        names.add((record.kind, record.name))

    write(some)
    assert names == {("artifact", "torch_version")}


def test_an_interrupt_ends_the_report(write, tmp_path):
    @fasttl.parser(kinds=GRAPHS)
    def interrupted(_record):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(interrupted)
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_a_parser_that_hangs(write, tmp_path):
    @fasttl.parser(kinds=GRAPHS)
    def hangs(_record):
        time.sleep(60)

    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        write(hangs)
    timer.join()
    assert not (tmp_path / "out").exists()


def test_what_progress_raises_ends_the_parsers(write):
    class EnoughError(Exception):
        pass

    @fasttl.parser(kinds="chromium_event")
    def slow(_record):
        time.sleep(0.02)

    def stop(_done, _total):
        raise EnoughError

    with pytest.raises(EnoughError):
        write(slow, progress=stop)


def test_progress_goes_on_over_both_halves(example, tmp_path):
    @fasttl.parser(kinds=GRAPHS)
    def one(_record):
        return File("x", "x")

    calls = []
    fasttl.write_report(
        example, tmp_path / "out", parsers=[one], progress=lambda done, total: calls.append(done / total)
    )
    assert calls == sorted(calls)
    assert calls[-1] == 1.0


def test_registered_parsers_run_unless_told_otherwise(example, tmp_path):
    @fasttl.parser(kinds=GRAPHS)
    def mine(_record):
        return File("mine.txt", "x")

    def made(out, **options):
        fasttl.write_report(example, tmp_path / out, **options)
        return len(list((tmp_path / out).rglob("mine_x*.txt")))

    assert made("all") == made("named", parsers=[mine, mine]) == 8
    assert made("none", parsers=False) == 0


def test_a_function_that_is_defined_again_takes_the_place_of_the_first():
    code = "@fasttl.parser(kinds='str')\ndef again(record): return None\n"
    space = {"fasttl": fasttl, "__name__": "notebook"}
    exec(code, space)  # noqa: S102 - as a notebook does
    exec(code, space)  # noqa: S102
    assert list(plugins.registered.values()) == [space["again"]]
    for _ in range(2):
        fasttl.parser(kinds="str")(lambda _record: None)
    assert len(plugins.registered) == 3


@pytest.mark.parametrize("kinds", [[], [7], [None, "str"], ()], ids=str)
def test_wrong_kinds_are_refused(kinds):
    with pytest.raises(fasttl.OptionError):
        fasttl.parser(kinds=kinds)


def test_what_is_no_parser_is_refused(example, tmp_path):
    with pytest.raises(fasttl.OptionError, match="decorate the function"):
        fasttl.write_report(example, tmp_path / "out", parsers=[print])


def test_a_trace_of_unchecked_payloads_is_read_again(example, tmp_path):
    @fasttl.parser(kinds=GRAPHS)
    def state(record):
        return File("state.txt", record.payload_state)

    trace = fasttl.load(example, verify=False)
    trace.write_report(tmp_path / "out", parsers=[state])
    assert {file.read_text() for file in (tmp_path / "out").rglob("state_x*")} == {"verified"}


def test_a_trace_of_the_standard_input_has_a_report(example, tmp_path, python):
    log = next(example.glob("*rank_2*"))
    code = (
        "import sys, fasttl\n"
        "sys.stdin = None\n"
        "import os; os.dup2(os.open(sys.argv[1], os.O_RDONLY), 0)\n"
        "trace = fasttl.load('-')\n"
        "print(trace.write_report(sys.argv[2]).records)"
    )
    assert int(python(code, log, tmp_path / "out")) == fasttl.load(log).records.height


def test_logs_of_a_job_have_their_own_results(example, tmp_path):
    @fasttl.parser(kinds=GRAPHS)
    def ranks(record):
        if record.rank == 1:
            raise ValueError
        return File("rank.txt", str(record.rank))

    trace = fasttl.load(example)
    trace.write_report(tmp_path / "out", parsers=[ranks])
    assert {file.read_text() for file in (tmp_path / "out" / "rank_2").rglob("rank_x*")} == {"2"}
    assert not list((tmp_path / "out" / "rank_1").rglob("rank_x*"))
    assert set(trace.problems["rank"]) == {1}
    for rank, expected in ((0, False), (1, True), (2, False)):
        page = (tmp_path / "out" / f"rank_{rank}" / "index.html").read_text(encoding="utf-8")
        assert ("parser failed" in page) is expected
        assert ("failures of custom parsers." in page) is expected
    landing = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "2 failures of custom parsers." in landing
    assert 'href="rank_1/index.html#problems"' in landing
