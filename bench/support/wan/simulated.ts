/** The five sites in simulated time, at the paper's size: as many runs at once as there are processors. */

import { availableParallelism } from 'node:os';
import type { LongestWrites } from '../../../leasehold/src/quorum/simulation/sites/holder-loss.ts';
import type { SiteSummary } from '../../../leasehold/src/quorum/simulation/sites/summary.ts';
import type { Workshop } from '../processes/workshop.ts';
import { CLIENTS, KEYS, LOADS, loadWords, type Mode, MODES, type Played, requestsOf } from './scenarios.ts';

export interface Simulated {
  readonly played: readonly Played[];
  readonly powerLoss: LongestWrites;
  readonly stuckDisk: LongestWrites;
}

const SEED = 1;

/** @param share of the requests, to try it out */
export async function simulate(
  workshop: Workshop,
  share: number,
  report: (line: string) => void,
): Promise<Simulated> {
  const bundle = await workshop.bundle('wan/simulated-process');
  const run = async <Result>(command: string, facts: object): Promise<Result> => {
    const program = workshop.start('simulated sites', bundle, {});
    const result = await program.ask<Result>(command, facts);
    program.kill();
    return result;
  };
  const loads = LOADS.flatMap((load) => {
    const modes: readonly Mode[] = load.distribution === 'uniform' ? [...MODES, 'halves'] : MODES;
    return modes.map((mode) => ({ load, mode }));
  });
  // The longest first, so that none is left alone at the end.
  const waiting = loads.sort((a, b) => requestsOf(b.mode, b.load) - requestsOf(a.mode, a.load));
  const played: Played[] = [];
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { load, mode } = next;
      const requestsPerClient = Math.max(100, Math.round(share * requestsOf(mode, load)));
      const size = { keys: KEYS, clientsPerSite: CLIENTS, requestsPerClient, warmUp: requestsPerClient / 2 };
      report(`simulated: ${mode}, ${loadWords(load)}, ${requestsPerClient} requests a client`);
      const { summaries } = await run<{ readonly summaries: readonly SiteSummary[] }>('load', {
        ...{ mode, seed: SEED, ...load, ...size },
      });
      played.push({ ...load, mode, summaries });
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, lane));
  report('simulated: a holder is lost');
  const [powerLoss, stuckDisk] = await Promise.all([
    run<LongestWrites>('lose', { loss: 'power', seed: SEED }),
    run<LongestWrites>('lose', { loss: 'disk', seed: SEED }),
  ]);
  return { played, powerLoss, stuckDisk };
}
