// Search in the stack tree: what stays in view, against a reference that asks every row about every other.
import { describe, expect, it } from "vitest";
import { findBranches, type Branch } from "../src/branches";
import { randomBelow } from "./random";

/** Indices from the row above up to the root. */
function above(rows: readonly Branch[], index: number): number[] {
  const parent = (rows[index] as Branch).parent;
  return parent < 0 ? [] : [parent, ...above(rows, parent)];
}

function randomTree(below: (limit: number) => number): Branch[] {
  const rows: Branch[] = [];
  const path: number[] = [];
  for (let index = below(20); index > 0; index -= 1) {
    path.length = below(path.length + 1);
    rows.push({ lower: `${"ab"[below(2)]}${"xyz"[below(3)]}`, parent: path[path.length - 1] ?? -1 });
    path.push(rows.length - 1);
  }
  return rows;
}

describe("findBranches", () => {
  it("agrees with the slow reference", () => {
    const below = randomBelow(3);
    for (let round = 0; round < 500; round += 1) {
      const rows = randomTree(below);
      const query = ["a", "x", "by", "q"][below(4)] as string;
      const found = findBranches(rows, query);
      rows.forEach((row, index) => {
        const hit = row.lower.includes(query);
        const underHit = above(rows, index).some((other) => (rows[other] as Branch).lower.includes(query));
        const leadsToHit = rows.some((other, at) => other.lower.includes(query) && above(rows, at).includes(index));
        expect(found.hits.has(index)).toBe(hit);
        expect(found.shown.has(index)).toBe(hit || underHit || leadsToHit);
        expect(found.open.has(index)).toBe(leadsToHit);
      });
    }
  });

  it("shows all and marks nothing without a query", () => {
    const found = findBranches([{ lower: "a", parent: -1 }, { lower: "b", parent: 0 }], " ");
    expect([found.shown.size, found.hits.size, found.open.size]).toEqual([2, 0, 0]);
  });
});
