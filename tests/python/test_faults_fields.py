"""One odd field that costs the peer the whole record, with exit status 0: one test for each such fault of its list.

The kind of each fault stands in the docstring; the inputs are examples of it.
"""

import json

import pytest
from fault_logs import STRING, Made, artifact, event, frame_ids, log, metrics, plain, probe, ranked, record

NAN = [("NaN or infinity", "note")]
BAD = [("bad field", "error")]


@pytest.fixture
def make(tmp_path):
    def call(text, **options):
        return Made(tmp_path, text, **options)

    return call


def numbers_in_metrics(words):
    return metrics(f'"start_time": {words[0]}, "entire_frame_compile_time_s": 1.5, "new_key": [{words[1]}, 7]')


@pytest.mark.parametrize("words", [("NaN", "Infinity"), ("-Infinity", "NaN"), ("Infinity", "-Infinity")])
def test_b29_numbers_that_json_lacks_become_null_in_metrics(make, words):
    """Kind: a bare NaN or infinity among the fields of metrics, known ones and others. The others are kept."""
    made = make(log(numbers_in_metrics(words)))
    row = made.row("metrics")
    assert (row["co_name"], row["start_time"], row["entire_frame_compile_time_s"]) == ("fn", None, 1.5)
    assert json.loads(row["extra"]) == {"start_time": None, "new_key": [None, 7]}
    assert made.problems() == NAN
    head = made.jsonl[1]["compilation_metrics"]
    assert (head["start_time"], head["new_key"], head["graph_op_count"]) == (None, [None, 7], 5)
    assert made.is_whole()


def test_b29_the_probe(make):
    """Kind: as above; both numbers of this record are no JSON."""
    made = make(probe("nan_metrics"))
    row = made.row("metrics")
    assert (row["co_name"], row["start_time"], row["entire_frame_compile_time_s"]) == ("fn", None, None)
    assert made.problems() == NAN
    assert made.row("frames")["code_name"] == "fn"
    assert made.is_whole()


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("place", ['"dur": {}', '"args": {{"a": [1, {}], "text": "NaN"}}', '"ts": {}'])
def test_b29_a_timing_event_loses_no_more_than_the_number(make, number, place):
    """Kind: such a number anywhere in a timing event."""
    good = event(['"name": "before"', '"ph": "B"', '"ts": 1796000000000001.5'])
    odd = event(['"name": "NaN in a name"', '"ph": "X"', place.format(number), '"tid": 7'])
    made = make(log(good, odd))
    assert [e["name"] for e in made.events] == ["before", "NaN in a name"]
    assert (made.events[0]["ts"], made.events[1]["tid"], made.events[1]["pid"]) == (1796000000000001.5, 7, 0)
    key, value = json.loads("{" + place.format("null") + "}").popitem()
    assert made.events[1][key] == value
    assert made.problems() == NAN


@pytest.mark.parametrize(
    ("payload", "wanted"),
    [
        ('{"b": NaN, "a": 1}', {"b": None, "a": 1}),
        ('[[-Infinity], "Infinity", {"x": Infinity}]', [[None], "Infinity", {"x": None}]),
        ("NaN", None),
    ],
)
def test_b29_a_json_artifact_stays_json(make, payload, wanted):
    """Kind: such a number in a payload that is called JSON. Its file can be read; the payload itself is untouched."""
    made = make(log(artifact("a", payload, "json")))
    assert json.loads(made.files()["a_0.json"]) == wanted
    assert b"NaN" not in made.files()["a_0.json"]
    assert made.text("a") == payload.encode()
    assert made.problems() == NAN


