/**
 * Is every loss told? For each look-up, the losses that it has not reported yet.
 *
 * A report of everything counts for every loss committed before it, and for none after. There are
 * four ways to fail, each seen at the instant it happens:
 *
 *  - a look-up moves to a position at or past a loss that it has not reported;
 *  - a look-up takes itself for fresh as of an instant by which there was a loss it has not reported;
 *  - a leader vouches for a position although a loss beyond it was committed, longer ago than a
 *    leader that does not know that it was deposed can go on;
 *  - a look-up is silent for longer than the bound.
 */

import { formatRange, type Span } from '../../runtime/keys/range.ts';
import { RangeSet } from '../../runtime/keys/range-set.ts';
import type { World } from '../../sim/world.ts';
import type { Bounds } from './bounds.ts';
import type { LookupNode } from './nodes.ts';

/** Keys were taken from an owner without a confirmed hand-over. */
export interface Loss {
  readonly pool: string;
  readonly position: number;
  readonly spans: readonly Span[];
}

interface Outstanding {
  readonly loss: Loss;
  /** The log that told of it was put back to before it; or the look-up takes it for something that it has seen there. */
  isForgotten: boolean;
  remaining: RangeSet;
  readonly atMs: number;
  /** When it happened, by the look-up's clock. */
  readonly localAt: number;
}

/** What one incarnation of a look-up still has to report. */
interface Account {
  readonly core: unknown;
  items: Outstanding[];
  /** It has had a table; before that it has nothing that could be lost. */
  hasMoved: boolean;
  /** Where it was in a log that was put back to before that: what is there up to here by now it does not see. */
  blindTo: number;
}

export class LossCheck {
  lookups: readonly LookupNode[] = [];
  /** How much later than the bound a look-up may act because its timers are late. */
  latenessMs = 0;
  readonly #world: World;
  readonly #bounds: Bounds;
  readonly #accounts = new Map<LookupNode, Account>();
  /** Where the log ended when it was last put back. */
  #wentBackTo = Number.POSITIVE_INFINITY;
  /** When losses were committed, by pool. */
  readonly #committed = new Map<string, { readonly position: number; readonly atMs: number }[]>();

