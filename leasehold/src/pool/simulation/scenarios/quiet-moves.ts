/**
 * The stage of a scenario of moves: a quiet pool that has begun to move keys, in which every key has an item, and one range is about to go from its
 * owner, the *source*, to another one, the *target*.
 *
 * A move goes through *steps*, and a scenario acts right after the event with which one of them begins. The promises of `../moves/moves-check.ts` and of
 * `../checker.ts` are asked after every event all the same; what a scenario adds is what becomes of the keys, and what look-ups are told.
 */

import { assert } from '../../../runtime/assert.ts';
import type { Hash } from '../../../runtime/keys/position.ts';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import type { Span } from '../../../runtime/keys/range.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import { Random } from '../../../sim/random.ts';
import { resolveDurations } from '../../core/options.ts';
import { consistentHashing } from '../../core/policy/consistent-hashing.ts';
import { KEYS, keysIn, POSITIONS } from '../moves/items.ts';
import { MovesWorld, type MovesWorldOptions } from '../moves/moves-world.ts';
import type { OwnerNode } from '../nodes.ts';
import { Directions } from './directions.ts';
import { Journal } from './journal.ts';
import { leaderOf, when } from './quiet-pool.ts';

export const STEPS = [
  'the target is told',
  'the source streams',
  'the source stops',
  'the source is frozen',
  'the target has everything',
  'the source has handed over',
  'the move is committed',
  'the target has taken the keys',
] as const;
export type Step = (typeof STEPS)[number];

/** From this step on source and target have said all that a leader needs. */
export const isDecided = (step: Step): boolean =>
  STEPS.indexOf(step) >= STEPS.indexOf('the source has handed over');

export interface QuietMovesOptions extends Partial<MovesWorldOptions> {
  /** `owner-1`, `owner-2`, … @default 3 */
  readonly owners?: number | undefined;
  /** `still-1`, …: owners that move nothing. @default 0 */
  readonly still?: number | undefined;
  /** `lookup-1`, `lookup-2`, … @default 2 */
  readonly lookups?: number | undefined;
  /** Whether supervisors prove deaths at once. @default false */
  readonly supervised?: boolean | undefined;
}

export class QuietMoves {
  readonly pool: MovesWorld;
  readonly journal: Journal;
  readonly directions: Directions = new Directions();
  /** What each key has, by the last write that was acknowledged. */
  readonly #versions = new Map<number, number | undefined>();

  constructor(options: QuietMovesOptions = {}) {
    const { owners = 3, still = 0, lookups = 2, supervised = false, ...more } = options;
    const { durations = resolveDurations() } = more;
    this.pool = new MovesWorld(
      {
        ...{ seed: 1, trace: true, durations, managers: 3 },
        ...{
          policy: consistentHashing({ virtualNodes: 2 }),
          movesPolicy: this.directions,
          quietAfterMs: 1_000,
        },
        leaderKeyMs: durations.leaderLeaseMs * 1.1,
        ...{ links: { delayMs: [2, 2] }, logLinks: { delayMs: [2, 2] }, transferLinks: { delayMs: [2, 2] } },
        ...{ withoutMovesChance: 0, otherFormChance: 0 },
        ...more,
      },
      new Random(1),
    );
    const { pool } = this;
    this.journal = new Journal(pool);
    const { wrote } = pool.check;
    pool.check.wrote = (key, version) => {
      this.#versions.set(key, version);
      wrote.call(pool.check, key, version);
    };
    pool.start();
    for (let index = 1; index <= owners; index += 1) pool.addOwner(`owner-${index}`, { supervised });
    for (let index = 1; index <= still; index += 1) pool.addOwnerWithoutMoves(`still-${index}`);
    for (let index = 1; index <= lookups; index += 1) pool.addLookup(`lookup-${index}`);
    pool.until('keys move', () => pool.checker.replayed.pool('pool').hasMoves, 30_000);
    this.settle();
    this.writeAll();
    pool.run(2 * pool.durations.syncEveryMs);
    this.journal.told.length = 0;
  }

