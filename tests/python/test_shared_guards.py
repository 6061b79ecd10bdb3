"""Guards and symbols of the large set of traces, held against a count by other means and the facts of its index."""

import json
import re
from functools import cache
from pathlib import Path

import fasttl
import polars as pl
import pytest

TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces"
NAMES = sorted({path.parent.name for path in TRACES.glob("*/*.log")})

pytestmark = pytest.mark.shared

NODE = re.compile(r"(?:\| )*\+- (\w+)")
GUARDS = re.compile(r'^V.*?\] \{"dynamo_cpp_guards_str"')


@cache
def loaded(name):
    return fasttl.load(TRACES / name)


def trees(name):
    """Give the lines of each tree of guards, by the name of the log."""
    for path in sorted((TRACES / name).glob("*.log")):
        lines = path.read_bytes().decode("utf-8", errors="replace").split("\n")
        for at, line in enumerate(lines):
            if GUARDS.match(line):
                end = next(n for n in range(at + 1, len(lines)) if not lines[n].startswith("\t"))
                yield path.name, [text[1:] for text in lines[at + 1 : end]]


@pytest.mark.parametrize("name", NAMES)
def test_a_row_is_a_leaf(name):
    leaves, managers, kinds = 0, 0, {}
    for _, lines in trees(name):
        words = [match[1] for line in lines if (match := NODE.match(line))]
        managers += sum(word.endswith("Manager") for word in words)
        for word in words:
            if not word.endswith("Manager"):
                leaves += 1
                kinds[word] = kinds.get(word, 0) + 1
    trace = loaded(name)
    guards, sets = trace.guards, trace.guard_sets
    assert guards.height == leaves == sets["guards"].sum()
    assert sets["managers"].sum() == managers
    counts = guards.group_by(pl.col("kind").cast(pl.String)).len()
    assert dict(counts.iter_rows()) == kinds


@pytest.mark.parametrize("name", NAMES)
def test_no_text_of_a_guard_is_lost(name):
    texts = {}
    for log, lines in trees(name):
        texts.setdefault(log, []).append("\n".join(lines))
    trace = loaded(name)
    logs = {file: Path(path).name for file, path in trace.files.select("file", "path").iter_rows()}
    for (file, _), rows in trace.guards.sort("file", "offset").group_by(["file", "offset"], maintain_order=True):
        text = texts[logs[file]].pop(0)
        at = 0
        for row in rows.sort("position").iter_rows(named=True):
            for part in (row["kind"], row["code"], row["comment"]):
                if part is not None:
                    at = text.index(part, at) + len(part)
            if row["source"] is not None:
                assert f"source={row['source']}" in text
            for part in (row["user_code"], row["user_file"], row["user_function"], row["hint"]):
                assert part is None or part in row["comment"]
    assert not any(texts.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_guard_with_a_place_names_it(name):
    # All that stands behind a condition is a place, or one of the sentences that PyTorch has in its stead.
    placed = pl.col("user_line").is_not_null() | pl.col("framework_stack").is_not_null()
    odd = loaded(name).guards.filter(pl.col("comment").is_not_null() & ~placed)
    sentence = pl.col("comment").cast(pl.String).str.contains(r"^(\(unknown (source|var) |duck sizing added )")
    assert odd.filter(~sentence).is_empty()


@pytest.mark.parametrize("name", NAMES)
def test_ids_are_left_out_and_nothing_else(name):
    codes = loaded(name).guards.filter(pl.col("code").is_not_null())
    for code, normal in codes.select("code", "normal").unique().iter_rows():
        assert re.sub(r"(?<=, )\d{12,}(?=\))|(?<=_)\d{12,}", "#", code) == normal


def test_a_latency_is_what_the_text_says():
    for name in ("hello", "export_plain", "public_recommender"):
        said = [re.search(r"Guard latency = ([\d.]+) us", "\n".join(lines)) for _, lines in trees(name)]
        said = [float(found[1]) or None if found else None for found in said]
        assert loaded(name).guard_sets["latency_us"].to_list() == said


def test_ranks_that_are_alike_have_the_same_sets():
    sets = loaded("dist_many").guard_sets.filter(pl.col("compile_id").cast(pl.String) == "0/0")
    assert (sets.height, sets["set_md5"].n_unique()) == (8, 1)
    sets = loaded("dist_diverge_shape").guard_sets
    one = sets.filter(pl.col("compile_id").cast(pl.String) == "0/0")
    assert (one.height, one["set_md5"].n_unique()) == (4, 1)


def test_symbols_of_dynamic_shapes():
    symbols = loaded("dynamic_shapes").symbols
    facts = dict(symbols.group_by(pl.col("fact").cast(pl.String)).len().iter_rows())
    assert facts == {"created": 8, "unbacked": 5, "specialized": 1, "guard": 9}
    [fixed] = symbols.filter(pl.col("fact").cast(pl.String) == "specialized").to_dicts()
    assert (fixed["compile_id"], fixed["value"], fixed["detail"]) == ("4/0", "3", "range_refined_to_singleton")
    assert fixed["sources"] == ["L['x'].size()[1]", "L['w'].size()[0]"]
    assert (fixed["user_function"], fixed["user_line"]) == ("specialized", 53)


def test_symbols_of_an_export():
    symbols = loaded("export_plain").symbols
    kinds = dict(symbols.group_by(pl.col("kind").cast(pl.String)).len().iter_rows())
    expected = {"create_symbol": 5, "symbolic_shape_specialization": 1}
    assert kinds == {"expression_created": 739, "guard_added": 19, "guard_added_fast": 19, **expected}
    # The node of each condition is one of the expressions before it.
    made = symbols.filter(pl.col("kind").cast(pl.String) == "expression_created")
    guards = symbols.filter(pl.col("kind").cast(pl.String) == "guard_added")
    assert guards["node_id"].null_count() == 0
    assert made["argument_ids"].null_count() == 0
    assert (made["arguments"].list.len() >= made["argument_ids"].list.len()).all()


@pytest.mark.parametrize("name", NAMES)
def test_symbols_are_what_the_heads_say(name):
    trace = loaded(name)
    fields = ("symbol", "expr", "vr", "val", "value", "unhinted_expr")
    columns = {"vr": "range", "val": "value", "unhinted_expr": "unhinted"}
    for row in trace.symbols.iter_rows(named=True):
        head = json.loads(trace.metadata(row))
        said = head[row["kind"]]
        for field in fields:
            if field in said:
                assert row[columns.get(field, field)] == (said[field] or None)
        ids = [said[key] for key in ("node_id", "expr_node_id", "expr_id", "result_id") if key in said]
        assert row["node_id"] == (ids[0] if ids else None)
        assert row["argument_ids"] == said.get("argument_ids")
        assert row["arguments"] == said.get("arguments")
        assert (row["user_stack"] is None) == (said.get("user_stack") is None)
        if said.get("user_stack"):
            assert len(row["user_stack"]) == len(said["user_stack"])
