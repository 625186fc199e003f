/**
 * A short play for somebody who has just typed `npm start`: what a pool of servers does when
 * servers come, die, sleep and lose their leader.
 *
 * It is a simulated world, but nothing in it is staged: the cores are the real ones, every number
 * that is printed was read off the run, and the checker watches as it does in `npm run sim`.
 */

import { highOf, lowOf, type Hash, RING_SIZE } from '../../runtime/keys/position.ts';
import { keyHash } from '../../runtime/keys/hash.ts';
import type { RangeSet } from '../../runtime/keys/range-set.ts';
import type { Span } from '../../runtime/keys/range.ts';
import { present } from '../../runtime/assert.ts';
import { BrokenPromise } from '../../sim/world.ts';
import { resolveDurations } from '../core/options.ts';
import { consistentHashing } from '../core/policy/consistent-hashing.ts';
import type { Row } from '../core/table.ts';
import { PROMISES } from './checker.ts';
import type { LookupNode, ManagerNode, OwnerNode } from './nodes.ts';
import { PoolWorld } from './pool-world.ts';

type Write = (line: string) => void;

const KEYS = ['alice', 'bob', 'carol', 'dave', 'erin'] as const;
const ALICE: Hash = keyHash('alice');
const OWNERS = ['presence-1', 'presence-2', 'presence-3'] as const;
const LOOKUPS = ['front-1', 'front-2'] as const;
const NEWCOMER = 'presence-4';
const SUSPENDED_MS = 4_000;
const LONG_MS = 60_000;

export function tell(write: Write, { seed }: { readonly seed: number }): void {
  const story = new Story(write, seed);
  story.introduction();
  story.whoOwnsAlice();
  story.anOwnerJoins();
  story.anOwnerIsKilled();
  story.theLeaderIsKilled();
  story.aSupervisedOwnerDies();
  story.aMachineSleeps();
  story.epilogue();
}

/** What a look-up was told to be lost, and when. */
interface Told {
  readonly by: string;
  readonly atMs: number;
  readonly ranges: RangeSet;
}

class Story {
  readonly #write: Write;
  readonly #seed: number;
  readonly #pool: PoolWorld;
  #told: Told[] = [];
  #scenes = 0;

