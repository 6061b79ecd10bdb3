"""The report command and the choice between a path and a command, run inside this process."""

import os
import shutil
from pathlib import Path

import fasttl
import pytest
from fasttl.cli import COMMANDS, _common, cli, load_command, report
from fasttl.cli.report import can_open_browser


def test_a_folder_becomes_a_report(run, example, tmp_path):
    result = run(example, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"{tmp_path}/out/index.html\n"
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    for rank in range(3):
        assert f"rank_{rank}/index.html" in page
        assert (tmp_path / "out" / f"rank_{rank}" / "index.html").is_file()


def test_the_flags_may_come_first(run, example, tmp_path):
    result = run("--out", tmp_path / "out", "--ranks", "1", "--threads", "1", example)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"{tmp_path}/out/index.html\n"


def test_the_report_goes_to_tl_out_unless_told(run, example):
    result = run(example)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"{Path.cwd()}/tl_out/index.html\n"
    assert Path("tl_out/index.html").is_file()


def test_the_default_command_has_a_name_too(run, example, tmp_path):
    assert run("report", example, "-o", tmp_path / "out").exit_code == 0


def test_without_a_path_the_environment_names_it(run, example, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_TRACE", str(example))
    result = run("-o", tmp_path / "out", "-v")
    assert result.exit_code == 0, result.stderr
    assert f"reading {example}\n" in result.stderr


def test_without_any_input_the_message_says_what_to_do(run):
    result = run()
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "give a trace folder or a log, or set $TORCH_TRACE" in result.stderr


def test_verbose_tells_what_was_read_and_written(run, example, tmp_path):
    quiet = run(example, "-o", tmp_path / "quiet")
    chatty = run(example, "-o", tmp_path / "chatty", "--verbose")
    assert quiet.stderr == ""
    assert "3 logs, 224 records" in chatty.stderr
    count = sum(len(files) for _, _, files in os.walk(tmp_path / "chatty"))
    assert f"{count:,} files written to {tmp_path}/chatty" in chatty.stderr


def test_plain_text_writes_no_page_for_code(run, data, tmp_path):
    assert run(data("hello"), "-o", tmp_path / "plain", "-p").exit_code == 0
    assert run(data("hello"), "-o", tmp_path / "pages").exit_code == 0
    suffixes = {
        name: {path.suffix for path in (tmp_path / name).rglob("*inductor_output_code*")} for name in ("plain", "pages")
    }
    assert suffixes == {"plain": {".txt"}, "pages": {".html"}}


def test_export_says_what_failed(run, data, tmp_path):
    result = run(data("export_draft"), "-o", tmp_path / "out", "--export")
    assert result.exit_code == 0, result.stderr
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    for words in ("3 failures of an export", "u0 &gt; 2", "export_draft.py", "torch.ops.demo.missing.default"):
        assert words in page, words
    program = tmp_path / "out" / "-_-_-_-" / "exported_program_0.txt"
    assert program.read_text(encoding="utf-8").startswith("ExportedProgram")
    assert 'href="-_-_-_-/symbolic_guard_information_x0.html"' in page
    ordinary = run(data("export_draft"), "-o", tmp_path / "ordinary")
    assert ordinary.exit_code == 0, ordinary.stderr
    assert "With --export" in (tmp_path / "ordinary" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("probe", ["guard_no_expr_export", "fake_kernel_no_op_export"])
def test_export_shows_records_that_lack_a_field(run, data, tmp_path, probe):
    result = run(data("probes") / probe / "in.log", "-o", tmp_path / "out", "-e", "--strict")
    assert result.exit_code == 0, result.stderr
    assert "not in the log" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_all_ranks_html_writes_a_landing_page_for_one_log(run, example, tmp_path):
    log = next(example.glob("*rank_2*"))
    assert run(log, "-o", tmp_path / "one").exit_code == 0
    assert run(log, "-o", tmp_path / "job", "--all-ranks-html").exit_code == 0
    assert not (tmp_path / "one" / "rank_2").exists()
    assert (tmp_path / "job" / "rank_2" / "index.html").is_file()


def test_the_custom_header_is_inserted_as_it_is(run, example, tmp_path):
    header = '<p id="mine">job 17 &amp; friends</p>'
    assert run(example, "-o", tmp_path / "out", "--custom-header-html", header).exit_code == 0
    assert header in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_latest_reads_the_newest_run(run, data, tmp_path):
    assert run(data("dist_restart"), "-o", tmp_path / "all").exit_code == 0
    assert run(data("dist_restart"), "-o", tmp_path / "new", "--latest").exit_code == 0
    folders = {name: sorted(path.name for path in (tmp_path / name).glob("rank_*")) for name in ("all", "new")}
    assert folders == {
        "all": ["rank_0", "rank_0.restart_0", "rank_1", "rank_1.restart_0"],
        "new": ["rank_0", "rank_1"],
    }


def test_strict_fails_on_problems_and_still_writes(run, data, tmp_path):
    relaxed = run(data("killed"), "-o", tmp_path / "relaxed")
    strict = run(data("killed"), "-o", tmp_path / "strict", "--strict")
    assert (relaxed.exit_code, strict.exit_code) == (0, 1)
    for result in (relaxed, strict):
        assert "1 problem; the report lists them" in result.stderr
    assert (tmp_path / "strict" / "index.html").is_file()


def test_strict_passes_a_good_job(run, example, tmp_path):
    # Each log has a torch_version record without a rank, which is as PyTorch writes it.
    result = run(example, "-o", tmp_path / "out", "--strict")
    assert (result.exit_code, result.stderr) == (0, "")


def test_strict_compile_id_passes_a_good_job(run, example, tmp_path):
    # What is logged about the process, such as torch_version, never has an id.
    result = run(example, "-o", tmp_path / "out", "--strict-compile-id")
    assert (result.exit_code, result.stderr) == (0, "")


def test_strict_compile_id_fails_on_records_without_one(run, data, tmp_path):
    result = run(data("export_draft_guard"), "-o", tmp_path / "out", "--strict-compile-id")
    assert result.exit_code == 1
    assert "without a compile id" in result.stderr
    assert (tmp_path / "out" / "index.html").is_file()


def test_overwrite_replaces_a_report_and_nothing_else(run, example, tmp_path):
    out = tmp_path / "out"
    assert run(example, "-o", out).exit_code == 0
    again = run(example, "-o", out)
    assert again.exit_code == 2
    assert str(out) in again.stderr
    assert "--overwrite" in again.stderr
    assert run(example, "-o", out, "--overwrite", "--ranks", "0").exit_code == 0
    assert not (out / "rank_2").exists()
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("years of work")
    refused = run(example, "-o", foreign, "--overwrite")
    assert refused.exit_code == 2
    assert list(foreign.iterdir()) == [foreign / "thesis.tex"]


def test_an_empty_folder_is_filled(run, example, tmp_path):
    (tmp_path / "out").mkdir()
    assert run(example, "-o", tmp_path / "out").exit_code == 0


def test_output_that_cannot_be_written_is_status_4(run, example, tmp_path):
    (tmp_path / "file").write_text("")
    result = run(example, "-o", tmp_path / "file" / "out")
    assert result.exit_code == 4
    assert str(tmp_path / "file") in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "missing"),
        (["a", "--nonsense"], "--nonsense"),
        (["a", "--ranks", "x"], "not a rank"),
        (["a", "--threads", "0"], "--threads"),
        (["a", "--max-unpacked", "huge"], "not a size"),
        (["a", "-o"], "-o"),
        (["info", "a", "--format", "xml"], "xml"),
    ],
)
def test_wrong_use_is_status_2_and_says_what_is_wrong(run, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr


def test_a_bad_variable_is_wrong_use(run, example, monkeypatch):
    monkeypatch.setenv("FASTTL_THREADS", "many")
    result = run(example)
    assert result.exit_code == 2
    assert "FASTTL_THREADS" in result.stderr


def test_a_mistyped_command_gets_a_hint(run):
    assert "Did you mean the command `fasttl info`?" in run("inof", "x").stderr
    assert "Did you mean" not in run("/some/where/else").stderr


def test_a_name_with_escape_sequences_is_shown_as_text(run):
    result = run("no\x1b[31mthing")
    assert result.exit_code == 2
    assert "\x1b" not in result.stderr
    assert r"no\x1b[31mthing" in result.stderr


class TestPathOrCommand:
    """`info` is a command; here it is a folder, too."""

    @pytest.fixture(autouse=True)
    def _folder_named_info(self, example):
        shutil.copytree(example, "info")

    def test_alone_the_path_wins_with_a_note(self, run):
        result = run("info")
        assert result.exit_code == 0, result.stderr
        assert result.stdout.endswith("tl_out/index.html\n")
        assert "note: 'info' is both a path here and a command; taken as the path" in result.stderr

    def test_flags_of_the_report_tell(self, run):
        result = run("info", "-o", "out")
        assert (result.exit_code, result.stderr) == (0, "")
        assert Path("out/index.html").is_file()

    def test_flags_of_the_command_tell(self, run, monkeypatch):
        monkeypatch.setenv("TORCH_TRACE", "info")
        result = run("info", "--format", "json")
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.startswith("{")

    def test_a_further_path_tells(self, run):
        result = run("info", "info")
        assert result.exit_code == 0, result.stderr
        assert result.stdout.startswith("info\n")
        assert "taken as the command" in result.stderr

    def test_a_path_with_a_slash_is_a_path(self, run):
        result = run(f".{os.sep}info")
        assert (result.exit_code, result.stderr) == (0, "")
        assert Path("tl_out/index.html").is_file()

    def test_after_two_dashes_it_is_a_path(self, run):
        result = run("--", "info")
        assert (result.exit_code, result.stderr) == (0, "")

    def test_help_is_that_of_the_command(self, run):
        assert "--format" in run("info", "--help").stdout


def test_every_command_has_help_with_an_example(run):
    for name in COMMANDS:
        result = run(name, "--help")
        assert result.exit_code == 0
        assert "Example" in result.stdout
        assert f"fasttl {'' if name == 'report' else name}".strip() in result.stdout
        assert load_command(name).name == name


def test_the_help_shows_both_ways(run):
    for flag in ("-h", "--help"):
        result = run(flag)
        assert result.exit_code == 0
        assert "fasttl [OPTIONS] [PATH]..." in result.stdout
        assert "fasttl COMMAND [ARGS]..." in result.stdout
        for word in ("--overwrite", "--ranks", "FASTTL_THREADS", "info", "Examples:", "Exit status"):
            assert word in result.stdout
        assert result.stdout.count("--help") == 1


def test_the_peers_flags_are_known(run):
    text = run("report", "--help").stdout
    for flag in (
        "--latest",
        "-o,",
        "--overwrite",
        "--strict ",
        "--strict-compile-id",
        "--no-browser",
        "--custom-header-html",
        "-v, --verbose",
        "-p, --plain-text",
        "-e, --export",
        "--all-ranks-html",
        "-h, --help",
    ):
        assert flag in text, flag


def test_the_version_is_that_of_the_package(run):
    for flag in ("-V", "--version"):
        result = run(flag)
        assert result.exit_code == 0
        assert result.stdout.startswith(f"fasttl {fasttl.__version__}")


@pytest.mark.parametrize(
    ("environ", "platform", "terminal", "expected"),
    [
        ({"DISPLAY": ":0"}, "linux", True, True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True, True),
        ({}, "darwin", True, True),
        ({}, "win32", True, True),
        ({}, "linux", True, False),
        ({"DISPLAY": ""}, "linux", True, False),
        ({"DISPLAY": ":0"}, "linux", False, False),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "1 2 3 4"}, "linux", True, False),
        ({"SSH_CONNECTION": "1 2 3 4"}, "darwin", True, False),
    ],
)
def test_a_browser_is_opened_for_somebody_in_front_of_a_screen(environ, platform, terminal, expected):
    assert can_open_browser(environ, platform, stdout_is_terminal=terminal) is expected


