"""Logs with one kind of fault each, and what fasttl makes of them: the tables and the report, side by side."""

from __future__ import annotations

import hashlib
import json
import os
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import fasttl
import polars as pl

PROBES = Path(__file__).resolve().parents[1] / "data" / "probes"
IDS = ', "frame_id": 0, "frame_compile_id": 0, "attempt": 0'
WHEN = "1129 23:59:59.000001"
STRING = '"str": ["foo.py", 0]'
START = '"dynamo_start": {"stack": [{"line": 3, "name": "main", "filename": 0, "loc": "f(x)"}]}'
METRICS = {"co_name": '"fn"', "co_filename": '"foo.py"', "co_firstlineno": "3", "graph_op_count": "5"}


def record(head, payload=None, *, ids=IDS, when=WHEN):
    """Give a record; `head` is JSON members as text or bytes, so that it can hold what `json.dumps` cannot write."""
    text = head.encode() if isinstance(head, str) else head
    text += ids.encode()
    if payload is not None:
        payload = payload.encode() if isinstance(payload, str) else payload
        text += b', "has_payload": "%s"' % md5(payload).encode()
    lines = [f"V{when} 12345 torch/_dynamo/convert_frame.py:123] ".encode() + b"{" + text + b"}"]
    lines += [b"\t" + line for line in payload.split(b"\n")] if payload is not None else []
    return b"\n".join(lines) + b"\n"


def md5(text):
    return hashlib.md5(text, usedforsecurity=False).hexdigest()


def artifact(name, payload, encoding="string", **options):
    return record(f'"artifact": {json.dumps({"name": name, "encoding": encoding})}', payload, **options)


def metrics(members="", **options):
    """Give metrics of a compile that went well; `members` are added to them, or stand in place of theirs."""
    own = [f'"{key}": {value}' for key, value in METRICS.items() if f'"{key}": ' not in members]
    return record(f'"compilation_metrics": {{{", ".join([*own, members] if members else own)}}}', **options)


def event(members, **options):
    """Give a timing event; it is laid out as PyTorch does it."""
    payload = "{\n" + ",\n".join([*members, '"pid": 0']) + "\n}"
    return record('"chromium_event": {}', payload, **options)


def log(*odd):
    """Give a log with whole records before and after the odd ones."""
    return b"".join([record(STRING, ids=""), record(START), *odd, artifact("after", "x")])


def frame_ids(number):
    return f', "frame_id": {number}, "frame_compile_id": 0, "attempt": 0'


def ranked(rank, number=0):
    return f', "rank": {rank}{frame_ids(number)}'


def probe(name):
    return (PROBES / name / "in.log").read_bytes()


def strict_json(text):
    """Read JSON as readers do that are not Python's: no NaN, and digits are kept to be looked at."""

    def refuse(word):
        message = f"{word} is no JSON"
        raise ValueError(message)

    return json.loads(text, parse_constant=refuse)


class Made:
    """What fasttl makes of one log: tables and report."""

    def __init__(self, folder, text, name="in.log", modified=None):
        self.path = folder / name
        self.path.write_bytes(text)
        if modified is not None:
            os.utime(self.path, (modified, modified))
        self.trace = fasttl.load(self.path)
        self.out = folder / "out"

    @cached_property
    def report(self):
        return fasttl.write_report(self.path, self.out)

    def read(self, path):
        assert self.report
        return (self.out / path).read_bytes()

    @cached_property
    def jsonl(self):
        """The lines of `raw.jsonl` behind the one with the strings."""
        return self._lines[1:]

    @cached_property
    def string_line(self):
        return self._lines[0]

    @cached_property
    def _lines(self):
        return [strict_json(line) for line in self.read("raw.jsonl").split(b"\n")[:-1]]

    @cached_property
    def events(self):
        return strict_json(self.read("chromium_events.json"))

    @cached_property
    def directory(self):
        """The entries of `compile_directory.json`, by compile."""
        found = strict_json(self.read("compile_directory.json"))
        return {label: value["artifacts"] for label, value in found.items()}

    def files(self, label="[0/0]"):
        """Give the files of a compile: name to bytes."""
        return {entry["name"]: self.read(entry["url"]) for entry in self.directory[label]}

    def rows(self, table, *columns):
        frame = self.trace.table(table)
        return plain(frame.select(columns)).rows()

    def row(self, table, **wanted):
        """Give the one row that has these values, as a dict."""
        frame = plain(self.trace.table(table))
        for column, value in wanted.items():
            frame = frame.filter(pl.col(column).eq_missing(pl.lit(value)))
        [row] = frame.to_dicts()
        return row

    def problems(self):
        """Give kind and severity of each problem, in the order of the log."""
        return self.rows("problems", "kind", "severity")

    def text(self, name):
        """Give the payload of the artifact of a name."""
        return self.trace.payload(self.row("artifacts", name=name))

    def is_whole(self):
        """Say whether the good record of `log` behind the odd ones is there, in the tables and in the report."""
        return self.text("after") == b"x" and b"x" in self.files().values()

    def page(self, path):
        return Page.of(self.out / path) if self.report else None

    def pages(self):
        assert self.report
        return {str(path.relative_to(self.out)): Page.of(path) for path in self.out.rglob("*.html")}

    def dead_links(self):
        """Give each link of a page that leads to no file or anchor of the report, or out of it."""
        assert self.report
        pages = {path.resolve(): Page.of(path) for path in self.out.rglob("*.html")}
        dead = []
        for path, page in pages.items():
            for link in page.links:
                parts = urlsplit(link)
                if link == "data:,":  # the empty icon
                    continue
                if parts.scheme in {"http", "https"} and parts.netloc:
                    continue
                target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                whole = not parts.scheme and target.is_file() and target.is_relative_to(self.out.resolve())
                anchored = not parts.fragment or unquote(parts.fragment) in getattr(pages.get(target), "anchors", ())
                if not whole or not anchored:
                    dead.append((str(path.relative_to(self.out.resolve())), link))
        return dead


def plain(frame):
    """Give names as text."""
    return frame.with_columns(pl.col(pl.Categorical).cast(pl.String))


class Page(HTMLParser):
    """The text, links and anchors of a page."""

    def __init__(self):
        super().__init__()
        self.links, self.anchors, self.pieces = [], set(), []

    @classmethod
    def of(cls, path):
        page = cls()
        page.feed(path.read_text(encoding="utf-8"))
        page.close()
        return page

    @property
    def text(self):
        return "".join(self.pieces)

    def handle_starttag(self, _tag, attrs):
        for name, value in attrs:
            if name in {"href", "src"}:
                self.links.append(value)
            elif name == "id":
                self.anchors.add(value)

    def handle_data(self, data):
        self.pieces.append(data)
