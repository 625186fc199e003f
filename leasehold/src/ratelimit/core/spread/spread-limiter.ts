/**
 * One member of a spread limit, without I/O: one limit for all members of a group together, of which each member uses the part that it
 * has credits for.
 *
 *     requests ──► bucket ◄── level ◄── credits ◄── accounts ◄─► other members
 *                    └──► demand ──► what is shown to others ──►
 *
 * Why the limit holds: `credits.ts` (credits are never made), `participation.ts` (not by changes of the view either), `account.ts` (nor by lost or
 * repeated messages), `level.ts` (nor by members that do not know yet of a change), `level-bucket.ts` (so tokens stay within the limit).
 *
 * A gift is subtracted, and the level lowered, before the gift is sent. A member gives only while it acts and takes part, and accepts only
 * while it takes part.
 *
 * Every input first looks at the group, so a view that was delivered meanwhile counts from then on.
 */

import type { TraceEffect } from '../../../runtime/trace.ts';
import { trace } from '../../../runtime/trace.ts';
import type { Core } from '../../../runtime/driver.ts';
import { type Instant, later } from '../../../runtime/time.ts';
import { keyOf, type MemberId } from '../../../membership/core/incarnation.ts';
import type { Rate } from '../local/rate.ts';
import type { DeniedBecause, RateLimitResult } from '../local/result.ts';
import { AccountBook } from './account-book.ts';
import { chokePoint } from './choke-point.ts';
import { CREDIT, Credits } from './credits.ts';
import { Demand, type DemandKind } from './demand.ts';
import { draw } from './draw.ts';
import type { GroupSight } from './group-sight.ts';
import { Level, type Standing } from './level.ts';
import { LevelBucket } from './level-bucket.ts';
import type { Show, SpreadMessage, Word } from './messages.ts';
import { Participation } from './participation.ts';
import { isLaterView } from './view-order.ts';

export type SpreadEffect =
  | {
      readonly do: 'send';
      readonly to: MemberId;
      readonly message: SpreadMessage;
      readonly isDirect: boolean;
    }
  /** A peer speaks of a later view: ask for it. */
  | { readonly do: 'hurry' }
  /** Another member has made the limiter with another limit or another maxServers. */
  | { readonly do: 'differs'; readonly member: string; readonly word: Word }
  /** Members that reach the others only through these. */
  | { readonly do: 'choke-point'; readonly side: readonly string[]; readonly through: readonly string[] }
  | TraceEffect;

export interface SpreadLimiterSettings {
  readonly rate: Rate;
  /** The most servers that the group is meant to have. */
  readonly maxServers: number;
  readonly demand: DemandKind;
  readonly epochMs: number;
  random(): number;
}

/** Without tokens, a caller may try again after this time: credits come within a few epochs. */
const RETRY_EPOCHS = 5;
/** A word is repeated at least so often. */
const REPEAT_EPOCHS_MAX = 16;
/** A later view that was announced counts as a change for so many epochs; then the announcement was idle. */
const LATER_VIEW_EPOCHS = 10;

export class SpreadLimiter implements Core<SpreadEffect> {
  readonly #settings: SpreadLimiterSettings;
  readonly #sight: GroupSight;
  readonly #participation: Participation;
  readonly #credits = new Credits();
  readonly #level = new Level();
  readonly #bucket: LevelBucket;
  readonly #demand: Demand;
  readonly #book: AccountBook;
  readonly #blacklists = new Map<string, readonly string[]>();
  readonly #differing = new Set<string>();
  #maxServers: number;
  #epochAt: Instant;
  #lastEpochAt: Instant;
  #laterViewUntil: Instant;
  #epochsWaited = 0;
  #chokePoint = '';
  #effects: SpreadEffect[] = [];
  readonly counters = { given: 0, received: 0, kept: 0, restarted: 0 };

