/**
 * One member of a group: an acceptor and a proposer that share a clock and an incarnation.
 *
 *     application ── acquire, release ──► Proposer ──┐ reads, writes           ┌──► other members
 *                                                    ├─────────── Packet ──────┤
 *                    answers ◄─────────── Registers ─┘                         └──◄
 *                                             ▲ our own proposer asks it like any other
 *
 * **The proofs, by file.** The paper proves the register for messages that may be lost, late or out of order, and the
 * lease for clocks within ε. The cases that the paper leaves out are closed here: duplicates (`attempt.ts` counts
 * names, `register.ts` is idempotent), late commits (`proposer.ts` reads the clock at the end), forgetting
 * (`register.ts`), clocks that jump (`group-clock.ts`) or were never right (`peer-clocks.ts`), members with one name
 * (`peer-table.ts`), a change of the group (`view.ts`), numbers (`lease.ts`).
 *
 * **Recovery.** A member that has lost its memory promises nothing and asks nothing for `lease + 2 × skew`: after its
 * start, regardless of how the last incarnation ended, and when its clock has jumped or proves to be the outlier. The
 * rule binds its own proposer too, because an acceptor that forgot and one that never knew make no majority. A
 * recovering member does announce how long recovery will take, which promises nothing.
 *
 * A peer with longer durations makes the recovery longer (`peer-table.ts`).
 *
 * **Views of one number with other members** (`view-digest.ts`). Ignoring each other is not enough: {a, c} of {a, b,
 * c} and {b, d} of {a, b, d} need nothing of each other, and each is a majority. So a recovering member that hears a
 * peer with a contradicting view goes on recovering until that peer agrees, or sends nothing for one recovery period
 * (the peer may be dead), and one recovery period more. The starting member yields: running members keep their
 * leases, and a member started by mistake stops nobody. Of {b, d}, b hears a before the end of recovery, and d alone
 * is no majority. If all start together, all that hear the contradiction yield, and no lease is granted until an
 * operator has mended the peers. This cannot detect a group whose joiners are a majority by themselves, or a group
 * that the member is cut off from during all of its recovery.
 *
 * **A view without the members before it** is for members that start when all others have moved (`view.ts`). A member
 * started too soon in this way, of {a, b, d} while b and c are still in {a, b, c}, would make a second majority with
 * d. The member hears b in the earlier view, and goes on recovering in the same way, until b has moved.
 *
 * Items of another view are refused, unless they are hints. A peer whose clock is certainly off counts neither as
 * proposer nor as acceptor.
 *
 * This file does no I/O. Call an input with a reading of both clocks; execute the effects that the input returns, and at the end
 * of a turn those of {@link Member.endTurn}; call {@link Member.wake} at {@link Member.wakeAt}.
 */

import type { CollectingCore } from '../../runtime/driver.ts';
import { Outbox } from '../../runtime/outbox.ts';
import type { Instant } from '../../runtime/time.ts';
import { BUSY_FROM } from './quorum-picker.ts';
import { PeerTable, type PeerStatus, type PeerTrouble } from './peer-table.ts';
import type { RefusalCause } from './attempt.ts';
import type { Request } from './resource-state.ts';
import type { HeldLease } from './held-lease.ts';
import { changePending } from './errors.ts';
import { type ClockReading, GroupClock } from './group-clock.ts';
import type { Lease } from './lease.ts';
import {
  type Answer,
  type Item,
  isAnswer,
  ITEMS_ENOUGH,
  type Packet,
  type Question,
  type RefusalReason,
} from './messages.ts';
import type { ResolvedFleaseDurations } from './options.ts';
import { Proposer } from './proposer.ts';
import type { ProposerEffect, ProposerEvent } from './proposer-events.ts';
import { Registers } from './register.ts';
import type { ResourceState } from './resource-state.ts';
import { type Entry, Table } from './table.ts';
import type { RecoveryReason } from './wording.ts';
import { checkView, Quorums, type View } from './view.ts';
import { digestOf, type ViewDigest } from './view-digest.ts';

