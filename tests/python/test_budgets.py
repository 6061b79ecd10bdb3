"""Budgets are judged on made-up numbers: bounds, shares, senses, doublings, and the tables that tell of them."""

from __future__ import annotations

import pytest
from measures.budgets import BUDGETS, GROUPS, doublings, number, verdict
from measures.process import Run, in_turn, medians
from measures.results import budget_facts, markdown, table
from measures.special import specials


@pytest.mark.parametrize(
    ("key", "value", "word"),
    [
        ("report_log_peer", 20.0, "ok"),
        ("report_log_peer", 19.9, "MISSED"),
        ("load_wc", 4.0, "ok"),
        ("load_wc", 4.1, "MISSED"),
        ("load_md5sum", 0.49, "ok"),
        ("growth_load_size", 2.2, "MISSED"),
        ("slow_P3", 2.2, "ok"),
        ("startup_cpu", 41.0, "MISSED"),
    ],
)
def test_a_value_is_held_against_its_bound(key, value, word):
    found = verdict(key, value)
    assert found.word == word
    assert found.missed == (word == "MISSED")


def test_what_is_allowed_grows_with_the_input():
    assert verdict("memory_report_job", 209.0, 200.0).bound == pytest.approx(210)
    assert verdict("memory_report_job", 209.0, 200.0).kept
    assert not verdict("memory_report_job", 209.0, 100.0).kept
    assert verdict("memory_load", 259.0, 375_000).bound == pytest.approx(260)


def test_what_is_not_judged_is_not_missed():
    found = verdict("load_wc", 100.0, judged=False)
    assert (found.word, found.missed) == ("not judged", False)


def test_an_unknown_budget_is_an_error():
    with pytest.raises(KeyError):
        verdict("speed", 1.0)


def test_each_group_has_a_budget_and_each_slow_input_one_of_its_own():
    assert {budget.group for budget in BUDGETS} == set(GROUPS)
    assert len({budget.key for budget in BUDGETS}) == len(BUDGETS)
    slow = [budget.key for budget in BUDGETS if budget.group == "slow-inputs"]
    assert slow == [f"slow_{special.key}" for special in specials([b"x"])]


def test_linear_time_doubles():
    assert doublings([1, 2, 4], [0.5, 1.0, 2.0]) == pytest.approx([2, 2])


def test_quadratic_time_does_not():
    assert doublings([1, 2, 4], [1.0, 4.0, 16.0]) == pytest.approx([4, 4])


def test_start_up_does_not_hide_growth():
    assert doublings([1, 2], [1.1, 4.1], start_up=0.1) == pytest.approx([4])


def test_a_step_that_is_no_doubling_is_held_against_what_it_is():
    assert doublings([10, 19], [1.0, 1.9]) == pytest.approx([2])


def test_time_below_that_of_starting_is_no_division_by_zero():
    assert doublings([1, 2], [0.1, 0.2], start_up=0.1)[0] > 1000


def test_turns_change_their_order():
    order = []
    done = in_turn({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 3)
    assert "".join(order) == "abbaab"
    assert {name: len(runs) for name, runs in done.items()} == {"a": 3, "b": 3}


def test_medians_are_taken_each_by_itself():
    middle = medians([Run(1, 5, 3, 7), Run(2, 4, 2, 9), Run(3, 6, 1, 8)])
    assert middle == Run(2, 5, 2, 8)
    assert middle.cpu_s == 7


def test_numbers_have_three_digits_that_count():
    assert [number(value) for value in (0.4937, 2.104, 38.02, 202.2, 123456.0)] == [
        "0.494",
        "2.1",
        "38",
        "202",
        "123456",
    ]


def test_tables_say_what_was_wanted_found_and_decided():
    budgets = budget_facts([verdict("load_wc", 5.0), verdict("memory_load", 100.0, 1e6)])
    lines = table(budgets).splitlines()
    assert [line.split()[-1] for line in lines] == ["MISSED", "ok"]
    assert "at most 360 MB" in lines[1]


def test_markdown_has_each_measurement():
    run = {"wall_s": 0.3, "user_s": 0.4, "system_s": 0.1, "peak_mb": 50.0}
    tool = {"median": run, "runs": [run], "report": {"files": 3, "bytes": 2_000_000}}
    row = {"input_bytes": 10**6, "ratio": 200.0, "peer_ended_after_s": 60.0, "ratio_to_copy": None}
    facts = {
        "date": "2026-11-30T10:00:00+00:00",
        "commit": "0123456789",
        "machine": {
            "cores": 2,
            "cpu": "X",
            "memory_gb": 8,
            "system": "Linux",
            "python": "3.11",
            "file_system": "tmpfs",
            "load": 0.1,
        },
        "options": {"runs": 3},
        "peer": "tlparse 0.4.3",
        "budgets": budget_facts([verdict("slow_P3", 2.0)]),
        "failed": {"load": "wc: not found\nmore"},
        "groups": {"slow-inputs": {"inputs": {"P3": {"name": "metrics", **row, "tools": {"fasttl": tool}}}}},
    }
    text = markdown(facts)
    assert "| P3: time of twice the input, without start-up | at most 2.3 x | 2 x | ok |" in text
    assert "| P3: metrics | 1.0 | 0.30 | > 60.00 | > 200 |  | 2.0 |  |" in text
    assert "Not measured: load: wc: not found\n" in text
