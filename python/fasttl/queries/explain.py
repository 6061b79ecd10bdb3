"""Everything that the tables say of one compile, put together for a person.

Nothing is worked out here: each section is some rows of a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from fasttl._compile_ids import CompileId
from fasttl._display import count_text, printable, printable_lines, ranks_text
from fasttl.exceptions import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fasttl.trace import Trace

# Rows of a section that the text shows; `sections` has them all.
SHOWN = 12
# Ids that an error message lists.
LISTED = 20

_PHASES = {
    "entire_frame_s": "whole compile",
    "backend_s": "in the backend",
    "inductor_s": "in Inductor",
    "code_gen_s": "in code generation",
    "backward_s": "backward, compiled apart",
}


class Part(NamedTuple):
    """A part of an explanation: what it says, and the rows behind it.

    Example:
        >>> import fasttl
        >>> fasttl.load(EXAMPLE).explain("1/0", rank=1).parts[0].name
        'code'
    """

    name: str
    title: str
    lines: list[str]
    rows: pl.DataFrame | None

    def __repr__(self) -> str:
        """Give name and lines; polars would print what is in the rows as it stands in the log."""
        rows = "" if self.rows is None else f", {count_text(self.rows.height, 'row')}"
        return f"<fasttl.Part {self.name!r}: {self.lines!r}{rows}>"


class Explanation(NamedTuple):
    """What a compile is, why it happened, what it cost, what it made and what it lacks.

    `print` shows it as text, a notebook as a page.

    Example:
        >>> import fasttl
        >>> print(fasttl.load(EXAMPLE).explain("1/0", rank=1).headline)
        1/0 `step` on rank 1: error, first compile of its frame, 0.07 s
    """

    compile_id: str
    rank: int | None
    file: int
    generation: int
    headline: str
    parts: list[Part]

    def text(self) -> str:
        """Give the explanation as text, some rows of each part; what a terminal would obey is made visible.

        Example:
            >>> import fasttl
            >>> fasttl.load(EXAMPLE).explain("0/0", rank=2).text().splitlines()[2]
            'Code'
        """
        lines = [printable(self.headline)]
        for part in self.parts:
            lines += ["", part.title, *(f"  {line}" for text in part.lines for line in printable_lines(text))]
            if part.rows is not None and part.rows.height:
                lines += _table(part.rows)
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values, which `json.dumps` takes when times are made text.

        Example:
            >>> import fasttl
            >>> [part["name"] for part in fasttl.load(EXAMPLE).explain("0/0", rank=2).to_dict()["parts"]][:3]
            ['code', 'why', 'time']
        """
        parts = [
            {"name": part.name, "lines": part.lines, "rows": [] if part.rows is None else part.rows.to_dicts()}
            for part in self.parts
        ]
        return {**self._asdict(), "parts": parts}

    def __str__(self) -> str:
        """Give the text."""
        return self.text()

    def __repr__(self) -> str:
        """Say in one line which compile is explained."""
        return f"<fasttl.Explanation of {self.headline!r}: {', '.join(part.name for part in self.parts)}>"

    def _repr_html_(self) -> str:
        """Show it in a notebook. Texts come from logs, so all are escaped."""
        import html  # noqa: PLC0415 - few explanations are shown in a notebook

        parts = [f"<h4>{html.escape(self.headline)}</h4>"]
        for part in self.parts:
            parts.append(f"<h5>{html.escape(part.title)}</h5>")
            parts += [f"<pre>{html.escape(line)}</pre>" for line in part.lines]
            if part.rows is not None and part.rows.height:
                head = "".join(f"<th>{html.escape(name)}</th>" for name in part.rows.columns)
                body = "".join(
                    "<tr>" + "".join(f"<td>{html.escape(_cell(cell))}</td>" for cell in row) + "</tr>"
                    for row in part.rows.head(SHOWN).iter_rows()
                )
                parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        return "".join(parts)


class _Compile(NamedTuple):
    """One compile of a trace, and how its rows are found in any table."""

    trace: Trace
    row: dict[str, Any]

    def rows(self, table: str) -> pl.DataFrame:
        """Give the rows of a table that belong to this compile, whichever its attempt."""
        frame = self.trace.table(table)
        keys = ("file", "generation", "frame_id", "frame_compile_id", "compiled_autograd_id")
        return frame.filter(*(pl.col(key).eq_missing(pl.lit(self.row[key], frame.schema[key])) for key in keys))


class Place(NamedTuple):
    """Where a compile is looked for: what is None leaves the choice open."""

    rank: int | None = None
    generation: int | None = None
    file: int | None = None

    def words(self) -> str:
        """Say what was asked for."""
        asked = (("on rank", self.rank), ("in log", self.file), ("in generation", self.generation))
        return "".join(f" {label} {number}" for label, number in asked if number is not None)


