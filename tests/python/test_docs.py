"""The documents say what is so: examples run and print what they show, links lead somewhere, no flag is left out."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import runpy
import shlex
from urllib.parse import unquote

import fasttl
import pytest
from conftest import ROOT
from fasttl import _core
from fasttl.cli import COMMANDS, DEFAULT_COMMAND

PYTHON_DOCS = ["README.md", "docs/usage.md"]
# Their examples run, with all that they print, by a script that can also write the outputs.
QUESTIONS = sorted(ROOT.glob("docs/questions/*.md"))
LINKED_DOCS = sorted(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name):
    """Give the fenced blocks of a document: language, text, and the line where the text begins."""
    text = read(name)
    return [(found[1], found[2], text[: found.start(2)].count("\n") + 1) for found in FENCE.finditer(text)]


def anchors(name):
    """Give the anchors that Markdown viewers make of a document's headings."""
    prose = FENCE.sub("", read(name))
    titles = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_schema_is_not_stale():
    render = runpy.run_path(str(ROOT / "docs" / "make_schema.py"))["render"]
    assert render() == read("docs/schema.md"), "run python docs/make_schema.py"


def test_list_of_records_is_not_stale():
    render = runpy.run_path(str(ROOT / "docs" / "make_records.py"))["render"]
    assert render() == read("docs/records.md"), "run python docs/make_records.py"


@pytest.mark.parametrize("name", PYTHON_DOCS)
def test_python_examples(name, monkeypatch):
    """Run all blocks of a document in order, as a reader would; a `text` block right behind one is what it prints."""
    monkeypatch.chdir(ROOT)
    found = blocks(name)
    assert [language for language, _, _ in found].count("python") > 0
    names = {}
    for (language, text, line), (next_language, expected, _) in zip(found, [*found[1:], ("", "", 0)], strict=True):
        if language != "python":
            continue
        said = io.StringIO()
        # The blank lines in front make a traceback name the document's own line.
        code = compile("\n" * (line - 1) + text, str(ROOT / name), "exec")
        with contextlib.redirect_stdout(said):
            exec(code, names)  # noqa: S102 - the code is that of this repository
        if next_language == "text":
            assert said.getvalue() == expected, f"{name}:{line}"
        else:
            assert said.getvalue() == "", f"{name}:{line} prints, but no text block shows what"


@pytest.fixture(scope="module")
def render_question():
    return runpy.run_path(str(ROOT / "docs" / "run_examples.py"))["render"]


@pytest.mark.parametrize("page", QUESTIONS, ids=lambda page: page.stem)
def test_answers_are_what_is_printed(page, render_question):
    """A command is run and a page's Python, too: what stands behind them is what they print now."""
    assert render_question(page) == page.read_text(encoding="utf-8"), "run python docs/run_examples.py"


@pytest.mark.parametrize("page", [page for page in QUESTIONS if page.stem != "index"], ids=lambda page: page.stem)
def test_each_question_has_command_python_and_picture(page):
    name = page.relative_to(ROOT).as_posix()
    languages = {language for language, _, _ in blocks(name)}
    assert {"console", "python", "text"} <= languages
    assert re.search(r"!\[[^\]]+\]\(\.\./pictures/", read(name))


def test_pictures_of_terminals_show_what_the_pages_say():
    pictures = runpy.run_path(str(ROOT / "docs" / "make_pictures.py"))
    for name in pictures["TERMINALS"]:
        assert pictures["terminal"](name) == read(f"docs/pictures/{name}.svg"), "run python docs/make_pictures.py"


def test_pictures_are_small_and_used():
    pictures = list((ROOT / "docs" / "pictures").iterdir())
    assert [picture.name for picture in pictures if picture.stat().st_size > 200_000] == []
    shown = {target.rpartition("/")[2] for name in LINKED_DOCS for target in LINK.findall(read(name))}
    assert {picture.name for picture in pictures} <= shown


def test_reference_has_every_public_name():
    directives = re.findall(r"^::: fasttl\.(\w+)$", read("docs/api.md"), re.MULTILINE)
    assert sorted(directives) == sorted(fasttl.__all__)