  constructor(world: World, bounds: Bounds) {
    this.#world = world;
    this.#bounds = bounds;
    world.afterEach(() => this.#noneIsFresherThanItKnows());
  }

  committed(loss: Loss): void {
    this.#world.count('losses');
    const committed = this.#committed.get(loss.pool) ?? [];
    committed.push({ position: loss.position, atMs: this.#world.trueMs });
    this.#committed.set(loss.pool, committed);
    for (const node of this.lookups) {
      if (node.pool !== loss.pool || node.core === undefined) continue;
      const account = this.#account(node);
      const remaining = RangeSet.of(loss.spans);
      const isForgotten = loss.position <= account.blindTo;
      const item = { loss, isForgotten, remaining, atMs: this.#world.trueMs, localAt: node.process.now() };
      account.items.push(item);
      if (!node.lives) continue; // An incarnation that resumes from here will have to report it.
      const { core } = node;
      this.#world.after(this.#boundMs, () => this.#mustBeTold(node, core, item));
    }
  }

  reported(node: LookupNode, ranges: RangeSet): void {
    const account = this.#account(node);
    for (const item of account.items) item.remaining = item.remaining.subtract(ranges);
    account.items = account.items.filter(({ remaining }) => !remaining.isEmpty);
  }

  moved(node: LookupNode): void {
    const account = this.#account(node);
    const position = node.core?.seen?.position;
    if (position === undefined) return;
    const isNew = !account.hasMoved && !node.resumed;
    account.hasMoved = true;
    if (isNew) account.items = account.items.filter(({ loss }) => loss.position > position);
    account.items = account.items.filter(({ loss }) => !this.#isHidden(node, loss));
    for (const { loss, remaining, isForgotten } of account.items) {
      if (isForgotten || loss.position > position) continue;
      const [span] = remaining.spans();
      const where = span === undefined ? '' : ` of ${formatRange(span)}`;
      throw this.#world.broken(
        'every-loss-told',
        `${node.name} moved to ${position} and did not report the loss at ${loss.position}${where}`,
      );
    }
  }

  /** The log was put back to this position: what was lost after it nobody can know, until everything is said to be. */
  wentBackTo(position: number): void {
    this.#wentBackTo = position;
    for (const [pool, losses] of this.#committed)
      this.#committed.set(
        pool,
        losses.filter((loss) => loss.position <= position),
      );
    for (const node of this.lookups) {
      const seen = node.core?.seen?.position ?? 0;
      if (seen > position) this.#account(node).blindTo = seen;
    }
    for (const { items } of this.#accounts.values())
      for (const item of items) item.isForgotten ||= item.loss.position > position;
  }

  /** All is well: whatever a log has forgotten was reported with everything. */
  settled(): void {
    for (const [node, { core, items, hasMoved }] of this.#accounts) {
      const [item] = items.filter(({ isForgotten }) => isForgotten);
      if (item === undefined || core !== node.core || !node.lives || !hasMoved) continue;
      throw this.#world.broken(
        'every-loss-told',
        `${node.name} was never told of the loss at position ${item.loss.position}, which the log has forgotten`,
      );
    }
  }

  /**
   * A look-up that resumes does not say from where before it has a table. If that was forgotten, and the log
   * has grown past it since, it takes what was lost there for what its earlier incarnation reported. This is not
   * promised: nobody can see it.
   */
  #isHidden({ resumedFrom = 0 }: LookupNode, { position }: Loss): boolean {
    return position <= resumedFrom && resumedFrom > this.#wentBackTo;
  }

  /** A leader answers a sync as fresh, with everything up to `position`. */
  vouched(manager: string, pool: string, position: number): void {
    const unknown = this.#committed.get(pool)?.find((loss) => loss.position > position);
    if (unknown === undefined || unknown.atMs + this.#bounds.leaderSlackMs >= this.#world.trueMs) return;
    throw this.#world.broken(
      'every-loss-told',
      `${manager} vouches for position ${position} although the loss at ${unknown.position} is known since ${unknown.atMs.toFixed(0)} ms`,
    );
  }

  #noneIsFresherThanItKnows(): void {
    for (const [node, { core, items }] of this.#accounts) {
      const oldest = items.find(({ isForgotten }) => !isForgotten);
      if (oldest === undefined || core !== node.core || !node.lives) continue;
      if (!node.process.running || node.isDazed) continue;
      const ageMs = (node.core?.ageMs(node.process.now()) ?? 0) * Math.sqrt(this.#bounds.rate);
      const freshAtMs = this.#world.trueMs - ageMs - this.#bounds.suspensionToleranceMs;
      if (freshAtMs <= oldest.atMs + this.#bounds.leaderSlackMs) continue;
      throw this.#world.broken(
        'every-loss-told',
        `${node.name} takes itself for fresh as of ${freshAtMs.toFixed(0)} ms, but has not reported the loss at position ${oldest.loss.position}`,
      );
    }
  }

  get #boundMs(): number {
    return this.#bounds.lossMs + this.latenessMs;
  }

  #account(node: LookupNode): Account {
    let account = this.#accounts.get(node);
    if (account === undefined || account.core !== node.core) {
      // An incarnation that resumes where the last one stopped inherits what that one had not reported.
      const items = node.resumed ? (account?.items ?? []) : [];
      account = { core: node.core, items, hasMoved: false, blindTo: 0 };
      this.#accounts.set(node, account);
    }
    return account;
  }

  #mustBeTold(node: LookupNode, core: unknown, item: Outstanding): void {
    if (node.core !== core || !node.lives || item.isForgotten || item.remaining.isEmpty) return;
    // While its machine is suspended, time does not pass for it; while it is stopped, it cannot act.
    const { rate, lossMs } = this.#bounds;
    const passedMs = (node.process.now() - item.localAt) / Math.sqrt(rate);
    const waitMs = node.process.running ? Math.max(0, this.#boundMs / rate - passedMs) : 100;
    if (waitMs > 0) {
      this.#world.after(waitMs + this.latenessMs, () => this.#mustBeTold(node, core, item));
      return;
    }
    if (!this.#account(node).items.includes(item)) return;
    throw this.#world.broken(
      'every-loss-told',
      `${node.name} was not told of the loss at position ${item.loss.position} within ${lossMs.toFixed(0)} ms`,
    );
  }
}
