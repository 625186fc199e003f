/**
 * The limits of single values, and of the number of items.
 */

import { hasControls } from '../../runtime/printable.ts';
import { type Entry, hexadecimal, text } from '../../runtime/wire/envelope.ts';
import { Flaw } from '../../runtime/msgpack/flaw.ts';
import { checked } from '../../runtime/wire/form.ts';
import type { Intent } from '../core/messages.ts';

/** The longest name of anything: pool, owner, incarnation, look-up, history, proof. In UTF-16 units, as `length` counts. */
export const LONGEST_NAME = 256;
export const LONGEST_URL = 2_048;
export const LONGEST_SECRET = 512;
export const LONGEST_SENTENCE = 4_096;
/** Spans that one owner can hold, or have released. */
export const MOST_SPANS = 100_000;
/** Rows that the table of one pool can have. */
export const MOST_ROWS = 1_000_000;

export const name: Entry<string> = text(LONGEST_NAME);
export const url: Entry<string> = text(LONGEST_URL);

/**
 * Text that a user chooses and that others read on terminals and in logs. A Manager accepts no other text; text that
 * an older Manager accepted is in the log, and is read from there and by look-ups unchanged.
 */
const chosen = (entry: Entry<string>): Entry<string> =>
  checked(entry, (value) => !hasControls(value), 'must have no control or invisible characters in it');
export const chosenName: Entry<string> = chosen(name);
export const chosenUrl: Entry<string> = chosen(url);

export const secret: Entry<string> = text(LONGEST_SECRET);
export const sentence: Entry<string> = text(LONGEST_SENTENCE);

export const stamp: Entry<string> = hexadecimal(16);
const INTENTS: readonly Intent[] = ['stay', 'cordoned', 'emptying', 'draining'];
const isIntent = (value: string): value is Intent => INTENTS.some((intent) => intent === value);
/** An intent of a later version must not be taken for another. */
export const intent: Entry<Intent> = {
  write: (into, value) => name.write(into, value),
  read: (value) => {
    const read = name.read(value);
    if (isIntent(read)) return read;
    throw new Flaw(`must be one of ${INTENTS.join(', ')}`);
  },
  samples: () => INTENTS,
};

export const publicKey: Entry<string> = hexadecimal(32);
export const signature: Entry<string> = hexadecimal(64);