@pytest.mark.parametrize("name", LINKED_DOCS)
def test_links_lead_somewhere(name):
    prose = FENCE.sub("", read(name))
    broken = []
    for target in LINK.findall(prose):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = unquote(target).partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        if not file.exists() or (anchor and anchor not in anchors(file.relative_to(ROOT))):
            broken.append(target)
    assert not broken


def test_no_document_is_an_orphan():
    """A document that no other one links is one that nobody finds."""
    linked = {
        (ROOT / name).parent.joinpath(target.partition("#")[0]).resolve()
        for name in LINKED_DOCS
        for target in LINK.findall(FENCE.sub("", read(name)))
        if target.partition("#")[0]
    }
    assert set((ROOT / "docs").rglob("*.md")) <= linked


@pytest.mark.parametrize("name", LINKED_DOCS)
def test_files_that_are_named_exist(name):
    """A path in code type, with the folder at its front, is one of this repository."""
    code = re.findall(r"`([^`\n]+)`", FENCE.sub("", read(name)))
    paths = [text for text in code if re.fullmatch(r"(rust|python|tests|examples|docs|benches)/[\w./-]+\.\w+", text)]
    assert [path for path in paths if not (ROOT / path).is_file()] == []


@pytest.fixture
def flags(run):
    """Give the flags of a command, as its help text lists them."""

    def find(*command):
        done = run(*command, "--help")
        assert done.exit_code == 0
        options = done.stdout.partition("Options:")[2].partition("Examples:")[0]
        # An option is the only thing that is indented by two blanks.
        heads = re.findall(r"^  (-.*?)(?:  |$)", options, re.MULTILINE)
        return {flag for head in heads for flag in FLAG.findall(head)}

    return find


COMMANDS_WITH_FLAGS = [(), *((name,) for name in COMMANDS if name != DEFAULT_COMMAND)]


@pytest.mark.parametrize("command", COMMANDS_WITH_FLAGS, ids=lambda command: " ".join(("fasttl", *command)))
def test_usage_names_every_flag(command, flags):
    known = flags(*command)
    assert {"--help", "--threads"} <= known
    code = " ".join(re.findall(r"`([^`]+)`", FENCE.sub("", read("docs/usage.md"))))
    assert not known - set(FLAG.findall(code))


@pytest.mark.parametrize("name", LINKED_DOCS)
def test_commands_use_real_flags(name, flags):
    """A command line in a document has no flag that fasttl would refuse."""
    texts = [text.replace("\\\n", "") for language, text, _ in blocks(name) if language in ("console", "sh")]
    for line in [line for text in texts for line in text.splitlines()]:
        for part in re.findall(r"(?:^\$ |\bdo |; +)\s*(fasttl\b[^;#]*)", line):
            words = list(itertools.takewhile(lambda word: word not in ("&&", "|", ">"), shlex.split(part)))
            command = tuple(words[1:2]) if tuple(words[1:2]) in COMMANDS_WITH_FLAGS else ()
            used = {word for word in words if FLAG.fullmatch(word)}
            assert used <= flags(*command), line


def test_usage_names_every_kind_of_finding():
    table = read("docs/usage.md").partition("| kind | what it tells |\n")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([^`]+)` \| (.+) \|$", table, re.MULTILINE) == _core.finding_kinds()


def test_usage_names_every_kind_of_problem():
    source = read("rust/fasttl-core/src/index/problem.rs")
    kinds = set(re.findall(r'Self::\w+ => "([^"]+)"', source)) - {"note", "error"}
    severities = source.partition("const fn severity")[2]
    notes = set(re.findall(r"Self::(\w+)", severities.partition("Severity::Note")[0]))
    names = dict(re.findall(r'Self::(\w+) => "([^"]+)"', source))
    expected = {(kind, "note" if name in notes else "error") for name, kind in names.items() if kind in kinds}
    assert len(expected) > 20
    rows = re.findall(r"^\| `([^`]+)` \| (error|note) \|", read("docs/usage.md"), re.MULTILINE)
    assert set(rows) == expected
