/** One simulated run of the five sites, or the loss of a holder there, in a process of its own: several of them run at once. */

import { AUTOMATIC, bit, type ReaderMap } from '../../../leasehold/src/quorum/core/configuration.ts';
import { FiveSites } from '../../../leasehold/src/quorum/simulation/sites/five-sites.ts';
import { type Loss, loseHolder } from '../../../leasehold/src/quorum/simulation/sites/holder-loss.ts';
import { SITES } from '../../../leasehold/src/quorum/simulation/sites/round-trips.ts';
import { obey, say } from '../processes/conversation.ts';
import { HALVES, type LoadTask, type Mode } from './scenarios.ts';

/** Seats are the places of the sites. */
const slices = HALVES.map((half) => half.reduce((mask, site) => mask | bit(SITES.indexOf(site)), 0));

function placementOf(mode: Mode): ReaderMap {
  if (mode === 'automatic') return AUTOMATIC;
  return mode === 'halves' ? { mode: 'chosen', slices, objects: new Map(), automatic: undefined } : { mode };
}

function load({ mode, ...options }: LoadTask) {
  const sites = new FiveSites({ ...options, placement: placementOf(mode) });
  sites.found();
  const simulatedMs = sites.run();
  return { simulatedMs, summaries: SITES.map((site) => sites.summary(site)) };
}

const lose = ({ loss, seed }: { readonly loss: Loss; readonly seed: number }) => ({
  ...loseHolder(loss, seed),
});

say('ready');
obey({ load, lose });