  constructor(write: Write, seed: number) {
    this.#write = write;
    this.#seed = seed;
    const durations = resolveDurations();
    this.#pool = new PoolWorld({
      seed,
      durations,
      policy: consistentHashing(),
      managers: 3,
      leaderKeyMs: durations.leaderLeaseMs * 1.1,
    });
    this.#listen();
  }

  /** The application's `onLoss`: here it only takes note. */
  #listen(): void {
    const { checker, world } = this.#pool;
    const heard = checker.lookupLost.bind(checker);
    checker.lookupLost = (node, effect) => {
      this.#told.push({ by: node.name, atMs: world.trueMs, ranges: effect.ranges });
      heard(node, effect);
    };
  }

  introduction(): void {
    const { leaseMs, holdMs } = this.#pool.durations;
    this.#write('LEASEHOLD: who owns this key?');
    this.#write('');
    this.#write('This is a simulation: all the servers below live in this one process, with a made-up');
    this.#write('clock and a made-up network. Their code is the real one, and every number is from this');
    this.#write(
      `run (seed ${this.#seed}). A lease lasts ${seconds(leaseMs)} s; the Manager waits ${seconds(holdMs)} s.`,
    );
  }

  whoOwnsAlice(): void {
    this.#scene('Three servers share all keys; nobody configured which');
    const { managers } = this.#pool;
    this.#pool.start();
    this.#until('a Manager leads', () => this.#pool.leader !== undefined);
    this.#say(`${this.#leader().name} leads; ${managers.length - 1} more Managers stand by`);
    for (const name of OWNERS) this.#pool.addOwner(name);
    for (const name of LOOKUPS) this.#pool.addLookup(name);
    this.#untilQuiet();
    this.#say(
      `${OWNERS.join(', ')} have joined and hold ${OWNERS.map((name) => this.#share(name)).join(', ')}`,
    );
    const found = present(this.#find(this.#pool.lookup(LOOKUPS[0])), 'alice is owned');
    this.#say(`${LOOKUPS[0]} asks its table, locally: alice is at ${found.url}`);
    for (const node of this.#pool.owners) {
      const number = node.check(ALICE);
      this.#aside(
        `${node.name} checks alice: ${number === undefined ? 'not mine' : `mine, lease number ${number}`}`,
      );
    }
    this.#whereKeysAre();
  }

  anOwnerJoins(): void {
    this.#scene('A fourth server joins: only what it gets moves');
    const before = this.#rows();
    this.#told = [];
    this.#pool.addOwner(NEWCOMER, { supervised: true });
    const sinceMs = this.#now;
    this.#untilQuiet();
    const after = this.#rows();
    const changed = movedBetween(before, after, (row) => this.#nameOf(row.owner));
    const toOthers = changed.filter(({ to }) => to !== NEWCOMER);
    const share = this.#share(NEWCOMER);
    this.#say(`${NEWCOMER} holds ${share} of the ring, ${since(sinceMs, this.#now)} after it came`);
    this.#aside(`${percent(changed)} of the ring moved; ${percent(toOthers)} moved between the first three`);
    for (const name of LOOKUPS) {
      const lost = this.#told.filter(({ by }) => by === name).flatMap(({ ranges }) => ranges.spans());
      this.#aside(`${name} was told that ${percent(lost)} lost its state: callers publish it anew`);
    }
    this.#whereKeysAre();
  }

  anOwnerIsKilled(): void {
    this.#scene('The server that owns alice is killed: kill -9');
    const { holdMs } = this.#pool.durations;
    const victim = this.#ownerOfAlice();
    const number = present(victim.check(ALICE), 'the owner of alice passes its check');
    const killedMs = this.#kill(victim);
    this.#say(`${victim.name} is gone; it had alice under lease number ${number}`);
    this.#untilLossIsTold(ALICE, killedMs);
    const heir = this.#untilServed(ALICE);
    const next = heir.check(ALICE);
    this.#say(`${heir.name} serves alice under ${next}, ${since(killedMs, this.#now)} after the kill`);
    this.#aside(`(the Manager waited for its hold to end, ${seconds(holdMs)} s after the last renewal)`);
    victim.process.start();
    this.#until('it serves alice again', () => victim.check(ALICE) !== undefined);
    this.#say(
      `${victim.name} is back as a new incarnation, and has alice again, under ${victim.check(ALICE)}`,
    );
    this.#untilQuiet();
  }

  theLeaderIsKilled(): void {
    this.#scene('The leading Manager is killed: no server notices');
    const { leaseMs } = this.#pool.durations;
    const old = this.#leader();
    const owner = this.#ownerOfAlice();
    const number = owner.check(ALICE);
    let checks = 0;
    let failed = 0;
    const checking = this.#pool.world.every([10, 10], () => {
      checks += 1;
      if (owner.check(ALICE) !== number) failed += 1;
    });
    const killedMs = this.#now;
    old.process.crash();
    this.#say(`${old.name} is gone`);
    this.#until('another leads', () => this.#pool.leader !== undefined);
    this.#say(
      `${this.#leader().name} leads, ${since(killedMs, this.#now)} later; it has read all from the log`,
    );
    this.#pool.run(2 * leaseMs);
    checking[Symbol.dispose]();
    this.#say(`${owner.name} checked alice every 10 ms all the while: ${checks} checks, ${failed} failed`);
    old.process.start();
    this.#untilQuiet();
  }

  aSupervisedOwnerDies(): void {
    this.#scene('A server dies, and its supervisor sees it');
    const victim = this.#pool.owner(NEWCOMER);
    const key = this.#someKeyOf(victim);
    const killedMs = this.#kill(victim);
    this.#say(`${victim.name} is gone; it owned ${key}; its supervisor reaped it and says so`);
    this.#untilLossIsTold(keyHash(key), killedMs);
    const heir = this.#untilServed(keyHash(key));
    this.#say(
      `${heir.name} serves ${key}, ${since(killedMs, this.#now)} after the kill: proof instead of waiting`,
    );
    this.#untilQuiet();
  }

  aMachineSleeps(): void {
    this.#scene('A machine sleeps with alice on it, and wakes');
    const { world } = this.#pool;
    const owner = this.#ownerOfAlice();
    const number = present(owner.check(ALICE), 'the owner of alice passes its check');
    this.#say(
      `${owner.name} has alice under ${number}; its machine is suspended for ${seconds(SUSPENDED_MS)} s`,
    );
    owner.process.suspend(SUSPENDED_MS);
    const wokeMs = world.trueMs + SUSPENDED_MS;
    let first: number | undefined;
    world.after(SUSPENDED_MS, () => (first = owner.check(ALICE)));
    this.#pool.run(SUSPENDED_MS);
    this.#say(
      `it wakes with its clock ${seconds(SUSPENDED_MS)} s behind; its first check ${first === undefined ? 'fails: it cannot know how long' : 'passes'}`,
    );
    this.#until('it serves alice', () => owner.check(ALICE) !== undefined);
    const next = present(owner.check(ALICE), 'it serves alice');
    const continuous = owner.checkContinuous(ALICE, number);
    this.#say(
      `${since(wokeMs, this.#now)} later the Manager says: ${next} continues ${number}, nobody else had it`,
    );
    this.#say(
      `continuous since ${number}? ${continuous ? 'yes: what it remembers of alice is still true' : 'no'}`,
    );
    this.#untilQuiet();
  }

  epilogue(): void {
    const { checker, world } = this.#pool;
    checker.settled();
    this.#write('');
    this.#write(
      `${seconds(this.#now)} s went by, ${world.events} events. After each, the checker asked whether every`,
    );
    this.#write('promise still holds, and it did:');
    const half = Math.ceil(PROMISES.length / 2);
    this.#write(`  ${PROMISES.slice(0, half).join(', ')},`);
    this.#write(`  ${PROMISES.slice(half).join(', ')}`);
    this.#write('');
    this.#write('What to try next:');
    this.#write('  npm start -- --story --seed 5             the same play in another world');
    this.#write('  npm run sim -- pool --seed 7 --trace      one hostile world, event by event');
    this.#write('  npm run sim -- pool                       many of them, with the promises checked');
    this.#write('  npm test                                  everything');
  }

  get #now(): number {
    return this.#pool.world.trueMs;
  }

  /** Between two scenes some time passes. */
  #scene(title: string): void {
    if (this.#scenes > 0) this.#pool.run(this.#pool.durations.leaseMs);
    this.#scenes += 1;
    this.#write('');
    this.#write(`${this.#scenes}. ${title}`);
  }

  #say(text: string): void {
    this.#write(`${(this.#now / 1_000).toFixed(3).padStart(9)} s  ${text}`);
  }

  #aside(text: string): void {
    this.#write(`${' '.repeat(13)}${text}`);
  }

  /** `alice presence-2, bob presence-1, …` */
  #whereKeysAre(): void {
    const lookup = this.#pool.lookup(LOOKUPS[0]);
    const places = KEYS.map((key) => `${key} ${this.#find(lookup, keyHash(key))?.name ?? 'nobody'}`);
    this.#aside(places.join(', '));
  }

  #kill(victim: OwnerNode): number {
    this.#told = [];
    this.#pool.crashOwner(victim);
    return this.#now;
  }

  #untilLossIsTold(key: Hash, sinceMs: number): void {
    const telling = (): (Told | undefined)[] =>
      LOOKUPS.map((name) => this.#told.find(({ by, ranges }) => by === name && ranges.has(key)));
    this.#until('every look-up was told', () => telling().every((told) => told !== undefined));
    const when = telling().map((told) => `${told?.by} after ${since(sinceMs, told?.atMs ?? 0)}`);
    this.#say(`the look-ups are told what was lost: ${when.join(', ')}`);
  }

  #untilServed(key: Hash): OwnerNode {
    const serving = (): OwnerNode | undefined =>
      this.#pool.owners.find((node) => node.check(key) !== undefined);
    this.#until('somebody serves the key', () => serving() !== undefined);
    return present(serving(), 'somebody serves the key');
  }

  /** Until every living owner has what the policy wants it to have, and every look-up knows. */
  #untilQuiet(): void {
    const isQuiet = (): boolean => {
      const { checker } = this.#pool;
      try {
        checker.settled();
        return checker.truth.pools.size > 0;
      } catch (error) {
        if (error instanceof BrokenPromise) return false;
        throw error;
      }
    };
    this.#until('all is quiet', isQuiet);
  }

  #until(what: string, isSo: () => boolean): void {
    this.#pool.until(what, isSo, LONG_MS);
  }

  #leader(): ManagerNode {
    return present(this.#pool.leader, 'a Manager leads');
  }

  #ownerOfAlice(): OwnerNode {
    const name = this.#find(this.#pool.lookup(LOOKUPS[0]))?.name;
    return this.#pool.owner(present(name, 'alice is owned'));
  }

  #find(lookup: LookupNode, key: Hash = ALICE) {
    return lookup.core?.find(highOf(key), lowOf(key))?.owner;
  }

  #someKeyOf(owner: OwnerNode): string {
    for (let index = 1; ; index += 1) {
      const key = `user-${index}`;
      if (owner.check(keyHash(key)) !== undefined) return key;
    }
  }

  #rows(): readonly Row[] {
    return this.#leader().core?.state.pool('pool').rows ?? [];
  }

  #nameOf(incarnation: string | undefined): string | undefined {
    const members = this.#leader().core?.state.pool('pool').members;
    return incarnation === undefined ? undefined : members?.get(incarnation)?.name;
  }

  #share(name: string): string {
    return percent(this.#rows().filter((row) => this.#nameOf(row.owner) === name));
  }
}

interface Moved extends Span {
  readonly to: string | undefined;
}

/** The stretches whose owner is another in the second table than in the first. */
function movedBetween(
  before: readonly Row[],
  after: readonly Row[],
  nameOf: (row: Row) => string | undefined,
): Moved[] {
  const moved: Moved[] = [];
  for (const row of after) {
    for (const old of before) {
      const start = row.start > old.start ? row.start : old.start;
      const end = row.end < old.end ? row.end : old.end;
      if (start < end && nameOf(old) !== nameOf(row)) moved.push({ start, end, to: nameOf(row) });
    }
  }
  return moved;
}

const percent = (spans: readonly Span[]): string => {
  const positions = spans.reduce((sum, { start, end }) => sum + (end - start), 0n);
  return `${((Number(positions) / Number(RING_SIZE)) * 100).toFixed(1)} %`;
};

const seconds = (ms: number): string => String(Number((ms / 1_000).toFixed(2)));

const since = (fromMs: number, toMs: number): string =>
  toMs - fromMs < 1_000 ? `${(toMs - fromMs).toFixed(0)} ms` : `${seconds(toMs - fromMs)} s`;
