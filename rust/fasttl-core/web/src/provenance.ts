/* Graphs beside generated code: choosing a line marks those that belong to it in the other panes and scrolls these panes, never
   the page. The numbers of such lines are links, so that they can be followed without this script and with the keyboard. */
import { idsOf, topFor } from "./ties";

const CHOSEN = "chosen";
const WITH = "with";
const NEAR = "near";

function clear(part: Element, ...marks: string[]): void {
  for (const mark of marks) for (const line of part.querySelectorAll(`.l.${mark}`)) line.classList.remove(mark);
}

/** The lines that belong to a line, by its data. */
function linesOf(line: Element): HTMLElement[] {
  return idsOf(line.getAttribute("data-to"))
    .map((id) => document.getElementById(id))
    .filter((found) => found !== null);
}

/** Scroll a pane so that the line stands in its upper third. */
function scrollTo(pane: HTMLElement, line: HTMLElement): void {
  const top = line.getBoundingClientRect().top - pane.getBoundingClientRect().top + pane.scrollTop;
  const place = topFor(top, line.offsetHeight, pane.scrollTop, pane.clientHeight);
  if (place !== null) pane.scrollTop = place;
}

function choose(part: Element, line: HTMLElement): void {
  clear(part, CHOSEN, WITH, NEAR);
  line.classList.add(CHOSEN);
  const scrolled = new Set<HTMLElement | null>([line.closest<HTMLElement>("[data-pane]")]);
  for (const other of linesOf(line)) {
    other.classList.add(WITH);
    const pane = other.closest<HTMLElement>("[data-pane]");
    // The first line of each pane is the one to see: those of the code begin with its definition or call.
    if (pane === null || scrolled.has(pane)) continue;
    scrolled.add(pane);
    scrollTo(pane, other);
  }
}

function tiedLine(event: Event): HTMLElement | null {
  return event.target instanceof Element ? event.target.closest<HTMLElement>(".l.tied") : null;
}

function enhancePart(part: HTMLElement): void {
  part.addEventListener("click", (event) => {
    const line = tiedLine(event);
    if (line === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
    // A click that ends the selection of text is none.
    const selected = getSelection();
    const onNumber = event.target instanceof Element && event.target.closest("a") !== null;
    if (!onNumber && selected !== null && !selected.isCollapsed) return;
    event.preventDefault();
    choose(part, line);
  });
  part.addEventListener("pointerover", (event) => {
    clear(part, NEAR);
    const line = tiedLine(event);
    if (line !== null) for (const other of [line, ...linesOf(line)]) other.classList.add(NEAR);
  });
  part.addEventListener("pointerleave", () => clear(part, NEAR));
  part.addEventListener("keydown", (event) => {
    if (event.key === "Escape") clear(part, CHOSEN, WITH, NEAR);
  });
}

/** Make each part of the page answer to clicks. */
export function enhanceProvenance(): void {
  for (const part of document.querySelectorAll<HTMLElement>("[data-part]")) enhancePart(part);
}
