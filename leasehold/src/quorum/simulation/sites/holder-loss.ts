/**
 * A holder is lost, at the paper's five sites in simulated time: which writes wait, and for how long? (The paper's figure 7.)
 *
 * Ireland holds one half of the keys and not the other. A client in California writes keys of both halves by turns, never waiting for
 * an answer, so that every moment of the loss is seen. After ten seconds Ireland loses power, or its disk stops.
 */

import { bit, EVERYBODY, objectOf, type ReaderMap } from '../../core/configuration.ts';
import { put } from '../../core/operation.ts';
import { FiveSites } from './five-sites.ts';
import { LEADER, type Site, SITES } from './round-trips.ts';

export type Loss = 'power' | 'disk';

export interface LongestWrites {
  /** The longest write of a key that the lost site held, in milliseconds. */
  readonly heldMs: number;
  /** The longest of a key that it did not hold. */
  readonly otherMs: number;
  readonly writes: number;
}

const LOST: Site = 'IRL';
const BEFORE_MS = 10_000;
const AFTER_MS = 12_000;
const PACE_MS = 20;
const WRITER = 'writer';

/** Keys of the first slice of two are held by all, those of the second by all but Ireland. */
const isHeld = (key: string): boolean => (objectOf(key) & 1) === 0;

export function loseHolder(loss: Loss, seed: number): LongestWrites {
  const others = EVERYBODY & ~bit(SITES.indexOf(LOST));
  const placement: ReaderMap = {
    mode: 'chosen',
    slices: [EVERYBODY, others],
    objects: new Map(),
    automatic: undefined,
  };
  const sites = new FiveSites({
    ...{ seed, placement, distribution: 'uniform', writeShare: 1, keys: 1, warmUp: 0 },
    ...{ clientsPerSite: 0, requestsPerClient: 0 },
  });
  sites.found();
  const { world, calls } = sites;
  const asked = new Map<number, { readonly key: string; readonly atMs: number }>();
  const longest = { held: 0, other: 0 };
  let session = 0;
  let number = 0;
  calls.attach(WRITER, (_, reply) => {
    if (reply.kind !== 'reply' || reply.answer.kind !== 'result') return;
    if (reply.answer.result.kind === 'opened') session = reply.answer.result.session;
    const call = asked.get(reply.id);
    if (call === undefined) return;
    asked.delete(reply.id);
    const half = isHeld(call.key) ? 'held' : 'other';
    longest[half] = Math.max(longest[half], world.trueMs - call.atMs);
  });
  const send = (id: number, command: ReturnType<typeof put> | { readonly kind: 'open-session' }): void => {
    const submission = { session, number: id, answeredBelow: Math.max(0, id - 900), command };
    calls.send(WRITER, LEADER, { kind: 'submit', id, client: WRITER, submission });
  };
  send(0, { kind: 'open-session' });
  world.run({ untilMs: world.trueMs + 1_000 });
  const writing = world.every([PACE_MS, PACE_MS], () => {
    number += 1;
    const key = `key-${number}`;
    asked.set(number, { key, atMs: world.trueMs });
    send(number, put(key, new Uint8Array(8)));
  });
  world.run({ untilMs: world.trueMs + BEFORE_MS });
  const lost = sites.node(LOST);
  if (loss === 'power') lost.crash();
  else lost.disk.stuckUntilMs = Number.POSITIVE_INFINITY;
  world.run({ untilMs: world.trueMs + AFTER_MS });
  writing[Symbol.dispose]();
  world.run({ untilMs: world.trueMs + AFTER_MS });
  if (asked.size > 0) throw new Error(`${asked.size} writes were never answered`);
  return { heldMs: longest.held, otherMs: longest.other, writes: number };
}
