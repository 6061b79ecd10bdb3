"""Records that the peer drops with exit status 0: one test for each such fault of its list.

The kind of each fault stands in the docstring; the inputs are examples of it.
"""

import fasttl
import pytest
from fault_logs import IDS, START, Made, artifact, event, frame_ids, log, metrics, plain, probe, ranked, record


@pytest.fixture
def make(tmp_path):
    def call(text, **options):
        return Made(tmp_path, text, **options)

    return call


@pytest.mark.parametrize(
    ("odd", "lost"),
    [
        # After the process group was destroyed.
        ([artifact("a", "p", ids=ranked(0)), record(START, ids=frame_ids(2)), metrics(ids=frame_ids(2))], "2/0"),
        # Between records of the rank.
        ([artifact("a", "p", ids=ranked(0)), metrics(ids=frame_ids(3)), artifact("b", "q", ids=ranked(0))], "3/0"),
        # The key is there, without a value.
        ([artifact("a", "p", ids=ranked(0)), metrics(ids=ranked("null", 1))], "1/0"),
        # No id either.
        ([artifact("a", "p", ids=ranked(0)), artifact("late", "q", ids=""), metrics(ids=frame_ids(1))], "1/0"),
    ],
)
def test_b27_records_without_a_rank_belong_to_the_rank_of_their_log(make, odd, lost):
    """Kind: a record that tells no rank, in a log that told one before."""
    made = make(log(*odd))
    assert made.problems() == []
    assert made.rows("files", "rank", "records") == [(0, len(odd) + 3)]
    assert set(made.trace.records["rank"]) == {0}
    assert made.row("frames", compile_id=lost)["status"] == "ok"
    assert made.row("metrics", compile_id=lost)["graph_op_count"] == 5
    assert len(made.jsonl) == len(odd) + 2
    assert any(name.startswith("compilation_metrics") for name in made.files(f"[{lost}]"))
    assert made.is_whole()


@pytest.mark.parametrize(
    ("ranks", "mine"),
    [([0, 1], 0), ([3, 3, 1, 1, 1, 3], 3), ([7, 0, "null", 2, 0], 7), ([0, 0, 0, 2147483647], 0)],
)
def test_b28_records_of_another_rank_are_kept_and_named(make, ranks, mine):
    """Kind: a log with records of several ranks. They keep their own rank, the log has that of its first one."""
    made = make(log(*(artifact(f"a{n}", f"text {n}", ids=ranked(rank, n)) for n, rank in enumerate(ranks))))
    own = [mine if rank == "null" else rank for rank in ranks]
    assert made.rows("files", "rank") == [(mine,)]
    assert [made.row("artifacts", name=f"a{n}")["rank"] for n in range(len(ranks))] == own
    assert made.problems() == [("other rank", "error")] * sum(rank != mine for rank in own)
    for n in range(len(ranks)):
        assert made.text(f"a{n}") == f"text {n}".encode()
        assert next(iter(made.files(f"[{n}/0]").values())) == f"text {n}".encode()
    assert ["null" if line["rank"] is None else line["rank"] for line in made.jsonl[1:-1]] == ranks


CUT_HEAD = record('"artifact": {"name": "torn", "encoding": "string"}', "p")
INNER = artifact("inner", "payload\nof two lines", ids=frame_ids(1))


@pytest.mark.parametrize("order", ["aabb", "abab", "abba", "aabab"])
@pytest.mark.parametrize("begin", ["dynamo_start", "span"])
def test_b28_compiles_of_two_ranks_are_never_taken_for_one(make, order, begin):
    """Kind: ranks that share a log count their compiles alike, so that ids are the same."""
    span = ['"name": "dynamo"', '"ph": "B"', '"ts": 1796000000000001.5']
    parts = {}
    for rank, letter in enumerate("ab"):
        ids = ranked(rank)
        took = f'"entire_frame_compile_time_s": {rank + 1}.5, "guard_count": {rank}'
        begins = record(START, ids=ids) if begin == "dynamo_start" else event(span, ids=ids)
        parts[letter] = iter([begins, metrics(took, ids=ids), artifact(f"late {letter}", "p", ids=ids)])
    made = make(b"".join(next(parts[letter]) for letter in order))
    rows = made.rows("frames", "rank", "compile_id", "status", "entire_frame_s", "guards")
    assert rows == [(0, "0/0", "ok", 1.5, 0), (1, "0/0", "ok", 2.5, 1)]
    assert set(made.rows("records", "rank", "generation")) == {(0, 0), (1, 1)}
    assert made.dead_links() == []


@pytest.mark.shared
def test_b27_the_real_log(shared):
    """Kind: a process whose first records tell no rank, as PyTorch writes it."""
    trace = fasttl.load(shared / "traces" / "dist_late_init")
    assert sorted(trace.files["rank"]) == [0, 1]
    assert trace.records["rank"].null_count() == 0
    assert trace.problems.height == 0
    assert sorted(plain(trace.frames).select("rank", "compile_id").rows()) == [
        (rank, number) for rank in (0, 1) for number in ("0/0", "1/0")
    ]


