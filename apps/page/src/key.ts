/** Where a key is, and why. */

import { ask, type ExplainAnswer, poolPath } from './api.ts';
import { element, make } from './elements.ts';
import { model } from './model.ts';
import { drawRing } from './ring.ts';

/** Also again when things have changed, for as long as the question stands. */
export async function explainKey(): Promise<void> {
  const { key, pool } = model;
  if (key === undefined) return;
  try {
    const found = await ask<ExplainAnswer>(poolPath(pool, `/explain?key=${encodeURIComponent(key)}`));
    if (key !== model.key || pool !== model.pool) return; // Somebody has asked something else meanwhile.
    model.keyPosition = found.hash;
    answer([ownerWords(found), ...found.sentences]);
    drawRing();
  } catch (error) {
    answer([error instanceof Error ? error.message : String(error)]);
  }
}

function ownerWords({ owner, number, waitsMs }: ExplainAnswer): string {
  if (waitsMs !== null) return 'not known yet';
  return owner === null ? 'no owner at the moment' : `${owner.name} owns it, number ${number}`;
}

const answer = (sentences: readonly string[]): void =>
  element('answer', HTMLElement).replaceChildren(...sentences.map((sentence) => make('p', '', sentence)));
