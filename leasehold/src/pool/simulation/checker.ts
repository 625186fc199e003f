/**
 * The omniscient observer: after every event it asks whether the promises of the pool still hold.
 *
 * It sees what no process can, all of them at one true instant, and the log at the instant a batch
 * is committed. To be affordable it looks only where something can have gone wrong: at the keys of
 * a commit, at an owner whose holdings changed, at a look-up that moved or reported.
 *
 * The promises, in the words of the project:
 *
 *  - **one-owner.** No key has two owners whose check passes. What is checked is stronger: whoever's
 *    check passes is the owner in the log at that very instant, and the log has one owner a key.
 *  - **every-loss-told.** A look-up never moves past a loss without reporting it, and reports every
 *    loss within the stated bound, by name or with everything.
 *  - **continuity.** Numbers only grow, and the table of a look-up goes forward only; a tenure as the owner
 *    remembers it is a tenure as the log has it: not longer, or it would act on stale memory, nor shorter, or
 *    memory was dropped unreported.
 *  - **log-is-truth.** The table covers the ring once, every Manager's state is what the log replays
 *    to, nobody was told what was not committed, and a look-up that has read the log to its end names its owners.
 *  - **settles.** Once faults stop, all is leased as the policy says and every look-up agrees.
 *  - **dead-are-replaced.** The keys of a dead owner are freed within a stated time, although leaders die before they have
 *    waited for a whole takeover hold (`crash-loop.ts`).
 *  - **left-for-good.** An owner that was told that it has left is no member, and never becomes one again.
 *  - **placement.** Keys are taken from a living owner only if some policy decision gave them to
 *    another.
 *  - **nobody-starved.** While faults go on elsewhere, an owner that is healthy under one leader does not lapse
 *    (`starvation-check.ts`).
 *  - **restore-noticed.** A log that was put back in time is noticed if anybody who has seen more is heard.
 *    (`restoring.ts`, which also says what else can be promised there.)
 */

import type { LogBatch } from '../../log/log.ts';
import { AssertionError } from '../../runtime/assert.ts';
import { highOf, lowOf, RING_SIZE } from '../../runtime/keys/position.ts';
import { formatRange, type Span } from '../../runtime/keys/range.ts';
import type { World } from '../../sim/world.ts';
import type { Lookup, LookupEffect } from '../core/lookup/lookup.ts';
import type { FromManager, GrantedSpan, NumberedSpan, Seen, ToManager, Update } from '../core/messages.ts';
import type { Piece } from '../core/owner/piece.ts';
import type { OwnerEffect } from '../core/owner/owner.ts';
import type { Policy } from '../core/policy/policy.ts';
import { type Batch, decodeBatch, ManagerState } from '../core/state.ts';
import type { Row } from '../core/table.ts';
import type { Bounds } from './bounds.ts';
import { FORGER } from './forger.ts';
import { LossCheck } from './loss-check.ts';
import type { LookupNode, ManagerNode, Observer, OwnerNode } from './nodes.ts';
import { PlacementCheck } from './placement-check.ts';
import { SettledCheck } from './settled-check.ts';
import type { StarvationCheck } from './starvation-check.ts';
import { type Taken, Truth } from './truth.ts';

/** Of more than these only some are compared each time a look-up moves. */
const MOST_ROWS = 48;

export const PROMISES = [
  'one-owner',
  'every-loss-told',
  'continuity',
  'log-is-truth',
  'settles',
  'dead-are-replaced',
  'left-for-good',
  'placement',
  'nobody-starved',
  'restore-noticed',
] as const;
export type PromiseName = (typeof PROMISES)[number];

