/**
 * The owner's half of the lease protocol: which keys may this process act for, right now?
 *
 * The answer may err on one side only. If the Manager thinks that this owner holds a key and the owner thinks not, the
 * key idles; the other way round, two processes act for the key. So the owner counts every lease from the earliest
 * instant at which the lease can have begun: when the owner *sent* the report that the Manager's update acknowledges.
 * The Manager counts the hold from when the Manager *received* that report:
 *
 *     owner     report ├─────────────── lease ───────────────┤ checks fail from here on
 *                       ╲            ╱ update
 *     Manager            ├────────────────── hold ──────────────────┤ gives the keys away
 *
 * The hold is longer than the lease by as much as one clock may run faster than another. When the update arrives, how
 * often, and whether it was asked for does not matter: the owner's own clock is the base.
 *
 * Updates are complete and ordered by (term, sequence); an older one is ignored, so a deposed
 * leader cannot undo the updates of its successor. `holdings.ts` has the meaning of an update for each span of keys, and
 * the rule that a release is permanent; `lease-index.ts` has the data that a check reads.
 *
 * All this assumes that one log is behind all Managers. `../history-watch.ts` asks them. No update is used before every Manager was
 * asked, nor one of a history while keys may be held under another. If two histories are led at once, the owner lets go of everything,
 * for good, and neither asks for keys nor takes any until one history alone is left.
 *
 * A check compares with the instant that the caller passes, never with a timer that may be late:
 *
 *     const number = owner.check(high, low, now);              // 1 is it mine?
 *     …                                                                // 2, 3 act
 *     owner.isHeld(high, low, number, now)               // 4 has it been, all along?
 *
 * This file does no I/O. Call an input with the present instant, execute the effects in order,
 * then call {@link Owner.wake} at {@link Owner.wakeAt}.
 *
 * Always true; relax any and `npm run sim -- pool` finds a world in which it matters:
 *
 *  1. A lease ends no later than `leaseMs` after the sending of the report it rests on.
 *  2. A number that was let go of for some keys is never used for them again.
 *  3. Nothing said by a (term, sequence) at or before the last one heard of this history has any effect, nor by a term before the
 *     latest that a Manager said it leads.
 *  4. Nothing is held while two logs are known to be led.
 */

import { assert } from '../../../runtime/assert.ts';
import { earliest, type Instant, instant, later, soonest } from '../../../runtime/time.ts';
import { type TraceEffect, trace } from '../../../runtime/trace.ts';
import { HistoryWatch, type LedHistory } from '../history-watch.ts';
import {
  handsAllOver,
  type Intent,
  type NotLeader,
  type NumberedSpan,
  type OwnerPace,
  type Report,
  type Role,
  type Seen,
  type ToManager,
  type Update,
} from '../messages.ts';
import { OwnerMoves } from '../moves/owner-moves.ts';
import type { MoveEffect, MoveInput, Transfer } from '../moves/seam.ts';
import { ownerPace } from '../options.ts';
import { Handle } from './handle.ts';
import { Holdings, type Piece } from './holdings.ts';
import type { OwnerSettings } from './settings.ts';
import { noTransitions, told, toldAtOnce, type TransitionEffect, type Transitions } from './transitions.ts';

export type OwnerEffect =
  | { readonly do: 'send'; readonly to: string; readonly message: ToManager }
  | { readonly do: 'admitted' }
  | { readonly do: 'left' }
  | { readonly do: 'disagree'; readonly histories: readonly LedHistory[] }
  | { readonly do: 'agree' }
  | TransitionEffect
  | MoveEffect
  | TraceEffect;

/** A new leader waits a hold and a leader lease for the leases that it found. `../history-watch.ts` says why this is often enough. */
const ROUNDS_PER_LEASE = 4;

export class Owner {
  readonly #holdings = new Holdings();
  readonly #moves: OwnerMoves;
  readonly #settings: OwnerSettings;
  #sequence = 0;
  /** When each report that may still be acknowledged was sent. */
  readonly #sentAt = new Map<number, Instant>();
  #heard: { readonly term: number; readonly sequence: number } | undefined;
  #seen: Seen | undefined;
  /** The Manager that answered last, or the leader that it pointed to. */
  #leader: string | undefined;
  /** The latest term that somebody pointed us to. */
  #pointedTerm = 0;
  /** The latest report that was acknowledged by anybody. */
  #acknowledged = 0;
  /** The report that asked for an answer and has none. */
  #awaiting: number | undefined;
  #nextReportAt: Instant;
  #admitted = false;
  /** Histories that were replaced by another: nothing said in them counts any more. */
  readonly #abandoned = new Set<string>();
  #leaseMs: number;
  /** What the Manager decided, as it was last heard. */
  #pace: OwnerPace;
  #leaving: 'no' | 'leaving' | 'left' = 'no';
  #leavingSince = Number.POSITIVE_INFINITY;
  #latestNow: Instant = instant(Number.NEGATIVE_INFINITY);
  readonly #watch: HistoryWatch;
  /** The Managers were found to disagree, and the end of that was not heard yet. */
  #isQuarantined = false;
  /** An update that came before every Manager was asked. */
  #early: { readonly from: string; readonly update: Update } | undefined;
  load = 0;

