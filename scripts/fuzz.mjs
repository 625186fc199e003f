/**
 * `npm run fuzz`: bytes that no honest peer would send, through everything that reads bytes from a network:
 * frames and handshakes, the messages of the pool and of transfers between owners, of quorum, of membership and of rate limits, the packets of flease,
 * the plain data of objects, and tokens and the names of their certificates. Each input is refused by an error that is meant for
 * it, or understood and the same when written and read again; anything else ends the run with the seed and
 * the bytes. What a million of them leave in memory is bounded, and printed.
 */

import process from 'node:process';
import { parseArguments } from './arguments.mjs';
import { bundle } from './bundle.mjs';
import { CommandError, runCommand, UsageError } from './command.mjs';
import { GROWTH_BYTES_MAX, KeptMemory } from './fuzz/kept-memory.mjs';

const HELP = `Random, truncated and damaged frames and messages.

  npm run fuzz [-- options]

  --inputs N   how many, as many of each kind (1,000,000)
  --seed S     where chance begins (a new one each time)
  --help       this text`;

/** Between two looks at the memory. */
const CHUNK = 25_000;

/**
 * @param {string | undefined} text
 * @param {number} otherwise
 * @param {string} name
 */
function whole(text, otherwise, name) {
  const number = text === undefined ? otherwise : Number(text.replaceAll(',', '').replaceAll('_', ''));
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new UsageError(`--${name} must be a whole number from 1, but is ${text}`);
}

await runCommand('npm run fuzz --', async () => {
  const { words, flags, values } = parseArguments(process.argv.slice(2), {
    flags: ['help'],
    values: ['inputs', 'seed'],
  });
  if (flags.has('help')) {
    console.log(HELP);
    return 0;
  }
  if (words.length > 0) throw new UsageError(`nothing is expected here, but got ${words.join(' ')}`);
  const inputs = whole(values.inputs, 1_000_000, 'inputs');
  const seed = whole(values.seed, 1 + Math.floor(Math.random() * 0xffff_fffe), 'seed');
  /** @type {{ fuzz(inputs: number, seed: number): object }} */
  const frames = await import(await bundle('leasehold/src/node/tcp/fuzz-script.ts'));
  /** @type {{ fuzzCodec(inputs: number, seed: number): object, fuzzTransfer(inputs: number, seed: number): object }} */
  const messages = await import(await bundle('leasehold/src/pool/wire/fuzz.ts'));
  /** @type {{ fuzzFlease(inputs: number, seed: number): object }} */
  const packets = await import(await bundle('leasehold/src/flease/wire/fuzz.ts'));
  /** @type {{ fuzzQuorum(inputs: number, seed: number): object }} */
  const quorum = await import(await bundle('leasehold/src/quorum/wire/fuzz.ts'));
  /** @type {{ fuzzMembership(inputs: number, seed: number): object }} */
  const membership = await import(await bundle('leasehold/src/membership/wire/fuzz.ts'));
  /** @type {{ fuzzRatelimit(inputs: number, seed: number): object }} */
  const ratelimit = await import(await bundle('leasehold/src/ratelimit/wire/fuzz.ts'));
  /** @type {{ fuzzIdentities(inputs: number, seed: number): object }} */
  const identities = await import(await bundle('leasehold/src/node/identity/fuzz-script.ts'));
  /** @type {{ fuzzPlainData(inputs: number, seed: number): object }} */
  const objects = await import(await bundle('leasehold/src/objects/wire/fuzz.ts'));
  const fuzzers = /** @type {const} */ ([
    ['frames', frames.fuzz],
    ['messages', messages.fuzzCodec],
    ['transfers', messages.fuzzTransfer],
    ['packets', packets.fuzzFlease],
    ['quorum', quorum.fuzzQuorum],
    ['membership', membership.fuzzMembership],
    ['ratelimit', ratelimit.fuzzRatelimit],
    ['identities', identities.fuzzIdentities],
    ['objects', objects.fuzzPlainData],
  ]);

  /** @type {Record<string, number>} */
  const counts = {};
  const memory = new KeptMemory();
  for (let done = 0, chunk = 0; done < inputs; done += CHUNK, chunk += 1) {
    const count = Math.min(CHUNK, inputs - done);
    const [kind, fuzz] = fuzzers[chunk % fuzzers.length] ?? fuzzers[0];
    for (const [what, number] of Object.entries(fuzz(count, seed + chunk))) {
      const name = `${kind} ${what}`;
      counts[name] = (counts[name] ?? 0) + Number(number);
    }
    if (chunk === fuzzers.length - 1) memory.warm();
  }
  const growthBytes = memory.growthBytes();
  if (growthBytes !== undefined && growthBytes > GROWTH_BYTES_MAX)
    throw new CommandError(
      `something keeps memory: ${kilobytes(growthBytes)} KB more after ${inputs} inputs from seed ${seed} than after the first ${fuzzers.length * CHUNK}; at most ${kilobytes(GROWTH_BYTES_MAX)} KB are allowed`,
    );
  for (const [what, number] of Object.entries(counts)) console.log(`${what}: ${number}`);
  console.log(`${inputs} inputs from seed ${seed}, none of them harmful; ${kept(growthBytes)}`);
  return 0;
});

/** @param {number} bytes */
function kilobytes(bytes) {
  return Math.round(bytes / 1024);
}

/** @param {number | undefined} growthBytes */
function kept(growthBytes) {
  return growthBytes === undefined
    ? 'too few to tell whether memory is kept'
    : `they left ${kilobytes(growthBytes)} KB in memory`;
}