def explain(trace: Trace, compile_id: str, place: Place) -> Explanation:
    """Put together what is known of a compile; see `Trace.explain`."""
    found = _find(trace, compile_id, place)
    row = found.row(0, named=True)
    compile_ = _Compile(trace, row)
    parts = [part for make in _PARTS if (part := make(compile_)) is not None]
    if found.height > 1:
        parts.append(_others(found))
    return Explanation(row["compile_id"], row["rank"], row["file"], row["generation"], _headline(row), parts)


def _find(trace: Trace, compile_id: str, place: Place) -> pl.DataFrame:
    wanted = CompileId.parse(compile_id)
    if wanted.generation is not None and place.generation not in {None, wanted.generation}:
        message = f"{compile_id!r} names generation {wanted.generation}, and generation is {place.generation}"
        raise OptionError(message)
    conditions = wanted.of_compile()
    conditions += [pl.col(key) == value for key, value in place._asdict().items() if value is not None]
    frames = trace.frames.with_columns(pl.col(pl.Categorical).cast(pl.String))
    found = frames.filter(*conditions)
    if found.is_empty():
        ids = frames["compile_id"].unique(maintain_order=True).to_list()
        more = ", …" if len(ids) > LISTED else ""
        listed = f"{', '.join(ids[:LISTED]) or 'none'}{more}"
        message = f"there is no compile {compile_id.strip()}{place.words()}; there are {listed}"
        raise OptionError(message)
    if wanted.attempt is None:
        return found
    tried = found.filter(pl.col("attempts") > wanted.attempt)
    if tried.is_empty():
        times = count_text(int(found["attempts"].cast(pl.Int64).max() or 0), "attempt")
        message = (
            f"there is no attempt {wanted.attempt} of {found['compile_id'][0]}{place.words()}: it had {times}, from 0"
        )
        raise OptionError(message)
    return tried


def _headline(row: dict[str, Any]) -> str:
    where = "" if row["rank"] is None else f" on rank {row['rank']}"
    name = "a frame without a name" if row["code_name"] is None else f"`{row['code_name']}`"
    if row["limit_hit"]:
        kind = "refused at the recompile limit"
    elif row["recompile_reason"] is not None:
        kind = "a recompile"
    elif row["frame_compile_id"] == 0:
        kind = "first compile of its frame"
    else:
        kind = "compiled again without a reason in the log"
    status = "unfinished when the log ends" if row["unfinished"] else row["status"]
    took = "" if row["entire_frame_s"] is None else f", {row['entire_frame_s']:.2f} s"
    return f"{row['compile_id']} {name}{where}: {status}, {kind}{took}"


def _code(of: _Compile) -> Part:
    row = of.row
    lines = []
    if row["code_file"] is not None:
        line = "" if row["code_line"] is None else f":{row['code_line']}"
        lines.append(f"{row['code_name']} in {row['code_file']}{line}")
    stack = row["user_stack"] or []
    if stack:
        lines.append("Called from, outermost first:")
        lines += [f"  {frame}" for frame in stack]
    return Part("code", "Code", lines or ["The log does not name its code."], None)


def _why(of: _Compile) -> Part:
    row, lines = of.row, []
    recompiles = of.rows("recompiles")
    for found in recompiles.iter_rows(named=True):
        refused = "The call was refused at the recompile limit" if found["refused"] else "It was compiled again"
        entry = "" if found["entry"] is None else f" of entry {found['entry']}"
        lines.append(f"{refused}: the guard{entry} did not hold: {found['guard'] or 'the log does not say which'}")
        seen = [f"{label} {found[key]}" for label, key in (("wanted", "expected"), ("got", "actual")) if found[key]]
        about = f" of `{found['source']}`" if found["source"] else ""
        lines.append(f"Cause: {found['cause']}{about}{': ' if seen else ''}{', '.join(seen)}")
        if found["values"]:
            lines.append(f"Values over the compiles of this frame: {', '.join(found['values'])}")
        if found["user_file"] is not None:
            code = "" if found["user_code"] is None else f": {found['user_code']}"
            lines.append(f"For the line {found['user_file']}:{found['user_line']}{code}")
        lines.append(f"What to try: {found['advice']}")
    if not lines and row["frame_compile_id"] == 0:
        lines.append("It is the first compile of this code.")
    elif not lines:
        reasons = of.rows("missing").filter(pl.col("name").cast(pl.String) == "recompile_reasons")["reason"]
        lines += [
            f"The log has no reason for this recompile: {reason}." for reason in reasons.cast(pl.String).to_list()
        ]
    for failure in of.rows("failures").with_columns(pl.col(pl.Categorical).cast(pl.String)).iter_rows(named=True):
        if failure["event"] == "restart":
            lines.append(f"A try was started over: {_first_line(failure['reason'])}")
        elif failure["event"] != "limit":
            place = "" if failure["user_file"] is None else f" at {failure['user_file']}:{failure['user_line']}"
            stage = "" if failure["stage"] is None else f" (stage: {failure['stage']})"
            lines.append(f"It failed{place}{stage}: {failure['type'] or 'error'}: {failure['reason'] or ''}".rstrip())
            lines.append(f"What to try: {failure['advice']}")
    if row["skipped"]:
        lines.append("The frame was skipped: it runs as it is.")
    return Part("why", "Why it happened, and how it ended", lines or ["The log does not say."], None)


