/**
 * A pool as it is once everybody has joined: the rows that look-ups have, the spans that an owner has.
 */

import { Lookup } from '../../leasehold/src/pool/lookup/lookup.ts';
import type { TableRow } from '../../leasehold/src/pool/messages.ts';
import { ownerPace, resolveDurations } from '../../leasehold/src/pool/options.ts';
import { Owner } from '../../leasehold/src/pool/owner/owner.ts';
import { consistentHashing } from '../../leasehold/src/pool/policy/consistent-hashing.ts';
import type { Span } from '../../leasehold/src/runtime/keys/range.ts';
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
  lookup.receive('manager', { ...changes, rows, answers: undefined, pace: undefined }, now);
  return lookup;
}

/** The number under which {@link ownerOf} holds everything: what one commit grants has one number. */
export const NUMBER = 1;
const LEASE_MS = 3_600_000;

/** An owner that has been granted these spans, for longer than any measurement takes. */
export function ownerOf(spans: readonly Span[]): Owner {
  const now = instant(performance.now());
  const identity = { pool: POOL, incarnation: 'a.1', name: 'a', url: 'http://a', proof: undefined };
  const owner = new Owner(
    {
      identity,
      managers: ['manager'],
      durations: resolveDurations(),
      loads: false,
      flushes: false,
      random: Math.random,
    },
    now,
  );
  owner.wake(now);
  owner.receive(
    'manager',
    {
      kind: 'update',
      pool: POOL,
      incarnation: identity.incarnation,
      history: 'h',
      term: 1,
      sequence: 1,
      position: NUMBER,
      acknowledges: 1,
      leaseMs: LEASE_MS,
      pace: ownerPace(resolveDurations()),
      admitted: true,
      spans: spans.map(({ start, end }) => ({ start, end, number: NUMBER, recalled: false, continues: [] })),
    },
    now,
  );
  return owner;
}