def test_the_page_is_opened_unless_told(run, example, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    monkeypatch.setattr(report, "can_open_browser", lambda *_, **__: True)
    run(example, "-o", tmp_path / "a b", "--no-browser")
    assert opened == []
    run(example, "-o", tmp_path / "a b", "--overwrite")
    assert opened == [f"file://{tmp_path}/a%20b/index.html"]


def test_a_browser_that_does_not_start_is_no_failure(run, example, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda _url: False)
    monkeypatch.setattr(report, "can_open_browser", lambda *_, **__: True)
    result = run(example)
    assert result.exit_code == 0
    assert "no browser could be started" in result.stderr


def test_the_bar_is_drawn_on_a_terminal_only(monkeypatch, capsys):
    with _common.progress_bar("Reading") as progress:
        assert progress is None
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with _common.progress_bar("Reading") as progress:
        for done, total in ((0, 0), (50, 100), (150, 200), (300, 200), (200, 200)):
            progress(done, total)
    out, err = capsys.readouterr()
    assert out == ""
    assert "Reading" in err
    assert "100%" in err


def test_the_group_can_be_used_from_another_program(example, tmp_path):
    status = cli.main([str(example), "-o", str(tmp_path / "out")], prog_name="fasttl", standalone_mode=False)
    assert status == 0
    with pytest.raises(fasttl.TraceNotFoundError):
        cli.main(["no such path"], prog_name="fasttl", standalone_mode=False)


@pytest.mark.parametrize("how", ["copy", "link", "skip"])
def test_the_log_is_copied_linked_or_left_out(run, example, tmp_path, how):
    log = tmp_path / "rank_0.log"
    shutil.copyfile(next(example.glob("*rank_0*.log")), log)
    os.utime(log, (1_700_000_000, 1_700_000_000))
    result = run(log, "-o", tmp_path / "out", "--raw-log", how)
    assert (result.exit_code, result.stderr) == (0, "")
    raw = tmp_path / "out" / "raw.log"
    assert raw.exists() == (how != "skip")
    assert (how == "link") == (raw.exists() and raw.samefile(log))
    names = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert ('href="raw.log"' in names) == (how != "skip")


def test_a_log_that_may_grow_is_copied_and_no_link(run, example, tmp_path):
    log = tmp_path / "rank_0.log"
    shutil.copyfile(next(example.glob("*rank_0*.log")), log)
    result = run(log, "-o", tmp_path / "out", "--raw-log", "link")
    assert result.exit_code == 0
    assert "rank_0.log: raw.log is a copy and no link" in result.stderr
    assert not (tmp_path / "out" / "raw.log").samefile(log)


def test_a_report_takes_little_memory_where_it_is_told(run, example, tmp_path):
    assert run(example, "-o", tmp_path / "usual").exit_code == 0
    assert run(example, "-o", tmp_path / "small", "--max-memory", "1K").exit_code == 0
    usual, small = (sorted(p for p in (tmp_path / name).rglob("*") if p.is_file()) for name in ("usual", "small"))
    assert [p.relative_to(tmp_path / "usual") for p in usual] == [p.relative_to(tmp_path / "small") for p in small]
    assert run(example, "-o", tmp_path / "none", "--max-memory", "little").exit_code == 2


def test_the_same_from_python(example, tmp_path):
    fasttl.write_report(example, tmp_path / "out", raw_log="skip", max_memory="300M")
    assert not (tmp_path / "out" / "rank_0" / "raw.log").exists()
    fasttl.load(example).write_report(tmp_path / "again", raw_log="skip")
    assert not (tmp_path / "again" / "rank_0" / "raw.log").exists()
    with pytest.raises(fasttl.OptionError, match="raw_log must be one of copy, link, skip"):
        fasttl.write_report(example, tmp_path / "bad", raw_log="symlink")
    with pytest.raises(fasttl.OptionError, match="not a size"):
        fasttl.write_report(example, tmp_path / "bad", max_memory="much")