export class Checker implements Observer {
  readonly truth: Truth = new Truth();
  /** The state that the log replays to. */
  replayed: ManagerState = ManagerState.empty;
  readonly losses: LossCheck;
  owners: OwnerNode[] = [];
  readonly #world: World;
  readonly #policy: Policy;
  readonly #placement: PlacementCheck;
  readonly #seenVersions = new Map<
    OwnerNode,
    { readonly core: unknown; readonly version: number; readonly running: boolean }
  >();
  /** What each incarnation was told to forget, and how much of that was compared with a piece. */
  readonly #dropped = new Map<string, readonly NumberedSpan[]>();
  readonly #droppedSeen = new WeakMap<Piece, number>();
  readonly #checkedSpans = new WeakSet<GrantedSpan>();
  /** Incarnations that were told that they have left. */
  readonly #left = new Set<string>();
  /** Where the table of each look-up was last, by its incarnation. */
  readonly #tables = new WeakMap<Lookup, Seen>();
  /** Told of every lapse. */
  starvation: StarvationCheck | undefined;
  /** Set while a healthy lease must not lapse. */
  calm = false;
  /**
   * Set while owners may act on leases from a time that the log has forgotten: what they hold cannot be
   * found there.
   */
  lenient = false;
  /** The highest position that was ever given, and the log that gave it. */
  #highest = 0;
  #log: 'whole' | 'put back' | 'counters raised' = 'whole';

  constructor(world: World, bounds: Bounds, policy: Policy) {
    this.#world = world;
    this.#policy = policy;
    this.losses = new LossCheck(world, bounds);
    this.#placement = new PlacementCheck(world, policy, (pool, incarnation) =>
      this.#ownerNode(pool, incarnation),
    );
    world.afterEach(() => this.#lookAtOwners());
  }

