/**
 * Columns under one another, two spaces apart; numbers to the right.
 *
 * @param {readonly (readonly (string | number)[])[]} rows
 * @returns {string[]} a line per row
 */
export function table(rows) {
  /** @type {number[]} */
  const widths = [];
  for (const row of rows) {
    row.forEach((cell, at) => (widths[at] = Math.max(widths[at] ?? 0, String(cell).length)));
  }
  return rows.map((row) =>
    row
      .map((cell, at) =>
        typeof cell === 'number' ? String(cell).padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
}
