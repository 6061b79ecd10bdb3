"""What became of a compile, its metrics and its times, where the peer is wrong with exit status 0.

The kind of each fault stands in the docstring; the inputs are examples of it.
"""

import json
from datetime import datetime, timedelta, timezone

import fasttl
import pytest
from fault_logs import START, Made, artifact, event, log, metrics, plain, probe, record


@pytest.fixture
def make(tmp_path):
    def call(text, **options):
        return Made(tmp_path, text, **options)

    return call


def ids(frame, compile_number=0, attempt=0):
    return f', "frame_id": {frame}, "frame_compile_id": {compile_number}, "attempt": {attempt}'


def metrics_page(made, which=""):
    [page] = [page for path, page in made.pages().items() if f"compilation_metrics{which}" in path]
    return page


# The values of a record of PyTorch 2.13, by the type of their column.
SAMPLES = {"Int64": (41, "41"), "Float64": (1.25, "1.25"), "Boolean": (True, "true"), "Utf8View": ("text 7", "text 7")}


def test_b35_every_known_field_has_its_column_and_its_row(make, example):
    """Kind: a field of metrics that the release at hand knows. Each is a column, and each stands on the page."""
    own = {
        "rank",
        "file",
        "generation",
        "compile_id",
        "frame_id",
        "frame_compile_id",
        "attempt",
        "offset",
        "time",
        "kind",
    }
    own |= {"compiled_autograd_id", "extra", "metrics_compile_id"}
    columns = {c.name: c.type for c in fasttl.load(example).schema("metrics") if c.name not in own}
    assert len(columns) > 90
    logged, wanted = {}, {}
    for name, kind in columns.items():
        if kind in SAMPLES:
            logged[name] = wanted[name] = SAMPLES[kind][0]
        else:
            logged[name] = wanted[name] = ["one", f"two of {name}"]
    made = make(log(record(f'"compilation_metrics": {json.dumps(logged)}')))
    row = made.row("metrics")
    assert {name: row[name] for name in wanted} == wanted
    assert row["extra"] is None
    text = metrics_page(made).text
    assert [name for name in columns if name not in text] == []
    assert made.jsonl[1]["compilation_metrics"] == logged


@pytest.mark.parametrize(
    ("members", "extra"),
    [
        (None, {"gpu_time_saved": 3}),
        ('"new_count": 12345678901234567890123', {"new_count": 12345678901234567890123}),
        (
            '"new": {"b": [1, {"c": null}], "a": "x"}, "<b>": "<i>", "": false',
            {"new": {"b": [1, {"c": None}], "a": "x"}, "<b>": "<i>", "": False},
        ),
        (
            '"new_list": [], "new_null": null, "new_float": 0.30000000000000004',
            {"new_list": [], "new_null": None, "new_float": 0.30000000000000004},
        ),
    ],
)
def test_b35_a_field_that_nobody_knows_is_kept_and_called_so(make, members, extra):
    """Kind: a field of metrics of a later release, of any type. It stands in `extra` and on the page, by its name."""
    made = make(probe("metrics_unknown_keys") if members is None else log(metrics(members)))
    row = made.row("metrics")
    assert json.loads(row["extra"]) == extra
    assert list(json.loads(row["extra"])) == list(extra)
    assert (row["co_name"], row["graph_op_count"]) == ("fn", 5)
    if members is None:
        names = (
            "triton_compile_time_us",
            "cudagraph_skip_reason",
            "dynamo_config",
            "inductor_fx_remote_cache_hit_count",
        )
        assert [row[name] for name in names] == [5, "x", "{}", 2]
    page = metrics_page(made)
    assert "Other fields" in page.text
    assert [key for key in extra if key not in page.text] == []
    assert made.jsonl[1]["compilation_metrics"].items() >= extra.items()


@pytest.mark.parametrize(
    "kind", ["bwd_compilation_metrics", "compilation_metrics_runtime", "aot_autograd_backward_compilation_metrics"]
)
def test_b35_other_kinds_of_metrics_lose_no_field_either(make, kind):
    """Kind: as above, in the metrics of a backward compile and of run time."""
    made = make(
        log(record(f'"{kind}": {{"inductor_compile_time_s": 2.5, "runtime_cudagraphify_time_us": 9, "new": [1]}}'))
    )
    row = made.row("metrics", kind=kind)
    assert (row["inductor_compile_time_s"], row["runtime_cudagraphify_time_us"]) == (2.5, 9)
    assert json.loads(row["extra"]) == {"new": [1]}
    [text] = [page.text for path, page in made.pages().items() if kind in path]
    assert "new" in text
    assert "runtime_cudagraphify_time_us" in text


