/* Order and choice of table rows, without a page: what the table shows is decided here and tested against slow references. */

/** What a cell is sorted by: a number, a text, or nothing where the log has no value. */
export type Key = number | string | null;
export type Direction = "ascending" | "descending";

// Digits inside text count as numbers, so that 0/10 comes after 0/2.
const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** The key of a cell: its exact value if the page gives one, else its text. */
export function keyOf(exact: string | null, text: string): Key {
  if (exact !== null && exact.trim() !== "") {
    const value = Number(exact);
    return Number.isNaN(value) ? exact : value;
  }
  const words = text.trim();
  return words === "" ? null : words;
}

function compare(a: number | string, b: number | string): number {
  if (typeof a === "number" && typeof b === "number") return a - b || 0;
  if (typeof a === "number") return -1;
  if (typeof b === "number") return 1;
  return collator.compare(a, b);
}

/** Indices of the rows in their new order. Equal rows keep theirs, and rows without a value come last either way. */
export function order(keys: readonly Key[], direction: Direction): number[] {
  const sign = direction === "ascending" ? 1 : -1;
  return keys
    .map((key, index) => ({ key, index }))
    .sort((a, b) => {
      if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null) || a.index - b.index;
      return sign * compare(a.key, b.key) || a.index - b.index;
    })
    .map((row) => row.index);
}

/** The words of a query. */
export function terms(query: string): string[] {
  return query.toLowerCase().split(/\s+/).filter((term) => term !== "");
}

/** Whether a text has every term; `lower` is in lower case already. */
export function matches(lower: string, wanted: readonly string[]): boolean {
  return wanted.every((term) => lower.includes(term));
}

/** First click sorts numbers from the top, text from A; a further click turns it round. */
export function nextDirection(current: string | null, numeric: boolean): Direction {
  if (current === "ascending") return "descending";
  if (current === "descending") return "ascending";
  return numeric ? "descending" : "ascending";
}
