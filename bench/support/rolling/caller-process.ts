/**
 * A front end: reads items and adds to counters by `lookup.call`, at a steady rate, and keeps account of what was acknowledged. A counter that answers less
 * than was acknowledged lacks a write.
 */

import { connectLookup, silent } from 'leasehold/pool';
import { nowMs, obey, say, told } from '../processes/conversation.ts';
import type { Counted } from './owner-process.ts';

export interface CallerConfig {
  readonly managers: readonly string[];
  readonly items: number;
  readonly counters: number;
  readonly callsPerSecond: number;
}

/** What happened since the last time it was asked. */
export interface Account {
  readonly calls: number;
  readonly errors: Readonly<Record<string, number>>;
  /** Reads of items that were not there. */
  readonly missingItems: number;
  /** Acknowledged writes that a later answer did not contain. */
  readonly missingWrites: number;
  readonly lossNotifications: number;
  /** Calls that were answered under another number than the call for that key before. */
  readonly changes: number;
  /** Latencies of these calls: the time without an owner is in them. */
  readonly changeMs: readonly number[];
  readonly otherMs: readonly number[];
}

const TICK_MS = 5;

const { managers, items, counters, callsPerSecond } = told<CallerConfig>();
const numbers = new Map<string, number>();
const acknowledged = new Map<string, number>();
let [missingItems, missingWrites, lossNotifications, calls] = [0, 0, 0, 0];
let errors: Record<string, number> = {};
let [changeMs, otherMs]: [number[], number[]] = [[], []];
let isCalling = false;

const lookup = await connectLookup({
  ...{ managers, pool: 'rolling', logger: silent },
  onLoss: () => {
    lossNotifications += 1;
  },
});

async function call(key: string, method: 'GET' | 'POST'): Promise<void> {
  const begunMs = nowMs();
  calls += 1;
  try {
    const answer = await lookup.call(key, ({ url }, signal) => fetch(`${url}/${key}`, { method, signal }));
    if (answer.status !== 200) throw new Error(`status ${answer.status}`);
    const { count, number } = (await answer.json()) as Counted;
    const hasMoved = numbers.has(key) && numbers.get(key) !== number;
    (hasMoved ? changeMs : otherMs).push(nowMs() - begunMs);
    numbers.set(key, number);
    if (method === 'GET') missingItems += count === 1 ? 0 : 1;
    else {
      const least = (acknowledged.get(key) ?? 0) + 1;
      missingWrites += Math.max(0, least - count);
      acknowledged.set(key, count);
    }
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    const what = code ?? message;
    errors[what] = (errors[what] ?? 0) + 1;
  }
}

let madeUntilMs = nowMs();
let next = 0;
/** A counter has one call at a time, so that its answers have an order. */
const busy = new Set<string>();

setInterval(() => {
  const dueMs = nowMs();
  if (!isCalling) madeUntilMs = dueMs;
  for (; madeUntilMs < dueMs; madeUntilMs += 1_000 / callsPerSecond) {
    next += 1;
    const key = next % 2 === 0 ? `item-${(next * 7_919) % items}` : `counter-${next % counters}`;
    if (busy.has(key)) continue;
    busy.add(key);
    void call(key, next % 2 === 0 ? 'GET' : 'POST').finally(() => busy.delete(key));
  }
}, TICK_MS);

const quiet = async (): Promise<void> => {
  isCalling = false;
  while (busy.size > 0) await new Promise((resolve) => setTimeout(resolve, TICK_MS));
};

obey({
  begin: () => {
    isCalling = true;
    return {};
  },
  quiet: () => quiet().then(() => ({})),
  account: (): { readonly [fact in keyof Account]: Account[fact] } => {
    const account: Account = {
      ...{ calls, errors, missingItems, missingWrites, lossNotifications },
      ...{ changes: changeMs.length, changeMs, otherMs },
    };
    [missingItems, missingWrites, lossNotifications, calls] = [0, 0, 0, 0];
    errors = {};
    [changeMs, otherMs] = [[], []];
    return account;
  },
  /** How many counters were ever acknowledged. */
  written: () => ({ written: acknowledged.size }),
  /** Under which number each of these keys is served, as this look-up knows. */
  numbers: ({ keys }: { keys: readonly string[] }) => ({
    numbers: keys.map((key) => lookup.find(key)?.number ?? null),
  }),
});
say('ready', {});
