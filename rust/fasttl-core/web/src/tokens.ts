/* From source text to coloured stretches. The tokenizer's tree is walked directly: its HTML output is never used, since
   text of a log must not become markup. That tree is internal to the library; test/tokens.test.ts pins what is read of it. */
import hljs from "highlight.js/lib/core";
import cpp from "highlight.js/lib/languages/cpp";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";

hljs.registerLanguage("cpp", cpp);
hljs.registerLanguage("json", json);
hljs.registerLanguage("python", python);

/** The colours of code; each has a rule `::highlight(tok-…)` in code.css. */
export const COLOURS = ["keyword", "string", "number", "comment", "title", "type"] as const;
export type Colour = (typeof COLOURS)[number];

/** A stretch of text, half open, in UTF-16 units. */
export interface Token {
  readonly start: number;
  readonly end: number;
  readonly scope: string;
}

interface Scoped {
  readonly scope?: string;
  readonly children: readonly (Scoped | string)[];
}

const COLOUR_OF: Readonly<Record<string, Colour>> = {
  keyword: "keyword",
  literal: "keyword",
  operator: "keyword",
  string: "string",
  regexp: "string",
  char: "string",
  number: "number",
  comment: "comment",
  doctag: "comment",
  title: "title",
  attr: "title",
  section: "title",
  type: "type",
  built_in: "type",
  meta: "type",
  variable: "type",
  symbol: "type",
};

/** The colour of a scope such as `title.function`; many scopes have none. */
export function colourOf(scope: string): Colour | null {
  return COLOUR_OF[scope.split(".")[0] ?? ""] ?? null;
}

export function isLanguage(name: string | null): name is string {
  return name !== null && hljs.getLanguage(name) !== undefined;
}

/** Leaves of the token tree: they cover the text without gap or overlap. A leaf without a scope has "". */
export function leaves(text: string, language: string): Token[] {
  const result = hljs.highlight(text, { language, ignoreIllegals: true }) as unknown as { _emitter: { rootNode: Scoped } };
  const found: Token[] = [];
  let at = 0;
  const walk = (node: Scoped, inherited: string): void => {
    const scope = node.scope !== undefined && colourOf(node.scope) !== null ? node.scope : inherited;
    for (const child of node.children) {
      if (typeof child !== "string") walk(child, scope);
      else if (child !== "") found.push({ start: at, end: (at += child.length), scope });
    }
  };
  walk(result._emitter.rootNode, "");
  return found;
}

/** Coloured stretches only; neighbours of one colour are joined, since each becomes an object of the browser. */
export function colouredTokens(text: string, language: string): { start: number; end: number; colour: Colour }[] {
  const joined: { start: number; end: number; colour: Colour }[] = [];
  for (const { start, end, scope } of leaves(text, language)) {
    const colour = colourOf(scope);
    if (colour === null) continue;
    const last = joined[joined.length - 1];
    if (last !== undefined && last.end === start && last.colour === colour) last.end = end;
    else joined.push({ start, end, colour });
  }
  return joined;
}