export interface MemberSettings {
  readonly group: string;
  readonly id: string;
  /** Drawn at random for each incarnation, not 0. */
  readonly incarnation: number;
  readonly view: View;
  readonly durations: ResolvedFleaseDurations;
  readonly random: () => number;
  /**
   * From this many attempts under way, an attempt asks only as many members as make a majority. @default BUSY_FROM
   */
  readonly busyFrom?: number | undefined;
}

export interface Recovery {
  readonly why: RecoveryReason;
  /** Infinity while our clock is the outlier, or a peer contradicts our view of the group. */
  readonly forMs: number;
}

export type MemberEvent =
  | ProposerEvent
  | ({ readonly kind: 'recovering' } & Recovery)
  | { readonly kind: 'ready' }
  | { readonly kind: 'trouble'; readonly peer: string; readonly trouble: PeerTrouble }
  /** The old members have moved, and their grants are over: a majority of this view is enough. */
  | { readonly kind: 'settled'; readonly view: number };

export type MemberEffect =
  | { readonly do: 'send'; readonly to: string; readonly packet: Packet }
  | { readonly do: 'tell'; readonly event: MemberEvent };

const NOTHING: readonly never[] = [];

export class Member implements CollectingCore<MemberEffect, ClockReading> {
  readonly #settings: MemberSettings;
  readonly #registers: Registers;
  readonly #proposer: Proposer;
  readonly #clock: GroupClock;
  readonly #others: PeerTable;
  readonly #outbox = new Outbox<Item>(ITEMS_ENOUGH);
  /** The incarnation of each peer that the answers in the outbox are for. */
  readonly #answersTo = new Map<string, number>();
  /** Questions to our own acceptor, for after the present input. */
  #toSelf: Question[] = [];
  /** Of the present input. */
  #effects: MemberEffect[] = [];
  #view: View;
  /** Of the view as it was entered: settling does not change the digest. */
  #digest: ViewDigest;
  #recovery: RecoveryReason | undefined;
  #recoversUntilMs = 0;
  /** Since when a majority of the old members has been in this view. */
  #movedAtMs: number | undefined;

