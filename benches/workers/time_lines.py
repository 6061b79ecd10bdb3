"""Find kind and frame id of each record as a user of other tools would, and print how long that took.

Each way reads the log once, in the shape that its users call fast: plain Python parses the head of each record; polars
and DuckDB take the lines and let payload lines go before they look for anything. A process for one run; what is
imported is not counted.

    python benches/workers/time_lines.py json|polars|duckdb LOG
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

TAB = 9
KIND = r'\] \{"([^"]+)"'
FRAME = r'"frame_id": (\d+)'
# The ids are the last keys of a head, so the end of the line has them and is quicker to search than all of it.
TAIL = 200


def with_json(path: Path) -> tuple[float, int]:
    """Parse each head with the standard library."""
    start = time.perf_counter()
    kinds, frames = [], []
    with path.open("rb") as file:
        for line in file:
            if line[0] != TAB:
                head = json.loads(line[line.index(b"] {") + 2 :])
                kinds.append(next(iter(head)))
                frames.append(head.get("frame_id"))
    return time.perf_counter() - start, len(kinds)


def with_polars(path: Path) -> tuple[float, int]:
    """Let polars stream over the lines."""
    import polars as pl  # noqa: PLC0415  (each way imports its own)

    start = time.perf_counter()
    line = pl.col("line")
    found = (
        pl.scan_lines(path, name="line")
        .filter(~line.str.starts_with("\t"))
        .select(kind=line.str.extract(KIND), frame=line.str.tail(TAIL).str.extract(FRAME).cast(pl.Int32))
        .collect(engine="streaming")
    )
    return time.perf_counter() - start, found.height


def with_duckdb(path: Path) -> tuple[float, int]:
    """Let DuckDB read a table of one column, whose separator does not occur in logs."""
    import duckdb  # noqa: PLC0415  (each way imports its own)

    start = time.perf_counter()
    query = f"""
        SELECT regexp_extract(line, '{KIND}', 1) AS kind, TRY_CAST(regexp_extract(line, '{FRAME}', 1) AS INT) AS frame
        FROM read_csv(?, columns = {{'line': 'VARCHAR'}}, auto_detect = false, header = false, delim = chr(1),
                      quote = '', escape = '', strict_mode = false, max_line_size = 20000000)
        WHERE line[1] <> chr(9)
    """  # noqa: S608  (nothing in it comes from outside)
    found = duckdb.sql(query, params=[str(path)])
    rows = found.to_arrow_table().num_rows if found is not None else 0
    return time.perf_counter() - start, rows


WAYS = {"json": with_json, "polars": with_polars, "duckdb": with_duckdb}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("way", choices=WAYS, help="what to read with")
    parser.add_argument("log", type=Path, help="the log")
    args = parser.parse_args()
    seconds, records = WAYS[args.way](args.log)
    json.dump({"seconds": seconds, "records": records}, sys.stdout)


if __name__ == "__main__":
    main()
