/* The colour setting: follow the system, or one that the reader chose. It is kept for all reports of this browser. */
import { button } from "./dom";

export const THEME_KEY = "fasttl:theme";
export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const LABELS: Readonly<Record<Theme, string>> = { auto: "Auto", light: "Light", dark: "Dark" };

/** What of a `Storage` is needed here. */
export type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;

export function nextTheme(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "auto";
}

/** The kept setting. A browser may forbid its store altogether, and other local pages share it, so anything may be in it. */
export function readTheme(store: () => Store): Theme {
  try {
    const kept = store().getItem(THEME_KEY);
    return THEMES.find((theme) => theme === kept) ?? "auto";
  } catch {
    return "auto";
  }
}

/** Keep a setting; following the system is kept as nothing. Returns whether it could be kept. */
export function keepTheme(store: () => Store, theme: Theme): boolean {
  try {
    if (theme === "auto") store().removeItem(THEME_KEY);
    else store().setItem(THEME_KEY, theme);
    return true;
  } catch {
    return false;
  }
}

function show(theme: Theme): void {
  if (theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
}

/** Put the button into the top bar and apply what was kept. */
export function addThemeButton(): void {
  const store = () => window.localStorage;
  let theme = readTheme(store);
  show(theme);
  const made = button(LABELS[theme], () => set(nextTheme(theme), true), { title: "Colours: as the system has them, light or dark" });
  const set = (chosen: Theme, keep: boolean) => {
    theme = chosen;
    made.textContent = LABELS[theme];
    show(theme);
    if (keep) keepTheme(store, theme);
  };
  document.querySelector("[data-tools]")?.append(made);
  // Another window of the same report changed it.
  window.addEventListener("storage", (event) => {
    if (event.key === THEME_KEY || event.key === null) set(readTheme(store), false);
  });
}