@pytest.mark.parametrize(
    ("odd", "names", "unknown"),
    [
        (None, ["nul", "nokeys"], 2),
        ([artifact("a", "p", ids=""), metrics(ids="")], ["a", None], 2),
        ([artifact("a", "p", ids=', "attempt": 0')], ["a"], 1),
        ([artifact("a", "p", ids=', "frame_id": null'), artifact("b", "p")], ["a"], 1),
        ([artifact("torch_version", '"2.13"', ids=""), record('"str": ["b.py", 1]', ids="")], ["torch_version"], 0),
    ],
)
def test_b42_records_without_an_id_are_counted(make, run, odd, names, unknown):
    """Kind: a record that belongs to a compile by its kind, and names none: ids absent, null, or an attempt alone.

    What is logged about the process needs no id.
    """
    made = make(probe("compile_id_null") if odd is None else log(*odd))
    none = made.trace.records.filter(made.trace.records["frame_id"].is_null())
    none = plain(none).filter(~plain(none)["kind"].is_in(["str"]))
    assert none["name"].to_list() == names
    assert none["compile_id"].is_null().all()
    assert made.report.unknown_compile_ids == unknown
    listed = [entry for label, entries in made.directory.items() if "-/-" in label for entry in entries]
    assert len(listed) == len(names)
    result = run(made.path, "-o", made.out.with_name("again"), "--strict-compile-id")
    assert result.exit_code == int(unknown > 0)
    assert ("without a compile id" in result.stderr) == (unknown > 0)
    assert made.rows("frames", "compile_id") == [("0/0",)]


SPECIAL = (
    '"symbolic_shape_specialization": {"symbol": "s77", "sources": ["L[x]"], "value": "8192", "reason": "why it is",'
    ' "stack": [], "user_stack": []}'
)


@pytest.mark.parametrize("attempt", [1, 2, 7])
@pytest.mark.parametrize("metrics_attempt", [0, 1, 7])
def test_b43_a_compile_is_one_whichever_try_its_records_name(make, attempt, metrics_attempt):
    """Kind: records of one compile carry different attempts.

    Metrics, specialisations and status belong to the one compile.
    """
    made = make(
        log(record(SPECIAL, ids=ids(0, 0, attempt)), metrics('"guard_count": 9', ids=ids(0, 0, metrics_attempt)))
    )
    [frame] = made.trace.frames.to_dicts()
    assert (frame["status"], frame["guards"], frame["attempts"]) == ("ok", 9, max(attempt, metrics_attempt) + 1)
    assert made.row("metrics")["attempt"] == metrics_attempt
    page = metrics_page(made)
    for words in ("s77", "8192", "why it is"):
        assert words in page.text
    assert made.dead_links() == []


def test_b43_the_probe(make):
    """Kind: as above; each try keeps its own files."""
    made = make(probe("attempts"))
    # Its second `dynamo_start` begins a compile of the same id anew.
    assert made.rows("frames", "generation", "status") == [(0, "missing"), (1, "break")]
    frame = made.row("frames", generation=1)
    assert (frame["attempts"], frame["ops"], frame["restart_reasons"]) == (2, 5, ["r"])
    assert {label: list(made.files(label)) for label in ("[0/0]", "[0/0_1]")} == {
        "[0/0]": ["g_0.txt"],
        "[0/0_1]": ["g_1.txt", "compilation_metrics_2.html"],
    }


@pytest.mark.parametrize(
    ("members", "status", "reasons"),
    [
        (None, "ok", None),
        ('"restart_reasons": null', "ok", None),
        ('"restart_reasons": []', "ok", []),
        ("", "ok", None),
        ('"restart_reasons": "text"', "ok", None),
        ('"restart_reasons": ["a break"]', "break", ["a break"]),
        ('"restart_reasons": null, "graph_op_count": 0', "empty", None),
        ('"restart_reasons": null, "fail_type": "E"', "error", None),
        ('"restart_reasons": ["a"], "fail_type": null', "break", ["a"]),
    ],
)
def test_b44_no_reason_is_no_restart(make, members, status, reasons):
    """Kind: a field that tells of a restart is there without saying that there was one."""
    made = make(probe("metrics_null_restart") if members is None else log(metrics(members)))
    assert made.row("metrics")["restart_reasons"] == reasons
    frame = made.row("frames")
    assert (frame["status"], frame["restart_reasons"] or []) == (status, reasons or [])
    assert frame["has_graph_break"] is not True
    assert status in made.page("index.html").text


