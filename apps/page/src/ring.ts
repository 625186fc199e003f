/** The ring of keys: who owns what, what was lost a moment ago, and where the key is that was asked for. */

import type { PoolSummary, RowAnswer } from './api.ts';
import { colourOf, styleColour } from './colours.ts';
import { element, make } from './elements.ts';
import { model } from './model.ts';
import { counted } from './words.ts';

/** More borders than this are a grey veil. */
const MOST_BORDERS = 500;
const MARGIN = 16;
/** Of the whole width. */
const THICKNESS = 0.11;
const REDRAW_WHILE_MARKED_MS = 500;

/** In pixels of the page, from the middle. */
interface Ring {
  readonly pen: CanvasRenderingContext2D;
  readonly middle: number;
  readonly outer: number;
  readonly inner: number;
}

export function drawRing(): void {
  const canvas = element('ring', HTMLCanvasElement);
  const pen = canvas.getContext('2d');
  const size = canvas.clientWidth;
  if (size === 0 || pen === null) return;
  const scale = devicePixelRatio || 1;
  const pixels = Math.round(size * scale);
  if (canvas.width !== pixels) canvas.width = canvas.height = pixels;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, size, size);
  const outer = size / 2 - MARGIN;
  const ring: Ring = { pen, middle: size / 2, outer, inner: outer - size * THICKNESS };
  const rows = model.table?.rows ?? [];
  drawEmpty(ring, rows.length > 0);
  for (const row of rows) drawOwned(ring, row);
  const isSomethingMarked = drawLost(ring, rows);
  if (rows.length < MOST_BORDERS) drawBorders(ring, rows);
  if (model.keyPosition !== undefined) drawPin(ring, angleOf(turnOf(model.keyPosition)));
  if (isSomethingMarked) setTimeout(() => requestAnimationFrame(drawRing), REDRAW_WHILE_MARKED_MS);
}

/** What stands inside the ring. */
export function showMiddle(pool: PoolSummary | undefined): void {
  if (pool === undefined) {
    middleText('0', 'no pool yet', 'one appears when the first owner joins');
    return;
  }
  const { rows = [], rowCount = 0 } = model.table ?? {};
  const lines = [
    `${pool.owners === 1 ? 'owner' : 'owners'}, ${counted(rowCount, 'range')}`,
    counted(pool.lookups, 'look-up'),
  ];
  if (pool.unownedPercent > 0) lines.push(`${pool.unownedPercent} % unowned`);
  else if ((pool.misplacedPercent ?? 0) > 0) lines.push(`${pool.misplacedPercent} % to be moved`);
  if (rows.length < rowCount) lines.push(`drawn: the first ${rows.length}`);
  middleText(String(pool.owners), ...lines);
}

function middleText(number: string, ...lines: readonly string[]): void {
  const shown = [make('strong', '', number), ...lines.map((line) => make('div', '', line))];
  element('middle', HTMLElement).replaceChildren(...shown);
}

/** Out of the 16 hexadecimal digits of a position, from 0 to 1. */
const turnOf = (position: string): number => Number.parseInt(position.slice(0, 8), 16) / 2 ** 32;

/** The ring begins at the top and goes on clockwise. */
const angleOf = (turn: number): number => (turn - 0.25) * 2 * Math.PI;

function drawEmpty({ pen, middle, outer, inner }: Ring, isThick: boolean): void {
  pen.beginPath();
  pen.arc(middle, middle, (outer + inner) / 2, 0, 2 * Math.PI);
  stroke(pen, styleColour('--empty'), isThick ? outer - inner : 2);
}

function drawOwned(ring: Ring, row: RowAnswer): void {
  if (row.owner === null) return;
  const { pen, outer, inner } = ring;
  pen.globalAlpha = model.litOwner === undefined || model.litOwner === row.owner ? 1 : 0.18;
  traceRow(ring, row, (outer + inner) / 2);
  stroke(pen, colourOf(row.ownerName ?? row.owner), outer - inner);
  pen.globalAlpha = 1;
}

/** @returns whether there is anything that has to be taken away again */
function drawLost(ring: Ring, rows: readonly RowAnswer[]): boolean {
  const now = performance.now();
  for (const [position, until] of model.lostUntil) if (until <= now) model.lostUntil.delete(position);
  for (const row of rows.filter(({ lostAt }) => model.lostUntil.has(lostAt))) {
    traceRow(ring, row, ring.outer + 5);
    stroke(ring.pen, styleColour('--bad'), 4);
  }
  return model.lostUntil.size > 0;
}

function drawBorders({ pen, middle, outer, inner }: Ring, rows: readonly RowAnswer[]): void {
  pen.beginPath();
  for (const { start } of rows) {
    const [x, y] = direction(angleOf(turnOf(start)));
    pen.moveTo(middle + inner * x, middle + inner * y);
    pen.lineTo(middle + outer * x, middle + outer * y);
  }
  stroke(pen, styleColour('--card'), 0.7);
}

/** A pin through the ring at the key. */
function drawPin({ pen, middle, outer, inner }: Ring, angle: number): void {
  const [x, y] = direction(angle);
  pen.beginPath();
  pen.moveTo(middle + (inner - 8) * x, middle + (inner - 8) * y);
  pen.lineTo(middle + (outer + 8) * x, middle + (outer + 8) * y);
  stroke(pen, styleColour('--ink'), 2.5);
  pen.beginPath();
  pen.arc(middle + (outer + 9) * x, middle + (outer + 9) * y, 5, 0, 2 * Math.PI);
  pen.fillStyle = styleColour('--ink');
  pen.fill();
}

/** One that ends where the ring begins ends at a whole turn. */
function traceRow({ pen, middle }: Ring, { start, end }: RowAnswer, radius: number): void {
  pen.beginPath();
  pen.arc(middle, middle, radius, angleOf(turnOf(start)), angleOf(turnOf(end) || 1));
}

const direction = (angle: number): readonly [x: number, y: number] => [Math.cos(angle), Math.sin(angle)];

function stroke(pen: CanvasRenderingContext2D, colour: string, width: number): void {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.stroke();
}
