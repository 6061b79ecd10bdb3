"""Files and pages that the peer writes wrongly with exit status 0: one test for each such fault of its list.

The kind of each fault stands in the docstring; the inputs are examples of it.
"""

import json
import re
from itertools import pairwise

import fasttl
import pytest
from fault_logs import PROBES, START, STRING, Made, artifact, event, log, md5, metrics, probe, record


@pytest.fixture
def make(tmp_path):
    def call(text, **options):
        return Made(tmp_path, text, **options)

    return call


@pytest.mark.parametrize(
    "payload",
    [b"one\r\ntwo", b"\r", b"one\r\n", b"\r\n\r\n", b"a\rb\r\r\nc", b"\r\n\tx", "é\r\n\u2028\r\n\x0b\x0c\x85".encode()],
)
@pytest.mark.parametrize("encoding", ["string", "base64"])
def test_b38_a_carriage_return_in_a_payload_is_text(make, payload, encoding):
    """Kind: a CR in the payload of a log whose lines end in LF, before a line feed or elsewhere."""
    made = make(log(artifact("odd", payload, encoding), record('"new_kind": {}', payload)))
    assert made.problems() == []
    assert made.text("odd") == payload
    assert made.row("artifacts", name="odd")["state"] == "verified"
    assert list(made.files().values()) == [payload, payload, b"x"]


def crlf(*records):
    return b"".join(part.replace(b"\n", b"\r\n") for part in records)


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        (probe("crlf_file"), b"l1\nl2"),
        (crlf(record(STRING, ids=""), artifact("a", "l1\n\nl2\n"), metrics()), b"l1\n\nl2\n"),
        (crlf(record(STRING, ids=""), artifact("a", "l1\r\nl2"), metrics()), b"l1\r\nl2"),
    ],
)
def test_b38_a_log_whose_lines_all_end_in_crlf_has_none_in_its_payloads(make, text, payload):
    """Kind: the CR that belongs to each line of a log, heads included, is none of the text; others are."""
    made = make(text)
    assert made.problems() == []
    assert made.text("a") == payload
    assert made.files()["a_0.txt"] == payload
    assert made.row("metrics")["graph_op_count"] == 5


@pytest.mark.parametrize("encoding", ['"base64"', '"JSON"', "7", "null", '["json"]', '"str\\u0069ng "'])
def test_b39_an_artifact_of_any_encoding_has_a_file_and_a_link(make, encoding):
    """Kind: an artifact whose encoding is none of the known ones. It is kept byte for byte under its own name."""
    payload = "AAAA\n\tbb == \n"
    made = make(log(record(f'"artifact": {{"name": "odd", "encoding": {encoding}}}', payload)))
    assert made.text("odd").decode() == payload
    assert made.files() == {"odd_x0.txt": payload.encode(), "after_0.txt": b"x"}
    assert [entry["number"] for entry in made.directory["[0/0]"]] == [None, 0]
    assert "-_0_0_0/odd_x0.txt" in made.page("index.html").links
    assert made.dead_links() == []


def test_b39_the_probe(make):
    """Kind: as above."""
    made = make(probe("artifact_bad_encoding"))
    assert made.files() == {"b64_x0.txt": b"AAAA", "after_0.txt": b"x"}
    assert made.row("artifacts", name="b64")["encoding"] == "unknown"


