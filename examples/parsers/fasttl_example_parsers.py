"""Custom parsers for fasttl: which operators a graph calls, and the source of the PyTorch that compiled it.

Install the package beside fasttl, and each report has their files and links:

    pip install ./examples/parsers
    fasttl examples/crash_3_ranks -o out/parsed
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections import Counter
from typing import TYPE_CHECKING

import fasttl

if TYPE_CHECKING:
    from collections.abc import Iterator

GRAPHS = (
    "aot_forward_graph",
    "aot_backward_graph",
    "aot_inference_graph",
    "aot_joint_graph",
    "inductor_post_grad_graph",
)
# "torch.ops.aten.mm.default(": a call as the graph's code has it.
CALL = re.compile(r"\btorch\.ops\.([\w.]+)\(")


@fasttl.parser(kinds=GRAPHS)
def operators(record: fasttl.ParserRecord) -> Iterator[fasttl.File]:
    """Count the operators that a graph calls, as CSV for programs and as a page for people."""
    counts = Counter(CALL.findall(record.payload)).most_common()
    if not counts:
        return
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([("operator", "calls"), *counts])
    yield fasttl.File(f"{record.kind}_operators.csv", text.getvalue())
    # What comes from a log is escaped before it is put into HTML.
    head = "<tr><th>operator</th><th>calls</th></tr>"
    rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{calls}</td></tr>" for name, calls in counts)
    title = html.escape(f"Operators of {record.kind} {record.compile_id}")
    page = f"<title>{title}</title><main class='wrap'><h1>{title}</h1><table class='grid'>{head}{rows}</table></main>"
    yield fasttl.File(f"{record.kind}_operators.html", page, html=True)


@fasttl.parser(kinds="artifact", names="torch_version")
def torch_source(record: fasttl.ParserRecord) -> fasttl.Link | None:
    """Link to the source of the PyTorch that wrote the log."""
    commit = record.json().get("commit")
    if not commit:
        return None
    return fasttl.Link("PyTorch at this commit", f"https://github.com/pytorch/pytorch/tree/{commit}")
