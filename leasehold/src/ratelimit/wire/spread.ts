/** Messages of spread limits and group totals as bytes, in datagrams of a group. Counts are varints, amounts and settings doubles. */

import { Flaw } from '../../runtime/msgpack/flaw.ts';
import {
  checked,
  decode,
  encode,
  flag,
  type Form,
  list,
  ruled,
  text,
  union,
  upTo,
  whole,
  wholeUpTo,
  withSamples,
} from '../../runtime/wire/form.ts';
import type { SpreadMessage } from '../core/spread/messages.ts';
import { finite, versioned } from './bounds.ts';

/** No kind of the form before, in which this was the first byte. */
const VERSION = 9;
/** An id of a view, or the key of a process with its name. */
const TEXT_BYTES_MAX = 1_024;
const NAMES_MAX = 256;
const NUMBERS_MAX = 2;

const name = checked(text(TEXT_BYTES_MAX), (value) => value !== '', 'must not be empty');
/** Sums of such numbers stay finite. */
const amount = upTo(Number.MAX_SAFE_INTEGER);
const servers = checked(wholeUpTo(NAMES_MAX), (value) => value > 0, `must be from 1 to ${NAMES_MAX}`);

const declared = union<'kind', SpreadMessage>('kind', {
  word: {
    ...{ view: name, from: name, maxServers: servers },
    ...{ tokensPerSecond: amount, burst: amount, isRepeated: flag },
  },
  show: { view: name, demand: amount, credits: amount, parts: amount, blacklist: list(name, NAMES_MAX) },
  transfer: { line: name, lo: whole, cur: whole, amount: list(finite(), NUMBERS_MAX) },
  acknowledgement: { line: name, seen: whole },
  settle: { line: name, cur: whole },
  settled: { line: name, cur: whole, seen: whole },
  probe: { isAnswer: flag },
});

const message: Form<SpreadMessage> = ruled(
  withSamples(declared, () =>
    declared
      .samples()
      .map((sample) =>
        sample.kind === 'transfer' ? { ...sample, lo: 0, cur: Math.max(1, sample.cur) } : sample,
      ),
  ),
  (sample) => {
    if (sample.kind === 'transfer' && sample.lo >= sample.cur) throw new Flaw('must be above lo', 'cur');
    return sample;
  },
);

/** @internal For the fuzzer. */
export const datagram: Form<{ readonly version: number; readonly message: SpreadMessage }> = versioned(
  VERSION,
  message,
);

export const encodeSpread = (given: SpreadMessage): Uint8Array =>
  encode(datagram, { version: VERSION, message: given });

/** @throws {MalformedMessageError} and nothing else */
export const decodeSpread = (bytes: Uint8Array): SpreadMessage => decode(datagram, bytes).message;
