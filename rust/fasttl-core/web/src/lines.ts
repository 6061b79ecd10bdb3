/* Line numbers as text, and places in a text that is spread over several nodes. */

/** Number of lines that a text shows; a line break at its end starts no further line. */
export function countLines(text: string): number {
  if (text === "") return 0;
  let breaks = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) breaks += 1;
  return text.endsWith("\n") ? breaks : breaks + 1;
}

/** "1\n2\n…\nn". */
export function gutterText(lines: number): string {
  return Array.from({ length: lines }, (_, index) => index + 1).join("\n");
}

/** For each position (ascending) in the joined text: the piece it falls into, and its place there. A position between two
    pieces belongs to the earlier one, so that no range begins behind the text it paints. */
export function locate(lengths: readonly number[], positions: readonly number[]): { piece: number; offset: number }[] {
  let piece = 0;
  let before = 0;
  return positions.map((position) => {
    while (piece < lengths.length - 1 && position > before + (lengths[piece] ?? 0)) {
      before += lengths[piece] ?? 0;
      piece += 1;
    }
    return { piece, offset: position - before };
  });
}