  /** Everything is served, nothing is under way, and every look-up knows. */
  settle(): void {
    const { pool } = this;
    pool.until('all is settled', () => this.#unsettled() === undefined, pool.settleMs + 45_000);
  }

  #unsettled(): string | undefined {
    const { pool } = this;
    const { rows } = pool.checker.replayed.pool('pool');
    for (const { start, owner, number } of rows) {
      const node = pool.owners.find(({ incarnation, lives }) => lives && incarnation === owner);
      if (node === undefined || node.left || node.check(start) !== number) return `${start} is not served`;
      for (const lookup of pool.lookups) {
        const known = lookup.core?.find(Number(start >> 32n), Number(start & 0xffffffffn));
        if (known?.number !== number) return `${lookup.name} knows another number`;
      }
    }
    const busy = pool.owners.find(
      ({ core, lives, left }) => lives && !left && (core?.movesUnderway ?? 0) > 0,
    );
    return busy === undefined ? undefined : `${busy.name} has tickets`;
  }

  /** The names of the owners that serve these keys. */
  namesServing(keys: readonly number[]): string[] {
    return [...new Set(keys.map((key) => this.#serving(key)?.name ?? 'nobody'))];
  }

  #serving(key: number): OwnerNode | undefined {
    return this.pool.owners.find((node) => node.lives && node.check(positionOf(key)) !== undefined);
  }

  /** Writes an item under each key, at the owner that serves it. Owners that move nothing keep no items. */
  writeAll(): void {
    for (let key = 0; key < KEYS; key += 1) this.write(key);
    this.pool.run(5);
  }

  /** Work that checks, and checks again at its end; false if nobody serves the key. */
  write(key: number, { ms = 0, isGuarded = false }: { ms?: number; isGuarded?: boolean } = {}): boolean {
    const node = this.#serving(key);
    const version = this.pool.nextVersion();
    return node !== undefined && this.pool.carrierOf(node)?.work(key, version, ms, isGuarded) === true;
  }

  /** The last write to a key that was acknowledged. */
  written(key: number): number | undefined {
    return this.#versions.get(key);
  }

  /** What the owner that serves the key has, and whether that is what was written last. */
  has(key: number): 'the last write' | 'nothing' | 'another write' | 'no owner' {
    const node = this.#serving(key);
    if (node === undefined) return 'no owner';
    const item = this.pool.carrierOf(node)?.store.get(key);
    if (item === undefined) return 'nothing';
    return item === this.#versions.get(key) ? 'the last write' : 'another write';
  }

  /** Keys of which the owner has not the last write. */
  get missing(): number[] {
    return allKeys.filter((key) => this.has(key) !== 'the last write');
  }

  /** Keys that are neither complete nor told as lost and empty. There must be none. */
  get untold(): number[] {
    const lost = new Set(this.lostKeys);
    return allKeys.filter((key) => {
      const has = this.has(key);
      return has !== 'the last write' && !(has === 'nothing' && lost.has(key));
    });
  }

  /** From now on the range of this owner with the most keys belongs to that owner. */
  send(source: OwnerNode, target: OwnerNode): Move {
    return this.sendRow(source, target, this.#widest(source));
  }

  /** As {@link send}, with the first half of the range, so that a row is cut in two. */
  sendHalf(source: OwnerNode, target: OwnerNode): Move {
    const { start, end } = this.#widest(source);
    return this.sendRow(source, target, { start, end: (start + end) / 2n });
  }

  #widest(source: OwnerNode): Span {
    const rows = this.pool.checker.replayed.pool('pool').rowsOf(source.incarnation);
    const [widest] = [...rows].sort((one, other) => keysIn([other]).length - keysIn([one]).length);
    assert(widest !== undefined && keysIn([widest]).length > 1, `${source.name} has too few keys`);
    return widest;
  }

  /** As {@link send}, with this range. */
  sendRow(source: OwnerNode, target: OwnerNode, { start, end }: Span): Move {
    this.directions.send({ start, end }, target.ownerName);
    this.decide();
    return new Move(this, source, target, { start, end });
  }

  /** The leader looks at the policy again. */
  decide(): void {
    leaderOf(this.pool).configure({});
  }

  /** Nothing must be lost from here on. */
  expectNoLoss(): void {
    this.pool.check.isClean = true;
  }

  /** All that look-ups were told was lost; the same for each of them. */
  get lost(): RangeSet {
    const [first, ...others] = this.pool.lookups.map(({ name }) => this.#lostTo(name));
    assert(first !== undefined, 'there is no look-up');
    for (const other of others)
      assert(
        first.subtract(other).isEmpty && other.subtract(first).isEmpty,
        'look-ups were told of different losses',
      );
    return first;
  }

  #lostTo(lookup: string): RangeSet {
    return this.journal.toldTo(lookup).reduce((union, { ranges }) => union.union(ranges), RangeSet.empty);
  }

  /** Whether any look-up was told of any loss. */
  get isLossTold(): boolean {
    return this.journal.told.length > 0;
  }

  /** Which keys were told as lost, by number. */
  get lostKeys(): number[] {
    return keysIn(this.lost.spans());
  }
}

/** One range on its way. */
export class Move {
  readonly source: OwnerNode;
  readonly target: OwnerNode;
  readonly span: Span;
  readonly keys: readonly number[];
  readonly #stage: QuietMoves;
  readonly #from: number;

  constructor(stage: QuietMoves, source: OwnerNode, target: OwnerNode, span: Span) {
    this.#stage = stage;
    this.source = source;
    this.target = target;
    this.span = span;
    this.keys = keysIn([span]);
    this.#from = stage.journal.turns.length;
  }

  /** Acts once, right after the event with which this step begins. */
  at(step: Step, act: () => void): this {
    when(this.#stage.pool, () => this.has(step), act);
    return this;
  }

  /** Lets time pass until the step has begun. */
  until(step: Step): void {
    this.#stage.pool.until(step, () => this.has(step), 60_000);
  }

  has(step: Step): boolean {
    const { journal } = this.#stage;
    switch (step) {
      case 'the target is told':
        return this.#was(this.target, 'receive');
      case 'the source streams':
        return this.#was(this.source, 'stream');
      case 'the source stops':
        return this.#was(this.source, 'stop');
      case 'the source is frozen':
        return this.#was(this.source, 'freeze');
      case 'the target has everything':
        return journal
          .reports()
          .some(
            ({ from, message }) =>
              from === this.target.name &&
              message.receiving?.some(
                ({ start, digest }) => start === this.span.start && digest !== undefined,
              ),
          );
      case 'the source has handed over':
        return this.#was(this.source, 'handed');
      case 'the move is committed':
        return journal
          .records('move')
          .some(({ spans }) => spans.some(({ start }) => start === this.span.start));
      case 'the target has taken the keys':
        return this.#was(this.target, 'commit');
    }
  }

  #was(node: OwnerNode, what: string): boolean {
    const { turns } = this.#stage.journal;
    for (let index = this.#from; index < turns.length; index += 1) {
      const turn = turns[index];
      if (turn?.owner === node.name && turn.effect.do === what) return true;
    }
    return false;
  }
}

export const allKeys: readonly number[] = POSITIONS.map((_, key) => key);

export const positionOf = (key: number): Hash => {
  const at = POSITIONS[key];
  assert(at !== undefined && at < RING_SIZE, `there is no key ${key}`);
  return at;
};

/** The owners `owner-1`, `owner-2` and `owner-3` of a stage. */
export const ownersOf = ({ pool }: QuietMoves): readonly [OwnerNode, OwnerNode, OwnerNode] => [
  pool.owner('owner-1'),
  pool.owner('owner-2'),
  pool.owner('owner-3'),
];
