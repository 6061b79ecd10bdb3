// What is read of the tokenizer's internal tree, and that its stretches cover the text whatever it holds.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { COLOURS, colouredTokens, colourOf, isLanguage, leaves } from "../src/tokens";
import { randomBelow } from "./random";

const PYTHON = `# comment\n@decorator\ndef forward(self, s77: "Sym(s77)", L_x_):\n    return L_x_ + 1.5 if None else f"{s77!r}"\n`;
const CPP = `#include <x.h>\nextern "C" void kernel(const float* in_ptr0) { for (long x0 = 0; x0 < 8L; x0 += 1) {} } // end\n`;
const JSON_TEXT = `{"a": [1, true, null, "x\\n"], "b": {}}`;
const TEXTS: readonly (readonly [string, string])[] = [["python", PYTHON], ["cpp", CPP], ["json", JSON_TEXT]];

/** Every stretch begins where the one before it ended, and together they are the text. */
function expectCover(text: string, language: string): void {
  const found = leaves(text, language);
  let at = 0;
  for (const leaf of found) {
    expect(leaf.start).toBe(at);
    expect(leaf.end).toBeGreaterThan(leaf.start);
    at = leaf.end;
  }
  expect(at).toBe(text.length);
}

/** The text of each stretch of one colour. */
function painted(text: string, language: string, colour: string): string[] {
  return colouredTokens(text, language).filter((token) => token.colour === colour).map((token) => text.slice(token.start, token.end));
}

describe("token tree", () => {
  it.each(TEXTS)("covers %s", (language, text) => {
    expectCover(text, language);
    for (let cut = 0; cut < text.length; cut += 1) expectCover(text.slice(0, cut), language);
  });

  it("covers random texts, markup and lone surrogates among them", () => {
    const below = randomBelow(1);
    const bits = ['"', "'''", "\\", "\n", "#", "/*", "*/", "R\"(", "{", "}", "<script>", "&amp;", "def f(", "0x1", "日本", "\ud800", "\udc00", "\0", "\r", " "];
    for (let round = 0; round < 300; round += 1) {
      const text = Array.from({ length: below(30) }, () => bits[below(bits.length)]).join("");
      for (const [language] of TEXTS) expectCover(text, language);
    }
  });

  it("has the scopes that the colours rest on", () => {
    expect(painted(PYTHON, "python", "keyword")).toEqual(expect.arrayContaining(["def", "return", "if", "None"]));
    expect(painted(PYTHON, "python", "title")).toContain("forward");
    expect(painted(PYTHON, "python", "comment")).toEqual(["# comment"]);
    expect(painted(PYTHON, "python", "number")).toContain("1.5");
    expect(painted(PYTHON, "python", "string").join("")).toContain('"Sym(s77)"');
    expect(painted(CPP, "cpp", "type")).toEqual(expect.arrayContaining(["void", "float"]));
    expect(painted(CPP, "cpp", "comment")).toEqual(["// end"]);
    expect(painted(JSON_TEXT, "json", "title")).toEqual(['"a"', '"b"']);
    expect(painted(JSON_TEXT, "json", "number")).toEqual(["1"]);
  });
});

describe("colours", () => {
  it("are in order, do not overlap and never touch one of their own kind", () => {
    for (const [language, text] of TEXTS) {
      const found = colouredTokens(text, language);
      expect(found.length).toBeGreaterThan(3);
      found.slice(1).forEach((token, index) => {
        const last = found[index] as (typeof found)[number];
        expect(token.start).toBeGreaterThanOrEqual(last.end);
        expect(token.start === last.end && token.colour === last.colour).toBe(false);
      });
    }
  });

  it("take the first part of a scope, and only known ones", () => {
    expect(colourOf("title.function")).toBe("title");
    expect(colourOf("punctuation")).toBeNull();
    expect(colourOf("")).toBeNull();
  });

  it("have a rule each in the style sheet", () => {
    const css = readFileSync(new URL("../styles/code.css", import.meta.url), "utf8");
    for (const colour of COLOURS) expect(css).toContain(`::highlight(tok-${colour})`);
  });

  it("exist for the languages of the report only", () => {
    expect(["python", "cpp", "json", "text", "", null].map(isLanguage)).toEqual([true, true, true, false, false, false]);
  });
});
