/**
 * May I act for this key, right now? From a string to the lease number under which its owner holds it,
 * beside the least such an answer can rest on: the hash of the key and one look at the clock.
 *
 * A check does more. It looks at a second clock, because the first stands still while a machine is
 * suspended (`suspension.ts`); and it looks up the piece that the key lies in. Both kinds of check
 * are measured as an application calls them, on keys that are held, with the real clocks.
 */

import { Buffer } from 'node:buffer';
import { nodeRuntime } from '../leasehold/src/node/runtime.ts';
import { resolveDurations } from '../leasehold/src/pool/core/options.ts';
import { hashKey } from '../leasehold/src/runtime/keys/hash.ts';
import { SuspensionGuard } from '../leasehold/src/runtime/suspension.ts';
import type { Bench, BenchResult, Figure } from '../scripts/bench/bench.ts';
import { bareHash } from './support/bare-hash.ts';
import { FreshKeys, KEYS_ARE } from './support/keys.ts';
import { machineConditions } from './support/machine.ts';
import { NUMBER, ownerOf, serverNames, tableRows } from './support/pool.ts';
import { type Contestant, Race } from './support/race.ts';

const SERVERS = 100;
const ROUNDS = 15;
const PRACTICE = 3;
const HELPINGS = 4;
const BATCH = 500;
const TIMES_THE_COST = 1.5;

const NOW = 'check';
const CONTINUOUS = 'isHeld';
const BARE = 'bare hash';
const CLOCK = 'hash + clock';
const CLOCKS = 'hash + both clocks';

const words = new Uint32Array(2);

function hashAndClock(keys: readonly string[]): unknown {
  let [sum, latest] = [0, 0];
  for (let i = 0; i < keys.length; i += 1) {
    latest = performance.now();
    hashKey(keys[i] as string, words);
    sum ^= words[0] as number;
  }
  return sum + latest;
}

function hashAndClocks(keys: readonly string[]): unknown {
  let [sum, latest] = [0, 0];
  for (let i = 0; i < keys.length; i += 1) {
    latest = performance.now() + Date.now();
    hashKey(keys[i] as string, words);
    sum ^= words[0] as number;
  }
  return sum + latest;
}

type Checks = ReturnType<typeof checksOf>;

/** As the public face does it. */
function checksOf(owner: ReturnType<typeof ownerOf>) {
  const runtime = nodeRuntime();
  const guard = new SuspensionGuard(runtime, resolveDurations().suspensionToleranceMs);
  return {
    check(key: string): number | undefined {
      const now = runtime.now();
      if (guard.wasSuspended(now)) return undefined;
      hashKey(key, words);
      return owner.check(words[0] as number, words[1] as number, now);
    },
    isHeld(key: string, number: number): boolean {
      const now = runtime.now();
      if (guard.wasSuspended(now)) return false;
      hashKey(key, words);
      return owner.isHeld(words[0] as number, words[1] as number, number, now);
    },
  };
}

const checkNow =
  (checks: Checks): Contestant['run'] =>
  (keys) => {
    let held = 0;
    for (let i = 0; i < keys.length; i += 1) {
      if (checks.check(keys[i] as string) !== undefined) held += 1;
    }
    return assured(held, keys);
  };

const checkContinuous =
  (checks: Checks): Contestant['run'] =>
  (keys) => {
    let held = 0;
    for (let i = 0; i < keys.length; i += 1) {
      if (checks.isHeld(keys[i] as string, NUMBER)) held += 1;
    }
    return assured(held, keys);
  };

/**
 * The same key as another string. Of keys from everywhere on the ring one owner holds few; what is left of
 * them lies scattered in memory, and to bring it up would take longer than the checks.
 */
const madeAgain = (key: string): string => Buffer.from(key, 'latin1').toString('latin1');

/** A check that fails is quicker, and measures nothing. */
function assured(held: number, keys: readonly string[]): number {
  if (held !== keys.length) throw new Error(`${keys.length - held} of ${keys.length} checks failed`);
  return held;
}

function figure(race: Race, name: string, spans: string): Figure {
  const cost = race.ratio(name, CLOCK);
  return {
    metric: `${name}, ${spans}: ${cost.toFixed(2)} times the cost of ${CLOCK}`,
    unit: 'ns',
    ours: race.nanoseconds(name),
    peers: [BARE, CLOCK, CLOCKS].map((peer) => ({ name: peer, value: race.nanoseconds(peer) })),
    ratio: 1 / cost,
    goal: `at most ${TIMES_THE_COST} times the cost of ${CLOCK}`,
    met: cost <= TIMES_THE_COST,
  };
}

function run(report: (line: string) => void): BenchResult {
  const fresh = new FreshKeys(1);
  const rows = tableRows(serverNames(SERVERS));
  const some = rows.filter(({ owner }) => owner === rows[0]?.owner);
  const figures: Figure[] = [];
  const rounds: string[] = [];
  for (const spans of [some, rows]) {
    const owner = ownerOf(spans);
    const checks = checksOf(owner);
    const label = `${spans.length.toLocaleString('en')} spans`;
    report(`${label}: ${ROUNDS} rounds of ${[BARE, CLOCK, CLOCKS, NOW, CONTINUOUS].join(', ')}`);
    const isHeld = (key: string): boolean => {
      hashKey(key, words);
      return owner.pieceAt(words[0] as number, words[1] as number) !== undefined;
    };
    const race = Race.run(
      [
        { name: BARE, batch: BATCH, run: bareHash },
        { name: CLOCK, batch: BATCH, run: hashAndClock },
        { name: CLOCKS, batch: BATCH, run: hashAndClocks },
        { name: NOW, batch: BATCH, run: checkNow(checks) },
        { name: CONTINUOUS, batch: BATCH, run: checkContinuous(checks) },
      ],
      {
        items: (count) => fresh.take(count, isHeld).map(madeAgain),
        rounds: ROUNDS,
        practice: PRACTICE,
        helpings: HELPINGS,
      },
    );
    figures.push(figure(race, NOW, label), figure(race, CONTINUOUS, label));
    const [low, high] = race.quartiles(NOW);
    rounds.push(
      `${race.kept} of ${race.timed}, half of ours from ${low.toFixed(0)} to ${high.toFixed(0)} ns`,
    );
  }
  return {
    name: bench.name,
    conditions: {
      ...machineConditions(),
      keys: `${KEYS_ARE}, all of them held`,
      spans: `one owner’s of a table of ${rows.length} rows, and all of them`,
      'rounds kept': rounds.join('; '),
      clock: 'performance.now(); the second one is Date.now()',
    },
    figures,
  };
}

export const bench: Bench = {
  name: 'check',
  describe: '`check` and `isHeld` from fresh keys, beside the hash plus one clock reading',
  run,
};
