/** Damages plain data of all kinds. */

import { Buffer } from 'node:buffer';
import { type FuzzOutcome, fuzz, type Subject, TELLING_ENVELOPE } from '../../runtime/wire/fuzz.ts';
import { decodePlain, encodePlain } from './plain-data.ts';

const dated = (ms: number): Date => Reflect.construct(Date, [ms]) as Date;

/** All kinds of plain data, nested in each other. */
export const SAMPLES: readonly unknown[] = [
  [
    null,
    undefined,
    true,
    false,
    0,
    127,
    255,
    65_535,
    2 ** 32,
    Number.MAX_SAFE_INTEGER,
    -1,
    -0,
    0.5,
    Number.NaN,
  ],
  ['', 'text', 'ß€😀', 'x'.repeat(300)],
  { a: { b: { c: [[], {}, [{}]] } }, 'not a name': 1, undefined },
  [0n, 1n, -1n, 2n ** 64n, -(2n ** 100n)],
  [dated(0), dated(1_795_000_000_000), dated(Number.NaN)],
  [new Uint8Array(), Uint8Array.of(1, 2, 255), new Uint8Array(300)],
  new Map<unknown, unknown>([
    ['a', 1],
    [2, new Map([['b', new Set([1, 'two'])]])],
    [undefined, new Set()],
  ]),
  Array.from({ length: 20 }, (_, index) => ({ index })),
];

/** Compared as bytes: Node takes two invalid dates for different. */
function pass(bytes: Uint8Array): void {
  const written = encodePlain('value', decodePlain(bytes));
  const again = encodePlain('value', decodePlain(written));
  if (Buffer.compare(written, again) !== 0) throw new Error('read back as something else');
}

const plain: Subject = { frames: SAMPLES.map((value) => encodePlain('value', value)), pass };

/** Extensions, and heads that are long. */
const TELLING: readonly number[] = [...TELLING_ENVELOPE, 0xd4, 0xd7, 0xc8, 1, 2, 3, 4, 5];

/** @throws if the reader throws anything but a refusal, or reads a value that is written as another */
export function fuzzPlainData(runs: number, seed: number): FuzzOutcome {
  return fuzz([plain], runs, seed, TELLING);
}
