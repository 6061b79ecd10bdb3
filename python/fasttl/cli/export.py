"""``fasttl export PATH… -o DIR``: writes tables as Parquet or Arrow files, by rank."""

from __future__ import annotations

import click

from fasttl._display import count_text
from fasttl.cli._common import QuickCommand, input_options, read_trace
from fasttl.cli._output import Section, show
from fasttl.queries.export import FORMATS, Exported
from fasttl.queries.export import export as write

EXAMPLES = """\b
Examples:
  fasttl export /tmp/tracedir -o tables
  fasttl export /tmp/tracedir -o tables --tables frames,metrics --overwrite
  duckdb -c "select rank, count(*) from read_parquet('tables/frames/**/*.parquet') group by rank"
"""


@click.command(
    cls=QuickCommand,
    epilog=EXAMPLES,
    help="""Write the tables of the logs at PATH as files that pyarrow, polars, DuckDB and
    Spark read: DIR/<table>/rank=<N>/part-0.parquet, where rank becomes a column.

    Tables without a rank, and those in which no row has one, stand at
    DIR/<table>/part-0.parquet. DIR/_fasttl.json says what was written.""",
)
@input_options
@click.option("-o", "--out", required=True, metavar="DIR", help="Folder to write.")
@click.option(
    "--format", "layout", type=click.Choice(FORMATS), default="parquet", show_default=True, help="Format of the files."
)
@click.option("--tables", metavar="LIST", help="Write these tables only, such as frames,metrics.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier export in the folder.")
def export(  # noqa: PLR0913 - one parameter for each flag
    *,
    paths: tuple[str, ...],
    latest: bool,
    ranks: list[int | None] | None,
    threads: int | None,
    max_unpacked: int | None,
    out: str,
    layout: str,
    tables: str | None,
    overwrite: bool,
) -> int:
    """Write the files, say how many, and give the exit status."""
    names = None if tables is None else [name.strip() for name in tables.split(",") if name.strip()]
    trace = read_trace(paths, latest=latest, ranks=ranks, threads=threads, max_unpacked=max_unpacked)
    done = write(trace, out, layout=layout, tables=names, overwrite=overwrite)
    show([Section("tables", f"{count_text(len(done), 'table')} in {out}", Exported._fields, done)], "table")
    return 0
