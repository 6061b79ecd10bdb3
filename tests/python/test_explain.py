"""`trace.explain` and `fasttl explain`: what one compile is, and why."""

import json

import fasttl
import pytest
from fasttl import OptionError
from handmade import METRICS, artifact, job, log, record


@pytest.fixture(scope="module")
def trace(example):
    return fasttl.load(example)


def part(explanation, name):
    return next(part for part in explanation.parts if part.name == name)


def test_a_failure_has_its_error_stage_and_advice(trace):
    why = part(trace.explain("1/0", rank=1), "why").lines
    assert why[0] == "It is the first compile of this code."
    assert why[1].startswith("It failed (stage: backend): BackendCompilerFailed: backend='backend' raised:")
    assert "aot_eager" in why[2]


def test_a_recompile_has_its_guard_cause_and_values(data):
    why = part(fasttl.load(data("processes")).explain("0/1"), "why").lines
    assert why[0].endswith("tensor 'x' size mismatch at index 0. expected 3, actual 4")
    assert why[1] == "Cause: size of `x`: wanted 3, got 4"
    assert why[2] == "Values over the compiles of this frame: 3, 4"


def test_the_first_rank_is_taken_and_the_others_named(trace):
    found = trace.explain("0/0")
    assert (found.rank, found.file, found.generation) == (0, 0, 0)
    assert part(found, "others").rows["rank"].to_list() == [1, 2]
    assert trace.explain("0/0", rank=2).rank == 2


def test_every_part_is_of_this_compile(trace):
    found = trace.explain("2/0", rank=2)
    assert set(part(found, "artifacts").rows["file"].to_list()) == {2}
    frames = trace.frames.filter(rank=2, compile_id="2/0")
    assert part(found, "artifacts").rows.height == frames["artifacts"][0]
    assert part(found, "guards").rows["guards"].sum() > 0
    assert "dynamo" in part(found, "graphs").rows["stage"].cast(str).to_list()
    assert part(found, "time").rows["name"].cast(str).to_list()


def test_what_is_missing_has_a_reason(trace):
    missing = dict(part(trace.explain("2/0", rank=0), "missing").rows.cast(str).rows())
    assert missing["compilation_metrics"] == "the log ends before the compile did"


@pytest.mark.parametrize("form", ["0/0", "[0/0]", " 0/0 ", "0/0_0", "0/0@0"])
def test_ids_are_taken_as_pages_and_logs_write_them(trace, form):
    assert trace.explain(form).compile_id == "0/0"


def test_an_id_that_is_not_there_lists_those_that_are(trace):
    with pytest.raises(OptionError, match=r"there is no compile 9/9; there are 0/0, 1/0, 2/0"):
        trace.explain("9/9")
    with pytest.raises(OptionError, match="on rank 7"):
        trace.explain("0/0", rank=7)
    with pytest.raises(OptionError, match="no compile 0/0@3"):
        trace.explain("0/0@3")
    with pytest.raises(OptionError, match="no compile 0/0 on rank 1 in log 2"):
        trace.explain("0/0", rank=1, file=2)


def hint(explanation):
    return part(explanation, "others").lines[-1]


def test_what_picks_one_of_the_same_id_is_what_does(trace, data, tmp_path):
    assert hint(trace.explain("0/0")) == "Name one by its rank."
    # Two logs without a rank, both of the first generation.
    processes = fasttl.load(data("processes"))
    found = processes.explain("0/0")
    assert part(found, "others").lines == ["1 more compile of this id, in 1 log without a rank.",
                                           "Name one by its log (column file)."]  # fmt: skip
    names = processes.frames.filter(compile_id="0/0").select("file", "code_name").rows()
    assert sorted(name for _, name in names) == ["child", "parent"]
    for file, name in names:
        one = processes.explain("0/0", file=file)
        assert one.file == file
        assert f"`{name}`" in one.headline
        assert "others" not in [part.name for part in one.parts]
    # Each rank started twice.
    restart = fasttl.load(data("dist_restart")).explain("0/0")
    assert restart.parts[-1].rows.height == 3
    assert hint(restart) == "Name one by its log (column file)."
    assert hint(fasttl.load(data("dist_restart")).explain("0/0", rank=0)) == "Name one by its log (column file)."
    # Ids start again in each log.
    twice = log() + record("compilation_metrics", METRICS) + record("dynamo_start", {"stack": []})
    (tmp_path / "a.log").write_bytes(twice)
    assert hint(fasttl.load(tmp_path / "a.log").explain("0/0")) == "Name one by its generation."
    (tmp_path / "b.log").write_bytes(twice.replace(b" 12345 ", b" 54321 "))
    assert hint(fasttl.load(tmp_path).explain("0/0")) == "Name one by its log (column file) and generation."
    ranks = job(
        tmp_path / "job", *(twice.replace(b'"attempt": 0', b'"attempt": 0, "rank": %d' % rank) for rank in (0, 1))
    )
    assert hint(fasttl.load(ranks).explain("0/0")) == "Name one by its rank and generation."


def test_the_command_takes_the_number_of_a_log(data, run):
    trace = fasttl.load(data("processes"))
    for file in trace.frames.filter(compile_id="0/0")["file"]:
        result = run("explain", data("processes"), "0/0", "--log", str(file))
        assert result.stdout.splitlines()[0] == trace.explain("0/0", file=file).headline
    missing = run("explain", data("processes"), "0/0", "--log", "99")
    assert (missing.exit_code, "no compile 0/0 in log 99" in missing.stderr) == (2, True)


def test_what_a_terminal_would_obey_is_shown_as_text(tmp_path):
    bad = "\x1b[2J\x1b]0;pwn\x07 \u202e bad"
    (tmp_path / "a.log").write_bytes(
        log(
            artifact("dynamo_graph_break_reason", f"Graph break in user code at a.py:3\nReason: {bad}\nmore"),
            artifact(bad, "x"),
            record("compilation_metrics", {**METRICS, "co_name": bad, "fail_type": bad, "fail_reason": bad}),
        )
    )
    found = fasttl.load(tmp_path / "a.log").explain("0/0")
    assert any("\x1b" in line for line in part(found, "breaks").lines)
    assert repr(found).isprintable()
    assert all(repr(part).isprintable() for part in found.parts)
    for text in (str(found), found.text()):
        assert text.replace("\n", "").isprintable()
        assert r"\x1b[2J\x1b]0;pwn\x07 \u202e bad" in text


def test_markup_of_a_log_is_text_in_a_notebook(data):
    html = fasttl.load(data("unusual")).explain("1/0")._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_the_command_prints_the_same_text(example, trace, run):
    result = run("explain", example, "1/0", "--rank", "1")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == trace.explain("1/0", rank=1).headline


def test_json_and_markdown_have_the_parts(example, run):
    parts = json.loads(run("explain", example, "1/0", "--rank", "1", "--format", "json").stdout)
    assert parts["compile"][0]["headline"].startswith("1/0 `step` on rank 1: error")
    assert parts["artifacts_rows"][0]["file"] == 1
    assert "## " in run("explain", example, "1/0", "--rank", "1", "--format", "markdown").stdout


def test_without_an_id_the_command_says_so(example, run):
    result = run("explain", example)
    assert result.exit_code == 2
    assert "no compile id" in result.stderr
