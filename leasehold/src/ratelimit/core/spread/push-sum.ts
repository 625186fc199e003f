/**
 * The sum of a number over all members of a view, known to each of them: push-sum (paper, section 6.1) in acknowledged accounts.
 *
 * Each member has a value p and a weight w; both begin with the member's own number and 1. Each epoch a member divides both by b + 1 and gives
 * that much to each of b random peers. Every p / w comes to the mean, because the sums of p and of w are conserved (`account.ts`) and mixing evens
 * out. The total is the mean times the members. A number that changes is added to p by its difference.
 *
 * In a new view the sums begin anew, because nobody knows what a lost member held. For the epochs that mixing takes, log₂ n, the
 * last total is blended with the new one, so that a change of the view alone does not look like a change of the numbers.
 *
 * The total is an estimate while numbers change. Rights must not be computed from estimates: use credits for that.
 */

import type { Core } from '../../../runtime/driver.ts';
import { type Instant, later } from '../../../runtime/time.ts';
import { keyOf, type MemberId } from '../../../membership/core/incarnation.ts';
import { AccountBook } from './account-book.ts';
import { draw } from './draw.ts';
import type { GroupSight } from './group-sight.ts';
import type { BookMessage, SpreadMessage } from './messages.ts';

export interface PushSumEffect {
  readonly do: 'send';
  readonly to: MemberId;
  readonly message: BookMessage;
  readonly isDirect: boolean;
}

export interface PushSumSettings {
  readonly epochMs: number;
  /** How many peers a member gives to in each epoch. @default ⌈log₂ n⌉ */
  readonly branching?: number | undefined;
  random(): number;
  /** This member's number, at the present. */
  value(): number;
}

/** How much of the last view's total counts in each epoch of blending. */
const BLEND = 0.5;

export class PushSum implements Core<PushSumEffect> {
  readonly #settings: PushSumSettings;
  readonly #sight: GroupSight;
  readonly #book: AccountBook;
  #view: { readonly id: string; readonly members: number } = { id: '', members: 1 };
  #own = 0;
  #value = 0;
  #weight = 1;
  #prior: { total: number; epochsLeft: number } | undefined;
  #epochAt: Instant;
  #effects: PushSumEffect[] = [];

  constructor(settings: PushSumSettings, sight: GroupSight, now: Instant) {
    this.#settings = settings;
    this.#sight = sight;
    this.#epochAt = now;
    this.#book = new AccountBook({
      epochMs: settings.epochMs,
      send: (to, message, isDirect) => this.#effects.push({ do: 'send', to, message, isDirect }),
      accepts: (amount) => amount.length === 2,
      add: ([value = 0, weight = 0]) => {
        this.#value += value;
        this.#weight += weight;
      },
    });
  }

  get wakeAt(): Instant {
    return this.#epochAt;
  }

  get weight(): number {
    return this.#weight;
  }

  get book(): Pick<AccountBook, 'accountWith' | 'lineWith' | 'blacklist'> {
    return this.#book;
  }

  /** Over how many members. */
  get members(): number {
    return this.#view.members;
  }

  /** The estimate of the sum over all members of the view. */
  get total(): number {
    const total = this.#weight > 0 ? (this.#value / this.#weight) * this.#view.members : 0;
    return this.#prior === undefined ? total : BLEND * this.#prior.total + (1 - BLEND) * total;
  }

  wake(now: Instant): PushSumEffect[] {
    this.#look();
    if (now >= this.#epochAt) this.#epoch(now);
    return this.#take();
  }

  look(): PushSumEffect[] {
    this.#look();
    return this.#take();
  }

  suspended(): PushSumEffect[] {
    return this.look();
  }

  receive(from: MemberId, message: SpreadMessage, now: Instant): PushSumEffect[] {
    this.#look();
    if (message.kind !== 'word' && message.kind !== 'show') this.#book.receive(from, message, now);
    return this.#take();
  }

  #look(): void {
    const { view, isChanging, id: self } = this.#sight;
    if (view === undefined || isChanging || view.id === this.#view.id) return;
    const epochsLeft = Math.ceil(Math.log2(Math.max(2, view.members.length)));
    this.#prior = this.#view.id === '' ? undefined : { total: this.total, epochsLeft };
    this.#view = { id: view.id, members: view.members.length };
    this.#own = this.#settings.value();
    this.#value = this.#own;
    this.#weight = 1;
    const lines = new Map<string, { id: MemberId; line: string }>();
    for (const id of view.members) if (keyOf(id) !== keyOf(self)) lines.set(keyOf(id), { id, line: view.id });
    this.#book.open(lines);
  }

  #epoch(now: Instant): void {
    const { epochMs, random, branching } = this.#settings;
    this.#epochAt = later(now, epochMs * (0.9 + 0.2 * random()));
    const own = this.#settings.value();
    this.#value += own - this.#own;
    this.#own = own;
    const wanted = branching ?? Math.ceil(Math.log2(Math.max(2, this.#view.members)));
    const peers = draw(this.#book.direct, wanted, random);
    const part = [this.#value / (peers.length + 1), this.#weight / (peers.length + 1)];
    for (const peer of peers) {
      this.#value -= part[0] ?? 0;
      this.#weight -= part[1] ?? 0;
      this.#book.give(peer, part, now);
    }
    this.#book.epoch(now);
    if (this.#prior === undefined) return;
    this.#prior = { total: this.total, epochsLeft: this.#prior.epochsLeft - 1 };
    if (this.#prior.epochsLeft <= 0) this.#prior = undefined;
  }

  #take(): PushSumEffect[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }
}
