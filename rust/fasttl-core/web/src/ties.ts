/* Which lines belong to a line, and where a pane scrolls to, without a page. */

/** The ids in a line's data. */
export function idsOf(data: string | null): string[] {
  return (data ?? "").split(" ").filter((id) => id !== "");
}

/** Where a pane has to scroll for a line at `top` (within its content) of that height to be seen; null if it is in view. */
export function topFor(top: number, height: number, scrolled: number, room: number): number | null {
  if (top >= scrolled && top + height <= scrolled + room) return null;
  return Math.max(0, Math.round(top - room / 3));
}
