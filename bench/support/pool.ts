/**
 * A pool as it is once everybody has joined: the rows that look-ups have, the spans that an owner has.
 */

import { Lookup } from '../../leasehold/src/pool/core/lookup/lookup.ts';
import { nodeRuntime } from '../../leasehold/src/node/runtime.ts';
import type { FromManager, TableRow, Update } from '../../leasehold/src/pool/core/messages.ts';
import { ownerPace, resolveDurations } from '../../leasehold/src/pool/core/options.ts';
import { Owner } from '../../leasehold/src/pool/core/owner/owner.ts';
import { consistentHashing } from '../../leasehold/src/pool/core/policy/consistent-hashing.ts';
import { PoolOwner } from '../../leasehold/src/pool/shell/owner/pool-owner.ts';
import type { Span } from '../../leasehold/src/runtime/keys/range.ts';
import { silent } from '../../leasehold/src/runtime/logger.ts';
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

const identity = { pool: POOL, incarnation: 'a.1', name: 'a', url: 'http://a', proof: undefined };

/** The update that grants an owner these spans, for longer than any measurement takes. */
const grantOf = (spans: readonly Span[]): Update => ({
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
});

/** The core of an owner that holds these spans. */
export function ownerOf(spans: readonly Span[]): Owner {
  const now = instant(performance.now());
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
  owner.receive('manager', grantOf(spans), now);
  return owner;
}

/** What `joinPool` resolves with, without a Manager: the owner holds these spans, and what it sends reaches nobody. */
export function poolOwnerOf(spans: readonly Span[]): PoolOwner {
  let hear: (from: string, message: FromManager) => void = () => {};
  const owner = new PoolOwner({
    ...{ identity, durations: resolveDurations(), runtime: nodeRuntime({ unref: true }), logger: silent },
    addresses: { current: ['manager'] },
    dialer: {
      send: () => {},
      listen: (callback) => {
        hear = callback;
        return { [Symbol.dispose]: () => {} };
      },
    },
    application: {},
    close: async () => {},
  });
  hear('manager', grantOf(spans));
  return owner;
}
