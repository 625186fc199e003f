/**
 * One thread that plays seeds: told which bundle and which seeds, it answers with one outcome after
 * the other. It keeps nothing between seeds but the modules it has loaded.
 */

import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { parentPort } from 'node:worker_threads';
import { whereThisThreadIs } from './thread-time.mjs';

/** @import { Simulation, SeedOutcome } from '../../leasehold/src/sim/simulation.ts' */

/** @typedef {{ readonly bundle: string, readonly first: number, readonly count: number, readonly trace: boolean, readonly scenarios: boolean }} Chunk */
/** @typedef {{ readonly where: string | undefined } | { readonly outcome: SeedOutcome } | { readonly unusable: string } | { readonly done: true }} Answer */

process.setSourceMapsEnabled(true);

/** @type {(answer: Answer) => void} */
const answer = (message) => parentPort?.postMessage(message);

answer({ where: whereThisThreadIs() });

parentPort?.on('message', (/** @type {Chunk} */ chunk) => {
  play(chunk).then(
    () => answer({ done: true }),
    (error) => answer({ unusable: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});

/** @param {Chunk} chunk */
async function play({ bundle, first, count, trace, scenarios }) {
  /** @type {{ simulation: Simulation }} */
  const { simulation } = await import(pathToFileURL(bundle).href);
  for (let seed = first; seed < first + count; seed += 1) {
    answer({ outcome: await playSeed(simulation, seed, { trace, scenarios }) });
  }
}

/**
 * @param {Simulation} simulation
 * @param {number} seed
 * @param {{ trace: boolean, scenarios: boolean }} options
 * @returns {Promise<SeedOutcome>}
 */
async function playSeed(simulation, seed, options) {
  try {
    const outcome = await simulation.run(seed, options);
    // A turn of the loop: what nobody caught shows now, and is laid to the seed that caused it.
    await new Promise((resolve) => setImmediate(resolve));
    return { ...outcome, seed };
  } catch (error) {
    const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
    return {
      seed,
      broken: { promise: 'assertion', message: `${name}: ${message}` },
      counts: {},
      trace: options.trace ? (stack ?? message).split('\n') : undefined,
    };
  }
}
