/* From the address to the place on the page. Compile ids are ids of elements as they are printed (`[0/0]`, `c=0/0`), and
   their place may be inside a closed block, which not every browser opens by itself. */

/** Undo percent-encoding; a fragment that is not validly encoded is taken as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The ids that a fragment may mean, best first: the whole of it as it stands, decoded, then its compile (`c=…&tab=code`). */
export function idsOfHash(hash: string): string[] {
  const raw = hash.startsWith("#") ? hash.slice(1) : hash;
  if (raw === "") return [];
  const found = [raw, decoded(raw)];
  const compile = raw.split("&").find((part) => part.startsWith("c="));
  if (compile !== undefined) found.push(decoded(compile));
  return [...new Set(found)];
}

/** Open every closed block around an element; says whether one was closed. */
function openAround(element: Element): boolean {
  let opened = false;
  for (let at: Element | null = element; at !== null; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement && !at.open) {
      at.open = true;
      opened = true;
    }
  }
  return opened;
}

function show(): void {
  for (const id of idsOfHash(window.location.hash)) {
    const target = document.getElementById(id);
    if (target === null) continue;
    // The browser went there itself, unless the place was closed or the id is not the whole fragment.
    const wentThere = id === window.location.hash.slice(1);
    if (openAround(target) || !wentThere) target.scrollIntoView();
    return;
  }
}

/** Go where the address points, now and whenever it changes. */
export function openTarget(): void {
  window.addEventListener("hashchange", show);
  // A second click on the same link changes no address, yet its block may have been closed since.
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link !== null && link.hash !== "" && link.href === window.location.href) show();
  });
  show();
}

/** Paper has no triangles to click: print what is folded as well, and fold it again afterwards. */
export function openPrintedDetails(): void {
  let opened: HTMLDetailsElement[] = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
    for (const block of opened) block.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const block of opened) block.open = false;
    opened = [];
  });
}
