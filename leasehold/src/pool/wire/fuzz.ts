/** Damages the messages of both directions. Their samples are those of their forms. */

import { envelopeSubject, type FuzzOutcome, fuzz, TELLING_ENVELOPE } from '../../runtime/wire/fuzz.ts';
import { fromManager, toManager } from './messages.ts';

/** @throws if a reader throws anything but a refusal, or reads a message that no writer writes */
export const fuzzCodec = (runs: number, seed: number): FuzzOutcome =>
  fuzz([envelopeSubject(toManager), envelopeSubject(fromManager)], runs, seed, TELLING_ENVELOPE);