@pytest.mark.parametrize(
    "text",
    [
        '{"z": 1, "a": 2, "m": {"y": 3, "b": [{"k": 1, "c": 2}]}}',
        '{"n": 12345678901234567890123, "m": -9223372036854775809, "o": 18446744073709551616}',
        "[0.1, 0.30000000000000004, 2.2250738585072014e-308, 1.7976931348623157e+308, 5e-324, 123456.78901234568]",
        "[1.0, 1e5, 1E5, 1e-07, -0.0, 100000000000000000000.0, 0.10, 1.2345678901234568e22]",
        '{"a": 1, "b": 2, "a": 3, "a": {"a": 1, "a": 2}}',
        '["\\u00e9\\ud83d\\ude00\\u2028", "\\/\\b\\f\\n", "<script>", "é", ""]',
        "12345678901234567890.123456789",
        '{"": {}, " ": [], "a b": [[]], "\\"": null}',
    ],
)
def test_b40_json_keeps_its_order_and_its_digits(make, text):
    """Kind: JSON holds what a detour over maps and doubles changes.

    That is the order of keys, keys that come twice, integers beyond 64 bits, floats in another notation or with 17
    digits.
    """
    made = make(log(artifact("data", text, "json"), record(f'"new_kind": {text}'), event([f'"args": {text}'])))
    outside_of_texts = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')
    for found in (
        made.files()["data_0.json"].decode(),
        made.read("raw.jsonl").decode(),
        made.read("chromium_events.json").decode(),
    ):
        wanted = outside_of_texts.sub(lambda match: match[1] or "", text)
        assert wanted in outside_of_texts.sub(lambda match: match[1] or "", found)
    assert made.text("data") == text.encode()
    assert made.problems() == []


def damaged(name, payload, has_payload):
    return record(f'"dump_file": {{"name": "{name}"}}', payload).replace(md5(payload.encode()).encode(), has_payload)


def dumped(name, payload):
    return record(f'"dump_file": {{"name": {json.dumps(name)}}}', payload)


@pytest.mark.parametrize(
    ("name", "dumps", "texts"),
    [
        ("m.py", [dumped("m.py", "one"), dumped("m.py", "two")], ["one", "two"]),
        ("<eval_with_key>.3", [dumped("<eval_with_key>.3", t) for t in ("a", "b", "a", "c")], ["a", "b", "a", "c"]),
        ("a/b c#", [dumped("a/b c#", t) for t in ("a", "a\n", "")], ["a", "a\n", ""]),
        # Names that end up as one: by letter case, by what may not stand in a path.
        ("x", [dumped("x\\y", "one"), dumped("X/y", "two"), dumped("x_y", "three")], ["one", "two", "three"]),
        # Damaged ones, whose md5 is not that of their text.
        ("m", [damaged("m", "one", b"no md5"), damaged("m", "two", b"no md5")], ["one", "two"]),
        ("m", [dumped("m", "one"), damaged("m", "two", md5(b"one").encode())], ["one", "two"]),
        ("m", [damaged("m", "two", md5(b"one").encode()), dumped("m", "one")], ["two", "one"]),
    ],
)
def test_b41_every_text_that_was_dumped_is_there(make, name, dumps, texts):
    """Kind: several dumped sources have one name. Each text has a page, and the entry of each leads to its own."""
    made = make(log(*dumps))
    entries = [entry["url"] for entry in made.directory["[0/0]"] if entry["url"].startswith("dump_file/")]
    assert len(entries) == len(texts), name
    shown = [
        re.sub(r"<[^>]+>", "", re.search(r"<code.*?>(.*)</code>", made.read(url).decode(), re.DOTALL)[1])
        for url in entries
    ]
    assert [text.rstrip("\n") for text in shown] == [text.rstrip("\n") for text in texts]
    assert len(set(entries)) == len(set(texts))
    rows = made.trace.artifacts.filter(made.trace.artifacts["kind"] == "dump_file")
    assert [made.trace.text(row) for row in rows.to_dicts()] == texts
    assert made.dead_links() == []


NAMES = ["sub/dir/thing", "a/b/c/d", "a//b", "/abs/x/", "http://e.org/x", "ü/計 算", "x/../y", "a/" * 20 + "b", "dir/"]
SPECIAL = [
    "a#b?c%20d",
    "%",
    "100%",
    "?",
    "#",
    "a%2Fb",
    "%2e%2e/x",
    "&amp;",
    "\"q' <b>",
    "a+b;c=d",
    "a:b",
    "[0/0]",
    "a\nb",
]


