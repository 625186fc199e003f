/** Damages asks, answers, bundles and messages of spread limits. Their samples are those of their forms. */

import { type FuzzOutcome, fuzz, subject, subjectOf } from '../../runtime/wire/fuzz.ts';
import { type Bundle, decodeBundle, encodeBundle, packed } from './bundle.ts';
import { answer, toOwner } from './messages.ts';
import { datagram } from './spread.ts';

const bundles = (): readonly Bundle[] => [
  { kind: 'asks', asks: toOwner.samples() },
  { kind: 'answers', answers: answer.samples() },
];

/** A bundle of samples fits one datagram; what damages make of it may need two. */
const rewritten = (bundle: Bundle): Uint8Array => encodeBundle(bundle)[0] ?? new Uint8Array();

/** @throws if a reader throws anything but a refusal, or reads a value that no writer writes */
export const fuzzRatelimit = (runs: number, seed: number): FuzzOutcome =>
  fuzz(
    [
      ...[subjectOf(toOwner), subjectOf(answer), subjectOf(packed), subjectOf(datagram)],
      subject(bundles(), rewritten, decodeBundle),
    ],
    runs,
    seed,
  );
