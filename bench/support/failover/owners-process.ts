/**
 * Many owners in one process. They serve requests, each with a write to the register under the number of the check
 * before it; and they are looked at all the time: who held a key when the watch began must hold it at every look,
 * under the same number, and nobody else may. That is more than that no two hold a key at once, and what one
 * process sees of it needs no other.
 */

import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { joinPool, type PoolOwner, silent } from 'leasehold/pool';
import { nodeRuntime } from '../../../leasehold/src/node/runtime.ts';
import type { Piece } from '../../../leasehold/src/pool/core/owner/piece.ts';
import { lines, nowMs, obey, say, told } from '../processes/conversation.ts';
import { AnsweredLine } from './answers.ts';

export interface OwnersConfig {
  readonly managers: readonly string[];
  readonly pool: string;
  readonly names: readonly string[];
  readonly keys: readonly string[];
  readonly register: string;
}

/** Who has which key under which number, by key. */
export type Holdings = Readonly<Record<string, { readonly name: string; readonly number: number }>>;

export interface OwnersTally {
  /** Leases that were lost, gained or changed since the watch began, each once; and what was revoked or lost by upcall. */
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
  readonly looks: number;
  /** The longest time in which no owner of this process was answered. */
  readonly silenceMs: number;
  /** The least that was left of any lease. */
  readonly leastLeftMs: number;
}

interface Request {
  readonly name: string;
  readonly key: string;
}

/** A request that was served: whether the register took the write. Null: not served for lack of a lease. */
export type Served = boolean | null;

/** What is lost and taken up again between two looks shows all the same: under another number, and by upcall. */
const LOOK_EVERY_MS = 200;
const ANSWER_LOOK_EVERY_MS = 10;
const FAULTS_MAX = 50;

const { managers, pool, names, keys, register: path } = told<OwnersConfig>();
const runtime = nodeRuntime();
const register = new AnsweredLine({ path });
const owners = new Map<string, PoolOwner>();

let watched: readonly { readonly owner: PoolOwner; readonly numbers: readonly (number | undefined)[] }[] = [];
let leases: readonly Piece[] = [];
/** Keys that anybody may gain, because their owner dies. */
let free = new Set<string>();
let isWatching = false;
let faults = new Set<string>();
let warnings: string[] = [];
let looks = 0;
let silenceMs = 0;
let leastLeftMs = Number.POSITIVE_INFINITY;
let answeredMs = 0;
let latestEnd = 0;

const fault = (what: string): void => {
  if (isWatching && faults.size < FAULTS_MAX) faults.add(what);
};

async function join(name: string): Promise<PoolOwner> {
  const joined = await joinPool({
    ...{ managers, pool, name, url: `tcp://127.0.0.1:${port}/${name}`, timeoutMs: 60_000 },
    onRevoke: () => fault(`${name} was asked to give keys back`),
    onLost: () => fault(`${name} lost keys`),
    logger: { ...silent, warn: (message) => warnings.push(`${name}: ${message}`) },
  });
  owners.set(name, joined);
  return joined;
}

async function serve({ name, key }: Request): Promise<Served> {
  const owner = owners.get(name);
  const number = owner?.check(key);
  if (owner === undefined || number === undefined) return null;
  return (await register.ask<boolean>({ key, number, incarnation: owner.incarnation })) ?? false;
}

function look(): void {
  looks += 1;
  for (const { owner, numbers } of watched) {
    keys.forEach((key, index) => {
      const [before, number] = [numbers[index], owner.check(key)];
      if (number === before || (free.size > 0 && isOfDeath(key, before, number))) return;
      fault(`${owner.name} had ${key} under ${before ?? 'no number'}, and then under ${number ?? 'none'}`);
    });
  }
}

/** Somebody gets the keys of the dead; what is beside them is granted anew together with them, under a greater number. */
const isOfDeath = (key: string, before: number | undefined, number: number | undefined): boolean =>
  before === undefined ? free.has(key) : number !== undefined && number > before;

/** An answer moves the end of a lease; pieces that nothing else happens to are the same objects all along. */
function lookForAnswers(): void {
  const [atMs, now] = [nowMs(), runtime.now()];
  let end = 0;
  for (const { until } of leases) {
    end = Math.max(end, until);
    leastLeftMs = Math.min(leastLeftMs, until - now);
  }
  if (end <= latestEnd) return;
  silenceMs = Math.max(silenceMs, atMs - answeredMs);
  [latestEnd, answeredMs] = [end, atMs];
}

const server = createServer((socket) => {
  socket.on('error', () => socket.destroy());
  let last: Promise<unknown> = Promise.resolve();
  socket.setEncoding('utf8').on(
    'data',
    lines((line) => {
      const served = serve(JSON.parse(line) as Request);
      // In the order of asking.
      last = last.then(async () => socket.write(`${JSON.stringify(await served)}\n`));
    }),
  );
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;

obey({
  holdings: () => ({ holdings: holdings() }),
  watch: ({ free: given }: { readonly free: readonly string[] }) => {
    watched = [...owners.values()].map((owner) => ({
      owner,
      numbers: keys.map((key) => owner.check(key)),
    }));
    leases = [...owners.values()].flatMap((owner) => (owner.ranges() as readonly Piece[]).slice(0, 1));
    free = new Set(given);
    [latestEnd, answeredMs] = [Math.max(0, ...leases.map(({ until }) => until)), nowMs()];
    isWatching = true;
    return {};
  },
  rest: () => {
    isWatching = false;
    [watched, leases] = [[], []];
    return {};
  },
  /** What was seen since the last time. */
  tally: () => {
    const tally: OwnersTally = { faults: [...faults], warnings, looks, silenceMs, leastLeftMs };
    [faults, warnings, looks, silenceMs, leastLeftMs] = [new Set(), [], 0, 0, Number.POSITIVE_INFINITY];
    return { ...tally };
  },
});

await Promise.all(names.map((name) => join(name)));
setInterval(look, LOOK_EVERY_MS);
setInterval(lookForAnswers, ANSWER_LOOK_EVERY_MS);
say('ready');

function holdings(): Holdings {
  const all: Record<string, { name: string; number: number }> = {};
  for (const owner of owners.values()) {
    for (const key of keys) {
      const number = owner.check(key);
      if (number !== undefined) all[key] = { name: owner.name, number };
    }
  }
  return all;
}