@pytest.mark.parametrize(
    ("odd", "kept", "extra"),
    [
        (probe("metrics_float_count"), {"graph_op_count": 5, "entire_frame_compile_time_s": 1.5}, None),
        (
            probe("metrics_neg_lineno"),
            {"fail_user_frame_lineno": -1, "fail_type": "E", "fail_reason": "r", "fail_user_frame_filename": "f.py"},
            None,
        ),
        (log(metrics('"graph_op_count": "many"')), {"graph_op_count": None}, {"graph_op_count": "many"}),
        (log(metrics('"graph_op_count": 5.5')), {"graph_op_count": None}, {"graph_op_count": 5.5}),
        (log(metrics('"co_firstlineno": 2147483648')), {"co_firstlineno": 2147483648}, None),
        (
            log(metrics('"guard_count": 18446744073709551616')),
            {"guard_count": None},
            {"guard_count": 18446744073709551616},
        ),
        (
            log(metrics('"co_name": ["a", 1], "fail_type": 7')),
            {"co_name": None, "fail_type": None, "co_filename": "foo.py"},
            {"co_name": ["a", 1], "fail_type": 7},
        ),
        (
            log(metrics('"start_time": "soon", "has_guarded_code": 1, "cache_size": true')),
            {"start_time": None, "has_guarded_code": None, "cache_size": None},
            {"start_time": "soon", "has_guarded_code": 1, "cache_size": True},
        ),
        (log(metrics('"restart_reasons": "why"')), {"restart_reasons": None}, {"restart_reasons": "why"}),
        (
            log(metrics('"restart_reasons": ["a", 1, null, {"b": 2}]')),
            {"restart_reasons": ["a", "1", "null", '{"b":2}']},
            None,
        ),
    ],
)
def test_b30_one_odd_field_loses_only_itself(make, odd, kept, extra):
    """Kind: a field of metrics with a type or range that is not the usual one.

    What fits its column is there; what does not stands in `extra`, and all other fields stay.
    """
    made = make(odd)
    row = made.row("metrics")
    wanted = {"co_filename": "foo.py", "graph_op_count": 5} | kept
    assert {name: row[name] for name in wanted} == wanted
    assert (json.loads(row["extra"]) if row["extra"] else None) == extra
    [line] = [line for line in made.jsonl if "compilation_metrics" in line]
    assert line["compilation_metrics"]["co_filename"] == "foo.py"
    assert made.is_whole()


@pytest.mark.parametrize(
    ("count", "status", "ops"),
    [("5.0", "ok", 5), ('"5"', "ok", None), ("NaN", "ok", None), ("[]", "ok", None), ("0.0", "empty", 0)],
)
def test_b30_an_odd_count_does_not_decide_what_became_of_a_compile(make, count, status, ops):
    """Kind: the number that a compile's outcome hangs on has another type. Unknown is not zero."""
    frame = make(log(metrics(f'"graph_op_count": {count}'))).row("frames")
    assert (frame["status"], frame["ops"], frame["code_name"]) == (status, ops, "fn")


@pytest.mark.parametrize(
    ("frame", "wanted"),
    [
        ('{"line": -5, "name": "f", "filename": 0}', ("foo.py", -5, "f")),
        ('{"line": null, "name": "f", "filename": 0}', ("foo.py", None, "f")),
        ('{"line": 9223372036854775807, "name": "f", "filename": 0}', ("foo.py", 2**63 - 1, "f")),
        ('{"line": "3", "name": ["f"], "filename": 0}', ("foo.py", None, None)),
        ('{"line": 3, "name": "f", "filename": -1}', (None, 3, "f")),
        ('{"line": 3, "name": "f", "filename": "foo.py"}', (None, 3, "f")),
        ("17", (None, None, None)),
    ],
)
def test_b30_an_odd_stack_frame_loses_only_its_field(make, frame, wanted):
    """Kind: a field of a stack frame with another type or range; the frames around it stay in their places."""
    good = '{"line": 1, "name": "outer", "filename": 0}'
    made = make(log(record(f'"dynamo_start": {{"stack": [{good}, {frame}, {good}]}}', ids=frame_ids(1))))
    stack = made.trace.stacks.filter(made.trace.stacks["frame_id"] == 1)
    rows = [tuple(row) for row in stack.select("file_name", "line", "function").rows()]
    assert rows == [("foo.py", 1, "outer"), wanted, ("foo.py", 1, "outer")]
    assert made.row("frames", compile_id="1/0")["code_name"] == "outer"


@pytest.mark.parametrize("name", ["neg_line_numbers"])
def test_b30_the_probe_of_lines(make, name):
    """Kind: as above."""
    made = make(probe(name))
    assert made.rows("frames", "compile_id", "code_line") == [("0/0", 3), ("1/0", -5), ("2/0", None)]


