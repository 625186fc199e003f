/**
 * Owners that are there no more, for some minutes, with when and how that was known. An operator that looks a minute after a
 * crash would otherwise see a pool in which nothing seems to have happened.
 */

import type { Gap, LoggedEvent } from './api.ts';
import { element, make } from './elements.ts';
import { model } from './model.ts';
import { clockTime, whyLeft } from './words.ts';

type Left = LoggedEvent & { readonly kind: 'pool.left' };

const SHOWN_FOR_MS = 5 * 60_000;

/** By incarnation, the first that went first. */
const gone = new Map<string, Left>();

export function rememberGone(event: LoggedEvent | Gap): void {
  if (event.kind === 'pool.left') gone.set(event.owner.incarnation, event);
}

/** The last that went first. */
export function showGone(): void {
  const managerMs = Date.now() + model.clockAheadMs;
  for (const [incarnation, { atMs }] of gone) if (managerMs - atMs > SHOWN_FOR_MS) gone.delete(incarnation);
  const shown = [...gone.values()].filter(({ pool }) => pool === model.pool).reverse();
  element('gone', HTMLElement).replaceChildren(...shown.map(goneRow));
}

function goneRow({ owner, atMs, why }: Left): HTMLTableRowElement {
  const row = make('tr');
  row.dataset['why'] = why;
  row.title = `incarnation ${owner.incarnation}`;
  const cell = row.appendChild(make('td'));
  cell.colSpan = 5;
  cell.append(
    make('div', 'name', owner.name),
    make('div', 'url', owner.url),
    make('div', why === 'left' ? 'state' : 'state bad', `${clockTime(atMs)}: ${whyLeft(why)}`),
  );
  return row;
}
