"""``fasttl extract PATH… --kind K``: gives stored payloads as files, or one of them on stdout."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

import fasttl
from fasttl._display import count_text, printable, printable_lines
from fasttl.cli._common import QuickCommand, input_options, note, read_ranks, read_trace, warn
from fasttl.cli._frames import frame_section
from fasttl.cli._output import FORMATS, show
from fasttl.queries.extract import Wanted, find_artifacts, write_files

if TYPE_CHECKING:
    import polars as pl

    from fasttl.trace import Trace

STDOUT = "-"
# How many fitting artifacts a message lists.
_LISTED = 20
LIST_COLUMNS = ("rank", "generation", "compile_id", "kind", "name", "bytes", "md5", "path")

EXAMPLES = """\b
Examples:
  fasttl extract /tmp/tracedir --kind fx_graph_runnable --cid 0/1 --rank 3 > repro.py
  fasttl extract /tmp/tracedir --kind '*_graph' -o graphs
  fasttl extract /tmp/tracedir --kind inductor_output_code --list
"""


@click.command(
    cls=QuickCommand,
    epilog=EXAMPLES,
    help="""Give the stored payloads of the logs at PATH that fit all conditions: one on
    stdout, or any number as files such as DIR/rank_3/0_1_0/fx_graph_runnable_0.py.

    A kind is that of the record or the name of the artifact; * and ? in it stand for
    any text and any character. Exit status 2 if nothing fits; what is there is then
    named. Files are made with safe names, and none is ever overwritten.""",
)
@input_options
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Kind or name; may be repeated.")
@click.option("--name", "names", multiple=True, metavar="NAME", help="Name of the artifact; may be repeated.")
@click.option(
    "--cid",
    "--compile-id",
    "compile_id",
    metavar="ID",
    help="Compile id: 0/1 for all attempts, 0/1_2 for one, 0/1@1, none.",
)
@click.option("--rank", callback=read_ranks, metavar="LIST", help="Ranks of the artifacts; only their logs are read.")
@click.option("--md5", metavar="MD5", help="MD5 of the payload, or its first digits.")
@click.option("-o", "--out", default=STDOUT, metavar="DIR", help="Folder to write into; - is stdout, also unless told.")
@click.option("--all", "join", is_flag=True, help="Write several payloads to stdout, one behind the other.")
@click.option("--list", "only_list", is_flag=True, help="List what fits, and write nothing.")
@click.option(
    "--format", "layout", type=click.Choice(FORMATS), default="table", show_default=True, help="How to print the list."
)
def extract(  # noqa: PLR0913 - one parameter for each flag
    *,
    paths: tuple[str, ...],
    latest: bool,
    ranks: list[int | None] | None,
    threads: int | None,
    max_unpacked: int | None,
    kinds: tuple[str, ...],
    names: tuple[str, ...],
    compile_id: str | None,
    rank: list[int | None] | None,
    md5: str | None,
    out: str,
    join: bool,
    only_list: bool,
    layout: str,
) -> int:
    """Write what fits, and give the exit status."""
    read = rank if ranks is None else ranks
    trace = read_trace(paths, latest=latest, ranks=read, threads=threads, max_unpacked=max_unpacked)
    rows = find_artifacts(trace, Wanted(kinds, names, compile_id, rank, md5))
    if only_list:
        show([frame_section("artifacts", count_text(rows.height, "artifact"), rows.select(LIST_COLUMNS))], layout)
        return 0
    _tell_damage(rows)
    if out != STDOUT:
        for path in write_files(trace, rows, out):
            click.echo(printable(path))
        return 0
    if rows.height > 1 and not join and not _are_equal(rows):
        listed = "\n".join(f"  {path}" for path in rows["path"].head(_LISTED))
        more = f"\n  and {rows.height - _LISTED} more" if rows.height > _LISTED else ""
        message = (
            f"{count_text(rows.height, 'artifact')} fit; give a folder by --out, --all for all, or more conditions\n"
            f"{listed}{more}"
        )
        raise fasttl.OptionError(message)
    _print(trace, rows if join else rows.head(1))
    return 0


def _are_equal(rows: pl.DataFrame) -> bool:
    """Tell whether all payloads are one text, as those of ranks often are."""
    return rows["md5"].n_unique() == 1 and set(rows["state"].to_list()) == {"verified"}


def _tell_damage(rows: pl.DataFrame) -> None:
    damaged = rows.filter(rows["state"] != "verified")
    for path, state in damaged.select("path", "state").head(_LISTED).iter_rows():
        warn(f"{path}: {state}")
    if damaged.height > _LISTED:
        note(f"{damaged.height - _LISTED} more are damaged; `fasttl info` counts them")


def _print(trace: Trace, rows: pl.DataFrame) -> None:
    """Write payloads to stdout as they were logged; on a terminal, without what that would obey."""
    for row in rows.select("file", "offset").iter_rows(named=True):
        payload = trace.payload(row)
        if sys.stdout.isatty():
            text = payload.decode("utf-8", "replace").expandtabs()
            click.echo("\n".join(printable_lines(text)))
            continue
        # The last line of a payload has no line feed in the log; the next one starts on a line of its own.
        behind = b"\n" if rows.height > 1 and not payload.endswith(b"\n") else b""
        click.echo(payload + behind, nl=False)
