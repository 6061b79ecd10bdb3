/* Blocks of code: colours, line numbers and a copy button. The text of the page is not touched. */
import { button, toolsFor } from "./dom";
import { countLines, gutterText, locate } from "./lines";
import { COLOURS, colouredTokens, isLanguage } from "./tokens";

// Above these sizes the tokens of one text cost the reader more time than their colours are worth.
const MAX_COLOURED = 1_000_000;
const MAX_NUMBERED_LINES = 200_000;

/** The text nodes of an element in order. */
function textNodes(element: Element): Text[] {
  const nodes: Text[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) nodes.push(node as Text);
  return nodes;
}

function paint(code: Element, language: string): void {
  const nodes = textNodes(code);
  const tokens = colouredTokens(nodes.map((node) => node.data).join(""), language);
  const places = locate(
    nodes.map((node) => node.data.length),
    tokens.flatMap((token) => [token.start, token.end]),
  );
  tokens.forEach((token, index) => {
    const from = places[2 * index];
    const to = places[2 * index + 1];
    const first = from && nodes[from.piece];
    const last = to && nodes[to.piece];
    if (!from || !to || !first || !last) return;
    const range = new StaticRange({ startContainer: first, startOffset: from.offset, endContainer: last, endOffset: to.offset });
    CSS.highlights.get(`tok-${token.colour}`)?.add(range);
  });
}

function addGutter(block: HTMLElement, text: string): void {
  const lines = countLines(text);
  if (lines > 1 && lines <= MAX_NUMBERED_LINES) block.setAttribute("data-gutter", gutterText(lines));
}

/** Copy where the browser lets a page do so; a page from a disk is one of the places where it may not. */
async function copyText(code: Element): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(code.textContent ?? "");
    return true;
  } catch {
    getSelection()?.selectAllChildren(code);
    return document.execCommand("copy");
  }
}

function addCopy(block: HTMLElement, code: Element): void {
  const box = block.closest(".box") ?? block;
  const made = button("Copy", () => {
    void copyText(code).then((done) => {
      made.textContent = done ? "Copied" : "Selected: press Ctrl+C";
      setTimeout(() => (made.textContent = "Copy"), 2000);
    });
  });
  toolsFor(box.id, box).append(made);
}

/** Improve each block of code on the page. */
export function enhanceCode(): void {
  const blocks = [...document.querySelectorAll<HTMLElement>("pre.code")];
  const canPaint = "highlights" in CSS;
  if (canPaint && blocks.length > 0) {
    for (const colour of COLOURS) CSS.highlights.set(`tok-${colour}`, new Highlight());
  }
  for (const block of blocks) {
    const code = block.querySelector("code") ?? block;
    const text = code.textContent ?? "";
    if (!block.classList.contains("numbered")) addGutter(block, text);
    if (!block.hasAttribute("data-bare")) addCopy(block, code);
    const language = block.getAttribute("data-lang");
    // After the first paint: the text is readable without colours.
    if (canPaint && isLanguage(language) && text.length <= MAX_COLOURED) {
      requestAnimationFrame(() => setTimeout(() => paint(code, language)));
    }
  }
}
