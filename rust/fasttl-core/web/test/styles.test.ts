// Promises of the style sheets: text can be read on every ground, both dark sets are one, and nothing is fetched.
import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";

const folder = new URL("../styles/", import.meta.url);
const sheets = readdirSync(folder).filter((name) => name.endsWith(".css"));
const text = (name: string) => readFileSync(new URL(name, folder), "utf8");

/** The colours that the n-th rule of tokens.css sets. */
function colours(rule: number): Map<string, string> {
  const body = [...text("tokens.css").matchAll(/:root[^{]*\{([^}]*)\}/g)][rule]?.[1] ?? "";
  return new Map([...body.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6});/g)].map((found) => [found[1] ?? "", found[2] ?? ""]));
}

/** Relative luminance as WCAG 2 defines it. */
function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [high = 0, low = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

const light = colours(0);
const dark = colours(1);

describe("colours", () => {
  it("are measured rightly", () => {
    expect(contrast("#000000", "#ffffff")).toBeCloseTo(21, 5);
    expect(contrast("#777777", "#ffffff")).toBeCloseTo(4.48, 2);
  });

  it.each([["light", light], ["dark", dark]] as const)("of text reach 4.5 to 1 on each ground: %s", (_, set) => {
    const inks = [...set.keys()].filter((name) => !/^(bg|panel|line|mark|gone|came|ph-.*)$/.test(name));
    expect(inks.length).toBe(14);
    for (const ink of inks) {
      for (const ground of ["bg", "panel", "mark", "gone", "came"]) {
        expect(contrast(set.get(ink) ?? "", set.get(ground) ?? ""), `${ink} on ${ground}`).toBeGreaterThanOrEqual(4.5);
      }
    }
  });

  it("are the same in both dark sets, and each has a light one", () => {
    expect(dark.size).toBeGreaterThan(0);
    expect([...colours(2)]).toEqual([...dark]);
    expect([...dark.keys()]).toEqual([...light.keys()]);
  });
});

describe("style sheets", () => {
  it.each(sheets)("%s fetches nothing", (name) => {
    const own = text(name).replace(/@import "\.\/[a-z]+\.css";/g, "");
    expect(own).not.toMatch(/url\(|@import|https?:/);
  });

  it("all stand in app.css", () => {
    const imported = [...text("app.css").matchAll(/@import "\.\/(.+?)";/g)].map((found) => found[1]);
    expect(imported.sort()).toEqual(sheets.filter((name) => name !== "app.css"));
  });
});
