/**
 * Where is this key? From a string nobody has looked at before to the row of its owner, beside the
 * hash rings that npm has, and beside the least it could cost: the hash, and one read of an array.
 *
 * `find` is what an application calls: hash the key, look its row up in a table that a Manager has
 * sent. The array beside it has as many rows, rounded up to a power of two, and is read at the top
 * bits of the hash: what `find` would be if all ranges were equally long and never moved.
 */

import type { TableRow } from '../leasehold/src/pool/core/messages.ts';
import { hashKey } from '../leasehold/src/runtime/keys/hash.ts';
import type { Bench, BenchResult, Figure } from '../scripts/bench/bench.ts';
import { bareHash } from './support/bare-hash.ts';
import { FreshKeys, KEYS_ARE } from './support/keys.ts';
import { machineConditions } from './support/machine.ts';
import { lookupWith, serverNames, tableRows, VIRTUAL_NODES } from './support/pool.ts';
import { type Contestant, Race } from './support/race.ts';
import { rings } from './support/rings.ts';

const SERVERS = [100, 500, 10_000];
const ROUNDS = 15;
const PRACTICE = 2;
const HELPINGS = 20;
const BATCH = 2_000;
const TIMES_BETTER = 5;
const TIMES_THE_COST = 1.5;

const OURS = 'find';
const CHARACTERS = 'characters';
const BARE = 'bare hash';
const READ = 'hash + array read';

const words = new Uint32Array(2);

/** The least that anyone can do who looks at the whole key. */
function readCharacters(keys: readonly string[]): unknown {
  let sum = 0;
  for (let i = 0; i < keys.length; i += 1) {
    const key = keys[i] as string;
    for (let at = 0; at < key.length; at += 1) sum ^= key.charCodeAt(at);
  }
  return sum;
}

function arrayRead(rows: readonly TableRow[]): Contestant['run'] {
  const bits = 32 - Math.clz32(rows.length - 1);
  const shift = 32 - bits;
  const array = Array.from({ length: 2 ** bits }, (_, index) => rows[index % rows.length] as TableRow);
  return (keys) => {
    let same = 0;
    let last: unknown;
    for (let i = 0; i < keys.length; i += 1) {
      hashKey(keys[i] as string, words);
      const row = array[(words[0] as number) >>> shift];
      if (row === last) same += 1;
      last = row;
    }
    return same;
  };
}

/** As the public face does it. */
function ours(rows: readonly TableRow[]): Contestant['run'] {
  const lookup = lookupWith(rows);
  const find = (key: string): TableRow | undefined => {
    hashKey(key, words);
    return lookup.find(words[0] as number, words[1] as number);
  };
  return (keys) => {
    let same = 0;
    let last: unknown;
    for (let i = 0; i < keys.length; i += 1) {
      const row = find(keys[i] as string);
      if (row === last) same += 1;
      last = row;
    }
    return same;
  };
}

const perSecond = (nanoseconds: number): number => 1e9 / nanoseconds;

function figuresOf(race: Race, peers: readonly string[], ranges: string): Figure[] {
  const rates = peers.map((name) => ({ name, value: perSecond(race.nanoseconds(name)) }));
  const timesBetter = Math.min(...peers.map((name) => race.ratio(name, OURS)));
  const cost = race.ratio(OURS, READ);
  return [
    {
      metric: `find, ${ranges}`,
      unit: 'look-ups/s',
      ours: perSecond(race.nanoseconds(OURS)),
      peers: rates,
      ratio: timesBetter,
      goal: `at least ${TIMES_BETTER} times the best ring’s rate`,
      met: timesBetter >= TIMES_BETTER,
    },
    {
      metric: `find, ${ranges}: ${cost.toFixed(2)} times the cost of hash + array read`,
      unit: 'ns',
      ours: race.nanoseconds(OURS),
      peers: [CHARACTERS, BARE, READ].map((name) => ({ name, value: race.nanoseconds(name) })),
      ratio: 1 / cost,
      goal: `at most ${TIMES_THE_COST} times the cost of hash + array read`,
      met: cost <= TIMES_THE_COST,
    },
  ];
}

function run(report: (line: string) => void): BenchResult {
  const keys = new FreshKeys(1);
  const figures: Figure[] = [];
  const rounds: string[] = [];
  for (const count of SERVERS) {
    const servers = serverNames(count);
    const rows = tableRows(servers);
    const ranges = `${rows.length.toLocaleString('en')} ranges`;
    const contestants: Contestant[] = [
      { name: BARE, batch: BATCH, run: bareHash },
      { name: CHARACTERS, batch: BATCH, run: readCharacters },
      { name: READ, batch: BATCH, run: arrayRead(rows) },
      { name: OURS, batch: BATCH, run: ours(rows) },
    ];
    const peers: string[] = [];
    for (const { name, batch, build } of rings) {
      const lookUpAll = build(servers, VIRTUAL_NODES);
      if (lookUpAll === undefined) continue;
      peers.push(name);
      contestants.push({ name, batch, run: lookUpAll });
    }
    report(`${ranges}: ${ROUNDS} rounds of ${contestants.map(({ name }) => name).join(', ')}`);
    const race = Race.run(contestants, {
      items: (number) => keys.take(number),
      rounds: ROUNDS,
      practice: PRACTICE,
      helpings: HELPINGS,
    });
    figures.push(...figuresOf(race, peers, ranges));
    const [low, high] = race.quartiles(OURS);
    rounds.push(
      `${race.kept} of ${race.timed}, half of ours from ${low.toFixed(0)} to ${high.toFixed(0)} ns`,
    );
  }
  return {
    name: bench.name,
    conditions: {
      ...machineConditions(),
      keys: KEYS_ARE,
      servers: `${SERVERS.join(', ')}, each with ${VIRTUAL_NODES} points, in every ring and in ours`,
      'rounds kept': rounds.join('; '),
      characters:
        'charCodeAt of every character and nothing else: no ring can be quicker that reads its key so',
      'consistent-hash':
        'its default ring; at 640,000 points a ring of 2^24 - 3 places, or it finds none free',
      hashring:
        'MD5, 16 virtual nodes of 4 points a server, cache of 1 key: its default of 5,000 is slower here',
      'consistent-hashing': 'MD5; not at 640,000 points: it sorts all points again for each server',
      'hash + array read': 'an array of rows, a power of two long, read at the top bits of the hash',
    },
    figures,
  };
}

export const bench: Bench = {
  name: 'lookup',
  describe: '`find` from fresh keys, beside the hash rings on npm and beside hash plus one array read',
  run,
};