@pytest.mark.parametrize(
    ("number", "kept"),
    [
        ("4294967296", 4294967296),
        ("-1", -1),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ('"0"', None),
        ("9223372036854775808", None),
        ("1.0", None),
        ("[0]", None),
        ("true", None),
    ],
)
@pytest.mark.parametrize("key", ["frame_id", "compiled_autograd_id"])
def test_b31_an_id_of_any_size_names_its_own_compile(make, key, number, kept):
    """Kind: an id beyond 32 bits, below zero, or of another type. One that is no number is lost alone, and said."""
    ids = {"frame_id": 5, "frame_compile_id": 1, "attempt": 0} | {key: "ODD"}
    members = ", " + json.dumps(ids)[1:-1].replace('"ODD"', number)
    made = make(log(artifact("odd", "p", ids=members)))
    row = made.row("artifacts", name="odd")
    assert (row[key], row["frame_compile_id"], row["attempt"]) == (kept, 1, 0)
    assert made.problems() == ([] if kept is not None else BAD)
    place = {"frame_id": "5", "compiled_autograd_id": "-"} | {key: "-" if kept is None else str(kept)}
    folder = f"{place['compiled_autograd_id']}_{place['frame_id']}_1_0"
    assert made.read(f"{folder}/odd_0.txt") == b"p"
    assert not list(made.out.glob("unknown*"))
    assert made.is_whole()


def test_b31_the_probe(make):
    """Kind: as above."""
    made = make(probe("huge_frame_id"))
    ids = made.rows("artifacts", "name", "frame_id", "frame_compile_id")
    assert ids == [("big", 2**32, 0), ("neg", -1, 0), ("strid", None, None)]
    assert sorted(made.directory) == ["[-/-]", "[-1/0]", "[0/0]", "[4294967296/0]"]
    assert made.problems() == BAD * 2


@pytest.mark.parametrize("rank", ['"0"', "-1", "1099511627776", "4294967296", "1.0", "[0]", "true", '{"r": 0}'])
@pytest.mark.parametrize("other", [None, 4])
def test_b32_an_odd_rank_loses_only_itself(make, rank, other):
    """Kind: a rank that numbers no process: text, below zero, too large. The record is one without a rank."""
    after = [] if other is None else [artifact("other", "q", ids=ranked(other))]
    made = make(log(metrics('"cache_size": 3', ids=ranked(rank)), artifact("odd", "p", ids=ranked(rank)), *after))
    assert made.rows("files", "rank") == [(other,)]
    assert set(made.trace.records["rank"]) == {other}
    assert made.problems() == BAD * 2
    assert (made.text("odd"), made.row("metrics")["cache_size"]) == (b"p", 3)
    assert made.row("frames")["status"] == "ok"
    assert b"p" in made.files().values()
    assert [line["rank"] for line in made.jsonl[1:3]] == [json.loads(rank)] * 2
    # Other records keep the numbers that they have without these two.
    assert made.files()["after_0.txt" if other is None else "other_0.txt"] == (b"x" if other is None else b"q")


@pytest.mark.parametrize(
    ("raw", "shown"), [("\\udc80", "\ufffd"), ("\\ud83d", "\ufffd"), ("\\ud83d\\ud83d", "\ufffd" * 2)]
)
def test_b33_half_a_character_loses_only_itself(make, raw, shown):
    """Kind: a lone surrogate, as Python writes it for a name that it could not decode, in any text of a head."""
    made = make(
        record(f'"str": ["/a{raw}.py", 0]', ids="")
        + log(
            record(f'"artifact": {{"name": "n{raw}", "encoding": "string"}}', "line one\nline two"),
            metrics(f'"co_name": "f{raw}", "new": "v{raw}"'),
        )[len(record(STRING, ids="")) :]
    )
    assert made.problems() == []
    assert made.text(f"n{shown}") == b"line one\nline two"
    row = made.row("metrics")
    assert (row["co_name"], json.loads(row["extra"])) == (f"f{shown}", {"new": f"v{shown}"})
    assert made.rows("strings", "text") == [(f"/a{shown}.py",)]
    assert made.string_line["string_table"] == [f"/a{shown}.py"]
    assert made.jsonl[1]["artifact"]["name"] == f"n{shown}"
    assert made.files()[f"n{shown}_x0.txt"] == b"line one\nline two"


