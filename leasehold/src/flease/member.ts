/**
 * One member of a group: an acceptor and a proposer who share a clock and a life.
 *
 *     application ── acquire, release ──► Proposer ──┐ reads, writes           ┌──► other members
 *                                                    ├─────────── Packet ──────┤
 *                    answers ◄─────────── Registers ─┘                         └──◄
 *                                             ▲ our own proposer asks it like any other
 *
 * **What is proved by whom.** The paper proves the register for messages that may be lost, late or out of order, and
 * the lease for clocks within ε. It does not speak of the rest, and this is where the rest is closed: messages that
 * come twice (`attempt.ts` counts names, `register.ts` does the same again or nothing), commits that come late
 * (`proposer.ts` looks at the clock when it is done), forgetting (`register.ts`), clocks that jump (`group-clock.ts`)
 * or were never right (`peer-clocks.ts`), members with one name (`acquaintances.ts`), a change of the group
 * (`view.ts`), numbers (`lease.ts`).
 *
 * **Silence.** A member that has lost its memory promises nothing and asks nothing for `lease + 2 × skew`: when it
 * begins, however its last life ended, and when its clock has jumped or turns out to be the odd one out. That
 * binds its own proposer as it binds the others', for a majority of one acceptor that forgot and one that
 * never knew is no majority. It does say for how long, which promises nothing.
 *
 * **Views of one number with other members** (`view-digest.ts`). Not to heed each other is not enough: {a, c} of {a,
 * b, c} and {b, d} of {a, b, d} need nothing of each other, and each is a majority. So whoever keeps silent, for any
 * reason, and hears that a peer means another view goes on keeping silent until that one says otherwise, or nothing
 * for as long as a silence lasts (it may be dead), and a whole silence more. It is the one that begins that yields: those who were there before go on with what they hold, and one
 * that was started by mistake stops nobody. Of {b, d}, b hears a before it may speak, and d alone is no majority. If
 * all begin together all that hear it yield, and nothing is given until somebody has mended it. What it cannot see is
 * a group whose joiners are a majority by themselves, or one that it is cut off from for all of its silence.
 *
 * **A view without the members before it** is for who begins when all of them have moved (`view.ts`). Whoever was
 * started so too soon, of {a, b, d} while b and c are still {a, b, c}, would make a majority with d beside theirs. It
 * hears b in the earlier view, and keeps silent in the same way, until b has moved.
 *
 * Words of another view are refused, unless they are hints; a peer whose clock is certainly off is heeded neither as
 * asker nor as acceptor.
 *
 * This file does no I/O. Call an input with a reading of both clocks; carry out what {@link Member.take} returns;
 * call {@link Member.wake} at {@link Member.wakeAt}.
 */

import type { Instant } from '../runtime/time.ts';
import { BUSY_FROM } from './audience.ts';
import { Acquaintances, type Contradiction, type PeerStatus, type PeerTrouble } from './acquaintances.ts';
import type { Reluctance } from './attempt.ts';
import type { Request } from './claim.ts';
import type { Tenure } from './tenure.ts';
import { GroupChangeError } from './errors.ts';
import { type ClockReading, GroupClock } from './group-clock.ts';
import type { Lease } from './lease.ts';
import type { Answer, Item, Packet, Question, RefusalReason } from './messages.ts';
import type { ResolvedFleaseDurations } from './options.ts';
import { type Out, Outbox } from './outbox.ts';
import { Proposer } from './proposer.ts';
import type { ProposerEvent } from './proposer-events.ts';
import { Registers } from './register.ts';
import { type Entry, Table } from './table.ts';
import { checkView, Quorums, type View } from './view.ts';
import { digestOf, type ViewDigest } from './view-digest.ts';

export interface MemberSettings {
  readonly group: string;
  readonly id: string;
  /** Drawn at random for each life, not 0. */
  readonly life: number;
  readonly view: View;
  readonly durations: ResolvedFleaseDurations;
  readonly random: () => number;
  /** With so many attempts under way no more members are asked than have to be. @default BUSY_FROM */
  readonly busyFrom?: number | undefined;
}

export type SilenceReason = 'began' | 'clock-jumped' | 'odd-one-out' | Contradiction;

export interface Silence {
  readonly why: SilenceReason;
  /** Infinity for as long as our clock is the odd one out, or somebody contradicts what we were told of the group. */
  readonly forMs: number;
}

export type MemberEvent =
  | ProposerEvent
  | ({ readonly kind: 'silent' } & Silence)
  | { readonly kind: 'speaking' }
  | { readonly kind: 'trouble'; readonly peer: string; readonly trouble: PeerTrouble }
  /** Those before have moved, and what they gave is over: a majority of this view is enough. */
  | { readonly kind: 'settled'; readonly view: number };

