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
 *  - **continuity.** Numbers only grow; a tenure as the owner remembers it is a tenure as the log has
 *    it: not longer, or it would act on stale memory, nor shorter, or memory was dropped unreported.
 *  - **log-is-truth.** The table covers the ring once, every Manager's state is what the log replays
 *    to, and nobody was told what was not committed.
 *  - **settles.** Once faults stop, all is leased as the policy says and every look-up agrees.
 *  - **placement.** Keys are taken from a living owner only if some policy decision gave them to
 *    another.
 */

import type { LogBatch } from '../../log/log.ts';
import { AssertionError } from '../../runtime/assert.ts';
import { highOf, lowOf, RING_SIZE } from '../../runtime/keys/position.ts';
import { formatRange, type Span } from '../../runtime/keys/range.ts';
import type { World } from '../../sim/world.ts';
import type { LookupEffect } from '../lookup/lookup.ts';
import type { FromManager, GrantedSpan, NumberedSpan, Update } from '../messages.ts';
import type { ResolvedDurations } from '../options.ts';
import type { Piece } from '../owner/holdings.ts';
import type { OwnerEffect } from '../owner/owner.ts';
import type { Policy } from '../policy/policy.ts';
import { type Batch, decodeBatch, ManagerState } from '../state.ts';
import { LossCheck } from './loss-check.ts';
import type { LookupNode, ManagerNode, Observer, OwnerNode } from './nodes.ts';
import { PlacementCheck } from './placement-check.ts';
import { type Taken, type TruePool, Truth } from './truth.ts';

export const PROMISES = [
  'one-owner',
  'every-loss-told',
  'continuity',
  'log-is-truth',
  'settles',
  'placement',
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
  /** Set while a healthy lease must not lapse. */
  calm = false;

  constructor(world: World, durations: ResolvedDurations, policy: Policy) {
    this.#world = world;
    this.#policy = policy;
    this.losses = new LossCheck(world, durations);
    this.#placement = new PlacementCheck(world, policy, (pool, incarnation) =>
      this.#ownerNode(pool, incarnation),
    );
    world.afterEach(() => this.#lookAtOwners());
  }

  #broken(promise: PromiseName, detail: string): Error {
    return this.#world.broken(promise, detail);
  }

  /** The engine has committed a batch, at this instant. */
  committed(batch: LogBatch): void {
    const decoded = decodeBatch(batch.bytes);
    const taken = this.truth.commit(batch.position, decoded);
    this.#replay(batch.position, decoded);
    this.#world.count('commits');
    for (const { pool, records } of decoded.pools) {
      for (const { kind } of records) this.#world.count(`records ${kind}`);
      this.#coversTheRing(pool);
      const lost = taken.get(pool) ?? [];
      for (const span of lost) this.#isLetGoOf(pool, span);
      this.#noteGrants(pool);
      this.#placement.note(pool, this.truth.pool(pool), batch.position);
      for (const span of lost) if (!span.left) this.#placement.judge(pool, span);
      if (lost.length > 0) this.losses.committed({ pool, position: batch.position, spans: lost });
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
      this.#lookAtOwner(node);
      this.#seenVersions.set(node, { core, version: core.version, running: process.running });
    }
  }

  /** Whoever's check passes is the owner in the log, and remembers its tenure as the log does. */
  #lookAtOwner(node: OwnerNode): void {
    const pool = this.truth.pool(node.pool);
    for (const piece of node.core?.pieces ?? []) {
      const isServed = node.check(piece.start) !== undefined;
      const isContinuous = node.checkContinuous(piece.start, piece.number);
      if (!isServed && !isContinuous) continue;
      const { number } = piece;
      if (!isContinuous || node.checkContinuous(piece.start, piece.since - 1)) {
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
    if (message.kind === 'changes' && message.to > this.truth.head) {
      throw this.#broken(
        'log-is-truth',
        `${node.name} tells look-ups of position ${message.to}, but the log ends at ${this.truth.head}`,
      );
    }
  }

  /** Every span of an update was granted to that owner under that number, by a commit. */
  #isCommitted(node: ManagerNode, update: Update): void {
    const granted = this.#granted(update);
    for (const span of update.spans) {
      if (this.#checkedSpans.has(span)) continue;
      this.#checkedSpans.add(span);
      if (span.number <= this.truth.head && granted(span)) continue;
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
    this.losses.reported(node, effect.ranges);
  }

  lookupMoved(node: LookupNode): void {
    this.losses.moved(node);
  }

  /** Once faults have stopped for the stated time: everything is as it should be. */
  settled(): void {
    for (const [name, pool] of this.truth.pools) this.#poolSettled(name, pool);
  }

  #poolSettled(name: string, pool: TruePool): void {
    const owners = this.owners.filter((node) => node.pool === name && node.lives && !node.left);
    const living = new Set(owners.map(({ incarnation }) => incarnation));
    for (const member of pool.members.keys()) {
      if (!living.has(member)) throw this.#broken('settles', `${member} is dead or gone and still a member`);
    }
    for (const node of owners) {
      if (node.leaving) throw this.#broken('settles', `${node.incarnation} wanted to leave and has not left`);
      if (!pool.members.has(node.incarnation))
        throw this.#broken('settles', `${node.incarnation} lives and is no member`);
    }
    if (owners.length === 0) return;
    const wish = this.#policy.place({
      rows: [],
      members: owners.map((node) => ({ incarnation: node.incarnation, name: node.name, load: undefined })),
    });
    for (const placed of wish) {
      for (const segment of pool.overlapping(placed)) {
        if (segment.owner !== placed.incarnation)
          throw this.#broken(
            'settles',
            `${formatRange(segment)} belongs to ${segment.owner ?? 'nobody'}, and the policy wants ${placed.incarnation}`,
          );
      }
      const node = owners.find(({ incarnation }) => incarnation === placed.incarnation);
      for (const segment of pool.overlapping(placed)) this.#serves(node, segment, placed);
    }
    if (this.replayed.pool(name).rows.length > wish.length)
      throw this.#broken(
        'settles',
        `${this.replayed.pool(name).rows.length} rows for ${wish.length} spans: nobody merged them`,
      );
    for (const node of this.losses.lookups)
      if (node.pool === name && node.process.alive) this.#agrees(node, name);
  }

  /** The owner passes its check on every stretch of these keys. */
  #serves(node: OwnerNode | undefined, { start, end }: Span, placed: Span): void {
    const from = start > placed.start ? start : placed.start;
    const to = end < placed.end ? end : placed.end;
    const edges = (node?.core?.pieces ?? []).flatMap((piece) => [piece.start, piece.end]);
    for (const at of [from, ...edges.filter((edge) => from < edge && edge < to)]) {
      if (node?.check(at) !== undefined) continue;
      throw this.#broken('settles', `${node?.name} does not serve ${formatRange(placed)}`);
    }
  }

  #agrees(node: LookupNode, name: string): void {
    for (const row of this.replayed.pool(name).rows) {
      const known = node.core?.find(highOf(row.start), lowOf(row.start));
      if (known?.owner?.incarnation === row.owner && known?.number === row.number) continue;
      throw this.#broken(
        'settles',
        `${node.name} has ${known?.owner?.incarnation ?? 'nobody'} under ${known?.number} for ${formatRange(row)}, the log has ${row.owner ?? 'nobody'} under ${row.number}`,
      );
    }
    if (node.core?.isCutOff) throw this.#broken('settles', `${node.name} is still cut off`);
  }
}
