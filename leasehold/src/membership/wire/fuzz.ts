/** Damages messages of a group. Their samples are those of their forms. */

import { type FuzzOutcome, fuzz, subjectOf } from '../../runtime/wire/fuzz.ts';
import { message } from './messages.ts';

/** Kinds, places of ids, lengths that are long, and beginnings of doubles that are no numbers. */
const TELLING: readonly number[] = [0, 1, 2, 3, 4, 8, 9, 0x7f, 0x80, 0x81, 0xff, 0xf0, 0x42];

/** @throws {Error} naming the input, if a reader throws anything but a refusal, or reads a value that no writer writes */
export const fuzzMembership = (runs: number, seed: number): FuzzOutcome =>
  fuzz([subjectOf(message)], runs, seed, TELLING);
