"""Custom parsers: functions of your own that add files and links to the report.

A parser names the kinds of records that it wants and is called with each of them:

    >>> import fasttl
    >>> @fasttl.parser(kinds="artifact", names="torch_version")
    ... def version_page(record):
    ...     yield fasttl.File("version.txt", record.payload)
    >>> fasttl.write_report(EXAMPLE, "report", parsers=[version_page]).problems
    0

Parsers of installed packages are found by the entry-point group ``fasttl.parsers``.
An error in one is a row of ``problems`` and never stops the report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from fasttl.exceptions import OptionError

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable

    from fasttl import _core


class File(NamedTuple):
    """A file that the report lists at the compile id of the record.

    Attributes:
        name: Its name, with the ending that it should have, such as ``cuts.csv``.
            The report puts a number before the ending and cleans what no path may hold.
        content: Text, written as UTF-8, or bytes, written as they are.
        html: Show it as a page. Without this, markup in it is shown as text. The
            page may use the report's style sheet; scripts in it do not run.
    """

    name: str
    content: str | bytes | bytearray | memoryview
    html: bool = False


class Link(NamedTuple):
    """A link that the report lists at the compile id of the record.

    Attributes:
        name: What is shown.
        url: Where it leads. Only ``http`` and ``https`` become links; anything else
            is shown as text.
    """

    name: str
    url: str


class StackFrame(NamedTuple):
    """A frame of a stack, its file's name resolved."""

    file: str | None
    line: int | None
    name: str | None
    code: str | None


Results: TypeAlias = "Iterable[File | Link] | File | Link | None"


class ParserRecord:
    """One log record, as a custom parser gets it.

    Texts are read from the log when they are asked for. Each parser has an object of
    its own, so that what one changes no other sees.
    """

    __slots__ = ("_core", "_head", "_metadata")

    def __init__(self, core: _core.LogRecord) -> None:
        """Wrap what the extension found; for fasttl, not for users."""
        self._core = core
        self._head: dict[str, Any] | None = None
        self._metadata: list[Any] = []

    @property
    def kind(self) -> str:
        """Kind of the record, such as ``artifact`` or ``dynamo_output_graph``."""
        return self._core.kind

    @property
    def name(self) -> str | None:
        """Name of the artifact, graph or link; of generated code, its file."""
        return self._core.name

    @property
    def compile_id(self) -> str | None:
        """Compile id as PyTorch prints it, such as ``0/1`` or ``0/1_2``; None without one."""
        return self._core.compile_id

    @property
    def frame_id(self) -> int | None:
        """Number of the code frame."""
        return self._core.ids[0]

    @property
    def frame_compile_id(self) -> int | None:
        """How often the frame had been compiled before."""
        return self._core.ids[1]

    @property
    def attempt(self) -> int | None:
        """How often this compile was restarted."""
        return self._core.ids[2]

    @property
    def compiled_autograd_id(self) -> int | None:
        """Number of the compiled-autograd capture."""
        return self._core.ids[3]

    @property
    def generation(self) -> int:
        """How often the compile ids of the log had started again, as by ``torch._dynamo.reset()``."""
        return self._core.generation

    @property
    def rank(self) -> int | None:
        """Rank of the record, else of its log."""
        return self._core.rank

    @property
    def time(self) -> dt.datetime | None:
        """When it was logged: in UTC where the log tells its zone, else local time without a zone."""
        import datetime as dt  # noqa: PLC0415 - few parsers ask

        stamp = self._core.time_us
        if stamp is None:
            return None
        start = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
        moment = start + dt.timedelta(microseconds=stamp)
        return moment if self._core.is_utc else moment.replace(tzinfo=None)

    @property
    def thread(self) -> int | None:
        """Process that logged it; in PyTorch 2.3 and 2.4 the thread."""
        return self._core.thread

    @property
    def path(self) -> str:
        """The log that it stands in."""
        return self._core.path

    @property
    def file(self) -> int:
        """Number of that log: the row of the table ``files``."""
        return self._core.file

    @property
    def offset(self) -> int:
        """Byte of the (unpacked) log at which it begins."""
        return self._core.offset

    @property
    def line(self) -> int:
        """Line of the log, from 1."""
        return self._core.line

    @property
    def md5(self) -> str | None:
        """The md5 that the log gives for the payload; None without a payload."""
        return self._core.md5

    @property
    def payload_state(self) -> str:
        """How the payload agrees with its md5, in the words of the table ``records``."""
        return self._core.payload_state

    @property
    def payload_length(self) -> int:
        """Bytes of the payload."""
        return self._core.payload_length

    @property
    def payload_bytes(self) -> bytes:
        """The payload, as logged; empty without one."""
        return self._core.payload()

    @property
    def payload(self) -> str:
        """The payload as text; bytes that are no UTF-8 become U+FFFD."""
        return self._core.payload().decode(errors="replace")

    def json(self) -> Any:  # noqa: ANN401 - whatever the log holds
        """Parse the payload as JSON; NaN and infinities are taken.

        Raises:
            ValueError: It is none.

        Example:
            >>> import fasttl
            >>> names = []
            >>> parser = fasttl.parser(kinds="chromium_event")(lambda record: names.append(record.json()["name"]))
            >>> _ = fasttl.write_report(EXAMPLE, "out", parsers=[parser])
            >>> names[0]
            'dynamo'
        """
        return _json(self.payload)

    @property
    def metadata(self) -> Any:  # noqa: ANN401 - whatever the log holds
        """Value of the kind's key in the JSON head: for all kinds but ``str`` a dict, if the log is sound."""
        if not self._metadata:
            self._metadata.append(_json(self._core.metadata()))
        return self._metadata[0]

    @property
    def head(self) -> dict[str, Any]:
        """The whole JSON head: the metadata under the kind, the ids, the stack."""
        if self._head is None:
            self._head = _json(self._core.head())
        return self._head

    @property
    def stack(self) -> list[StackFrame]:
        """The stack of the record, outermost frame first; empty without one."""
        stack = self.head.get("stack")
        if stack is None and isinstance(self.metadata, dict):
            stack = self.metadata.get("stack")
        return self.resolve(stack)

    def string(self, number: int) -> str | None:
        """Give the text of an interned string, as this record means it; None where the log has none.

        Example:
            >>> import fasttl
            >>> names = []
            >>> parser = fasttl.parser(kinds="dynamo_start")(lambda record: names.append(record.string(0)))
            >>> _ = fasttl.write_report(EXAMPLE, "out", parsers=[parser], ranks=0)
            >>> names[0].rsplit("/", 1)[1]
            'convert_frame.py'
        """
        return self._core.string(number) if 0 <= number < 1 << 32 else None

    def resolve(self, stack: object) -> list[StackFrame]:
        """Give the frames of a stack as it stands in a head or a payload; what is no frame is left out.

        Example:
            >>> import fasttl
            >>> frames = []
            >>> def starts(record):
            ...     frames.append(record.resolve(record.metadata["stack"])[-1])
            >>> parser = fasttl.parser(kinds="dynamo_start")(starts)
            >>> _ = fasttl.write_report(EXAMPLE, "out", parsers=[parser], ranks=0)
            >>> frames[0].name, frames[0].line
            ('warm', 18)
        """
        frames = stack if isinstance(stack, list) else []
        return [self._frame(frame) for frame in frames if isinstance(frame, dict)]

    def _frame(self, frame: dict[str, Any]) -> StackFrame:
        file, line, name, code = (frame.get(key) for key in ("filename", "line", "name", "loc"))
        if isinstance(file, int):
            file = self.string(file)
        return StackFrame(
            file if isinstance(file, str) else None,
            line if isinstance(line, int) else None,
            name if isinstance(name, str) else None,
            code if isinstance(code, str) else None,
        )

    def __repr__(self) -> str:
        """Say which record it is."""
        named = f" {self.name!r}" if self.name is not None else ""
        return f"<fasttl.ParserRecord {self.kind}{named} of {self.compile_id}, {self.path}:{self.line}>"


