"""Guards and symbols of real programs: the constants that they compare with, and the lines that they stand for."""

import pytest
from real_traces import loaded, rows, values

pytestmark = pytest.mark.shared


@pytest.mark.parametrize("name", ["recompiles", "torch214_recompiles"])
def test_each_constant_of_the_program_is_a_guard_at_its_line(name):
    columns = ("compile_id", "code", "user_line", "user_function", "user_code")
    constants = {row[:2]: row[2:] for row in rows(name, "guards", *columns, kind="EQUALS_MATCH") if row[2] in {22, 36}}
    floats = {(f"1/{n}", f"L['alpha'] == {value}"): value for n, value in enumerate((0.5, 0.25, 0.125))}
    depths = {(f"2/{n}", f"L['self'].depth == {n + 1}") for n in range(3)}
    assert set(constants) == {*floats, *depths}
    assert {constants[key] for key in floats} == {(22, "by_float", "return x * alpha")}
    assert {constants[key] for key in depths} == {(36, "forward", "for _ in range(self.depth):")}


@pytest.mark.parametrize("name", ["recompiles", "torch214_recompiles"])
def test_each_shape_of_the_program_is_a_guard(name):
    matches = [
        code
        for code in values(name, "guards", "code", frame_id=0, kind="TENSOR_MATCH")
        if code.startswith("check_tensor(L['x']")
    ]
    assert len(matches) == 8
    assert [f"size=[{n}, 3]" in code for n, code in enumerate(matches, start=2)] == [True] * 8


def test_compiles_without_an_end_have_no_guards():
    for name in ("killed", "killed_between"):
        assert values(name, "guard_sets", "compile_id") == ["0/0"]
    guarded = rows("dist_crash", "guard_sets", "rank", "compile_id")
    assert guarded == [(0, "0/0"), (0, "1/0"), (1, "0/0"), (2, "0/0"), (2, "1/0"), (2, "2/0")]


@pytest.mark.parametrize("name", ["fail_fullgraph", "fail_inductor", "export_draft"])
def test_what_did_not_compile_has_no_guards(name):
    assert loaded(name).guards.is_empty()
    assert loaded(name).guard_sets.is_empty()


def test_a_refused_call_has_no_guards():
    assert values("recompiles", "guard_sets", "compile_id").count("0/8") == 0
    assert len(values("recompiles", "guard_sets", "compile_id")) == 14
    assert len(values("large", "guard_sets", "compile_id")) == 88


def test_symbols_stand_for_the_sizes_of_the_program():
    created = rows("dynamic_shapes", "symbols", "compile_id", "value", "sources", fact="created")
    assert ("0/0", "8", ["L['x'].size()[0]"]) in created
    assert ("1/1", "5", ["L['x'].size()[0]"]) in created
    # The code asks whether the width is 3, and the symbol is fixed to it.
    assert rows("dynamic_shapes", "symbols", "compile_id", "value", "user_line", fact="specialized") == [
        ("4/0", "3", 53)
    ]
    assert set(values("dynamic_shapes", "symbols", "compile_id", fact="unbacked")) == {"2/0", "3/0"}


def test_conditions_on_sizes_name_their_lines():
    conditions = rows("dynamic_shapes", "symbols", "compile_id", "user_line", "user_code", fact="guard")
    assert any(row[:2] == ("0/0", 12) and "if x.shape[0] > 4:" in row[2] for row in conditions)


def test_conditions_on_data_of_exports_name_their_lines():
    columns = ("expr", "user_line", "user_function", "user_code")
    [found] = rows("export_draft", "symbols", *columns, fact="propagated")
    assert found[:3] == ("u0 > 2", 27, "forward")
    [found] = rows("export_draft_guard", "symbols", *columns, fact="propagated")
    assert found[:3] == ("Eq(u0, 4)", 12, "forward")
    [found] = rows("export_plain", "symbols", "value", "sources", fact="specialized")
    assert found == ("8", ["L['x'].size()[0]"])


def test_a_schedule_of_learning_rates_is_in_the_guards():
    rate = "L['self'].param_groups[0]['lr']"
    codes = [code for code in values("train_mlp", "guards", "code") if code and code.startswith(f"{rate} == ")]
    seen = dict.fromkeys(float(code.split(" == ")[1]) for code in codes)
    assert list(seen) == [0.1, 0.05, 0.025]