BREAK = "Graph break in user code at /a.py:7\nGraph Break Reason: a call that is not traced\n  Explanation: none"


@pytest.mark.parametrize(
    ("records", "status"),
    [
        ([artifact("dynamo_graph_break_reason", BREAK), metrics('"restart_reasons": []')], "break"),
        ([metrics(), artifact("dynamo_graph_break_reason", BREAK)], "break"),
        ([artifact("dynamo_graph_break_reason", BREAK, ids=ids(0, 0, 1)), metrics(ids=ids(0, 0, 2))], "break"),
        ([artifact("dynamo_graph_break_reason", ""), metrics('"restart_reasons": null')], "break"),
        ([artifact("dynamo_graph_break_reason", BREAK, "odd"), metrics('"restart_reasons": ["other"]')], "break"),
        ([artifact("dynamo_graph_break_reason", BREAK), metrics('"graph_op_count": 0')], "empty"),
        ([artifact("dynamo_graph_break_reason", BREAK), metrics('"fail_type": "Unsupported"')], "error"),
        ([artifact("dynamo_graph_break_reason", BREAK)], "missing"),
    ],
)
def test_b63_a_compile_with_a_graph_break_is_a_break(make, records, status):
    """Kind: the log has a graph break of a compile whose metrics name no restart.

    It is no plain success; what counts for more than a break stays what it is.
    """
    frame = make(log(*records)).row("frames")
    assert (frame["status"], frame["has_graph_break"]) == (status, True)


def test_b63_a_break_of_another_compile_is_none_of_this_one(make):
    """Kind: as above, beside a compile without a break."""
    made = make(log(artifact("dynamo_graph_break_reason", BREAK, ids=ids(0, 1)), metrics(), metrics(ids=ids(0, 1))))
    assert made.rows("frames", "compile_id", "status") == [("0/0", "ok"), ("0/1", "break")]


@pytest.mark.shared
def test_b63_the_real_log(shared):
    """Kind: as above, as PyTorch writes it."""
    frames = plain(fasttl.load(shared / "traces" / "graph_breaks").frames)
    [row] = frames.filter(frames["compile_id"] == "3/0").to_dicts()
    assert (row["status"], row["has_graph_break"], row["restart_reasons"]) == ("break", True, [])


def utc(*fields):
    return datetime(*fields, tzinfo=timezone.utc)


def micros(moment):
    return (moment - utc(1970, 1, 1)) // timedelta(microseconds=1)


def wall(moment):
    return f"{moment:%m%d %H:%M:%S.%f}"


def told(moment, offset_h=0, phase="B"):
    """Give a timing event whose time is known, in a zone."""
    members = ['"name": "x"', f'"ph": "{phase}"', f'"ts": {micros(moment)}.25']
    return event(members, when=wall(moment + timedelta(hours=offset_h)))


def untold(moment, offset_h=0):
    """Give a record with the time of its prefix alone."""
    return record(START, when=wall(moment + timedelta(hours=offset_h)))


def seen(made):
    return [(time.replace(tzinfo=timezone.utc)) for (time,) in made.rows("records", "time")]


NEW_YEAR = [
    utc(2024, 12, 31, 23, 59, 58),
    utc(2024, 12, 31, 23, 59, 59, 999000),
    utc(2025, 1, 1),
    utc(2025, 1, 1, 0, 0, 9),
]