  /** @throws {InvalidArgumentError} if the view breaks a rule */
  constructor(settings: MemberSettings, reading: ClockReading) {
    checkView(settings.view);
    const { durations, view } = settings;
    this.#settings = settings;
    this.#view = view;
    this.#digest = digestOf(view);
    this.#clock = new GroupClock(reading, durations.clockSkewMs);
    const table = new Table<ResourceState>();
    this.#registers = new Registers(durations, table);
    this.#others = new PeerTable({
      ...settings,
      report: (peer, trouble) => this.#tell({ kind: 'trouble', peer, trouble }),
    });
    const quorums = new Quorums(view);
    this.#others.meet(quorums.everybody);
    this.#proposer = new Proposer(
      {
        ...settings,
        busyFrom: settings.busyFrom ?? BUSY_FROM,
        table,
      },
      quorums,
    );
    this.#startRecovery('began');
  }

  get view(): View {
    return this.#view;
  }

  /** Why nothing is promised or asked at present. */
  get recovery(): Recovery | undefined {
    if (this.#recovery === undefined) return undefined;
    return { why: this.#recovery, forMs: Math.max(0, this.#recoversUntilMs - this.#clock.nowMs) };
  }

  get registersKept(): number {
    return this.#registers.size;
  }

  get attemptsMade(): number {
    return this.#proposer.attemptsMade;
  }

  /** Whether an attempt is under way, or a release is still to be written. */
  get hasUnfinished(): boolean {
    return this.#proposer.hasUnfinished;
  }

  heldLeaseOf(resource: string): HeldLease | undefined {
    return this.#proposer.heldLeaseOf(resource);
  }

  get heldLeases(): Iterable<HeldLease> {
    return this.#proposer.heldLeases();
  }

  get wakeAt(): Instant {
    const proposerMs = this.#recovery === undefined ? this.#proposer.wakeAtMs : this.#recoversUntilMs;
    const othersMs = Math.min(this.#others.nextWordMs, this.#settlesAtMs);
    const contradictedMs =
      this.#recovery === undefined ? Number.POSITIVE_INFINITY : this.#others.contradictedUntilMs;
    return this.#clock.instantOf(Math.min(proposerMs, this.#registers.sweepAtMs, othersMs, contradictedMs));
  }

  /** The state of the other members. */
  peers(): PeerStatus[] {
    return this.#others.status(this.#clock.nowMs);
  }

  /** The group's clock at this reading, or undefined after a jump: then nothing is held. */
  timeAt(reading: ClockReading): number | undefined {
    return this.#clock.hasJumped(reading) ? undefined : this.#clock.at(reading);
  }

  /** How long ago the last input was: {@link recovery} and {@link peers} are out of date by that much. */
  idleMs(reading: ClockReading): number {
    return (this.timeAt(reading) ?? this.#clock.nowMs) - this.#clock.nowMs;
  }

  /** Why an awaited resource has not been granted yet. */
  waitingFor(resource: string): {
    seen: Lease | undefined;
    refusals: ReadonlyMap<string, RefusalCause> | undefined;
  } {
    return this.#proposer.waitingFor(resource);
  }

  /** The effects of the start. */
  begin(): readonly MemberEffect[] {
    return this.#takeEffects();
  }

  request(resource: string, request: Request, reading: ClockReading): readonly MemberEffect[] {
    this.#carryOut(this.#proposer.request(resource, request, this.#read(reading)));
    return this.#takeEffects();
  }

  cancel(resource: string, id: number, reading: ClockReading): readonly MemberEffect[] {
    this.#carryOut(this.#proposer.cancel(resource, id, this.#read(reading)));
    return this.#takeEffects();
  }

  release(held: HeldLease, reading: ClockReading, successor?: string): readonly MemberEffect[] {
    this.#carryOut(this.#proposer.release(held, this.#read(reading), successor));
    return this.#takeEffects();
  }

  /**
   * Moves to the next view.
   *
   * @throws {UnavailableError} `CHANGE_PENDING` if the present view is not settled yet
   */
  move(members: readonly string[], reading: ClockReading): readonly MemberEffect[] {
    const { number, members: present, before } = this.#view;
    const view = { number: number + 1, members, before: present };
    checkView(view);
    if (before !== undefined) throw changePending(number);
    const nowMs = this.#read(reading);
    this.#movedAtMs = undefined;
    this.#digest = digestOf(view);
    this.#clearOutbox(); // These items belong to the earlier view.
    this.#enter(view, nowMs);
    this.#seeWhoHasMoved(nowMs);
    for (const { id } of this.peers()) this.#outbox.greet(id); // So that peers learn of the view at once.
    return this.#takeEffects();
  }

  receive(packet: Packet, reading: ClockReading): readonly MemberEffect[] {
    const nowMs = this.#read(reading);
    const isHeeded = this.#others.hear(packet, { view: this.#view.number, digest: this.#digest }, nowMs);
    this.#judgeSelf(nowMs);
    if (isHeeded) {
      this.#seeWhoHasMoved(nowMs);
      const refusal = this.#refusalOf(packet);
      if (packet.items.some(isQuestion)) this.#answerOnly(packet);
      for (const item of packet.items) this.#hear(packet, item, refusal, nowMs);
    }
    return this.#takeEffects();
  }

  wake(reading: ClockReading): readonly MemberEffect[] {
    const nowMs = this.#read(reading);
    this.#registers.sweep(nowMs);
    this.#judgeSelf(nowMs);
    this.#seeWhoHasMoved(nowMs);
    if (this.#recovery !== undefined && nowMs > this.#recoversUntilMs) {
      this.#recovery = undefined;
      this.#tell({ kind: 'ready' });
      this.#carryOut(this.#proposer.endRecovery(nowMs));
    }
    if (this.#recovery === undefined) this.#carryOut(this.#proposer.wake(nowMs));
    if (nowMs > this.#settlesAtMs) this.#settle(nowMs);
    for (const id of this.#others.neglected(nowMs)) this.#outbox.greet(id);
    return this.#takeEffects();
  }

  /** Whether some packet has enough items to leave before the end of the turn. */
  get hasFullPackets(): boolean {
    return this.#outbox.isFull;
  }

  /** Only the full packets: all others wait for {@link endTurn}. */
  takeFullPackets(): readonly MemberEffect[] {
    return this.#packetsOf(this.#outbox.takeFull());
  }

  /** All packets, and the effects of an input that threw. */
  endTurn(): readonly MemberEffect[] {
    return [...this.#packetsOf(this.#outbox.take()), ...this.#takeEffects()];
  }

  /** Every input begins here: what time is it, and can the clock be trusted? */
  #read(reading: ClockReading): number {
    const hasJumped = this.#clock.hasJumped(reading);
    const nowMs = this.#clock.read(reading);
    if (hasJumped) {
      this.#others.forgetClocks(nowMs);
      this.#startRecovery('clock-jumped');
      this.#judgeSelf(nowMs); // A peer may have contradicted our view before the jump, too.
    }
    return nowMs;
  }

  /** Starts a recovery: drops all memory, and waits until the loss cannot matter. */
  #startRecovery(why: RecoveryReason): void {
    const { recoveryMs } = this.#settings.durations;
    const isOpen = why !== 'began' && why !== 'clock-jumped';
    const forMs = isOpen ? Number.POSITIVE_INFINITY : recoveryMs;
    this.#registers.clear();
    this.#carryOut(this.#proposer.startRecovery());
    this.#clearOutbox();
    this.#toSelf = [];
    this.#movedAtMs = undefined;
    this.#recovery = why;
    this.#recoversUntilMs = Math.max(this.#clock.nowMs + forMs, this.#others.longerUntilMs);
    this.#tell({ kind: 'recovering', why, forMs });
  }

  /** Whether our clock or our view forbids promises and requests. */
  #judgeSelf(nowMs: number): void {
    this.#others.forgetContradictions(nowMs);
    const why = this.#flaw;
    if (why !== undefined && this.#recovery !== why) this.#startRecovery(why);
    if (why !== undefined)
      this.#recoversUntilMs = Number.POSITIVE_INFINITY; // The flaw may have seemed mended before.
    else if (this.#recoversUntilMs === Number.POSITIVE_INFINITY) {
      this.#recoversUntilMs = nowMs + this.#settings.durations.recoveryMs;
    }
    this.#recoversUntilMs = Math.max(this.#recoversUntilMs, this.#others.longerUntilMs);
  }

  get #flaw(): RecoveryReason | undefined {
    if (this.#others.isClockOutlier) return 'clock-outlier';
    return this.#recovery === undefined ? undefined : this.#others.contradiction;
  }

  /** Why all questions of this peer are refused, if they are. */
  #refusalOf({ from, view }: Packet): RefusalReason | undefined {
    if (this.#recovery !== undefined) return 'recovering';
    if (view !== this.#view.number) return 'other-view';
    return this.#others.isClockOff(from) ? 'clock-off' : undefined;
  }

  #hear(packet: Packet, item: Item, refusal: RefusalReason | undefined, nowMs: number): void {
    const { from, toIncarnation } = packet;
    switch (item.kind) {
      case 'read':
      case 'write':
      case 'query':
        this.#outbox.add(from, this.#answer(item, packet, refusal, nowMs));
        return;
      case 'enqueue':
        this.#carryOut(this.#proposer.enqueue(item.resource, item.member));
        return;
      case 'dequeue':
        this.#proposer.dequeue(item.resource, item.member);
        return;
      case 'notify':
        this.#carryOut(this.#proposer.notify(item.resource, from, nowMs));
        return;
      default:
        if (toIncarnation !== this.#settings.incarnation) return;
        // A refusal promises nothing, and counts in any view.
        if (refusal === undefined || item.kind === 'refused')
          this.#carryOut(this.#proposer.answer(from, item, nowMs));
    }
  }

  #answer(
    item: Question,
    { from: member, incarnation }: Pick<Packet, 'from' | 'incarnation'>,
    refusal: RefusalReason | undefined,
    nowMs: number,
    known?: Entry,
  ): Answer {
    const { attempt, resource } = item;
    const of = item.kind === 'write' ? 'write' : 'read';
    if (refusal !== undefined) {
      const detail = refusal === 'recovering' ? Math.max(0, this.#recoversUntilMs - nowMs) : 0;
      return { kind: 'refused', attempt, of, why: refusal, detail };
    }
    if (item.kind === 'query') {
      const { written, lease } = this.#registers.written(resource);
      return { kind: 'found', attempt, written, lease };
    }
    const { askedMs, round } = item;
    const ballot = { askedMs, round, member, incarnation, attempt };
    const verdict =
      item.kind === 'read'
        ? this.#registers.read(resource, ballot, nowMs, known)
        : this.#registers.write(resource, ballot, item.lease, nowMs, known);
    if (verdict === undefined) return { kind: 'accepted', attempt };
    if ('refused' in verdict)
      return { kind: 'refused', attempt, of, why: verdict.refused, detail: verdict.round };
    return { kind: 'promised', attempt, written: verdict.written, lease: verdict.lease };
  }

  /** Of the proposer. Items for ourselves wait for the end of the input. */
  #carryOut(effects: readonly ProposerEffect[]): void {
    if (effects.length === 0) return;
    const { id } = this.#settings;
    for (const effect of effects) {
      if (effect.do === 'tell') this.#effects.push(effect);
      else {
        const { to, item } = effect;
        for (const member of to) {
          if (member !== id) this.#outbox.add(member, item);
          else if (isQuestion(item)) this.#toSelf.push(item);
        }
      }
    }
  }

  /** Answers to an earlier incarnation have no receiver any more. */
  #answerOnly({ from, incarnation }: Packet): void {
    if (this.#answersTo.get(from) === incarnation) return;
    this.#outbox.keep(from, (item) => !isAnswer(item));
    this.#answersTo.set(from, incarnation);
  }

  #clearOutbox(): void {
    this.#outbox.clear();
    this.#answersTo.clear();
  }

  #tell(event: MemberEvent): void {
    this.#effects.push({ do: 'tell', event });
  }

  /** Every input ends here: our own acceptor answers, and the effects of the input are returned. */
  #takeEffects(): readonly MemberEffect[] {
    this.#hearSelf();
    if (this.#effects.length === 0) return NOTHING;
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  /** Delivers our questions to our own acceptor, until none is left. */
  #hearSelf(): void {
    if (this.#toSelf.length === 0) return;
    const { id, incarnation } = this.#settings;
    const self = { from: id, incarnation };
    const { nowMs } = this.#clock;
    while (this.#toSelf.length > 0) {
      const said = this.#toSelf;
      this.#toSelf = [];
      for (const item of said) {
        const refusal = this.#recovery === undefined ? undefined : 'recovering';
        const known = this.#proposer.entryOf(item.attempt);
        this.#carryOut(this.#proposer.answer(id, this.#answer(item, self, refusal, nowMs, known), nowMs));
      }
    }
  }

  #packetsOf(said: readonly [to: string, items: readonly Item[]][]): readonly MemberEffect[] {
    return said.map(([to, items]) => ({ do: 'send', to, packet: this.#packetFor(to, items) }));
  }

  #packetFor(to: string, items: readonly Item[]): Packet {
    const { group, id, incarnation, durations } = this.#settings;
    const sentMs = this.#clock.nowMs;
    const toIncarnation = this.#answersTo.get(to) ?? 0;
    this.#answersTo.delete(to);
    this.#others.said(to, sentMs);
    return {
      group,
      view: this.#view.number,
      digest: this.#digest,
      from: id,
      incarnation,
      toIncarnation,
      sentMs,
      echo: this.#others.echoFor(to),
      leaseMs: durations.leaseMs,
      clockSkewMs: durations.clockSkewMs,
      takeoverMs: durations.takeoverMs,
      items,
    };
  }

  #enter(view: View, nowMs: number): void {
    this.#view = view;
    const quorums = new Quorums(view);
    this.#others.meet(quorums.everybody);
    this.#carryOut(this.#proposer.regroup(quorums, nowMs));
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
    this.#tell({ kind: 'settled', view: this.#view.number });
  }
}

const isQuestion = (item: Item): item is Question =>
  item.kind === 'read' || item.kind === 'write' || item.kind === 'query';
