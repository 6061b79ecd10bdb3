// Line numbers, and places in a text that is cut into pieces.
import { describe, expect, it } from "vitest";
import { countLines, gutterText, locate } from "../src/lines";
import { randomBelow } from "./random";

describe("line numbers", () => {
  it.each([
    ["", 0],
    ["a", 1],
    ["a\n", 1],
    ["\n", 1],
    ["a\nb", 2],
    ["a\n\n", 2],
    ["\n\n\nx", 4],
    ["a\r\nb\r\n", 2],
  ])("%j", (text, lines) => {
    expect(countLines(text)).toBe(lines);
  });

  it("numbers from 1 without a break at the end", () => {
    expect(gutterText(0)).toBe("");
    expect(gutterText(1)).toBe("1");
    expect(gutterText(3)).toBe("1\n2\n3");
    expect(gutterText(1000).split("\n").map(Number)).toEqual(Array.from({ length: 1000 }, (_, index) => index + 1));
  });
});

describe("locate", () => {
  it("finds each position in its piece", () => {
    const below = randomBelow(5);
    for (let round = 0; round < 300; round += 1) {
      const lengths = Array.from({ length: 1 + below(8) }, () => below(6));
      const total = lengths.reduce((sum, length) => sum + length, 0);
      const positions = Array.from({ length: below(10) }, () => below(total + 1)).sort((a, b) => a - b);
      locate(lengths, positions).forEach(({ piece, offset }, index) => {
        const before = lengths.slice(0, piece).reduce((sum, length) => sum + length, 0);
        expect(before + offset).toBe(positions[index]);
        expect(offset).toBeGreaterThanOrEqual(0);
        expect(offset).toBeLessThanOrEqual(lengths[piece] as number);
      });
    }
  });
});
