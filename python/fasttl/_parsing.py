"""Runs custom parsers over the records that they ask for.

Only this touches single records in Python. Whatever a parser does ends as an entry
of the report or as a row of ``problems``; only an interrupt stops the work.
"""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

from fasttl import _core
from fasttl._installed_parsers import error_words
from fasttl.exceptions import OutputError
from fasttl.plugins import File, Link, ParserRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fasttl._installed_parsers import Broken
    from fasttl._options import Progress
    from fasttl.plugins import Parser

# Limits of one parser, so that a fault in it does not fill the disk or a page. Documented in docs/usage.md.
MOST_RESULTS_OF_A_RECORD = 1_000
MOST_RESULTS = 100_000
MOST_FILE_BYTES = 64 << 20
MOST_BYTES = 4 << 30
MOST_FAILURES = 100
MOST_NAME = 10_000
MOST_ADDRESS = 2_000
# Names that are shown are cut to this, in characters.
LONGEST_SHOWN = 200
# Links of one log stand on one page: the characters of all, with the names of their parsers.
MOST_LINK_TEXT = 2_000_000
TICK_S = 0.1


def run_parsers(
    trace: _core.Trace,
    parsers: Iterable[Parser],
    broken: Iterable[Broken],
    progress: Progress | None = None,
) -> _core.Extras:
    """Call each parser with the records that it wants, in the order of the logs.

    Args:
        trace: What was read.
        parsers: The parsers.
        broken: Entry points that gave none; each becomes a row of ``problems``.
        progress: Called about ten times a second, with nothing of the writing done yet and the bytes that
            it will tell in all; what it raises ends the work.
    """
    extras = _core.Extras()
    for name, why in broken:
        extras.add_problem(None, _clean(name), _clean(why))
    link_text: dict[int, int] = {}
    runs = [_Run(parser, extras, link_text) for parser in parsers]
    by_kind: dict[str, list[_Run]] = {}
    for run in runs:
        for kind in run.parser.kinds:
            by_kind.setdefault(kind, []).append(run)
    wanted = [
        (_clean(kind), sorted(map(_clean, run.parser.names)) if run.parser.names is not None else None)
        for run in runs
        for kind in sorted(run.parser.kinds)
    ]
    # A reader of the progress may divide by it.
    total = max(trace.size, 1)
    next_tick = time.monotonic() + TICK_S
    for record in trace.records_of(wanted):
        for run in by_kind.get(record.kind, ()):
            run.record(record)
        if progress is not None and time.monotonic() >= next_tick:
            progress(0, total)
            next_tick = time.monotonic() + TICK_S
        if all(run.stopped for run in runs):
            break
    return extras