@pytest.mark.parametrize(("levels", "deep"), [(90, False), (200, True), (20_000, True)])
@pytest.mark.parametrize(("opening", "closing"), [('{"a": ', "}"), ("[", "]")])
def test_b33_nesting_of_any_depth_is_read(make, levels, deep, opening, closing):
    """Kind: JSON nested deeper than strict readers follow.

    The record stays, with its payload; what is too deep for other readers becomes null in files for them.
    """
    value = opening * levels + "1" + closing * levels
    made = make(log(record(f'"new_kind": {value}', "line one\nline two"), metrics(f'"deep": {value}')))
    assert made.problems() == [("deep JSON", "note")] * (2 * deep)
    [row] = made.trace.records.filter(made.trace.records["kind"] == "new_kind").to_dicts()
    assert made.trace.payload(row) == b"line one\nline two"
    assert made.trace.metadata(row).count(opening.strip()) >= levels
    assert made.row("metrics")["co_name"] == "fn"
    assert made.jsonl[2]["compilation_metrics"]["graph_op_count"] == 5
    assert next(iter(made.files().values())) == b"line one\nline two"
    assert made.is_whole()


@pytest.mark.parametrize(
    ("odd", "shown", "strict"),
    [
        ('{"code": "a\\udc80", "stack": null}', "a\ufffd", False),
        ('{"code": "a", "stack": [{"line": NaN, "name": "f"}]}', "a", False),
        ('{"new": "only"}', '{"new": "only"}', False),
        ("17", "17", False),
        ('{"code": "a", "stack": null, "user_stack": "no stack"}', "a", True),
    ],
)
def test_b30_one_odd_guard_loses_only_itself(make, odd, shown, strict):
    """Kind: a list in a payload with one element that is not as the others are."""
    good = '{"code": "good %d", "stack": null, "user_stack": null}'
    payload = f"[\n{good % 1},\n{odd},\n{good % 2}\n]"
    made = make(log(record('"dynamo_guards": {}', payload)))
    name = "dynamo_guards_0.html" if strict else "dynamo_guards_x0.html"
    text = made.page(f"-_0_0_0/{name}").text
    assert text.index("good 1") < text.index(shown, text.index("good 1")) < text.index("good 2")
    # Files behind it have the numbers that they have beside a reader that passes over this one.
    assert list(made.files()) == [name, f"after_{int(strict)}.txt"]
    assert [path.read_bytes() for path in made.out.glob("payloads/*")] == [payload.encode()]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ('["0/0: x\\udc80 == 1", "0/1: y"]', "0/0: x\ufffd == 1"),
        ('["0/0: x", NaN, 3]', "0/0: x"),
        ("0/0: tensor 'x' size mismatch", "0/0: tensor 'x' size mismatch"),
        ('[{"a": 1}]', '{"a": 1}'),
    ],
)
def test_b30_one_odd_reason_loses_only_itself(make, payload, reason):
    """Kind: as above, where the table `frames` takes one element out of the list."""
    made = make(log(artifact("recompile_reasons", payload, "json", ids=frame_ids(1))))
    assert made.row("frames", compile_id="1/0")["recompile_reason"] == reason


@pytest.mark.parametrize("value", ["5", '"text"', "null", "[]", "[[1]]", "NaN", "true"])
@pytest.mark.parametrize("kind", ["compilation_metrics", "dynamo_start", "artifact", "link", "str", "dump_file"])
def test_b30_metadata_of_another_type_loses_only_the_record(make, kind, value):
    """Kind: the whole metadata of a kind is no object. The record is there, with what it has beside it."""
    made = make(log(record(f'"{kind}": {value}', "line one\nline two")))
    rows = [row for row in plain(made.trace.records).to_dicts() if row["payload_length"] == 17]
    assert [(row["kind"], row["compile_id"], row["state"]) for row in rows] == [(kind, "0/0", "verified")]
    assert made.trace.payload(rows[0]) == b"line one\nline two"
    assert {kind for kind, _ in made.problems()} <= {"bad field", "NaN or infinity"}
    assert made.dead_links() == []
    # Strings are a table of their own, and have no files.
    texts = [path.read_text() for path in made.out.rglob("*.[th]*") if path.parent != made.out]
    assert kind == "str" or any("line two" in text for text in texts)
    assert "x" in texts
