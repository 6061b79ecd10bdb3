"""How a trace introduces itself: one line for the prompt, a small table for notebooks; and texts made safe to print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fasttl.trace import Trace


def count_text(number: int, one: str, many: str | None = None) -> str:
    """Give a number with its noun.

    Example:
        >>> count_text(1, "log"), count_text(1200, "log")
        ('1 log', '1,200 logs')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def ranks_text(ranks: Iterable[int | None]) -> str:
    """Give ranks in the spelling that ``--ranks`` takes.

    Example:
        >>> ranks_text([None, 3, 0, 1, 2, 7])
        '0-3,7,none'
    """
    wanted = set(ranks)
    numbers = sorted(rank for rank in wanted if rank is not None)
    parts: list[str] = []
    start = 0
    for i, rank in enumerate(numbers):
        if i + 1 < len(numbers) and numbers[i + 1] == rank + 1:
            continue
        first = numbers[start]
        parts.append(str(first) if first == rank else f"{first}-{rank}")
        start = i + 1
    if None in wanted:
        parts.append("none")
    return ",".join(parts)


def printable(text: str) -> str:
    r"""Show what a terminal would obey rather than print, such as escape sequences, as text.

    Names and messages come from logs and archives of other people.

    Example:
        >>> print(printable("a\x1b[2Jb\nc"))
        a\x1b[2Jb\nc
    """
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def printable_lines(text: str) -> list[str]:
    r"""Give the lines of a text, each made safe by `printable`.

    Example:
        >>> printable_lines("a\x07\nb")
        ['a\\x07', 'b']
    """
    return [printable(line) for line in text.split("\n")]


def trace_facts(trace: Trace) -> list[tuple[str, str]]:
    """Give what a reader wants to know first, as label and text."""
    files = trace.files
    severities = trace.problems["severity"].cast(str).to_list()
    errors = severities.count("error")
    return [
        ("Logs", f"{files.height:,}"),
        ("Ranks", ranks_text(files["rank"].to_list()) or "none"),
        ("Records", f"{trace.records.height:,}"),
        ("Problems", f"{errors:,}"),
        ("Notes", f"{len(severities) - errors:,}"),
        ("Skipped inputs", f"{len(trace.skipped):,}"),
    ]


def trace_line(trace: Trace) -> str:
    """Give the text of ``repr(trace)``."""
    facts = dict(trace_facts(trace))
    inputs = trace.inputs
    shown = repr(inputs[0]) if inputs else "nothing"
    more = f" and {len(inputs) - 1} more" if len(inputs) > 1 else ""
    counts = ", ".join(
        (
            count_text(trace.files.height, "log"),
            f"ranks {facts['Ranks']}",
            count_text(trace.records.height, "record"),
            f"{facts['Problems']} problem{'' if facts['Problems'] == '1' else 's'}",
        )
    )
    return f"<fasttl.Trace of {shown}{more}: {counts}>"


def trace_html(trace: Trace) -> str:
    """Give the table that notebooks show. Names come from logs, so all text is escaped."""
    import html  # noqa: PLC0415 - few traces are shown in a notebook

    rows = [("Inputs", ", ".join(trace.inputs)), *trace_facts(trace)]
    rows.append(("Tables", ", ".join(trace.tables)))
    cells = "".join(f"<tr><th>{html.escape(label)}</th><td>{html.escape(text)}</td></tr>" for label, text in rows)
    return f"<table><caption>fasttl.Trace</caption><tbody>{cells}</tbody></table>"
