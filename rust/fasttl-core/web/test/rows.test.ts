// Sorting and filtering against references that are slow and plain.
import { describe, expect, it } from "vitest";
import { keyOf, matches, nextDirection, order, terms, type Direction, type Key } from "../src/rows";
import { randomBelow } from "./random";

const plain = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Whether b has to stand before a: numbers, then text, then nothing; the last stays last in both directions. */
function belongsAfter(a: Key, b: Key, direction: Direction): boolean {
  if (b === null) return false;
  if (a === null) return true;
  let sign = 0;
  if (typeof a === "number" && typeof b === "number") sign = Math.sign(a - b);
  else if (typeof a === "string" && typeof b === "string") sign = plain.compare(a, b);
  else sign = typeof a === "number" ? -1 : 1;
  return direction === "ascending" ? sign > 0 : sign < 0;
}

/** Sort by exchanging neighbours: stable, and with nothing in common with the code under test. */
function slowOrder(keys: readonly Key[], direction: Direction): number[] {
  const rows = keys.map((_, index) => index);
  for (let end = rows.length; end > 1; end -= 1) {
    for (let at = 1; at < end; at += 1) {
      const [left, right] = [rows[at - 1] as number, rows[at] as number];
      if (belongsAfter(keys[left] as Key, keys[right] as Key, direction)) [rows[at - 1], rows[at]] = [right, left];
    }
  }
  return rows;
}

function randomKey(below: (limit: number) => number): Key {
  const kinds: Key[] = [null, below(5), -below(3) / 4, `${below(4)}/${below(12)}`, ["a", "A", "b", "_x", "é"][below(5)] as string, Infinity];
  return kinds[below(kinds.length)] as Key;
}

describe("order", () => {
  it("agrees with the slow reference", () => {
    const below = randomBelow(7);
    for (let round = 0; round < 400; round += 1) {
      const keys = Array.from({ length: below(24) }, () => randomKey(below));
      for (const direction of ["ascending", "descending"] as const) {
        expect(order(keys, direction), JSON.stringify(keys)).toEqual(slowOrder(keys, direction));
      }
    }
  });

  it("counts digits in ids as numbers", () => {
    const ids = ["0/10", "0/2", "10/0", "2/0"];
    expect(order(ids, "ascending").map((row) => ids[row])).toEqual(["0/2", "0/10", "2/0", "10/0"]);
  });

  it("keeps rows without a value last in both directions", () => {
    expect(order([null, 1, 2], "ascending")).toEqual([1, 2, 0]);
    expect(order([null, 1, 2], "descending")).toEqual([2, 1, 0]);
  });
});

describe("keyOf", () => {
  it.each([
    ["2.5", "2.50 s", 2.5],
    ["1e-3", "1 ms", 0.001],
    ["", "12", "12"],
    [null, " ok ", "ok"],
    [null, "", null],
    ["", " ", null],
    ["soon", "x", "soon"],
  ])("data-v %j, text %j", (exact, text, key) => {
    expect(keyOf(exact, text)).toBe(key);
  });
});

describe("filter", () => {
  it("agrees with the slow reference", () => {
    const below = randomBelow(11);
    const word = () => Array.from({ length: 1 + below(3) }, () => "abAB/ "[below(6)]).join("");
    for (let round = 0; round < 2000; round += 1) {
      const text = Array.from({ length: below(6) }, word).join(" ");
      const query = Array.from({ length: below(4) }, word).join(" ");
      let slow = true;
      for (const part of query.split(" ")) {
        if (part === "") continue;
        let found = false;
        for (let at = 0; at + part.length <= text.length; at += 1) {
          found ||= text.slice(at, at + part.length).toUpperCase() === part.toUpperCase();
        }
        slow &&= found;
      }
      expect(matches(text.toLowerCase(), terms(query)), JSON.stringify([text, query])).toBe(slow);
    }
  });

  it("takes an empty query as everything", () => {
    expect(matches("", terms("  \t "))).toBe(true);
    expect(matches("", terms("x"))).toBe(false);
  });
});

describe("nextDirection", () => {
  it("starts with the largest number and with the first word, then turns round", () => {
    expect(nextDirection(null, true)).toBe("descending");
    expect(nextDirection(null, false)).toBe("ascending");
    expect(nextDirection("ascending", true)).toBe("descending");
    expect(nextDirection("descending", false)).toBe("ascending");
  });
});
