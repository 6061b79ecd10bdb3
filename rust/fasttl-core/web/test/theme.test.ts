// The colour setting: order of the button, and a store that may hold anything or refuse.
import { describe, expect, it } from "vitest";
import { keepTheme, nextTheme, readTheme, THEME_KEY, THEMES, type Store } from "../src/theme";

function memory(start: Record<string, string> = {}): Store & { kept: Map<string, string> } {
  const kept = new Map(Object.entries(start));
  return {
    kept,
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
  };
}

const refused = (): Store => {
  throw new Error("storage is switched off");
};

describe("theme", () => {
  it("goes round auto, light, dark", () => {
    expect(THEMES.map(nextTheme)).toEqual(["light", "dark", "auto"]);
  });

  it("reads back what it kept", () => {
    for (const theme of THEMES) {
      const store = memory({ [THEME_KEY]: "dark" });
      expect(keepTheme(() => store, theme)).toBe(true);
      expect(readTheme(() => store)).toBe(theme);
    }
  });

  it("uses the agreed key and keeps nothing for auto", () => {
    const store = memory();
    keepTheme(() => store, "dark");
    expect([...store.kept]).toEqual([["fasttl:theme", "dark"]]);
    keepTheme(() => store, "auto");
    expect(store.kept.size).toBe(0);
  });

  it.each(["", "DARK", "toString", "<b>", "auto "])("takes %j from another page as auto", (value) => {
    expect(readTheme(() => memory({ [THEME_KEY]: value }))).toBe("auto");
  });

  it("works without a store", () => {
    expect(readTheme(refused)).toBe("auto");
    expect(keepTheme(refused, "dark")).toBe(false);
  });
});
