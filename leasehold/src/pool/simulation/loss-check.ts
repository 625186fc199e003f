/**
 * Is every loss told? For each look-up, the losses that it has not reported yet.
 *
 * Two ways to fail: moving to a position at or past a loss without having reported it, which is
 * seen at once; and being silent for longer than the bound. A report of everything counts for every
 * loss committed before it, and for none after.
 */

import { formatRange, type Span } from '../../runtime/keys/range.ts';
import { RangeSet } from '../../runtime/keys/range-set.ts';
import type { World } from '../../sim/world.ts';
import { clockRateBound, lossBoundMs, type ResolvedDurations } from '../options.ts';
import type { LookupNode } from './nodes.ts';

/** Keys were taken from an owner without a confirmed hand-over. */
export interface Loss {
  readonly pool: string;
  readonly position: number;
  readonly spans: readonly Span[];
}

interface Outstanding {
  readonly loss: Loss;
  remaining: RangeSet;
  /** When it happened, by the look-up's clock. */
  readonly localAt: number;
}

/** What one life of a look-up still has to report. */
interface Account {
  readonly core: unknown;
  items: Outstanding[];
  /** It has had a table; before that it has nothing that could be lost. */
  hasMoved: boolean;
}

export class LossCheck {
  lookups: readonly LookupNode[] = [];
  /** How much later than the bound a look-up may act because its timers are late. */
  latenessMs = 0;
  readonly #world: World;
  readonly #durations: ResolvedDurations;
  readonly #accounts = new Map<LookupNode, Account>();

  constructor(world: World, durations: ResolvedDurations) {
    this.#world = world;
    this.#durations = durations;
  }

  committed(loss: Loss): void {
    this.#world.count('losses');
    for (const node of this.lookups) {
      if (node.pool !== loss.pool || node.core === undefined) continue;
      const item = { loss, remaining: RangeSet.of(loss.spans), localAt: node.process.now() };
      this.#account(node).items.push(item);
      if (!node.process.alive) continue; // A life that resumes from here will have to report it.
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
    for (const { loss, remaining } of account.items) {
      if (loss.position > position) continue;
      const [span] = remaining.spans();
      const where = span === undefined ? '' : ` of ${formatRange(span)}`;
      throw this.#world.broken(
        'every-loss-told',
        `${node.name} moved to ${position} and did not report the loss at ${loss.position}${where}`,
      );
    }
  }

  get #boundMs(): number {
    return lossBoundMs(this.#durations) + this.latenessMs;
  }

  #account(node: LookupNode): Account {
    let account = this.#accounts.get(node);
    if (account === undefined || account.core !== node.core) {
      // A life that resumes where the last one stopped inherits what that one had not reported.
      const items = node.resumed ? (account?.items ?? []) : [];
      account = { core: node.core, items, hasMoved: false };
      this.#accounts.set(node, account);
    }
    return account;
  }

  #mustBeTold(node: LookupNode, core: unknown, item: Outstanding): void {
    if (node.core !== core || !node.process.alive || item.remaining.isEmpty) return;
    // While its machine is suspended, time does not pass for it; while it is stopped, it cannot act.
    const rate = clockRateBound(this.#durations);
    const passedMs = (node.process.now() - item.localAt) / Math.sqrt(rate);
    const waitMs = node.process.running ? Math.max(0, this.#boundMs / rate - passedMs) : 100;
    if (waitMs > 0) {
      this.#world.after(waitMs + this.latenessMs, () => this.#mustBeTold(node, core, item));
      return;
    }
    if (!this.#account(node).items.includes(item)) return;
    const boundMs = lossBoundMs(this.#durations).toFixed(0);
    throw this.#world.broken(
      'every-loss-told',
      `${node.name} was not told of the loss at position ${item.loss.position} within ${boundMs} ms`,
    );
  }
}
