/* Sorting and filtering of the tables that a page already holds. */
import { button, el, liveLine, searchField, toolsFor } from "./dom";
import { keyOf, matches, nextDirection, order, terms, type Key } from "./rows";

function bodyOf(table: HTMLTableElement): HTMLTableSectionElement | null {
  return table.tBodies[0] ?? null;
}

function keysOf(rows: readonly HTMLTableRowElement[], column: number): Key[] {
  return rows.map((row) => {
    const cell = row.cells[column];
    return cell === undefined ? null : keyOf(cell.getAttribute("data-v"), cell.textContent ?? "");
  });
}

function sortBy(table: HTMLTableElement, header: HTMLTableCellElement): void {
  const body = bodyOf(table);
  if (body === null) return;
  const direction = nextDirection(header.getAttribute("aria-sort"), header.classList.contains("num"));
  const rows = [...body.rows];
  const sorted = document.createDocumentFragment();
  for (const index of order(keysOf(rows, header.cellIndex), direction)) {
    const row = rows[index];
    if (row !== undefined) sorted.append(row);
  }
  body.append(sorted);
  for (const other of table.querySelectorAll(":scope > thead th[aria-sort]")) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", direction);
}

function addSorting(table: HTMLTableElement): void {
  for (const header of table.querySelectorAll<HTMLTableCellElement>(":scope > thead th")) {
    const made = button("", () => sortBy(table, header), { class: "sort" });
    made.append(...header.childNodes);
    header.append(made);
  }
}

/** Filter box beside the heading of the section, with the count of what is left. */
function addFilter(table: HTMLTableElement): void {
  const body = bodyOf(table);
  const box = table.closest(".box") ?? table;
  if (body === null) return;
  const noun = table.getAttribute("data-filter") || "rows";
  const rows = [...body.rows].map((row) => ({ row, lower: (row.textContent ?? "").toLowerCase() }));
  const said = liveLine();
  const field = searchField(`Filter ${noun}`, (query) => apply(query));
  const nothing = el("p", { class: "none", hidden: "" });
  const apply = (query: string) => {
    const wanted = terms(query);
    let shown = 0;
    for (const { row, lower } of rows) {
      const fits = matches(lower, wanted);
      row.hidden = !fits;
      shown += Number(fits);
    }
    said.textContent = wanted.length > 0 ? `${shown} of ${rows.length} ${noun}` : "";
    nothing.hidden = shown > 0 || wanted.length === 0;
    if (!nothing.hidden) {
      const clear = button(`Clear “${query.trim()}”`, () => {
        field.value = "";
        apply("");
        field.focus();
      });
      nothing.replaceChildren(`None of ${rows.length} ${noun} fits. `, clear);
    }
  };
  box.after(nothing);
  const heading = table.closest("section")?.getAttribute("aria-labelledby") ?? "";
  toolsFor(heading, box).append(said, field);
}

/** Add sorting and filters wherever a table asks for them. */
export function enhanceTables(): void {
  for (const table of document.querySelectorAll<HTMLTableElement>("table[data-sort]")) addSorting(table);
  for (const table of document.querySelectorAll<HTMLTableElement>("table[data-filter]")) addFilter(table);
}
