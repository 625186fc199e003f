/**
 * The lines of one incarnation of a process of a world, for the production carrier of moves: what arrives while the process is stopped waits until
 * it runs, and nothing reaches it after its death.
 *
 * Keys of such an incarnation are its name in hexadecimal, because the wire has keys of a fixed length; a signature is a hash.
 */

import { digest } from '../../../runtime/digest.ts';
import type { Signer, Verifier } from '../../../runtime/signing.ts';
import type { SimProcess, SimRuntime } from '../../../sim/process.ts';
import type { Carriage, LineEnd } from '../../shell/moves/carriage.ts';
import type { SimulatedLines } from '../moves/simulated-lines.ts';

export function processCarriage(lines: SimulatedLines, process: SimProcess, runtime: SimRuntime): Carriage {
  const carriage = lines.carriage(`${process.name}:1`);
  const awake = (run: () => void): void => {
    if (runtime.alive) process.perform(run);
  };
  const asleepToo = (end: LineEnd): LineEnd => ({
    received: (frame) => awake(() => end.received(frame)),
    closed: (why) => awake(() => end.closed(why)),
  });
  return {
    address: carriage.address,
    accept: (callback) => carriage.accept((line) => asleepToo(callback(line))),
    dial: (address, toName, end) =>
      carriage.dial(address, toName, {
        ...asleepToo(end),
        opened: (line) => awake(() => end.opened(line)),
      }),
    [Symbol.asyncDispose]: () => carriage[Symbol.asyncDispose](),
  };
}

const KEY_DIGITS = 64;
const SIGNATURE_DIGITS = 128;

const signatureOf = (key: string, bytes: Uint8Array): string =>
  digest(`the secret of ${key} ${Buffer.from(bytes).toString('latin1')}`)
    .repeat(SIGNATURE_DIGITS)
    .slice(0, SIGNATURE_DIGITS);

export function carriageSigner(incarnation: string): Signer {
  const key = Buffer.from(incarnation).toString('hex').padEnd(KEY_DIGITS, '0');
  return { incarnation, key, sign: (bytes) => signatureOf(key, bytes) };
}

export const carriageVerifier: Verifier = {
  incarnationOf: (key) => Buffer.from(key, 'hex').toString().replaceAll('\0', ''),
  isSigned: (key, bytes, signature) => signature === signatureOf(key, bytes),
};