def _json(text: str) -> Any:  # noqa: ANN401 - whatever the log holds
    import json  # noqa: PLC0415 - only parsers need it

    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # A number with more digits than Python turns into an int.
        return json.loads(text, strict=False, parse_int=_number)


def _number(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        return float(digits)


class Parser:
    """A function that makes files and links of log records, and the records that it wants. Made by `parser`."""

    def __init__(
        self,
        function: Callable[[ParserRecord], Results],
        kinds: frozenset[str],
        names: frozenset[str] | None,
        name: str,
    ) -> None:
        """Tie a function to what it wants; for `parser`, not for users."""
        self.function = function
        self.kinds = kinds
        self.names = names
        self.name = name
        self.__doc__ = function.__doc__

    def __call__(self, record: ParserRecord) -> Results:
        """Call the function."""
        return self.function(record)

    def __repr__(self) -> str:
        """Say which one it is."""
        return f"<fasttl.Parser {self.name}>"


# What decorators registered in this process, in that order. A function that is defined
# again, as in a notebook, takes the place of the one before.
registered: dict[tuple[object, ...], Parser] = {}


def parser(
    *,
    kinds: str | Iterable[str],
    names: str | Iterable[str] | None = None,
    name: str | None = None,
) -> Callable[[Callable[[ParserRecord], Results]], Parser]:
    """Register a function as a custom parser.

    The function gets a `ParserRecord` and gives a `File`, a `Link`, several of them
    (a list, or with ``yield``) or None.

    Args:
        kinds: Kinds of records that it is called with, such as ``"artifact"``; those
            that fasttl does not know by name can be asked for too.
        names: Only records of these names, such as ``"fx_graph_cache_hit"``.
        name: What the report calls it; the function's module and name unless told.

    Raises:
        OptionError: `kinds` or `names` is empty or no text.

    Example:
        >>> import fasttl
        >>> @fasttl.parser(kinds=["dynamo_output_graph"])
        ... def calls(record):
        ...     return fasttl.File("calls.txt", f"{record.payload.count('torch.ops')} calls of operators")
        >>> calls.kinds
        frozenset({'dynamo_output_graph'})
    """
    wanted = _texts(kinds, "kinds")
    only = None if names is None else _texts(names, "names")
    if name is not None:
        _texts(name, "name")

    def register(function: Callable[[ParserRecord], Results]) -> Parser:
        module = getattr(function, "__module__", "")
        qualified = getattr(function, "__qualname__", type(function).__name__)
        made = Parser(function, wanted, only, name or f"{module}.{qualified}")
        # Functions that one function makes share their name.
        key = (module, qualified) if "<" not in qualified else (module, qualified, id(made))
        registered.pop(key, None)
        registered[key] = made
        return made

    return register


def _texts(value: str | Iterable[str], what: str) -> frozenset[str]:
    texts = frozenset((value,) if isinstance(value, str) else value)
    if not texts or not all(isinstance(text, str) for text in texts):
        message = f"{what} of a parser must be text, not {value!r}"
        raise OptionError(message)
    return texts
