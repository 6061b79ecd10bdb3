/* Which rows of a tree a search leaves, without a page. */
import { matches, terms } from "./rows";

/** A row of a tree: its text in lower case, and the index of the row above it in the tree (-1 for a root). */
export interface Branch {
  readonly lower: string;
  readonly parent: number;
}

export interface Found {
  /** Rows that have every word of the query. */
  readonly hits: ReadonlySet<number>;
  /** Hits, the rows that lead to them, and all that hangs below them. */
  readonly shown: ReadonlySet<number>;
  /** Rows that have to be open for every hit to be seen. */
  readonly open: ReadonlySet<number>;
}

/** Search a tree whose rows are in the order of the page: a parent stands before its children. */
export function findBranches(rows: readonly Branch[], query: string): Found {
  const wanted = terms(query);
  const hits = new Set<number>();
  const shown = new Set<number>();
  const open = new Set<number>();
  rows.forEach((row, index) => {
    const hit = wanted.length > 0 && matches(row.lower, wanted);
    if (hit) hits.add(index);
    // In page order a row is shown before its children are looked at, and then only for a hit in it or above it.
    if (hit || wanted.length === 0 || shown.has(row.parent)) shown.add(index);
  });
  // Up from each hit, stopping where an earlier hit has been already.
  for (const hit of hits) {
    for (let at = rows[hit]?.parent ?? -1; at >= 0 && !open.has(at); at = rows[at]?.parent ?? -1) {
      open.add(at);
      shown.add(at);
    }
  }
  return { hits, shown, open };
}