@pytest.mark.parametrize("name", [*NAMES, *SPECIAL])
def test_b45_b46_links_lead_to_the_file_of_any_name(make, name):
    """Kind: a name with a slash, or with a character that means something in an address.

    Every link on every page leads to a file that is there, on the page of metrics too.
    """
    text = json.dumps({"name": name})
    made = make(
        log(
            artifact(name, "payload"),
            artifact(name, '{"a": 1}', "json"),
            record(f'"graph_dump": {text}', "graph"),
            record(f'"optimize_ddp_split_child": {text}', "split"),
            record(f'"inductor_output_code": {json.dumps({"filename": name})}', "import os\n"),
            dumped(name, "def f(): pass"),
            metrics(),
        )
    )
    assert made.dead_links() == []
    files = list(made.files().values())
    assert files[:2] == [b"payload", json.dumps({"a": 1}, indent=2).encode()]
    assert files[2:4] == [b"graph", b"split"]
    [page] = [page for path, page in made.pages().items() if "compilation_metrics" in path]
    local = [link for link in page.links if not link.startswith(("#", "../index.html", "../fasttl", "data:"))]
    assert len(local) >= len(files) - 1
    assert (made.row("artifacts", kind="graph_dump")["name"]) == name


@pytest.mark.parametrize("name", ["name_slash", "name_url_chars", "link_in_metrics_page", "name_too_long"])
def test_b45_b46_the_probes(make, name):
    """Kind: as above."""
    made = make(probe(name))
    assert len(made.files("[0/0]") if "link" not in name else made.directory["[0/0]"]) == 2
    assert made.dead_links() == []


@pytest.mark.parametrize(
    ("url", "live"),
    [
        ("https://example.org/a/b", True),
        ("http://example.org//a//b/?x=1&y=%20#frag/ment", True),
        ("https://user@example.org:8080/a b", True),
        ("javascript:alert(1)//https://x/y", False),
        ("relative/path", False),
        ("//example.org/x", False),
        (7, False),
        (None, False),
    ],
)
def test_b45_an_address_of_the_log_stays_as_it_is(make, url, live):
    """Kind: a link record, whose address has slashes.

    It stands unchanged on both pages; one that is no web address is shown and leads nowhere.
    """
    made = make(log(record(f'"link": {json.dumps({"name": "docs/page", "url": url})}'), metrics()))
    assert made.directory["[0/0]"][0]["url"] == (url if isinstance(url, str) else json.dumps(url))
    assert made.row("records", kind="link")["name"] == "docs/page"
    pages = [page for path, page in made.pages().items() if path == "index.html" or "metrics" in path]
    assert [page.links.count(url) for page in pages] == [int(live)] * 2
    assert "page" in pages[0].text
    assert made.dead_links() == []


@pytest.mark.parametrize(
    ("strings", "used", "table"),
    [
        (["a.py", "b.py"], ["a.py", "b.py"], {"0": [(2, "a.py"), (3, "b.py")]}),
        (["a.py", "b.py", "a.py"], ["a.py", "b.py", "a.py"], {"0": [(2, "a.py"), (3, "b.py"), (4, "a.py")]}),
        ([None, "late.py"], ["late.py", "late.py"], None),
        ([None, "late.py", "b.py"], ["late.py", "late.py", "b.py"], {"0": [(3, "late.py"), (4, "b.py")]}),
        (["a.py", "a.py"], ["a.py", "a.py"], None),
    ],
)
def test_b47_a_string_means_what_it_meant_where_it_is_used(make, strings, used, table):
    """Kind: a string id is defined twice, or after its use.

    A frame is named by the last definition before it, else by the first one after.
    """
    pieces = []
    for n, text in enumerate(strings):
        ids = f', "frame_id": {n}, "frame_compile_id": 0, "attempt": 0'
        pieces += [record(f'"str": ["{text}", 0]', ids="")] * (text is not None) + [record(START, ids=ids)]
    made = make(b"".join(pieces) + record('"artifact": {"name": "after", "encoding": "string"}', "x"))
    assert made.rows("stacks", "file_name") == [(text,) for text in used]
    assert [row[0] for row in made.rows("frames", "code_file")][: len(used)] == used
    redefined = sum(a is not None and a != b for a, b in pairwise(strings))
    assert made.problems() == [("string redefined", "note")] * redefined
    # The strings of raw.jsonl: the last text of an id, and all of them where there are several.
    assert made.string_line["string_table"] == [strings[-1]]
    found = made.string_line.get("redefined_strings")
    assert found == (table and {"0": [{"from_line": line, "text": text} for line, text in table["0"]]})
    assert [line["frame_id"] for line in made.jsonl[:-1]] == list(range(len(strings)))


