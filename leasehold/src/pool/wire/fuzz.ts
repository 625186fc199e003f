/** Damages the messages of both directions, to and from Managers and between owners. Their samples are those of their forms. */

import {
  envelopeSubject,
  type FuzzOutcome,
  fuzz,
  subjectOf,
  TELLING_ENVELOPE,
} from '../../runtime/wire/fuzz.ts';
import { fromManager, toManager } from './messages.ts';
import { transferForms } from './transfer.ts';

/** @throws if a reader throws anything but a refusal, or reads a message that no writer writes */
export const fuzzCodec = (runs: number, seed: number): FuzzOutcome =>
  fuzz([envelopeSubject(toManager), envelopeSubject(fromManager)], runs, seed, TELLING_ENVELOPE);

/** @throws as {@link fuzzCodec} */
export const fuzzTransfer = (runs: number, seed: number): FuzzOutcome =>
  fuzz([subjectOf(transferForms.fromSource), subjectOf(transferForms.fromTarget)], runs, seed);
