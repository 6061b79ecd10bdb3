/* Find box and folding of the stack tree. */
import { findBranches, type Branch } from "./branches";
import { button, liveLine, searchField, toolsFor } from "./dom";

interface Row extends Branch {
  readonly element: HTMLElement;
}

/** Rows of a tree in page order. The words of a row are its own, without those of the rows below it. */
function rowsOf(tree: Element): Row[] {
  const rows: Row[] = [];
  const indexOf = new Map<Element, number>();
  for (const element of tree.querySelectorAll<HTMLElement>("details, .frame")) {
    const words = element instanceof HTMLDetailsElement ? element.querySelector(":scope > summary") : element;
    const above = element.parentElement?.closest("details") ?? null;
    indexOf.set(element, rows.length);
    rows.push({
      element,
      lower: (words?.textContent ?? "").toLowerCase(),
      parent: above === null ? -1 : (indexOf.get(above) ?? -1),
    });
  }
  return rows;
}

function setOpen(rows: readonly Row[], open: boolean): void {
  for (const { element } of rows) if (element instanceof HTMLDetailsElement) element.open = open;
}

function search(rows: readonly Row[], query: string): string {
  const found = findBranches(rows, query);
  rows.forEach(({ element }, index) => {
    element.hidden = !found.shown.has(index);
    element.classList.toggle("hit", found.hits.has(index));
    if (found.open.has(index) && element instanceof HTMLDetailsElement) element.open = true;
  });
  if (query.trim() === "") return "";
  return found.hits.size === 1 ? "1 frame" : `${found.hits.size} frames`;
}

/** Add the controls to each tree that asks for them. */
export function enhanceTrees(): void {
  for (const box of document.querySelectorAll<HTMLElement>("[data-tree]")) {
    const rows = rowsOf(box);
    const said = liveLine();
    const field = searchField("Find in stacks", (query) => {
      said.textContent = search(rows, query);
    });
    const tools = toolsFor(box.getAttribute("data-tree") ?? "", box);
    tools.append(said, field);
    if (rows.some(({ element }) => element instanceof HTMLDetailsElement)) {
      tools.append(button("Expand all", () => setOpen(rows, true)), button("Collapse all", () => setOpen(rows, false)));
    }
  }
}