@pytest.mark.parametrize("offset_h", [0, 1, 5.5, -8, 14, -12, 5.75])
@pytest.mark.parametrize("known", [0, 1, 2, 3])
@pytest.mark.parametrize("shift", [timedelta(0), timedelta(hours=-5, minutes=-30), timedelta(hours=8)])
def test_b48_years_and_zones_are_those_of_the_events(make, offset_h, known, shift):
    """Kind: a run over New Year, in UTC or in local time, of a past year; one event says when it was."""
    moments = [moment + shift for moment in NEW_YEAR]
    made = make(
        b"".join((told if n == known else untold)(moment, offset_h) for n, moment in enumerate(moments)),
        modified=utc(2026, 7, 1).timestamp(),
    )
    assert seen(made) == moments
    assert made.rows("files", "utc_offset_s") == [(int(offset_h * 3600),)]
    lines = [f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z" for n, moment in enumerate(moments) if n != known]
    assert [line["timestamp"] for line in made.jsonl] == lines


@pytest.mark.parametrize(
    "members",
    [
        '"start_time_us": {us}, "end_time_us": {us}',
        '"start_time": {s}, "entire_frame_compile_time_s": 0.0',
        '"start_time": {s}',
    ],
)
@pytest.mark.parametrize("offset_h", [0, 2, -7])
def test_b48_metrics_tell_the_time_where_no_event_does(make, members, offset_h):
    """Kind: a log without timing events. Its metrics say when a compile was."""
    moments = [utc(2023, 7, 3, 23, 59, 59), utc(2023, 7, 4, 0, 0, 1)]
    us = micros(moments[1])
    timed = metrics(members.format(us=us, s=us / 1e6), when=wall(moments[1] + timedelta(hours=offset_h)))
    made = make(untold(moments[0], offset_h) + timed)
    assert seen(made) == moments
    assert made.rows("files", "utc_offset_s") == [(offset_h * 3600,)]


@pytest.mark.parametrize(
    ("moments", "modified"),
    [
        (NEW_YEAR, utc(2025, 1, 1, 0, 0, 10)),
        (NEW_YEAR[:2], utc(2025, 6, 1)),
        ([utc(2022, 11, 30)], utc(2023, 6, 1)),
        # Not every year has this day.
        ([utc(2024, 2, 28, 23), utc(2024, 2, 29, 12), utc(2024, 3, 1)], utc(2026, 6, 1)),
        ([utc(2024, 2, 29)], utc(2024, 2, 29, 0, 0, 1)),
        ([utc(2020, 2, 29)], utc(2024, 2, 27)),
    ],
)
def test_b48_without_an_event_the_file_tells_the_year_and_nothing_the_zone(make, moments, modified):
    """Kind: a log without any absolute time.

    Its year is the latest that the file's own time allows; times have no Z.
    """
    made = make(b"".join(map(untold, moments)), modified=modified.timestamp())
    assert seen(made) == moments
    assert made.rows("files", "utc_offset_s") == [(None,)]
    assert [line["timestamp"] for line in made.jsonl] == [f"{moment:%Y-%m-%dT%H:%M:%S.%f}" for moment in moments]


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2), (-4, -5), (10.5, 11)])
@pytest.mark.parametrize("hour", [0, 1, 6])
def test_b48_a_clock_that_is_set_does_not_move_the_records(make, before, after, hour):
    """Kind: summer time begins or ends during the run, so that local hours are skipped or come twice."""
    change = utc(2025, 10, 26, hour)
    steps = [
        timedelta(minutes=-50),
        timedelta(seconds=-1),
        timedelta(seconds=1),
        timedelta(seconds=3),
        timedelta(minutes=9),
    ]
    parts = [
        told(change + steps[0], before),
        untold(change + steps[1], before),
        untold(change + steps[2], after),
        told(change + steps[3], after, "E"),
        untold(change + steps[4], after),
    ]
    made = make(b"".join(parts))
    assert seen(made) == [change + step for step in steps]


@pytest.mark.parametrize(
    "when", ["1301 00:00:00.000000", "0230 00:00:00.000000", "1129 24:00:00.000000", "0000 10:00:60.000000"]
)
def test_b48_a_time_that_there_is_not_is_none(make, when):
    """Kind: a prefix whose date or time does not exist. The record has no time, and says so; the others have theirs."""
    made = make(
        told(utc(2025, 3, 1, 12))
        + record(START, when=when)
        + artifact("odd", "p", when=when)
        + told(utc(2025, 3, 1, 12, 1))
    )
    assert [time and str(time) for (time,) in made.rows("records", "time")] == [
        "2025-03-01 12:00:00+00:00",
        None,
        None,
        "2025-03-01 12:01:00+00:00",
    ]
    assert made.problems() == [("bad field", "error")] * 2
    assert made.text("odd") == b"p"
    assert [line["timestamp"] for line in made.jsonl] == [None, None]