@pytest.mark.parametrize(
    ("odd", "kinds", "words"),
    [
        ([b"garbage\n" * 20], ["foreign text"], "line 3, byte"),
        ([b"\tstray\n"], ["orphan payload"], "orphan payload"),
        ([record('"x": {}', "p").replace(b"\tp\n", b"\tq\n")], ["wrong md5"], "the payload has another md5"),
        ([artifact("a", "p", ids=', "frame_id": "x"')], ["bad field"], "frame_id: unexpected value"),
        ([b"garbage\n", record(START, ids=""), record(START)[:-4] + b"\n"], ["foreign text", "bad JSON"], "bad JSON"),
    ],
)
def test_b49_damage_stands_on_the_page(make, odd, kinds, words):
    """Kind: a log that is read in part. What is damaged is said where people look, each stretch once."""
    made = make(log(*odd))
    assert [kind for kind, _ in made.problems()] == kinds
    page = made.page("index.html")
    for kind in [*kinds, words]:
        assert page.text.count(kind) >= 1, kind
    [message] = made.report.messages
    assert message.startswith(f"{made.path}: {len(kinds)} damaged place")
    assert made.report.problems == len(kinds)


@pytest.mark.parametrize(
    "text",
    [b"", b"\n\n\n", b"garbage line\n" * 20, b"\x7fELF\x02" + bytes(60), b"\tpayload\n" * 3, b'{"a": 1}\n', b"V1129\n"],
)
def test_b49_a_file_without_a_record_is_refused(tmp_path, text):
    """Kind: nothing could be read. That is no report and no success."""
    path = tmp_path / "in.log"
    path.write_bytes(text)
    for call in (lambda: fasttl.load(path), lambda: fasttl.write_report(path, tmp_path / "out")):
        with pytest.raises(fasttl.NotATraceError, match="looks like") as caught:
            call()
        assert str(path) in str(caught.value)
    assert not (tmp_path / "out").exists()


WORDS = "words of the log"


@pytest.mark.parametrize(
    ("odd", "count"),
    [
        (metrics(f'"start_time": NaN, "new": "{WORDS}"'), 0),
        (record(f'"x": {{"a": "{WORDS}"}}', ids=', "frame_id": "no"'), 1),
        (record(f'"x": {{"a": "{WORDS}"')[:-1] + b"\n", 1),
        (record('"x": {}', WORDS).replace(b"\t", b"\tother "), 1),
        (event([f'"name": "{WORDS}"', '"ts": tomorrow']), 1),
    ],
)
def test_b50_a_bad_record_is_counted_once_and_named_by_its_place(make, run, odd, count):
    """Kind: one damaged record. It is one problem; the terminal names the file and a number, and no text of the log."""
    made = make(log(odd))
    assert len(made.problems()) == 1
    assert made.report.problems == count
    result = run(made.path, "-o", made.out.with_name("again"))
    assert result.exit_code == 0
    assert WORDS not in result.output + result.stderr
    lines = result.stderr.splitlines()
    assert len(lines) == 2 * count
    assert all(str(made.path) in line for line in lines[:count])
    [row] = made.trace.problems.to_dicts()
    assert row["line"] == made.path.read_bytes()[: row["offset"]].count(b"\n") + 1
    assert row["line"] >= 3


def hostile_pages(folder):
    """Give logs whose report has a page of every kind."""
    guards = '[{"code": "é", "stack": null, "user_stack": null}]'
    every = log(
        record('"dynamo_guards": {}', guards),
        record('"inductor_output_code": {"filename": "é.py"}', "# é 計\n"),
        dumped("é", "# é"),
        metrics('"fail_type": "É", "fail_reason": "計", "restart_reasons": ["é"]'),
        record('"compilation_metrics_runtime": {"a": "é"}'),
        artifact("inductor_provenance_tracking_kernel_stack_traces", '{"k": ["é"]}', "json"),
        artifact("é", "計"),
    )
    folder.mkdir()
    for rank in (0, 1):
        (folder / f"dedicated_log_torch_trace_rank_{rank}_abcdefg{rank}.log").write_bytes(every)
    return folder


