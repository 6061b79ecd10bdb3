// Lines that belong together, and the scrolling of their panes.
import { describe, expect, it } from "vitest";
import { idsOf, topFor } from "../src/ties";
import { randomBelow } from "./random";

describe("ids", () => {
  it("come from the data of a line", () => {
    expect(idsOf("p1t2L4 p1t3L20")).toEqual(["p1t2L4", "p1t3L20"]);
    expect(idsOf("")).toEqual([]);
    expect(idsOf(null)).toEqual([]);
  });
});

describe("scrolling", () => {
  it("leaves a line alone that is in view", () => {
    expect(topFor(120, 20, 100, 300)).toBeNull();
    expect(topFor(390, 20, 100, 300)).not.toBeNull();
    expect(topFor(90, 20, 100, 300)).not.toBeNull();
  });

  it("brings every other line into view", () => {
    const below = randomBelow(7);
    for (let round = 0; round < 200; round += 1) {
      const [top, scrolled, room] = [below(5000), below(5000), 60 + below(600)];
      const place = topFor(top, 20, scrolled, room) ?? scrolled;
      expect(place).toBeGreaterThanOrEqual(0);
      expect(top >= place && top + 20 <= place + room).toBe(true);
    }
  });
});
