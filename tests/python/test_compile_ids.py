"""Compile ids as people write them: one grammar for `explain` and `extract`."""

import fasttl
import pytest
from fasttl import OptionError
from fasttl._compile_ids import CompileId
from handmade import METRICS, artifact, log, record

FORMS = {
    "0/1": (None, 0, 1, None, None),
    " [0/1] ": (None, 0, 1, None, None),
    "0/1_2": (None, 0, 1, 2, None),
    "[0/1_0]": (None, 0, 1, 0, None),
    "0/1@3": (None, 0, 1, None, 3),
    "0/1_2@3": (None, 0, 1, 2, 3),
    "!4": (4, None, None, None, None),
    "!4_1@2": (4, None, None, 1, 2),
    "!4/0/1": (4, 0, 1, None, None),
    "[!4/-/-]": (4, None, None, None, None),
    "-/1": (None, None, 1, None, None),
    "-1/4294967296": (None, -1, 1 << 32, None, None),
}
NO_IDS = [
    "", "0", "!", "!0/", "!01/2", "!/0/1", "/0/1", "!0//1/2", "0/0/0/0", "x/y", "-/-", "_1", "@1", "0/1@", "0/1_",
    "0/1@1_2", "[0/1", "0/1]", "\uff10/\uff11", "0/1; drop", "9" * 30 + "/0", f"{1 << 63}/0",
    "0/" + "1" * 5000,
]  # fmt: skip


@pytest.mark.parametrize(("text", "numbers"), FORMS.items())
def test_every_form_is_read(text, numbers):
    assert tuple(CompileId.parse(text)) == numbers


@pytest.mark.parametrize("text", NO_IDS)
def test_another_text_is_refused_by_both_in_the_same_words(example, tmp_path, text):
    trace = fasttl.load(example)
    for ask in (trace.explain, lambda text: trace.extract(tmp_path / "out", compile_id=text)):
        with pytest.raises(OptionError, match="is no compile id; write for example 0/1"):
            ask(text)


def ids(compile_, attempt=0):
    return f', "frame_id": 0, "frame_compile_id": {compile_}, "attempt": {attempt}'


@pytest.fixture
def trace(tmp_path):
    """Load 0/0 with one attempt; 0/1 with two; and, after a reset, 0/0 with a second attempt."""
    start = {"stack": []}
    (tmp_path / "a.log").write_bytes(
        log(record("compilation_metrics", METRICS))
        + record("dynamo_start", start, ids=ids(1))
        + record("dynamo_start", start, ids=ids(1, 1))
        + record("compilation_metrics", METRICS, ids=ids(1, 1))
        + record("dynamo_start", start)
        + artifact("again", "x")
        + record("dynamo_start", start, ids=ids(0, 1))
        + record("compilation_metrics", METRICS, ids=ids(0, 1))
    )
    return fasttl.load(tmp_path / "a.log")


def test_an_attempt_that_was_is_taken(trace):
    frames = trace.frames.select("compile_id", "generation", "attempts").rows()
    assert frames == [("0/0", 0, 1), ("0/1", 0, 2), ("0/0", 1, 2)]
    for text, generation in (("0/1_0", 0), ("0/1_1", 0), ("0/0_0", 0), ("0/0_1", 1), ("0/0_1@1", 1)):
        found = trace.explain(text)
        assert (found.compile_id, found.generation) == (text[:3], generation), text


@pytest.mark.parametrize(("text", "told"), [("0/1_5", "no attempt 5 of 0/1: it had 2 attempts, from 0"),
                                            ("0/0_1@0", "no attempt 1 of 0/0: it had 1 attempt, from 0")])  # fmt: skip
def test_an_attempt_that_was_not_is_an_error(trace, text, told):
    with pytest.raises(OptionError, match=told):
        trace.explain(text)


def test_a_generation_that_contradicts_the_id_is_an_error(trace):
    assert trace.explain("0/0@1", generation=1).generation == 1
    with pytest.raises(OptionError, match="names generation 1, and generation is 0"):
        trace.explain("0/0@1", generation=0)
    with pytest.raises(OptionError, match="no compile 0/1 in generation 1"):
        trace.explain("0/1", generation=1)


def test_extract_knows_generations(trace, tmp_path):
    first = trace.extract(tmp_path / "first", compile_id="0/0@0")
    second = trace.extract(tmp_path / "second", compile_id="0/0@1")
    assert [path.rpartition("/")[2] for path in first + second] == ["after_0.txt", "again_0.txt"]
    with pytest.raises(OptionError, match="no artifact fits"):
        trace.extract(tmp_path / "third", compile_id="0/0@4294967296")


def test_a_capture_of_compiled_autograd_alone_is_an_id(tmp_path):
    (tmp_path / "a.log").write_bytes(
        log() + record("compiled_autograd_graph", {}, "g", ids=', "compiled_autograd_id": 4')
    )
    trace = fasttl.load(tmp_path / "a.log")
    assert len(trace.extract(tmp_path / "out", compile_id="!4")) == 1
    # It is no compile of a frame.
    with pytest.raises(OptionError, match="there is no compile !4; there are 0/0"):
        trace.explain("!4")