@pytest.mark.parametrize("source", ["job", "xss_guard", "xss_stack", "xss_restart_reason", "name_html"])
@pytest.mark.parametrize("text", [False, True])
def test_b51_every_page_says_first_that_it_is_utf_8(tmp_path, source, text):
    """Kind: a page of any kind, with letters beyond ASCII.

    The encoding stands in its first 1,024 bytes, before any text of the log.
    """
    path = hostile_pages(tmp_path / "job") if source == "job" else PROBES / source
    out = tmp_path / "out"
    fasttl.write_report(path, out, plain_text=text)
    pages = sorted(out.rglob("*.html"))
    assert len(pages) >= (9 if source == "job" and not text else 2)
    for page in pages:
        start = page.read_bytes()[:1024]
        declared = start.lower().find(b'<meta charset="utf-8">')
        assert declared > 0, page
        assert start[:declared].isascii(), page
        assert b"<title" not in start[:declared], page
        page.read_text(encoding="utf-8")


LOST = {
    "wrong md5": artifact("a", "p").replace(b"\tp", b"\tq"),
    "no payload": artifact("a", "p").replace(b"\tp\n", b""),
    "stray text": b"Traceback (most recent call last):\n",
    "stray payload": record(START) + b"\tstray\n",
    "cut head": record(START)[:-9] + b"\n",
    "field of another type": metrics(ids=', "frame_id": "0", "frame_compile_id": 0'),
    "no UTF-8": artifact("a", b"caf\xe9"),
    "event that is no JSON": event(['"ts": tomorrow']),
    "two ranks": artifact("a", "p", ids=', "rank": 0') + artifact("a", "p", ids=', "rank": 1'),
    "text behind the head": record(START)[:-1] + b" and more\n",
}
KEPT = {
    "NaN in an event": event(['"name": "a"', '"dur": NaN']),
    "NaN in metrics": metrics('"start_time": NaN'),
    "unknown kind": record('"brand_new": {"a": 1}', "p"),
    "unknown field": metrics('"brand_new": 1'),
    "key of the prefix": record('"x": {}, "thread": 7', "p"),
    "doubled id": record('"x": {}, "frame_id": 3', "p"),
    "unknown encoding": artifact("a", "p", "base64"),
    "JSON that is none": artifact("a", "p", "json"),
    "half a character": metrics('"co_name": "\\udc80"'),
    "string with two texts": record('"str": ["b.py", 0]', ids=""),
    "no id": artifact("a", "p", ids=""),
}


@pytest.mark.parametrize("name", [*LOST, *KEPT])
def test_b52_strict_fails_when_something_is_lost_and_only_then(make, run, name):
    """Kind: whatever the log has that is not read whole makes `--strict` end with 1.

    What is only unusual, and is in the report, does not. The report is written either way.
    """
    made = make(log((LOST | KEPT)[name]))
    status = int(name in LOST)
    assert run(made.path, "-o", made.out, "--strict").exit_code == status
    assert run(made.path, "-o", made.out.with_name("relaxed")).exit_code == 0
    errors = [kind for kind, severity in made.problems() if severity == "error"]
    assert bool(errors) == bool(status), errors
    assert (made.out / "index.html").is_file()
    written = b"".join(path.read_bytes() for path in made.out.rglob("*") if path.is_file() and path.name != "raw.log")
    assert b"after" in written


@pytest.mark.parametrize(("name", "status"), [("wrong_md5", 1), ("unknown_record", 0), ("truncated_mid_payload", 1)])
def test_b52_the_status_reaches_the_shell(spawn, tmp_path, name, status):
    """Kind: as above, as a process."""
    assert spawn(PROBES / name / "in.log", "-o", tmp_path / "out", "--strict").returncode == status