@pytest.mark.parametrize(
    ("torn", "kinds"),
    [
        # In the middle of the JSON, inside a string, behind a comma, in front of the first key.
        (CUT_HEAD[: CUT_HEAD.index(b'", "enc')] + INNER, ["torn record"]),
        (CUT_HEAD[: CUT_HEAD.index(b'"enc')] + INNER, ["torn record"]),
        (CUT_HEAD[: CUT_HEAD.index(b'"artifact')] + INNER, ["torn record"]),
        # In the prefix.
        (CUT_HEAD[:17] + INNER, ["foreign text"]),
        # In a payload.
        (artifact("torn", "a long line")[:-6] + INNER, ["torn record"]),
        # Twice in one line.
        (CUT_HEAD[:120] + CUT_HEAD[:130] + INNER, ["torn record"] * 2),
        # The end of the first stands behind the second.
        (CUT_HEAD[:120] + INNER + CUT_HEAD[120:], ["torn record", "foreign text"]),
        # The first is whole but for its line feed.
        (record(START, ids=frame_ids(4))[:-1] + INNER, []),
    ],
)
def test_b34_a_record_inside_a_cut_one_is_read(make, torn, kinds):
    """Kind: a whole record stands on the line of another one that was cut, wherever it was cut."""
    made = make(log(torn))
    assert made.text("inner") == b"payload\nof two lines"
    assert made.row("artifacts", name="inner")["compile_id"] == "1/0"
    assert [kind for kind, _ in made.problems()] == kinds
    assert made.files("[1/0]")["inner_1.txt" if "inner_1.txt" in made.files("[1/0]") else "inner_0.txt"] == (
        b"payload\nof two lines"
    )
    assert [line["artifact"]["name"] for line in made.jsonl if "artifact" in line][-2:] == ["inner", "after"]
    assert made.is_whole()


@pytest.mark.parametrize(
    ("odd", "kinds", "payloads"),
    [
        (None, ["brand_new_thing", "brand_new_flag"], ["new payload"]),
        (record('"x": 3', "a\nb") + record('"y z/../": null', ids=""), ["x", "y z/../"], ["a\nb"]),
        (record('"<b>": [1]', '{"a": 1}') + record('"<b>": "text"', '{"a": 1}'), ["<b>", "<b>"], ['{"a": 1}'] * 2),
        (record('"计算": {"name": "n", "encoding": "json"}', ""), ["计算"], [""]),
    ],
)
def test_b36_kinds_that_nobody_knows_are_kept(make, odd, kinds, payloads):
    """Kind: a record whose first key is no kind of this release, with metadata of any type, payload or none."""
    made = make(probe("unknown_record") if odd is None else log(odd))
    known = {"str", "dynamo_start", "artifact"}
    rows = [row for row in made.trace.records.to_dicts() if row["kind"] not in known]
    assert [row["kind"] for row in rows] == kinds
    assert made.problems() == []
    found = [row for row in made.trace.artifacts.to_dicts() if row["kind"] not in known]
    assert [made.trace.payload(row).decode() for row in found] == payloads
    lines = [line for line in made.jsonl if not known & set(line)]
    assert [next(iter(line)) for line in lines] == kinds
    texts = [text for text in payloads if text]
    assert [made.read(line["payload_filename"]).decode() for line in lines if "payload_filename" in line] == texts


ADDED = {"timestamp": "1129", "thread": 12345, "pathname": "torch/_dynamo/convert_frame.py", "lineno": 123}


@pytest.mark.parametrize("key", ["timestamp", "thread", "pathname", "lineno", "payload_filename"])
@pytest.mark.parametrize(
    ("head", "where"),
    [
        ('"new_kind": {{"a": 1.50}}, "{}": {{"own": [1, 2]}}', "key"),
        ('"{}": {{"own": [1, 2]}}', "kind"),
        ('"new_kind": {{"{}": {{"own": [1, 2]}}, "a": 1.50}}', "metadata"),
    ],
)
def test_b37_a_key_that_is_also_added_keeps_its_value(make, key, head, where):
    """Kind: a head has a key of the same name as one of the fields that `raw.jsonl` adds."""
    made = make(log(record(head.format(key), "p")))
    assert len(made.jsonl) == 3
    line = made.jsonl[1]
    own = line["new_kind"][key] if where == "metadata" else line[key]
    assert own == {"own": [1, 2]}
    for name, value in ADDED.items():
        added = line[name if name != key or where == "metadata" else f"header_{name}"]
        assert added == value if name != "timestamp" else added.endswith("-11-29T23:59:59.000001")
    file = line["payload_filename" if key != "payload_filename" or where == "metadata" else "header_payload_filename"]
    assert made.read(file) == b"p"
    assert made.is_whole()


def test_b37_a_line_keeps_the_digits_and_doubled_keys_of_its_head(make):
    """Kind: a head that needs a change in `raw.jsonl` is not changed elsewhere: order, digits, doubled keys."""
    text = '"k": {"z": 1E5, "a": 0.10, "a": 12345678901234567890123, "n": null}'
    made = make(log(record(f'{text}, "thread": 1e2, "lineno": -0', ids=IDS)))
    [line] = [line for line in made.read("raw.jsonl").split(b"\n") if b'"k"' in line]
    assert line.startswith(b"{" + text.encode() + b', "thread": 1e2, "lineno": -0' + IDS.encode() + b', "timestamp": "')
    assert b'"header_thread": 12345, "pathname": ' in line
    assert line.endswith(b'"header_lineno": 123}')