  constructor(settings: SpreadLimiterSettings, sight: GroupSight, now: Instant) {
    this.#settings = settings;
    this.#sight = sight;
    this.#maxServers = settings.maxServers;
    this.#participation = new Participation(() => sight.id);
    this.#bucket = new LevelBucket(settings.rate, now);
    this.#demand = new Demand(settings.demand);
    this.#epochAt = now;
    this.#lastEpochAt = now;
    this.#laterViewUntil = now;
    this.#book = new AccountBook({
      epochMs: settings.epochMs,
      send: (to, message, isDirect) => this.#send(to, message, isDirect),
      accepts: ([amount = -1, ...others]) =>
        Number.isSafeInteger(amount) && amount >= 0 && others.length === 0,
      add: ([amount = 0]) => {
        this.#credits.add(amount);
        this.counters.received += amount;
      },
    });
  }

  get wakeAt(): Instant {
    return this.#epochAt;
  }

  /** n of the limit: the greatest maxServers that any member has given, and never less than the members of a view. */
  get maxServers(): number {
    return this.#maxServers;
  }

  /** In credits, held or used for the level. */
  get credits(): number {
    return this.#credits.held / CREDIT;
  }

  get demand(): number {
    return this.#demand.value;
  }

  get participation(): Pick<Participation, 'cohort' | 'takesPart' | 'unheard'> {
    return this.#participation;
  }

  get book(): Pick<AccountBook, 'accountWith' | 'lineWith' | 'blacklist'> {
    return this.#book;
  }

  /** What this member may use at this instant, in credits: `level × limit / maxServers`. Changes nothing. */
  level(now: Instant): number {
    return this.#level.peek(this.#standing(now), now);
  }

  /** Whether the level is that of a member that acts on its credits. */
  actsOnCredits(now: Instant): boolean {
    return this.#acts(now) && this.#participation.takesPart;
  }

  // Requests.

  consume(key: string, cost: number, now: Instant): RateLimitResult {
    const level = this.#settle(now);
    const { rate } = this.#settings;
    const isAllowed = cost <= rate.burst && this.#bucket.take(cost);
    if (cost <= rate.burst) this.#demand.count(key, cost, isAllowed);
    return this.#result(isAllowed ? undefined : cost > rate.burst ? 'cost' : 'rate', cost, level, now);
  }

  peek(now: Instant): RateLimitResult {
    const level = this.#settle(now);
    return this.#result(this.#bucket.tokens >= 1 ? undefined : 'rate', 1, level, now);
  }

  refund(tokens: number, now: Instant): void {
    this.#settle(now);
    this.#bucket.refund(tokens, this.#maxServers);
  }

  #result(denied: DeniedBecause | undefined, cost: number, level: number, now: Instant): RateLimitResult {
    const { rate } = this.#settings;
    const { tokens } = this.#bucket;
    const perMs = this.#bucket.perMs(level, this.#maxServers);
    const missing = this.#bucket.cap(level, this.#maxServers) - tokens;
    const said = {
      remaining: Math.floor(tokens),
      resetMs: perMs > 0 ? Math.min(Math.max(0, missing) / perMs, rate.refillMs) : rate.refillMs,
      ...{ limit: rate.limit, perMs: rate.perMs, burst: rate.burst },
      by: this.actsOnCredits(now) ? ('spread' as const) : ('share' as const),
    };
    if (denied === undefined) return { ...said, allowed: true, retryAfterMs: 0, denied };
    return { ...said, allowed: false, retryAfterMs: this.#retryAfterMs(denied, cost, level), denied };
  }

  #retryAfterMs(denied: DeniedBecause, cost: number, level: number): number {
    if (denied === 'cost') return Number.POSITIVE_INFINITY;
    const { rate, epochMs } = this.#settings;
    if (cost > this.#bucket.cap(level, this.#maxServers)) return RETRY_EPOCHS * epochMs;
    const perMs = this.#bucket.perMs(level, this.#maxServers);
    return perMs > 0 ? Math.min((cost - this.#bucket.tokens) / perMs, rate.refillMs) : rate.refillMs;
  }

  // The group.

  /** A view may have been delivered. */
  look(now: Instant): SpreadEffect[] {
    this.#look(now);
    this.#settle(now);
    return this.#take();
  }

  wake(now: Instant): SpreadEffect[] {
    this.#look(now);
    if (now >= this.#epochAt) this.#epoch(now);
    this.#settle(now); // The level has fallen before any gift leaves.
    return this.#take();
  }

  suspended(now: Instant): SpreadEffect[] {
    return this.look(now);
  }

  receive(from: MemberId, message: SpreadMessage, now: Instant): SpreadEffect[] {
    this.#look(now);
    switch (message.kind) {
      case 'word':
        this.#hearWord(from, message, now);
        break;
      case 'show':
        this.#hearShow(from, message, now);
        break;
      default:
        if (this.#participation.takesPart) this.#book.receive(from, message, now);
    }
    this.#settle(now);
    return this.#take();
  }

  #look(now: Instant): void {
    const { view, isChanging } = this.#sight;
    if (view === undefined || isChanging) return;
    if (view.id !== this.#participation.view?.id) {
      this.#participation.deliver(view);
      this.#maxServers = Math.max(this.#maxServers, view.members.length);
      this.#laterViewUntil = now;
      this.#epochsWaited = 0;
      this.#blacklists.clear();
      for (const member of view.members) if (!this.#isSelf(member)) this.#sendWord(member, false);
    }
    if (this.#participation.takesPart || !this.#acts(now) || this.#participation.unheard.length > 0) return;
    const { keepsCredits, lines } = this.#participation.enter((member) => this.#book.lineWith(member));
    this.#book.open(lines);
    if (keepsCredits) this.counters.kept += 1;
    else {
      this.#credits.restart();
      this.counters.restarted += 1;
    }
    const what = keepsCredits ? 'takes-part-with-its-credits' : 'takes-part-anew';
    this.#effects.push(trace(what, { view: view.id, credits: this.credits }));
  }

  /** Acts in the view delivered last; a later view that a peer speaks of counts as the beginning of a change. */
  #acts(now: Instant): boolean {
    const { view } = this.#participation;
    if (this.#sight.isChanging || view === undefined || this.#sight.view?.id !== view.id) return false;
    return now >= this.#laterViewUntil && this.#sight.standing(now) === 'acts';
  }

  /** Brings level and bucket to this instant. */
  #settle(now: Instant): number {
    const level = this.#level.at(this.#standing(now), now);
    this.#bucket.settle(level, this.#maxServers, now);
    return level;
  }

  #standing(now: Instant): Standing {
    const { view, isChanging, promisesEndAt } = this.#sight;
    const { takesPart } = this.#participation;
    const isInView = view !== undefined && !isChanging;
    // More credits than members cannot be, unless a peer has made some.
    const credits = Math.min(this.credits, this.#participation.view?.members.length ?? 1);
    return { acts: this.#acts(now), takesPart, isInView, credits, promisesEndAt };
  }

  // Words.

  #sendWord(to: MemberId, isRepeated: boolean): void {
    const { view, cameFrom: from } = this.#participation;
    if (view === undefined) return;
    const { rate, maxServers } = this.#settings;
    const settings = { maxServers, tokensPerSecond: 1_000 / rate.msPerToken, burst: rate.burst };
    this.#send(to, { kind: 'word', view: view.id, from, ...settings, isRepeated }, false);
  }

  /** A member may lack the limiter for ever, so the word is repeated after 1, 2, 4, … epochs. */
  #repeatWord(unheard: readonly MemberId[]): void {
    this.#epochsWaited += 1;
    const isDue =
      Number.isInteger(Math.log2(this.#epochsWaited)) || this.#epochsWaited % REPEAT_EPOCHS_MAX === 0;
    if (isDue) for (const member of unheard) this.#sendWord(member, true);
  }

  #hearWord(from: MemberId, word: Word, now: Instant): void {
    this.#participation.hear(from, word);
    this.#compare(from, word);
    const { view } = this.#participation;
    if (word.view === view?.id) {
      if (word.isRepeated && !this.#sight.isChanging) this.#sendWord(from, false);
      this.#look(now);
    } else this.#hearOfView(word.view, now);
  }

  #compare({ name }: MemberId, word: Word): void {
    const { rate, maxServers } = this.#settings;
    this.#maxServers = Math.max(this.#maxServers, word.maxServers);
    const isSame =
      word.maxServers === maxServers &&
      Math.abs(word.tokensPerSecond * rate.msPerToken - 1_000) < 1e-6 &&
      word.burst === rate.burst;
    if (isSame || this.#differing.has(name)) return;
    this.#differing.add(name);
    this.#effects.push({ do: 'differs', member: name, word });
  }

  #hearOfView(id: string, now: Instant): void {
    const { view } = this.#participation;
    if (view === undefined || now < this.#laterViewUntil || !isLaterView(id, view.id)) return;
    this.#laterViewUntil = later(now, LATER_VIEW_EPOCHS * this.#settings.epochMs);
    this.#effects.push({ do: 'hurry' });
  }

  // Epochs.

  #epoch(now: Instant): void {
    const { epochMs, random } = this.#settings;
    this.#epochAt = later(now, epochMs * (0.9 + 0.2 * random()));
    const tokensPerMs = this.#bucket.perMs(this.#settle(now), this.#maxServers);
    const elapsedMs = Math.max(1, now - this.#lastEpochAt);
    this.#lastEpochAt = now;
    const demand = this.#demand.epoch({ elapsedMs, tokensPerMs, mean: this.#credits.meanDemand });
    const { view, unheard, takesPart } = this.#participation;
    if (!takesPart && !this.#sight.isChanging) this.#repeatWord(unheard);
    if (view === undefined || !takesPart || !this.#acts(now)) return;
    const gifts = this.#credits.gifts(demand);
    for (const { to, amount } of gifts) {
      this.counters.given += amount;
      this.#book.give(to, [amount], now);
    }
    this.#book.epoch(now);
    this.#show(view.id, view.members.length, demand);
    this.#lookForChokePoint(view.members);
  }

  #show(view: string, members: number, demand: number): void {
    const peers = this.#book.direct;
    const wanted = this.#credits.partsFor(demand) * Math.ceil(Math.log2(Math.max(2, members)));
    const chosen = draw(peers, wanted, this.#settings.random);
    const parts = Math.max(1, chosen.length / Math.ceil(Math.log2(Math.max(2, members))));
    const { blacklist } = this.#book;
    const show: Show = {
      ...{ kind: 'show', view, parts, blacklist },
      ...{ demand: demand / parts, credits: this.#credits.held / parts },
    };
    for (const peer of chosen) this.#send(peer, show, true);
  }

  #hearShow(from: MemberId, { view, demand, credits, parts, blacklist }: Show, now: Instant): void {
    if (view !== this.#participation.view?.id) {
      this.#hearOfView(view, now);
      return;
    }
    this.#blacklists.set(from.name, blacklist);
    if (demand > 0) this.#credits.hear({ id: from, demand, credits, parts });
  }

  #lookForChokePoint(members: readonly MemberId[]): void {
    this.#blacklists.set(this.#sight.id.name, this.#book.blacklist);
    const found = chokePoint(
      members.map(({ name }) => name),
      this.#blacklists,
    );
    const text = found === undefined ? '' : `${found.side.join()} ${found.through.join()}`;
    if (text === this.#chokePoint) return;
    this.#chokePoint = text;
    if (found !== undefined) this.#effects.push({ do: 'choke-point', ...found });
  }

  #isSelf(member: MemberId): boolean {
    return keyOf(member) === keyOf(this.#sight.id);
  }

  #send(to: MemberId, message: SpreadMessage, isDirect: boolean): void {
    this.#effects.push({ do: 'send', to, message, isDirect });
  }

  #take(): SpreadEffect[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }
}