class _Run:
    """One parser at work: what it gave so far, and how often it failed."""

    def __init__(self, parser: Parser, extras: _core.Extras, link_text: dict[int, int]) -> None:
        self.parser = parser
        self.stopped = False
        self._name = _shown(parser.name)
        # Characters of links by log, counted by all parsers together, and the logs whose page is full.
        self._link_text = link_text
        self._full: set[int] = set()
        self._extras = extras
        self._failures = 0
        self._results = 0
        self._bytes = 0

    def record(self, record: _core.LogRecord) -> None:
        """Call the parser with a record and take what it gives."""
        names = self.parser.names
        if self.stopped or (names is not None and record.name not in names):
            return
        try:
            given = self.parser.function(ParserRecord(record))
            if given is None:
                return
            results = iter((given,) if isinstance(given, (File, Link, str, bytes)) else given)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a parser raises, the report is written
            self._fail(record, error_words(error))
            return
        self._results_of(record, results)

    def _results_of(self, record: _core.LogRecord, results: Iterator[object]) -> None:
        for count in itertools.count():
            try:
                result = next(results)
            except StopIteration:
                return
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - as above
                self._fail(record, error_words(error))
                return
            if count == MOST_RESULTS_OF_A_RECORD:
                self._fail(record, f"gave more than {count:,} files and links for one record")
                return
            if not self._take(record, result):
                return

    def _take(self, record: _core.LogRecord, result: object) -> bool:
        """Add a result; False where the parser is not to be asked for more."""
        try:
            if isinstance(result, File):
                why = self._take_file(record, result)
            elif isinstance(result, Link):
                why = self._take_link(record, result)
            else:
                self._fail(record, f"gave {_type_words(result)}, which is no File and no Link")
                return False
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - what a parser gives is of any class, and runs code of it
            why = f"gave what cannot be taken: {error_words(error)}"
        if why is not None:
            self._fail(record, why)
            return not self.stopped
        self._results += 1
        if self._results >= MOST_RESULTS or self._bytes >= MOST_BYTES:
            self._stop(record, f"gave {self._results:,} files and links of {self._bytes:,} bytes, which is the limit")
        return not self.stopped

    def _take_file(self, record: _core.LogRecord, file: File) -> str | None:
        # A NamedTuple holds whatever it was given.
        name: object = file.name
        content: object = file.content
        if not isinstance(name, str) or str.__len__(name) > MOST_NAME:
            return f"gave a file whose name is {_type_words(name)}"
        name = _clean(name)
        # A size is looked at before anything is copied. Text has at least a byte for each character.
        if isinstance(content, str):
            size = str.__len__(content)
        elif isinstance(content, (bytes, bytearray, memoryview)):
            size = memoryview(content).nbytes
        else:
            return f"gave the file {name[:100]!r} with {_type_words(content)} as its content; text or bytes are wanted"
        if size <= MOST_FILE_BYTES:
            data = _utf8(content) if isinstance(content, str) else memoryview(content).tobytes()
            size = len(data)
        if size > MOST_FILE_BYTES:
            return f"gave the file {name[:100]!r} of {size:,} bytes; {MOST_FILE_BYTES:,} is the limit"
        html = file.html is True
        try:
            self._extras.add_file(record, self._name, name, data, html)
        except OutputError as error:
            self._stop(record, f"no room for the file {name[:100]!r} of {size:,} bytes ({error}); not called again")
        else:
            self._bytes += size
        return None

    def _take_link(self, record: _core.LogRecord, link: Link) -> str | None:
        name: object = link.name
        url: object = link.url
        if not isinstance(name, str) or not isinstance(url, str) or str.__len__(name) > MOST_NAME:
            return f"gave a link of {_type_words(name)} and {_type_words(url)}"
        if str.__len__(url) > MOST_ADDRESS:
            return f"gave a link to an address of {str.__len__(url):,} characters; {MOST_ADDRESS:,} is the limit"
        name, url = _shown(name), _clean(url)
        log = record.file
        text = self._link_text.get(log, 0) + len(name) + len(url) + len(self._name)
        if text > MOST_LINK_TEXT:
            if log in self._full:
                return None
            self._full.add(log)
            return f"gave more links than a log may have: {MOST_LINK_TEXT:,} characters in all; the others are left out"
        self._link_text[log] = text
        self._extras.add_link(record, self._name, name, url)
        return None

    def _fail(self, record: _core.LogRecord, why: str) -> None:
        self._extras.add_problem(record, self._name, _clean(why))
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            self._stop(record, f"failed {MOST_FAILURES} times, and was not called again")

    def _stop(self, record: _core.LogRecord, why: str) -> None:
        if not self.stopped:
            self.stopped = True
            self._extras.add_problem(record, self._name, why)


def _type_words(value: object) -> str:
    # Of `type`, since a class may have a name of its own making.
    kind: str = type.__dict__["__name__"].__get__(type(value))
    return f"text of {str.__len__(value):,} characters" if isinstance(value, str) else f"a {_shown(kind)}"


def _shown(text: str) -> str:
    text = _clean(text)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def _clean(text: str) -> str:
    """Give text that can be written as UTF-8: a lone half of a surrogate pair becomes its escape."""
    return _utf8(text).decode()


def _utf8(text: str) -> bytes:
    # Of `str`, since a class made from it may have methods of its own.
    return str.encode(text, errors="backslashreplace")
