/**
 * Many look-ups in one process, and the clients behind them: over and over one of them finds the owner of some
 * key, and asks there. Every loss that a look-up is told of is kept.
 */

import { type Loss, connectLookup, type PoolLookup, silent } from 'leasehold/pool';
import { nowMs, obey, pause, say, told } from '../processes/conversation.ts';
import { AnsweredLine } from './answers.ts';
import type { Served } from './owners-process.ts';

export interface LookupsConfig {
  readonly managers: readonly string[];
  readonly pool: string;
  readonly lookups: number;
  readonly keys: readonly string[];
}

export interface LookupsTally {
  readonly requests: number;
  /** Not served for lack of a lease, or because no owner was known. */
  readonly refused: readonly string[];
  /** Losses that nobody expected. */
  readonly falseLosses: readonly string[];
  readonly warnings: readonly string[];
}

const REQUEST_EVERY_MS = 10;
const TOLD_WITHIN_MS = 60_000;

const { managers, pool, lookups: count, keys } = told<LookupsConfig>();
const lookups: PoolLookup[] = [];
const lines = new Map<string, AnsweredLine>();

/** Keys that are lost as far as we know, and which of the look-ups were told of which. */
let expected = new Set<string>();
let toldOf: Set<string>[] = [];
let asked: readonly string[] = [];
let requests = 0;
let refused: string[] = [];
let falseLosses: string[] = [];
let warnings: string[] = [];

function losing(index: number, loss: Loss): void {
  const lost = keys.filter((key) => loss.has(key));
  for (const key of lost) if (expected.has(key)) toldOf[index]?.add(key);
  const wrong = lost.filter((key) => !expected.has(key));
  if (wrong.length > 0) falseLosses.push(`look-up ${index}: ${wrong.length} keys, ${loss.why}`);
}

async function request(): Promise<void> {
  const key = asked[Math.floor(Math.random() * asked.length)];
  const lookup = lookups[Math.floor(Math.random() * lookups.length)];
  if (key === undefined || lookup === undefined) return;
  requests += 1;
  const url = lookup.find(key)?.url;
  if (url === undefined) {
    refused.push(`${key}: no owner is known`);
    return;
  }
  const { host, pathname } = new URL(url);
  const served = await lineTo(host).ask<Served>({ name: pathname.slice(1), key });
  if (served === null) refused.push(`${key}: ${pathname.slice(1)} has no lease`);
  else if (served === undefined) refused.push(`${key}: ${host} does not answer`);
  // What the register refuses it keeps itself.
}

function lineTo(address: string): AnsweredLine {
  const known = lines.get(address);
  if (known !== undefined && !known.isOver) return known;
  const [host = '', port = ''] = address.split(':');
  const line = new AnsweredLine({ host, port: Number(port) });
  lines.set(address, line);
  return line;
}

const areToldOf = (lost: readonly string[]): boolean =>
  toldOf.every((each) => lost.every((key) => each.has(key)));

obey({
  /** How many pairs of a look-up and a key do not point to the owner named. */
  astray: ({ owners }: { readonly owners: Readonly<Record<string, string>> }) => {
    const pairs = lookups.flatMap((lookup) => keys.map((key) => lookup.find(key)?.name === owners[key]));
    return { astray: pairs.filter((isRight) => !isRight).length };
  },
  /** From here on requests are made for these keys. */
  ask: ({ keys: given }: { readonly keys: readonly string[] }) => {
    asked = given;
    return {};
  },
  /** These keys are about to be lost; none others. */
  expect: ({ keys: given }: { readonly keys: readonly string[] }) => {
    expected = new Set(given);
    toldOf = lookups.map(() => new Set());
    return {};
  },
  /** Resolves when every look-up was told that those expected are lost. */
  told: async () => {
    const until = nowMs() + TOLD_WITHIN_MS;
    while (!areToldOf([...expected]) && nowMs() < until) await pause(10);
    return { isTold: areToldOf([...expected]) };
  },
  tally: () => {
    const tally: LookupsTally = { requests, refused, falseLosses, warnings };
    [requests, refused, falseLosses, warnings] = [0, [], [], []];
    return { ...tally };
  },
});

for (let index = 0; index < count; index += 1) {
  lookups.push(
    await connectLookup({
      ...{ managers, pool, timeoutMs: 60_000 },
      onLoss: (loss) => losing(index, loss),
      logger: { ...silent, warn: (message) => warnings.push(message) },
    }),
  );
}
setInterval(() => void request(), REQUEST_EVERY_MS);
say('ready');