  constructor(settings: OwnerSettings, now: Instant) {
    this.#settings = settings;
    this.#moves = new OwnerMoves(this.#holdings, settings.moves);
    this.#nextReportAt = now;
    this.#leaseMs = settings.durations.leaseMs;
    this.#pace = ownerPace(settings.durations);
    const { identity } = settings;
    this.#watch = new HistoryWatch(
      {
        asker: identity.incarnation,
        get managers() {
          return settings.managers;
        },
      },
      () => ({ everyMs: this.#leaseMs / ROUNDS_PER_LEASE, soonMs: this.#pace.retryMs }),
    );
  }

  /** When {@link wake} next has something to do. */
  get wakeAt(): Instant | undefined {
    if (this.#leaving === 'left') return undefined;
    const reportAt = this.#isQuarantined ? undefined : this.#nextReportAt;
    const dueAt = soonest(this.#holdings.nextExpiry(), this.#moves.dueAt);
    return soonest(soonest(reportAt, this.#watch.wakeAt), dueAt);
  }

  /** Where this owner can be brought state, as the next report says; undefined: keys neither come nor go with their state. */
  set transfer(transfer: Transfer | undefined) {
    this.#moves.transfer = transfer;
  }

  /** The pieces that are held, or were held and are still to be told, in order; for observers. */
  get pieces(): readonly Readonly<Piece>[] {
    return this.#holdings.pieces;
  }

  /** The piece at a position, held or not. */
  pieceAt(high: number, low: number): Readonly<Piece> | undefined {
    return this.#holdings.index.find(high, low);
  }

  /** Everything held, under its number. */
  get held(): readonly NumberedSpan[] {
    return this.#holdings.held;
  }

  /** Grows whenever {@link pieces} change, if only in when they end. */
  get version(): number {
    return this.#holdings.version;
  }

  get seen(): Seen | undefined {
    return this.#seen;
  }

  /** The lease of the last update. */
  get leaseMs(): number {
    return this.#leaseMs;
  }

  /** What the Manager decided, as it was last heard. */
  get pace(): OwnerPace {
    return this.#pace;
  }

  /** Moves that this owner takes part in. */
  get movesUnderway(): number {
    return this.#moves.underway;
  }

  /** What this owner wants with its keys: by itself, or because its Manager asks so. */
  get intent(): Intent {
    return this.#moves.intent;
  }

  /** How many owners could take the keys of this one, if it hands all over; undefined as long as no Manager has said. */
  get targets(): number | undefined {
    return this.#moves.targets;
  }

  /** When an update of a Manager was last used. */
  get heardAt(): Instant | undefined {
    return this.#moves.heardAt;
  }

  /** Whether it hands all over, and has nothing left: no keys, and nothing that can be committed to it by a ticket. */
  get isDrained(): boolean {
    return handsAllOver(this.#moves.intent) && this.#moves.isEmpty;
  }

  get isAdmitted(): boolean {
    return this.#admitted;
  }

  /** The number under which the keys at this position may be acted for now; undefined: not ours. */
  check(high: number, low: number, now: Instant): number | undefined {
    return this.#holdings.index.numberAt(high, low, now);
  }

  /** True if the key is held now and no other owner can have held it since it was held under `number`. */
  isHeld(high: number, low: number, number: number, now: Instant): boolean {
    return this.#holdings.index.isHeld(high, low, number, now);
  }

  /** If so, the first number of that unbroken tenure. */
  heldSince(high: number, low: number, number: number, now: Instant): number | undefined {
    return this.#holdings.index.heldSince(high, low, number, now);
  }

  /** The same two checks as an object, to be kept with the result made of the key; undefined: not ours. */
  hold(high: number, low: number, now: Instant): Handle | undefined {
    const number = this.check(high, low, now);
    return number === undefined ? undefined : new Handle(this, high, low, number);
  }

  wake(now: Instant): OwnerEffect[] {
    const effects = this.#expire(now);
    if (this.#leaving === 'left') return effects;
    effects.push(...this.#moves.goOn(now, this.#pace));
    const probes = this.#watch.wake(now).map((probe): OwnerEffect => ({ do: 'send', ...probe }));
    effects.push(...probes, ...this.#applyWatch(now));
    if (now >= this.#nextReportAt) effects.push(...this.#ask(now));
    return effects;
  }

  /** A Manager says whether it leads, and which history. */
  hearRole(from: string, role: Role, now: Instant): OwnerEffect[] {
    const effects = this.#expire(now);
    this.#watch.hear(from, role, now);
    return [...effects, ...this.#applyWatch(now)];
  }

  /** There is no connection to this Manager. */
  unreachable(address: string, now: Instant): OwnerEffect[] {
    const effects = this.#expire(now);
    this.#watch.unreachable(address, now);
    return [...effects, ...this.#applyWatch(now)];
  }

  receive(from: string, update: Update, now: Instant): OwnerEffect[] {
    const effects = this.#expire(now);
    if (this.#leaving === 'left' || !this.#isNews(update)) return effects;
    if (!this.#watch.permits(update, now)) {
      if (!this.#isQuarantined) this.#early = { from, update };
      this.#watch.hurry();
      return effects;
    }
    if (this.#seen !== undefined && this.#seen.history !== update.history)
      effects.push(...this.#startOver(update));
    const isNewTerm = this.#heard?.term !== update.term;
    this.#note(update);
    this.#leader = from;
    this.#leaseMs = update.leaseMs;
    this.#pace = update.pace;
    this.#answered(update.acknowledges);

    const transitions = noTransitions();
    const sentAt = this.#sentAt.get(update.acknowledges);
    const until = sentAt === undefined ? now : later(sentAt, update.leaseMs);
    const revokeBy = later(now, this.#pace.revokeTimeoutMs);
    const lease = { until, now, revokeBy, isLeaving: this.#leaving !== 'no' };
    // An update to a candidate says nothing of the table; but a leaving owner that is no member has nothing there.
    const isTable = update.admitted || this.#leaving !== 'no';
    const hasChanged = isTable && this.#moves.reconcile(update, lease, transitions);
    const isWelcome = update.admitted && !this.#admitted;
    if (isWelcome) effects.push({ do: 'admitted' }, trace('admitted', { term: update.term }));
    this.#admitted = update.admitted;
    effects.push(...this.#tell(transitions));
    effects.push(...this.#moves.hear(update, lease, transitions, this.#pace));
    const changed = this.#moves.hasNews || hasChanged;
    if (this.#hasLeft(update)) return [...effects, { do: 'left' }, trace('left')];
    if (this.#moves.isDrained(update) && this.#leaving === 'no') return [...effects, ...this.leave(now)];
    // A new leader does not know the keys of this owner, and can say nothing more before the next report.
    if (changed || isNewTerm || isWelcome || !update.admitted) effects.push(this.#report(from, false, now));
    return effects;
  }

  /**
   * The Manager that we took for the leader says that another leads. It is asked at once, or everybody is, if
   * it is none of those we know. Terms only grow here, so two Managers that point at each other are soon
   * left alone; and a pointer is believed for nothing else.
   */
  redirected(from: string, { pool, incarnation, term, leader }: NotLeader, now: Instant): OwnerEffect[] {
    const effects = this.#expire(now);
    const { identity, managers } = this.#settings;
    const isMeant = incarnation === identity.incarnation && pool === identity.pool;
    const isNews = from === this.#leader && term > Math.max(this.#heard?.term ?? 0, this.#pointedTerm);
    if (!isMeant || !isNews || this.#leaving === 'left') return effects;
    this.#pointedTerm = term;
    this.#leader = managers.includes(leader) ? leader : undefined;
    this.#awaiting = undefined;
    return [...effects, trace('pointed-on', { from, leader, term }), ...this.#ask(now)];
  }

  /** A Manager can be reached again: ask now rather than at the next turn. */
  reachable(now: Instant): OwnerEffect[] {
    if (this.#leaving !== 'left') this.#nextReportAt = earliest(this.#nextReportAt, now);
    this.#watch.hurry();
    return this.wake(now);
  }

  /** The application can serve the granted keys. */
  loaded(spans: readonly NumberedSpan[], now: Instant): OwnerEffect[] {
    const effects = this.#expire(now);
    this.#holdings.loaded(spans);
    return effects;
  }

  /** The application has finished with the revoked keys. */
  flushed(spans: readonly NumberedSpan[], now: Instant): OwnerEffect[] {
    const effects = this.#expire(now);
    const transitions = noTransitions();
    if (!this.#holdings.flushed(spans, transitions)) return effects;
    return [...effects, ...this.#tell(transitions), ...this.#reportToLeader(now)];
  }

  /** The shell says how a move goes on. */
  hearMove(input: MoveInput, now: Instant): OwnerEffect[] {
    const effects = this.#expire(now);
    const transitions = noTransitions();
    const moved = this.#moves.hearMove(input, now, this.#pace, transitions);
    effects.push(...moved, ...this.#tell(transitions));
    return this.#moves.hasNews ? [...effects, ...this.#reportToLeader(now)] : effects;
  }

  /** Hands everything over, then leaves; `until` is when {@link leave} is called in any case. Undefined: stays, if the drain is not asked for. */
  drain(until: Instant | undefined, now: Instant): OwnerEffect[] {
    const effects = this.#expire(now);
    this.#moves.drain(until);
    return this.#leaving === 'no' ? [...effects, ...this.#ask(now)] : effects;
  }

  /** Takes no more keys; or takes keys again. */
  cordon(isCordoned: boolean, now: Instant): OwnerEffect[] {
    const effects = this.#expire(now);
    this.#moves.cordon(isCordoned);
    return this.#leaving === 'no' ? [...effects, ...this.#ask(now)] : effects;
  }

  /** Releases everything that is not handed; the effect `left` follows. */
  leave(now: Instant): OwnerEffect[] {
    const effects = this.#expire(now);
    if (this.#leaving !== 'no') return effects;
    effects.push(...this.#moves.end('the owner leaves'));
    this.#leaving = 'leaving';
    this.#leavingSince = this.#sequence + 1;
    const transitions = noTransitions();
    this.#holdings.revokeAll(later(now, this.#pace.revokeTimeoutMs), transitions);
    return [...effects, trace('leaving'), ...this.#tell(transitions), ...this.#ask(now)];
  }

  /** The machine was suspended: the clock may have stood still while leases expired. */
  suspended(now: Instant): OwnerEffect[] {
    const effects = this.#expire(now);
    const transitions = noTransitions();
    this.#holdings.lapseAll(transitions);
    this.#sentAt.clear();
    this.#watch.suspended();
    this.#nextReportAt = now;
    return [...effects, trace('was-suspended'), ...this.#tell(transitions)];
  }

  /** Comes first in every input, so that no message can revive a lease that has expired. */
  #expire(now: Instant): OwnerEffect[] {
    assert(now >= this.#latestNow, `time went back from ${this.#latestNow} to ${now}`);
    this.#latestNow = now;
    const transitions = noTransitions();
    const hasExpired = this.#holdings.expire(now, transitions);
    const moved = this.#moves.expire(now, transitions);
    if (!hasExpired && moved.length === 0) return [];
    return [...moved, ...this.#tell(transitions), ...this.#reportToLeader(now)];
  }

  /** Acts on the answers of the Managers: releases everything, takes part again, or uses an update that came too early. */
  #applyWatch(now: Instant): OwnerEffect[] {
    const histories = this.#watch.disagreement;
    if (histories !== undefined && !this.#isQuarantined) return this.#quarantine(histories);
    const effects: OwnerEffect[] = [];
    // Releases under an abandoned history are forgotten, so this incarnation must not return to it.
    const isReturn = this.#abandoned.has(this.#watch.onlyLed ?? '');
    if (histories === undefined && this.#isQuarantined && !isReturn) {
      this.#isQuarantined = false;
      this.#leader = undefined;
      this.#nextReportAt = now;
      effects.push({ do: 'agree' }, trace('managers-agree'));
    }
    const early = this.#early;
    if (early === undefined || !this.#watch.permits(early.update, now)) return effects;
    this.#early = undefined;
    return [...effects, ...this.receive(early.from, early.update, now)];
  }

  #quarantine(histories: readonly LedHistory[]): OwnerEffect[] {
    this.#isQuarantined = true;
    this.#admitted = false;
    this.#early = undefined;
    this.#awaiting = undefined;
    const moved = this.#moves.end('the Managers disagree');
    const transitions = noTransitions();
    this.#holdings.releaseAll(transitions);
    const facts = { histories: histories.map(({ history }) => history).join(',') };
    const said: OwnerEffect[] = [{ do: 'disagree', histories }, trace('managers-disagree', facts)];
    return [...said, ...moved, ...this.#tell(transitions)];
  }

  #isNews(update: Update): boolean {
    const { incarnation, pool } = this.#settings.identity;
    if (update.incarnation !== incarnation || update.pool !== pool) return false;
    if (this.#abandoned.has(update.history) || this.#watch.isOutdated(update)) return false;
    if (update.acknowledges > this.#sequence) return false;
    const heard = this.#heard;
    if (heard === undefined) return true;
    // Histories have no order; but a history is the later one if its Manager answers a later report than all before.
    if (this.#seen?.history !== update.history) return update.acknowledges > this.#acknowledged;
    return update.term > heard.term || (update.term === heard.term && update.sequence > heard.sequence);
  }

  /** Another history: the Managers' store was replaced. Earlier leases have no meaning there. */
  #startOver(update: Update): OwnerEffect[] {
    const moved = this.#moves.end('another history');
    const transitions = noTransitions();
    this.#holdings.clear(transitions);
    if (this.#seen !== undefined) this.#abandoned.add(this.#seen.history);
    this.#seen = undefined;
    return [trace('history-changed', { history: update.history }), ...moved, ...this.#tell(transitions)];
  }

  /** Term and position are kept as one Manager stamped them: a mixture of two would prove nothing. */
  #note({ history, term, sequence, position, stamp }: Update): void {
    this.#heard = { term, sequence };
    const [seenTerm, seenPosition] = [this.#seen?.term ?? 0, this.#seen?.position ?? 0];
    const isFurther = position > seenPosition || (position === seenPosition && term >= seenTerm);
    if (isFurther) this.#seen = { history, term, position, stamp };
  }

  #answered(acknowledged: number): void {
    this.#acknowledged = Math.max(this.#acknowledged, acknowledged);
    if (this.#awaiting === undefined || acknowledged < this.#awaiting) return;
    const askedAt = this.#sentAt.get(acknowledged) ?? this.#latestNow;
    this.#awaiting = undefined;
    this.#nextReportAt = later(askedAt, this.#pace.renewEveryMs * (0.9 + this.#settings.random() / 10));
  }

  #hasLeft(update: Update): boolean {
    if (this.#leaving !== 'leaving' || update.acknowledges < this.#leavingSince) return false;
    if (update.admitted || this.#holdings.pieces.length > 0) return false; // A member has not left.
    this.#leaving = 'left';
    return true;
  }

  /** Reports to the known leader; if the leader has not answered, to every Manager. */
  #ask(now: Instant): OwnerEffect[] {
    if (this.#isQuarantined) return [];
    const { managers, random } = this.#settings;
    const asked = this.#leader !== undefined && this.#awaiting === undefined ? [this.#leader] : managers;
    const report = this.#compose(true, now);
    this.#awaiting ??= report.sequence;
    this.#nextReportAt = later(now, this.#pace.retryMs * (0.75 + random() / 2));
    return asked.map((to) => ({ do: 'send', to, message: report }));
  }

  #reportToLeader(now: Instant): OwnerEffect[] {
    return this.#leader === undefined ? [] : [this.#report(this.#leader, false, now)];
  }

  #report(to: string, wantsAnswer: boolean, now: Instant): OwnerEffect {
    return { do: 'send', to, message: this.#compose(wantsAnswer, now) };
  }

  #compose(wantsAnswer: boolean, now: Instant): Report {
    this.#sequence += 1;
    const sequence = this.#sequence;
    this.#sentAt.set(sequence, now);
    for (const [old, at] of this.#sentAt) {
      if (later(at, this.#leaseMs) > now) break;
      this.#sentAt.delete(old); // A lease that rested on it would be over.
    }
    return {
      kind: 'report',
      ...this.#settings.identity,
      sequence,
      wantsAnswer,
      heard: this.#heard,
      seen: this.#seen,
      held: this.#holdings.held,
      letGo: this.#holdings.tellLetGo(sequence),
      leaving: this.#leaving !== 'no',
      load: this.load,
      ...this.#moves.tell(sequence, now),
    };
  }

  /** Tells the application. A ticket whose keys are not held any more is over, whatever took them. */
  #tell(transitions: Transitions): OwnerEffect[] {
    const { loads, flushes } = this.#settings;
    const { granted, taken, arriving, revoking } = transitions;
    const effects: OwnerEffect[] = [...this.#moves.abandonBroken(), ...toldAtOnce(transitions)];
    effects.push(...this.#moves.commit(taken));
    if (!loads) this.#holdings.loaded([...granted, ...arriving].sort(byPlace));
    effects.push(...told('granted', granted), ...told('arriving', arriving), ...told('revoking', revoking));
    if (revoking.length > 0 && !flushes) {
      const gone = noTransitions();
      this.#holdings.flushed(revoking, gone);
      effects.push(...told('dropped', gone.dropped));
    }
    return effects;
  }
}

const byPlace = (one: NumberedSpan, other: NumberedSpan): number => (one.start < other.start ? -1 : 1);