  #broken(promise: PromiseName, detail: string): Error {
    return this.#world.broken(promise, detail);
  }

  /** The highest position that was ever given. */
  get highest(): number {
    return this.#highest;
  }

  /** Takes a backup of what is true; call what it returns when the store is put back to it. */
  backup(): () => void {
    const restore = this.truth.backup();
    const { replayed } = this;
    return () => {
      restore();
      this.replayed = replayed;
      this.losses.wentBackTo(replayed.position);
      this.#log = 'put back';
    };
  }

  /** An operator has raised the counters of a log that was put back. */
  countersRaised(): void {
    this.#log = 'counters raised';
  }

  /** etcd has committed a batch, at this instant. */
  committed(batch: LogBatch): void {
    if (this.#log === 'counters raised') this.#recovered();
    if (this.#log === 'whole' && batch.position <= this.#highest)
      throw this.#broken('continuity', `position ${batch.position} was given twice`);
    this.#highest = Math.max(this.#highest, batch.position);
    const decoded = decodeBatch(batch.bytes);
    const taken = this.truth.commit(batch.position, decoded);
    this.#replay(batch.position, decoded);
    this.#world.count('commits');
    for (const { pool, records } of decoded.pools) {
      for (const record of records) {
        this.#world.count(`records ${record.kind}`);
        if (record.kind === 'join') this.#hasNotLeft(record.member.incarnation);
      }
      this.#coversTheRing(pool);
      const changed = taken.get(pool) ?? [];
      for (const span of changed) this.#isLetGoOf(pool, span);
      const lost = changed.filter(({ moved }) => !moved);
      this.#noteGrants(pool);
      this.#placement.note(pool, this.truth.pool(pool), batch.position);
      const isJudged = this.#log === 'whole' && !this.replayed.pool(pool).hasMoves;
      for (const span of lost) if (!span.left && isJudged) this.#placement.judge(pool, span);
      if (lost.length > 0) this.losses.committed({ pool, position: batch.position, spans: lost });
    }
  }

  #hasNotLeft(incarnation: string): void {
    if (!this.#left.has(incarnation)) return;
    throw this.#broken('left-for-good', `${incarnation} became a member after it was told that it has left`);
  }

  #hasLeft({ pool, incarnation }: OwnerNode): void {
    this.#left.add(incarnation);
    // In a log that was put back, an owner that has left may be a member once more.
    if (this.#log !== 'whole' || !this.truth.pool(pool).members.has(incarnation)) return;
    throw this.#broken('left-for-good', `${incarnation} was told that it has left, and is a member`);
  }

  /** The first commit after the counters were raised: whatever was leased before must be over. */
  #recovered(): void {
    this.#log = 'whole';
    this.lenient = false;
    this.#placement.forget();
    for (const node of this.owners) {
      if (node.process.clock.suspended) continue;
      for (const { start, number } of node.core?.pieces ?? []) {
        if (node.check(start) === undefined) continue;
        throw this.#broken(
          'one-owner',
          `the log was recovered while ${node.name} still acts under ${number}`,
        );
      }
    }
  }

  #replay(position: number, batch: Batch): void {
    try {
      this.replayed = this.replayed.apply(position, batch);
    } catch (error) {
      if (!(error instanceof AssertionError)) throw error;
      throw this.#broken('log-is-truth', `the log does not replay: ${error.message}`);
    }
  }

  #coversTheRing(pool: string): void {
    let at = 0n;
    for (const row of this.replayed.pool(pool).rows) {
      if (row.start !== at || row.end <= row.start)
        throw this.#broken('log-is-truth', `the table has a gap or an overlap at ${formatRange(row)}`);
      if (row.owner !== undefined && !this.replayed.pool(pool).members.has(row.owner))
        throw this.#broken('log-is-truth', `${row.owner} owns keys and is no member`);
      at = row.end;
    }
    if (at !== RING_SIZE) throw this.#broken('log-is-truth', 'the table does not cover the ring');
  }

  /** What the log has just taken from an owner, that owner must no longer act for. */
  #isLetGoOf(pool: string, span: Taken): void {
    const node = this.#ownerNode(pool, span.from);
    if (node === undefined || node.process.clock.suspended) return;
    for (const piece of node.core?.pieces ?? []) {
      if (piece.end <= span.start || piece.start >= span.end) continue;
      const at = piece.start > span.start ? piece.start : span.start;
      const number = node.check(at);
      if (number !== undefined) {
        throw this.#broken(
          'one-owner',
          `${formatRange(span)} was freed while ${node.name} still passes its check under ${number}`,
        );
      }
      if (node.checkContinuous(at, piece.number)) {
        throw this.#broken(
          'continuity',
          `${formatRange(span)} was freed while ${node.name} still passes as having held it under ${piece.number}`,
        );
      }
    }
  }

  #ownerNode(pool: string, incarnation: string): OwnerNode | undefined {
    return this.owners.find((node) => node.pool === pool && node.incarnation === incarnation && node.lives);
  }

  #lookAtOwners(): void {
    for (const node of this.owners) {
      const { core, process } = node;
      if (core === undefined) continue;
      if (process.clock.suspended) {
        this.#seenVersions.delete(node); // To be looked at as soon as it could act again.
        continue;
      }
      const { version } = core;
      const seen = this.#seenVersions.get(node);
      if (seen?.core === core && seen.version === version && seen.running === process.running) continue;
      if (!this.lenient) this.#lookAtOwner(node);
      this.#seenVersions.set(node, { core, version: core.version, running: process.running });
    }
  }

  /** Whoever's check passes is the owner in the log, and remembers its tenure as the log does. */
  #lookAtOwner(node: OwnerNode): void {
    const pool = this.truth.pool(node.pool);
    for (const piece of node.core?.pieces ?? []) {
      const isServed = node.check(piece.start) !== undefined;
      const isHeld = node.checkContinuous(piece.start, piece.number);
      if (!isServed && !isHeld) continue;
      const { number } = piece;
      if (isServed && node.process.now() >= piece.until)
        throw this.#broken(
          'one-owner',
          `${node.incarnation} passes its check for ${formatRange(piece)} after its lease has ended`,
        );
      if (!isHeld || node.checkContinuous(piece.start, piece.since - 1)) {
        throw this.#broken(
          'continuity',
          `${node.incarnation} is wrong about since when it has ${formatRange(piece)}`,
        );
      }
      this.#remembers(node, piece);
      for (const segment of pool.overlapping(piece)) {
        if (segment.owner !== node.incarnation) {
          throw this.#broken(
            isServed ? 'one-owner' : 'continuity',
            `${node.incarnation} passes its check for ${formatRange(piece)} under ${number}, but the log has ${segment.owner ?? 'nobody'} under ${segment.number}`,
          );
        }
        if (piece.since < segment.tenure)
          throw this.#broken(
            'continuity',
            `${node.incarnation} thinks it has held ${formatRange(piece)} since ${piece.since}, but the log says ${segment.tenure}`,
          );
        if (piece.since > segment.tenure)
          throw this.#broken(
            'continuity',
            `${node.incarnation} dropped what it remembered of ${formatRange(piece)} since ${segment.tenure}, and no loss was recorded`,
          );
        if (number > segment.number)
          throw this.#broken(
            'log-is-truth',
            `${node.incarnation} acts under ${number}, which the log does not have`,
          );
      }
    }
  }

  /** A tenure that is in use must not reach back to before the application was told to forget. */
  #remembers(node: OwnerNode, piece: Piece): void {
    const dropped = this.#dropped.get(node.incarnation) ?? [];
    const seen = this.#droppedSeen.get(piece) ?? 0;
    this.#droppedSeen.set(piece, dropped.length);
    for (const span of dropped.slice(seen)) {
      if (span.end <= piece.start || span.start >= piece.end || span.number < piece.since) continue;
      throw this.#broken(
        'continuity',
        `${node.incarnation} passes as having held ${formatRange(piece)} since ${piece.since}, but forgot it under ${span.number}`,
      );
    }
  }

  ownerChanged(node: OwnerNode, effect: OwnerEffect): void {
    this.#world.count(`owner ${effect.do}`);
    if (effect.do === 'dropped') {
      const dropped = this.#dropped.get(node.incarnation) ?? [];
      this.#dropped.set(node.incarnation, [...dropped, ...effect.spans]);
    }
    if (effect.do === 'left') this.#hasLeft(node);
    if (effect.do === 'lapsed') this.starvation?.lapsed(node);
    if (effect.do === 'lapsed' && this.calm) {
      throw this.#broken('settles', `the lease of ${node.name} lapsed although nothing was wrong`);
    }
  }

  managerSends(node: ManagerNode, _to: string, message: FromManager): void {
    if (message.kind === 'update') this.#isCommitted(node, message);
    // A standby vouches for when it asked the log, which may be a while ago; a leader, for now.
    if (message.kind === 'changes' && message.answers !== undefined && node.core?.role === 'leading') {
      this.losses.vouched(node.name, message.pool, message.to);
    }
    if (message.kind === 'changes' && message.to > this.#head) {
      throw this.#broken(
        'log-is-truth',
        `${node.name} tells look-ups of position ${message.to}, but the log ends at ${this.#head}`,
      );
    }
  }

  /** Nobody honest has seen more than is in the log, unless that went back; and then a leader that hears of it stops. */
  managerHeard(node: ManagerNode, from: string, message: ToManager): void {
    const { core } = node;
    if (core?.term === undefined || from === FORGER) return;
    if (message.kind === 'certificate' || message.kind === 'probe') return;
    const { seen } = message;
    if (seen === undefined || seen.position <= Math.max(core.state.position, this.truth.head)) return;
    const { history, isWriting } = core.observe();
    if (seen.history !== history || isWriting) return; // What is being written may have been seen before it was lost.
    throw this.#broken(
      'restore-noticed',
      `${node.name} leads on at ${core.state.position} although ${from} has told it of ${seen.position}`,
    );
  }

  /** What somebody can have heard of: of a log that was put back, also what is no longer there. */
  get #head(): number {
    return this.#log === 'whole' ? this.truth.head : this.#highest;
  }

  /** Every span of an update was granted to that owner under that number, by a commit. */
  #isCommitted(node: ManagerNode, update: Update): void {
    const granted = this.#granted(update);
    for (const span of update.spans) {
      if (this.#checkedSpans.has(span)) continue;
      this.#checkedSpans.add(span);
      if (span.number <= this.#head && granted(span)) continue;
      throw this.#broken(
        'log-is-truth',
        `${node.name} tells ${update.incarnation} that it has ${formatRange(span)} under ${span.number}, which was never committed`,
      );
    }
  }

  readonly #grants = new Map<string, Map<number, Span[]>>();

  #granted({ pool, incarnation }: Update): (span: GrantedSpan) => boolean {
    const byNumber = this.#grants.get(`${pool} ${incarnation}`);
    return (span) =>
      byNumber?.get(span.number)?.some(({ start, end }) => start <= span.start && span.end <= end) ?? false;
  }

  managerCommitted(node: ManagerNode): void {
    this.#world.count('manager commits');
    const state = node.core?.state;
    if (state === undefined || state.position !== this.replayed.position) return;
    for (const [name, table] of this.replayed.pools) {
      const rows = state.pool(name).rows;
      const same =
        rows.length === table.rows.length &&
        rows.every((row, index) => {
          const other = table.rows[index];
          return (
            other !== undefined &&
            row.start === other.start &&
            row.owner === other.owner &&
            row.number === other.number &&
            row.lostAt === other.lostAt &&
            row.changedAt === other.changedAt
          );
        });
      if (!same)
        throw this.#broken(
          'log-is-truth',
          `${node.name} has another table than the log replays to at ${state.position}`,
        );
    }
  }

  /** For each owner, what every number was granted for; merged rows under their new number too. */
  #noteGrants(pool: string): void {
    const { position } = this.replayed;
    for (const row of this.replayed.pool(pool).rows) {
      if (row.owner === undefined || row.changedAt !== position) continue;
      const key = `${pool} ${row.owner}`;
      let numbers = this.#grants.get(key);
      if (numbers === undefined) this.#grants.set(key, (numbers = new Map()));
      const spans = numbers.get(row.number);
      if (spans === undefined) numbers.set(row.number, [row]);
      else spans.push(row);
    }
  }

  lookupLost(node: LookupNode, effect: LookupEffect & { do: 'lost' }): void {
    this.#world.count(`lookup lost, ${effect.why}`);
    if (effect.why === 'cut-off' && this.calm) {
      throw this.#broken('settles', `${node.name} took itself for cut off although nothing was wrong`);
    }
    if (effect.why === 'managers-disagree' && node.core !== undefined) this.#tables.delete(node.core);
    this.losses.reported(node, effect.ranges);
  }

  lookupMoved(node: LookupNode): void {
    this.#goesForward(node);
    this.losses.moved(node);
    this.#saysWhatIsTrue(node);
  }

  /** A look-up that has read the log to its end names the owners that the log has, also while faults go on. */
  #saysWhatIsTrue({ name, pool, core }: LookupNode): void {
    const isAtTheEnd = this.#log === 'whole' && core?.hasTable && core.seen?.position === this.truth.head;
    if (core === undefined || !isAtTheEnd) return;
    const { rows } = this.replayed.pool(pool);
    const step = Math.ceil(rows.length / MOST_ROWS);
    for (let index = this.truth.head % step; index < rows.length; index += step) {
      const { start, number } = rows[index] as Row;
      const { owner } = this.truth.pool(pool).at(start);
      const known = core.find(highOf(start), lowOf(start));
      if (known?.owner?.incarnation === owner && (owner === undefined || known?.number === number)) continue;
      throw this.#broken(
        'log-is-truth',
        `${name} is at ${this.truth.head} and has ${known?.owner?.incarnation ?? 'nobody'} under ${known?.number} at ${start}, the log has ${owner ?? 'nobody'} under ${number}`,
      );
    }
  }

  /** Once a look-up has a table, that does not go back while there is no other history and the Managers agree. */
  #goesForward({ name, core }: LookupNode): void {
    const seen = core?.hasTable ? core.seen : undefined;
    if (core === undefined || seen === undefined) return;
    const before = this.#tables.get(core);
    this.#tables.set(core, seen);
    if (before?.history !== seen.history) return;
    if (before.term <= seen.term && before.position <= seen.position) return;
    throw this.#broken(
      'continuity',
      `${name} went back from ${before.position} of term ${before.term} to ${seen.position} of term ${seen.term}`,
    );
  }

  /** Once faults have stopped for the stated time: everything is as it should be. */
  settled(leader?: string): void {
    const { truth, replayed, owners, losses } = this;
    const seen = { replayed, owners, lookups: losses.lookups, leader };
    const check = new SettledCheck(this.#world, this.#policy, seen);
    for (const [name, pool] of truth.pools) check.judge(name, pool);
    losses.settled();
  }
}