def _breaks(of: _Compile) -> Part | None:
    breaks = of.rows("graph_breaks")
    lines = []
    for found in breaks.iter_rows(named=True):
        place = "" if found["user_file"] is None else f" at {found['user_file']}:{found['user_line']}"
        lines += [f"{found['reason']}{place}", f"  What to try: {found['advice']}"]
    return Part("breaks", "Graph breaks", lines, None) if lines else None


def _time(of: _Compile) -> Part:
    known = [(label, of.row[column]) for column, label in _PHASES.items() if of.row[column] is not None]
    lines = [f"{seconds:.3f} s {label}" for label, seconds in known]
    phases = of.rows("phases").select("name", "phase", "count", "total_s", "self_s", "unfinished")
    return Part("time", "Time", lines or ["No metrics."], phases.sort("self_s", descending=True, nulls_last=True))


def _graphs(of: _Compile) -> Part | None:
    graphs = of.rows("graphs").select("stage", "part", "is_backward", "nodes", "placeholders", "outputs")
    return Part("graphs", "Graphs", [], graphs) if graphs.height else None


def _cache(of: _Compile) -> Part | None:
    cache = of.rows("cache").select("layer", "place", "state", "reason", "time_saved_s")
    return Part("cache", "Caches", [], cache) if cache.height else None


def _guards(of: _Compile) -> Part | None:
    number = of.row["guards"]
    if number is None:
        return None
    lines = [count_text(number, "guard")]
    if "guards" in of.trace.tables:
        kinds = of.rows("guards").group_by("kind").len("guards").sort(["guards", "kind"], descending=[True, False])
        return Part("guards", "Guards", lines, kinds)
    return Part("guards", "Guards", lines, None)


def _artifacts(of: _Compile) -> Part:
    artifacts = of.rows("artifacts").select("name", "kind", "bytes", "md5", "file", "offset")
    lines = [f"{count_text(artifacts.height, 'text')}, {artifacts['bytes'].sum():,} bytes"]
    return Part("artifacts", "What it made", lines, artifacts)


def _missing(of: _Compile) -> Part | None:
    missing = of.rows("missing").select("name", "reason")
    title = "What it could have and has not, with the likely reason"
    return Part("missing", title, [], missing) if missing.height else None


def _others(found: pl.DataFrame) -> Part:
    rest = found.slice(1)
    ranks = rest["rank"].unique().sort(nulls_last=True).to_list()
    logs = rest["file"].n_unique()
    on = f"in {count_text(logs, 'log')} without a rank" if ranks == [None] else f"on ranks {ranks_text(ranks)}"
    lines = [f"{count_text(rest.height, 'more compile')} of this id, {on}.", f"Name one by its {_picks_one(found)}."]
    return Part(
        "others", "The same id elsewhere", lines, rest.select("rank", "file", "generation", "code_name", "status")
    )


def _picks_one(found: pl.DataFrame) -> str:
    """Say what tells the compiles of one id from each other: what a reader knows best, where that will do."""
    for columns, words in _PICKS:
        keys = found.select(columns)
        # Logs without a rank have none by which they could be named.
        if keys.n_unique() == keys.height and ("rank" not in columns or not keys["rank"].null_count()):
            return words
    return _PICKS[-1][1]


# From the one that says most. A log and a generation always tell.
_PICKS = (
    (("rank",), "rank"),
    (("generation",), "generation"),
    (("rank", "generation"), "rank and generation"),
    (("file",), "log (column file)"),
    (("file", "generation"), "log (column file) and generation"),
)

_PARTS: tuple[Callable[[_Compile], Part | None], ...] = (
    _code,
    _why,
    _breaks,
    _time,
    _graphs,
    _cache,
    _guards,
    _artifacts,
    _missing,
)


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(rows: pl.DataFrame) -> list[str]:
    """Lay rows out in columns, the first few of them."""
    cells = [list(rows.columns), *([printable(_cell(cell)) for cell in row] for row in rows.head(SHOWN).iter_rows())]
    widths = [max(len(row[at]) for row in cells) for at in range(len(rows.columns))]
    lines = [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    ]
    if rows.height > SHOWN:
        lines.append(f"  … {count_text(rows.height - SHOWN, 'more row')}")
    return lines
