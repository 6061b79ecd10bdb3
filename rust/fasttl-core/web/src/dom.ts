/* The one place that makes elements. Text becomes text nodes, never markup: words of a log may stand in it. */

type Props = Readonly<Record<string, string>>;

/** Make an element with attributes and children. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Make a button that runs `action`. */
export function button(label: string, action: () => void, props: Props = {}): HTMLButtonElement {
  const made = el("button", { type: "button", ...props }, label);
  made.addEventListener("click", action);
  return made;
}

/** Make a search field; `Escape` clears it. */
export function searchField(label: string, changed: (query: string) => void): HTMLInputElement {
  const field = el("input", { type: "search", placeholder: label, "aria-label": label, autocomplete: "off", spellcheck: "false" });
  field.addEventListener("input", () => changed(field.value));
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || field.value === "") return;
    event.preventDefault();
    field.value = "";
    changed("");
  });
  return field;
}

/** A line that screen readers speak when it changes. */
export function liveLine(): HTMLSpanElement {
  return el("span", { class: "said", role: "status" });
}

/** The place for controls beside the heading with this id; made before `fallback` where a page has none. */
export function toolsFor(id: string, fallback: Element): Element {
  for (const place of document.querySelectorAll("[data-tools-for]")) {
    if (place.getAttribute("data-tools-for") === id) return place;
  }
  const made = el("div", { class: "tools" });
  fallback.before(made);
  return made;
}
