/** Damages messages, calls, replies and what is on the disk. Their samples are those of their forms. */

import { type FuzzOutcome, fuzz, subjectOf } from '../../runtime/wire/fuzz.ts';
import { calls, replies } from './calls.ts';
import { frame } from './frames.ts';
import { snapshotPart } from './parts.ts';
import { message } from './messages.ts';

/** @throws if a reader throws anything but a refusal, or reads a value that no writer writes */
export const fuzzQuorum = (runs: number, seed: number): FuzzOutcome =>
  fuzz(
    [subjectOf(message), subjectOf(calls), subjectOf(replies), subjectOf(frame), subjectOf(snapshotPart)],
    runs,
    seed,
  );
