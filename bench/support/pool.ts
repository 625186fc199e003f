/**
 * A pool as it is once everybody has joined: the rows that look-ups have, the spans that an owner has.
 */

import { Lookup } from '../../leasehold/src/pool/lookup/lookup.ts';
import type { TableRow } from '../../leasehold/src/pool/messages.ts';
import { resolveDurations } from '../../leasehold/src/pool/options.ts';
import { consistentHashing } from '../../leasehold/src/pool/policy/consistent-hashing.ts';
import { instant } from '../../leasehold/src/runtime/time.ts';

export const POOL = 'bench';
export const VIRTUAL_NODES = 64;

export const serverNames = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}:7000`);

/** The rows of a table, as the policy lays them out; a few less than points, where an owner follows itself. */
export function tableRows(servers: readonly string[]): readonly TableRow[] {
  const members = servers.map((name) => ({ name, incarnation: `${name}.1`, load: undefined }));
  const owners = new Map(
    members.map(({ name, incarnation }) => [incarnation, { name, incarnation, url: `http://${name}` }]),
  );
  const placements = consistentHashing({ virtualNodes: VIRTUAL_NODES }).place({ rows: [], members });
  return placements.map(({ start, end, incarnation }, index) => ({
    start,
    end,
    owner: owners.get(incarnation),
    number: index + 1,
    lostAt: 0,
  }));
}

/** A look-up that has heard of these rows. */
export function lookupWith(rows: readonly TableRow[]): Lookup {
  const now = instant(performance.now());
  const settings = {
    pool: POOL,
    id: 'look-up',
    managers: ['manager'],
    durations: resolveDurations(),
    resumeFrom: undefined,
    random: Math.random,
  };
  const lookup = new Lookup(settings, now);
  const changes = { kind: 'changes', pool: POOL, history: 'h', term: 1, from: 0, to: rows.length } as const;
  lookup.receive('manager', { ...changes, rows, answers: undefined }, now);
  return lookup;
}