export interface Addressed {
  readonly to: string;
  readonly packet: Packet;
}

export interface Outcome {
  readonly packets: readonly Addressed[];
  readonly events: readonly MemberEvent[];
}

export class Member {
  readonly #settings: MemberSettings;
  readonly #registers: Registers;
  readonly #proposer: Proposer;
  readonly #clock: GroupClock;
  readonly #others: Acquaintances;
  readonly #outbox = new Outbox();
  /** What we say to ourselves, for after what is being done. */
  #toSelf: Question[] = [];
  #events: MemberEvent[] = [];
  #view: View;
  /** Of the view as it was entered: that it is settled does not change it. */
  #digest: ViewDigest;
  #silence: SilenceReason | undefined;
  #silentUntilMs = 0;
  /** Since when a majority of those before has been in this view. */
  #movedAtMs: number | undefined;

  /** @throws {InvalidOptionError} if the view breaks a rule */
  constructor(settings: MemberSettings, reading: ClockReading) {
    checkView(settings.view);
    const { durations, view } = settings;
    this.#settings = settings;
    this.#view = view;
    this.#digest = digestOf(view);
    this.#clock = new GroupClock(reading, durations.clockSkewMs);
    const table = new Table();
    this.#registers = new Registers(durations, table);
    this.#others = new Acquaintances({
      ...settings,
      report: (peer, trouble) => this.#events.push({ kind: 'trouble', peer, trouble }),
    });
    const quorums = new Quorums(view);
    this.#others.meet(quorums.everybody);
    this.#proposer = new Proposer(
      {
        ...settings,
        busyFrom: settings.busyFrom ?? BUSY_FROM,
        send: (to, item) => this.#send(to, item),
        tell: (event) => this.#events.push(event),
        table,
      },
      quorums,
    );
    this.#keepSilent('began');
  }

  get view(): View {
    return this.#view;
  }

  /** Why nothing is promised or asked at present. */
  get silence(): Silence | undefined {
    if (this.#silence === undefined) return undefined;
    return { why: this.#silence, forMs: Math.max(0, this.#silentUntilMs - this.#clock.nowMs) };
  }

  get registersKept(): number {
    return this.#registers.size;
  }

  get attemptsMade(): number {
    return this.#proposer.attemptsMade;
  }

  /** Whether anything is under way, or left to say to the others about what was let go of. */
  get hasUnfinished(): boolean {
    return this.#proposer.hasUnfinished;
  }

  tenureOf(resource: string): Tenure | undefined {
    return this.#proposer.tenureOf(resource);
  }

  get tenures(): Iterable<Tenure> {
    return this.#proposer.tenures();
  }

  get wakeAt(): Instant {
    const proposerMs = this.#silence === undefined ? this.#proposer.wakeAtMs : this.#silentUntilMs;
    const othersMs = Math.min(this.#others.nextWordMs, this.#settlesAtMs);
    const contradictedMs =
      this.#silence === undefined ? Number.POSITIVE_INFINITY : this.#others.contradictedUntilMs;
    return this.#clock.instantOf(Math.min(proposerMs, this.#registers.sweepAtMs, othersMs, contradictedMs));
  }

  /** What is known of the others. */
  peers(): PeerStatus[] {
    return this.#others.status(this.#clock.nowMs);
  }

  /** What the group's clock shows at this reading, or undefined if it has jumped: then nothing is held. */
  timeAt(reading: ClockReading): number | undefined {
    return this.#clock.hasJumped(reading) ? undefined : this.#clock.at(reading);
  }

  /** How long ago the last input was: by so much {@link silence} and {@link peers} are out of date. */
  idleMs(reading: ClockReading): number {
    return (this.timeAt(reading) ?? this.#clock.nowMs) - this.#clock.nowMs;
  }

  /** Why a resource that is waited for has not been had yet. */
  waitingFor(resource: string): {
    seen: Lease | undefined;
    reluctant: ReadonlyMap<string, Reluctance> | undefined;
  } {
    return this.#proposer.waitingFor(resource);
  }

  request(resource: string, request: Request, reading: ClockReading): void {
    this.#proposer.request(resource, request, this.#read(reading));
    this.#hearSelf();
  }

  cancel(resource: string, id: number, reading: ClockReading): void {
    this.#proposer.cancel(resource, id, this.#read(reading));
    this.#hearSelf();
  }

  release(tenure: Tenure, reading: ClockReading, heir?: string): void {
    this.#proposer.release(tenure, this.#read(reading), heir);
    this.#hearSelf();
  }

  /**
   * Moves to the next view, which comes after the present one.
   *
   * @throws {GroupChangeError} if the present one is not settled yet
   */
  move(members: readonly string[], reading: ClockReading): void {
    const { number, members: present, before } = this.#view;
    const view = { number: number + 1, members, before: present };
    checkView(view);
    if (before !== undefined) throw new GroupChangeError(number);
    const nowMs = this.#read(reading);
    this.#movedAtMs = undefined;
    this.#digest = digestOf(view);
    this.#outbox.clear(); // Whatever waits there was said in the view before.
    this.#enter(view, nowMs);
    this.#seeWhoHasMoved(nowMs);
    for (const { id } of this.peers()) this.#outbox.greet(id); // They learn of it at once.
    this.#hearSelf();
  }

  receive(packet: Packet, reading: ClockReading): void {
    const nowMs = this.#read(reading);
    const isHeeded = this.#others.hear(packet, { view: this.#view.number, digest: this.#digest }, nowMs);
    this.#judgeSelf(nowMs);
    if (isHeeded) {
      this.#seeWhoHasMoved(nowMs);
      const refusal = this.#refusalOf(packet);
      for (const item of packet.items) this.#hear(packet, item, refusal, nowMs);
    }
    this.#hearSelf();
  }

  wake(reading: ClockReading): void {
    const nowMs = this.#read(reading);
    this.#registers.sweep(nowMs);
    this.#judgeSelf(nowMs);
    this.#seeWhoHasMoved(nowMs);
    if (this.#silence !== undefined && nowMs > this.#silentUntilMs) {
      this.#silence = undefined;
      this.#events.push({ kind: 'speaking' });
      this.#proposer.speak(nowMs);
    }
    if (this.#silence === undefined) this.#proposer.wake(nowMs);
    if (nowMs > this.#settlesAtMs) this.#settle(nowMs);
    for (const id of this.#others.neglected(nowMs)) this.#outbox.greet(id);
    this.#hearSelf();
  }

  /** What is to be sent and told, since this was last asked. */
  take(): Outcome {
    const events = this.#events;
    this.#events = [];
    return { packets: this.#packetsOf(this.#outbox.take()), events };
  }

  /** Whether there is so much to say to somebody that it need not wait for more. */
  get hasFullPackets(): boolean {
    return this.#outbox.isFull;
  }

  /** That much, and no more: the rest waits for {@link take}. */
  takeFullPackets(): readonly Addressed[] {
    return this.#packetsOf(this.#outbox.takeFull());
  }

  /** Every input begins here: what time is it, and can it be believed? */
  #read(reading: ClockReading): number {
    const hasJumped = this.#clock.hasJumped(reading);
    const nowMs = this.#clock.read(reading);
    if (hasJumped) {
      this.#others.forgetClocks(nowMs);
      this.#keepSilent('clock-jumped');
      this.#judgeSelf(nowMs); // Whoever contradicted us did so before, too.
    }
    return nowMs;
  }

  /** Has no memory, and waits until that cannot matter. */
  #keepSilent(why: SilenceReason): void {
    const { recoveryMs } = this.#settings.durations;
    const isOpen = why !== 'began' && why !== 'clock-jumped';
    const forMs = isOpen ? Number.POSITIVE_INFINITY : recoveryMs;
    this.#registers.clear();
    this.#proposer.silence();
    this.#outbox.clear();
    this.#toSelf = [];
    this.#movedAtMs = undefined;
    this.#silence = why;
    this.#silentUntilMs = this.#clock.nowMs + forMs;
    this.#events.push({ kind: 'silent', why, forMs });
  }

  /** Whether our clock, or our view, is one by which nothing may be promised or asked. */
  #judgeSelf(nowMs: number): void {
    this.#others.forgetContradictions(nowMs);
    const why = this.#flaw;
    if (why !== undefined && this.#silence !== why) this.#keepSilent(why);
    if (why !== undefined)
      this.#silentUntilMs = Number.POSITIVE_INFINITY; // It may have seemed mended before.
    else if (this.#silentUntilMs === Number.POSITIVE_INFINITY) {
      this.#silentUntilMs = nowMs + this.#settings.durations.recoveryMs;
    }
  }

  get #flaw(): SilenceReason | undefined {
    if (this.#others.isOddOneOut) return 'odd-one-out';
    return this.#silence === undefined ? undefined : this.#others.contradiction;
  }

  /** Whether a peer is to be refused whatever it asks. */
  #refusalOf({ from, view }: Packet): RefusalReason | undefined {
    if (this.#silence !== undefined) return 'recovering';
    if (view !== this.#view.number) return 'other-view';
    return this.#others.isClockOff(from) ? 'clock-off' : undefined;
  }

  #hear(packet: Packet, item: Item, refusal: RefusalReason | undefined, nowMs: number): void {
    const { from, life, toLife } = packet;
    switch (item.kind) {
      case 'read':
      case 'write':
      case 'query':
        this.#outbox.answer(from, life, this.#answer(item, packet, refusal, nowMs));
        return;
      case 'wish':
        this.#proposer.wish(item.resource, item.member);
        return;
      case 'unwish':
        this.#proposer.unwish(item.resource, item.member);
        return;
      case 'freed':
        this.#proposer.freed(item.resource, from, nowMs);
        return;
      default:
        if (toLife !== this.#settings.life) return;
        // Who refuses promises nothing, and is believed in any view.
        if (refusal === undefined || item.kind === 'refused') this.#proposer.answer(from, item, nowMs);
    }
  }

  #answer(
    item: Question,
    { from: member, life }: Pick<Packet, 'from' | 'life'>,
    refusal: RefusalReason | undefined,
    nowMs: number,
    known?: Entry,
  ): Answer {
    const { attempt, resource } = item;
    const of = item.kind === 'write' ? 'write' : 'read';
    if (refusal !== undefined) {
      const detail = refusal === 'recovering' ? Math.max(0, this.#silentUntilMs - nowMs) : 0;
      return { kind: 'refused', attempt, of, why: refusal, detail };
    }
    if (item.kind === 'query') {
      const { written, lease } = this.#registers.written(resource);
      return { kind: 'found', attempt, written, lease };
    }
    const { askedMs, round } = item;
    const ballot = { askedMs, round, member, life, attempt };
    const verdict =
      item.kind === 'read'
        ? this.#registers.read(resource, ballot, nowMs, known)
        : this.#registers.write(resource, ballot, item.lease, nowMs, known);
    if (verdict === undefined) return { kind: 'accepted', attempt };
    if ('refused' in verdict)
      return { kind: 'refused', attempt, of, why: verdict.refused, detail: verdict.round };
    return { kind: 'promised', attempt, written: verdict.written, lease: verdict.lease };
  }

  #send(to: string, item: Item): void {
    if (to !== this.#settings.id) this.#outbox.add(to, item);
    else if (isQuestion(item)) this.#toSelf.push(item);
  }

  /** Hears what we have said to ourselves, until nothing is left. */
  #hearSelf(): void {
    const { id, life } = this.#settings;
    const self = { from: id, life };
    const { nowMs } = this.#clock;
    while (this.#toSelf.length > 0) {
      const said = this.#toSelf;
      this.#toSelf = [];
      for (const item of said) {
        const refusal = this.#silence === undefined ? undefined : 'recovering';
        const known = this.#proposer.entryOf(item.attempt);
        this.#proposer.answer(id, this.#answer(item, self, refusal, nowMs, known), nowMs);
      }
    }
  }

  #packetsOf(said: readonly [to: string, out: Out][]): readonly Addressed[] {
    return said.map(([to, out]) => ({ to, packet: this.#packetFor(to, out) }));
  }

  #packetFor(to: string, { toLife, items }: Out): Packet {
    const { group, id, life, durations } = this.#settings;
    const sentMs = this.#clock.nowMs;
    this.#others.said(to, sentMs);
    return {
      group,
      view: this.#view.number,
      digest: this.#digest,
      from: id,
      life,
      toLife,
      sentMs,
      echo: this.#others.echoFor(to),
      leaseMs: durations.leaseMs,
      clockSkewMs: durations.clockSkewMs,
      items,
    };
  }

  #enter(view: View, nowMs: number): void {
    this.#view = view;
    const quorums = new Quorums(view);
    this.#others.meet(quorums.everybody);
    this.#proposer.regroup(quorums, nowMs);
  }

  #seeWhoHasMoved(nowMs: number): void {
    if (this.#movedAtMs === undefined && this.#others.haveMoved(this.#view, this.#digest))
      this.#movedAtMs = nowMs;
  }

  get #settlesAtMs(): number {
    return this.#movedAtMs === undefined || this.#view.before === undefined
      ? Number.POSITIVE_INFINITY
      : this.#movedAtMs + this.#settings.durations.recoveryMs;
  }

  #settle(nowMs: number): void {
    this.#enter({ ...this.#view, before: undefined }, nowMs);
    this.#events.push({ kind: 'settled', view: this.#view.number });
  }
}

const isQuestion = (item: Item): item is Question =>
  item.kind === 'read' || item.kind === 'write' || item.kind === 'query';
