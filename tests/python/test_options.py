"""The spellings that options take, and the ones that they refuse."""

import pathlib

import polars as pl
import pytest
from fasttl import OptionError
from fasttl._display import ranks_text
from fasttl._inputs import absolute, input_paths
from fasttl._options import MAX_RANK, MAX_RANKS, byte_count, rank_list, thread_count
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("given_ranks", "expected"),
    [
        (None, None),
        (3, [3]),
        ([2, 0, 2], [0, 2]),
        ([None, 1], [1, None]),
        (range(3), [0, 1, 2]),
        (pl.Series([4, 1]), [1, 4]),
        ("5", [5]),
        ("0-3,64,none", [0, 1, 2, 3, 64, None]),
        (" 7 , NONE,1 - 2 ", [1, 2, 7, None]),
        (str(MAX_RANK), [MAX_RANK]),
    ],
)
def test_ranks_are_numbers_none_or_text(given_ranks, expected):
    assert rank_list(given_ranks) == expected


@pytest.mark.parametrize(
    "ranks",
    [
        "",
        ",",
        "x",
        "-1",
        "3-",
        "-",
        "3-1",
        "0-1-2",
        "1.5",
        "\u0663",
        "9" * 5000,
        str(MAX_RANK + 1),
        f"0-{MAX_RANKS}",
        "0-99999999999",
        -1,
        MAX_RANK + 1,
        True,
        1.0,
        [],
        ["0"],
        [1.5],
        [True],
        object(),
    ],
)
def test_what_is_no_rank_is_refused(ranks):
    with pytest.raises(OptionError, match="rank"):
        rank_list(ranks)


@given(st.sets(st.none() | st.integers(0, 300), min_size=1))
def test_ranks_survive_being_written_and_read(ranks):
    assert set(rank_list(ranks_text(ranks))) == ranks


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (None, None),
        (1, 1),
        ("500", 500),
        ("500b", 500),
        ("500M", 500 << 20),
        ("64G", 64 << 30),
        ("64gb", 64 << 30),
        ("64 GiB", 64 << 30),
        ("2K", 2048),
        ("1.5k", 1536),
        ("3T", 3 << 40),
        ("9223372036854775807", (1 << 63) - 1),
    ],
)
def test_sizes_are_bytes_or_text_with_a_unit(size, expected):
    assert byte_count(size) == expected


@pytest.mark.parametrize(
    "size",
    [
        0,
        -1,
        1 << 63,
        True,
        1.5,
        "",
        "0",
        "G",
        "-5M",
        "5 I",
        "5 X",
        "1.2.3M",
        ".",
        "1e9",
        "5MM",
        "\u0665G",
        "9" * 5000,
        "9999999T",
    ],
)
def test_what_is_no_size_is_refused(size):
    with pytest.raises(OptionError, match="size"):
        byte_count(size)


def test_threads_come_from_the_argument_then_from_the_environment(monkeypatch):
    assert thread_count(None) is None
    monkeypatch.setenv("FASTTL_THREADS", " 3 ")
    assert thread_count(None) == 3
    assert thread_count(2) == 2
    monkeypatch.setenv("FASTTL_THREADS", "")
    assert thread_count(None) is None


@pytest.mark.parametrize("threads", [0, -2, True, 1.0, "2"])
def test_what_is_no_number_of_threads_is_refused(threads):
    with pytest.raises(OptionError, match="threads must be"):
        thread_count(threads)


@pytest.mark.parametrize("text", ["0", "many", "-1", "1.5"])
def test_a_bad_variable_is_named(monkeypatch, text):
    monkeypatch.setenv("FASTTL_THREADS", text)
    with pytest.raises(OptionError, match=r"\$FASTTL_THREADS"):
        thread_count(None)


def test_paths_are_one_or_several(monkeypatch):
    assert input_paths("a") == ["a"]
    assert input_paths(pathlib.Path("a")) == ["a"]
    assert input_paths(["a", pathlib.Path("b")]) == ["a", "b"]
    assert input_paths(path for path in ("a", "b")) == ["a", "b"]
    monkeypatch.setenv("TORCH_TRACE", "from/the environment")
    assert input_paths(None) == ["from/the environment"]


def test_without_a_path_and_a_variable_the_message_tells_both(monkeypatch):
    with pytest.raises(OptionError, match=r"give a trace folder.*\$TORCH_TRACE"):
        input_paths(None)
    monkeypatch.setenv("TORCH_TRACE", "")
    with pytest.raises(OptionError, match=r"\$TORCH_TRACE"):
        input_paths(None)


@pytest.mark.parametrize("path", [[], "", [""], [3], "a\0b"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(OptionError, match="path"):
        input_paths(path)


def test_absolute_keeps_the_folder_of_its_moment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert absolute("logs/*.log") == str(tmp_path / "logs" / "*.log")
    assert absolute("/logs") == "/logs"
    assert absolute("-") == "-"
