/**
 * One member of a group: an acceptor and a proposer who share a clock and a life.
 *
 *     application ── acquire, release ──► Proposer ──┐ reads, writes           ┌──► other members
 *                                                    ├─────────── Packet ──────┤
 *                    answers ◄─────────── Registers ─┘                         └──◄
 *                                             ▲ our own proposer asks it like any other
 *
 * **Silence.** A member that has lost its memory promises nothing and asks nothing for `lease + 2 × skew`: when it
 * begins, however its last life ended, and when its clock has jumped or turns out to be the odd one out. That
 * binds its own proposer as it binds the others', for a majority of one acceptor that forgot and one that
 * never knew is no majority. It does say why, which promises nothing.
 *
 * **Clocks.** Time is the wall clock's, as `group-clock.ts` watches it. A peer whose clock is certainly off is not
 * heeded, as asker or as acceptor.
 *
 * **Groups and views.** Words of another group, of a member that is not one, or with other durations are refused
 * and reported by name. Those of another view are refused too, unless they are hints; see `view.ts`.
 *
 * This file does no I/O. Call an input with a reading of both clocks; carry out what {@link Member.take} returns;
 * call {@link Member.wake} at {@link Member.wakeAt}.
 */

import type { Instant } from '../runtime/time.ts';
import type { Reluctance } from './attempt.ts';
import type { Request, Tenure } from './claim.ts';
import { GroupChangeError } from './errors.ts';
import { type ClockReading, GroupClock } from './group-clock.ts';
import type { Lease } from './lease.ts';
import type { Answer, Echo, Item, Packet, Read, RefusalReason, Write } from './messages.ts';
import type { ResolvedFleaseDurations } from './options.ts';
import { type ClockBounds, PeerClocks } from './peer-clocks.ts';
import { Proposer, type ProposerEvent } from './proposer.ts';
import { Registers } from './register.ts';
import { checkView, majorityOf, Quorums, type View } from './view.ts';

export interface MemberSettings {
  readonly group: string;
  readonly id: string;
  /** Drawn at random for each life, not 0. */
  readonly life: number;
  readonly view: View;
  readonly durations: ResolvedFleaseDurations;
  readonly random: () => number;
}

export type SilenceReason = 'began' | 'clock-jumped' | 'odd-one-out';

/** Something about a peer that somebody should know. */
export type PeerTrouble =
  | { readonly why: 'other-group'; readonly group: string }
  | { readonly why: 'not-a-member' }
  | { readonly why: 'same-name'; readonly life: number }
  | { readonly why: 'other-durations'; readonly leaseMs: number; readonly clockSkewMs: number }
  | { readonly why: 'other-view'; readonly view: number }
  | { readonly why: 'clock-off'; readonly bounds: ClockBounds };

export type MemberEvent =
  | ProposerEvent
  | { readonly kind: 'silent'; readonly why: SilenceReason; readonly forMs: number }
  | { readonly kind: 'speaking' }
  | { readonly kind: 'trouble'; readonly peer: string; readonly trouble: PeerTrouble }
  /** Those before have moved, and what they gave is over: a majority of this view is enough. */
  | { readonly kind: 'settled'; readonly view: number };

export interface Outcome {
  readonly packets: readonly { readonly to: string; readonly packet: Packet }[];
  readonly events: readonly MemberEvent[];
}

interface Peer {
  life: number;
  /** The life before, and when the present one was first heard, by its own clock. */
  lifeBefore: number;
  beganMs: number;
  /** The latest that was heard of it, by its own clock. */
  sentMs: number;
  view: number;
  echo: Echo | undefined;
  saidAtMs: number;
  heardAtMs: number;
  trouble: PeerTrouble['why'] | undefined;
}

interface Out {
  toLife: number;
  items: Item[];
}

/** Something is said to every peer so many times in a lease, so that clocks and views are known. */
const WORDS_PER_LEASE = 4;

export class Member {
  readonly #settings: MemberSettings;
  readonly #registers: Registers;
  readonly #proposer: Proposer;
  readonly #clock: GroupClock;
  readonly #peerClocks: PeerClocks;
  readonly #peers = new Map<string, Peer>();
  readonly #outbox = new Map<string, Out>();
  /** What we say to ourselves, for after what is being done. */
  readonly #toSelf: Item[] = [];
  #events: MemberEvent[] = [];
  #view: View;
  #quorums: Quorums;
  /** Until when we keep silent, and since when those before have moved. */
  #silentUntilMs: number;
  #silence: SilenceReason | undefined = 'began';
  #movedAtMs: number | undefined;

  constructor(settings: MemberSettings, reading: ClockReading) {
    checkView(settings.view);
    this.#settings = settings;
    const { durations, id, life, random, view } = settings;
    this.#clock = new GroupClock(reading, durations.clockSkewMs);
    this.#peerClocks = new PeerClocks(durations.clockSkewMs);
    this.#registers = new Registers(durations);
    this.#view = view;
    this.#quorums = new Quorums(view);
    this.#proposer = new Proposer(
      {
        id,
        life,
        durations,
        random,
        send: (to, item) => this.#send(to, item),
        tell: (event) => this.#events.push(event),
      },
      this.#quorums,
    );
    this.#proposer.silence('closed');
    this.#silentUntilMs = this.#clock.nowMs + durations.recoveryMs;
    this.#events.push({ kind: 'silent', why: 'began', forMs: durations.recoveryMs });
    this.#meet();
  }

  get view(): View {
    return this.#view;
  }

  /** Why nothing is said at present. */
  get silence(): { readonly why: SilenceReason; readonly forMs: number } | undefined {
    if (this.#silence === undefined) return undefined;
    return { why: this.#silence, forMs: Math.max(0, this.#silentUntilMs - this.#clock.nowMs) };
  }

  get registersKept(): number {
    return this.#registers.size;
  }

  get attemptsMade(): number {
    return this.#proposer.attemptsMade;
  }

  get isLeaving(): boolean {
    return this.#proposer.isLeaving;
  }

  get tenures(): Iterable<Tenure> {
    return this.#proposer.tenures();
  }

  get wakeAt(): Instant {
    const proposerMs = this.#silence === undefined ? this.#proposer.wakeAtMs : this.#silentUntilMs;
    return this.#clock.instantOf(
      Math.min(proposerMs, this.#registers.sweepAtMs, this.#nextWordMs(), this.#settlesAtMs()),
    );
  }

  /** What is known of the others. */
  *peers(): Iterable<{
    id: string;
    heardAgoMs: number | undefined;
    view: number;
    trouble: string | undefined;
    clock: ClockBounds | undefined;
  }> {
    for (const [id, { heardAtMs, view, trouble }] of this.#peers) {
      const heardAgoMs = heardAtMs === Number.NEGATIVE_INFINITY ? undefined : this.#clock.nowMs - heardAtMs;
      yield { id, heardAgoMs, view, trouble, clock: this.#peerClocks.bounds(id) };
    }
  }

  /** What the group's clock shows at this reading, or undefined if it has jumped: then nothing is held. */
  timeAt(reading: ClockReading): number | undefined {
    return this.#clock.hasJumped(reading) ? undefined : this.#clock.at(reading);
  }

  waitingFor(resource: string): {
    seen: Lease | undefined;
    reluctant: ReadonlyMap<string, Reluctance> | undefined;
  } {
    return this.#proposer.waitingFor(resource);
  }

  request(resource: string, request: Request, reading: ClockReading): void {
    this.#proposer.request(resource, request, this.#read(reading));
    this.#settle();
  }

  cancel(resource: string, id: number, reading: ClockReading): void {
    this.#proposer.cancel(resource, id, this.#read(reading));
    this.#settle();
  }

  release(tenure: Tenure, reading: ClockReading, heir?: string): void {
    this.#proposer.release(tenure, this.#read(reading), heir);
    this.#settle();
  }

  /** Lets go of everything, and says so: the last words of a life. */
  releaseAll(reading: ClockReading): void {
    const nowMs = this.#read(reading);
    for (const tenure of [...this.#proposer.tenures()]) this.#proposer.release(tenure, nowMs);
    this.#settle();
  }

  /**
   * Moves to the next view, which comes after the present one.
   *
   * @throws {GroupChangeError} if the present one is not settled yet
   */
  move(members: readonly string[], reading: ClockReading): void {
    const { number, members: before } = this.#view;
    const view = { number: number + 1, members, before };
    checkView(view);
    if (this.#view.before !== undefined) {
      throw new GroupChangeError(
        `view ${number} is not settled yet: a majority of those before it has to move first`,
        true,
      );
    }
    this.#read(reading);
    this.#view = view;
    this.#quorums = new Quorums(view);
    this.#proposer.quorums = this.#quorums;
    this.#movedAtMs = undefined;
    this.#meet();
    this.#seeWhoHasMoved();
    for (const id of this.#peers.keys()) this.#outOf(id);
    this.#settle();
  }

  receive(packet: Packet, reading: ClockReading): void {
    const nowMs = this.#read(reading);
    const peer = this.#greet(packet, nowMs);
    if (peer !== undefined) {
      for (const item of packet.items) this.#hear(packet, peer, item, nowMs);
    }
    this.#settle();
  }

  wake(reading: ClockReading): void {
    const nowMs = this.#read(reading);
    this.#registers.sweep(nowMs);
    if (this.#silence !== undefined && nowMs > this.#silentUntilMs) {
      this.#silence = undefined;
      this.#events.push({ kind: 'speaking' });
      this.#proposer.speak(nowMs);
    }
    if (this.#silence === undefined) this.#proposer.wake(nowMs);
    if (nowMs >= this.#settlesAtMs()) this.#settleView();
    this.#keepInTouch(nowMs);
    this.#settle();
  }

  /** What is to be sent and told, since this was last asked. */
  take(): Outcome {
    const events = this.#events;
    this.#events = [];
    const packets: { to: string; packet: Packet }[] = [];
    for (const [to, { toLife, items }] of this.#outbox)
      packets.push({ to, packet: this.#packetFor(to, toLife, items) });
    this.#outbox.clear();
    return { packets, events };
  }

  /** Every input begins here: what time is it, and can it be believed? */
  #read(reading: ClockReading): number {
    const jumped = this.#clock.hasJumped(reading);
    const nowMs = this.#clock.read(reading);
    if (jumped) this.#loseMemory('clock-jumped', nowMs);
    return nowMs;
  }

  #loseMemory(why: SilenceReason, nowMs: number): void {
    const forMs = this.#settings.durations.recoveryMs;
    this.#registers.clear();
    this.#proposer.silence('clock');
    this.#outbox.clear();
    this.#toSelf.length = 0;
    if (why === 'clock-jumped') this.#peerClocks.clear();
    this.#silence = why;
    this.#silentUntilMs = why === 'odd-one-out' ? Number.POSITIVE_INFINITY : nowMs + forMs;
    this.#movedAtMs = undefined;
    for (const peer of this.#peers.values()) peer.echo = undefined;
    this.#events.push({ kind: 'silent', why, forMs });
  }

  /** Who is it, and may it speak? */
  #greet(packet: Packet, nowMs: number): Peer | undefined {
    const { from, group, life, view, leaseMs, clockSkewMs } = packet;
    const { durations } = this.#settings;
    if (group !== this.#settings.group) {
      this.#trouble(from, { why: 'other-group', group });
      return undefined;
    }
    if (from === this.#settings.id) {
      this.#trouble(from, { why: 'same-name', life });
      return undefined;
    }
    const peer = this.#peers.get(from);
    if (peer === undefined) {
      this.#trouble(from, { why: 'not-a-member' });
      return undefined;
    }
    if (leaseMs !== durations.leaseMs || clockSkewMs !== durations.clockSkewMs) {
      this.#trouble(from, { why: 'other-durations', leaseMs, clockSkewMs });
      return undefined;
    }
    if (life !== peer.life && !this.#isNewLife(packet, peer)) return undefined;
    peer.sentMs = Math.max(peer.sentMs, packet.sentMs);
    peer.view = Math.max(peer.view, view);
    peer.heardAtMs = nowMs;
    peer.echo = { sentMs: packet.sentMs, receivedMs: nowMs };
    this.#peerClocks.hear(packet, nowMs);
    this.#judgeClock(from, peer, nowMs);
    this.#seeWhoHasMoved();
    if (view > this.#view.number) this.#trouble(from, { why: 'other-view', view });
    return peer;
  }

  /**
   * A life that speaks after the last words of another has followed it. But if the other goes on speaking, there
   * are two members with one name, each with a memory of its own, and no majority means anything any more.
   */
  #isNewLife({ from, life, sentMs }: Packet, peer: Peer): boolean {
    if (sentMs <= peer.sentMs) return false;
    const isBack = life === peer.lifeBefore && sentMs > peer.beganMs;
    if (isBack) {
      this.#trouble(from, { why: 'same-name', life });
      return false;
    }
    peer.lifeBefore = peer.life;
    peer.life = life;
    peer.beganMs = sentMs;
    return true;
  }

  #judgeClock(from: string, peer: Peer, nowMs: number): void {
    const judgement = this.#peerClocks.judge(from);
    if (judgement === 'off') {
      this.#trouble(from, { why: 'clock-off', bounds: this.#peerClocks.bounds(from) as ClockBounds });
      const isKnown = this.#silence === 'odd-one-out';
      if (this.#peerClocks.isOddOneOut && !isKnown) this.#loseMemory('odd-one-out', nowMs);
      return;
    }
    if (judgement === 'agrees' && peer.trouble === 'clock-off') peer.trouble = undefined;
    const isOver = this.#silentUntilMs === Number.POSITIVE_INFINITY && !this.#peerClocks.isOddOneOut;
    if (isOver) this.#silentUntilMs = nowMs + this.#settings.durations.recoveryMs;
  }

  /** Reported once, and again when it is something else. */
  #trouble(from: string, trouble: PeerTrouble): void {
    const peer = this.#peers.get(from);
    if (peer !== undefined) {
      if (peer.trouble === trouble.why) return;
      peer.trouble = trouble.why;
    }
    this.#events.push({ kind: 'trouble', peer: from, trouble });
  }

  #hear(packet: Packet, peer: Peer, item: Item, nowMs: number): void {
    const { from, view } = packet;
    switch (item.kind) {
      case 'read':
      case 'write': {
        const refusal = this.#refusalOf(from, view);
        this.#answerTo(from, peer.life, this.#answer(item, from, peer.life, refusal, nowMs));
        return;
      }
      case 'wish':
        this.#proposer.wish(item.resource, from);
        return;
      case 'unwish':
        this.#proposer.unwish(item.resource, from);
        return;
      case 'freed':
        this.#proposer.freed(item.resource, nowMs);
        return;
      default:
        if (packet.toLife !== this.#settings.life || this.#silence !== undefined) return;
        if (this.#peerClocks.judge(from) === 'off' || view !== this.#view.number) return;
        this.#proposer.answer(from, item, nowMs);
    }
  }

  /** Whether a peer is to be refused whatever it asks. */
  #refusalOf(from: string, view: number): RefusalReason | undefined {
    if (this.#silence !== undefined) return 'recovering';
    if (view !== this.#view.number) return 'other-view';
    return this.#peerClocks.judge(from) === 'off' ? 'clock-off' : undefined;
  }

  #answer(
    item: Read | Write,
    member: string,
    life: number,
    refusal: RefusalReason | undefined,
    nowMs: number,
  ): Answer {
    const { kind, attempt, resource, askedMs, round } = item;
    if (refusal !== undefined) {
      const detail = refusal === 'recovering' ? Math.max(0, this.#silentUntilMs - nowMs) : 0;
      return { kind: 'refused', attempt, of: kind, why: refusal, detail };
    }
    const ballot = { askedMs, round, member, life, attempt };
    const verdict =
      item.kind === 'read'
        ? this.#registers.read(resource, ballot, nowMs)
        : this.#registers.write(resource, ballot, item.lease, nowMs);
    if (verdict !== undefined) {
      return { kind: 'refused', attempt, of: kind, why: verdict.refused, detail: verdict.round };
    }
    if (item.kind === 'write') return { kind: 'accepted', attempt };
    const { written, lease } = this.#registers.written(resource);
    return { kind: 'promised', attempt, written, lease };
  }

  #send(to: string, item: Item): void {
    if (to === this.#settings.id) this.#toSelf.push(item);
    else this.#outOf(to).items.push(item);
  }

  #answerTo(to: string, life: number, answer: Answer): void {
    const out = this.#outOf(to);
    if (out.toLife !== life) {
      // What was for an earlier life is for nobody.
      out.items = out.items.filter((item) => !isAnswer(item));
      out.toLife = life;
    }
    out.items.push(answer);
  }

  #outOf(to: string): Out {
    let out = this.#outbox.get(to);
    if (out === undefined) {
      out = { toLife: 0, items: [] };
      this.#outbox.set(to, out);
    }
    return out;
  }

  /** Hears what we have said to ourselves, until nothing is left. */
  #settle(): void {
    const { id, life } = this.#settings;
    const nowMs = this.#clock.nowMs;
    for (let item = this.#toSelf.shift(); item !== undefined; item = this.#toSelf.shift()) {
      if (item.kind !== 'read' && item.kind !== 'write') continue;
      const refusal = this.#silence === undefined ? undefined : 'recovering';
      this.#proposer.answer(id, this.#answer(item, id, life, refusal, nowMs), nowMs);
    }
  }

  #packetFor(to: string, toLife: number, items: readonly Item[]): Packet {
    const { group, id, life, durations } = this.#settings;
    const peer = this.#peers.get(to);
    const sentMs = this.#clock.nowMs;
    if (peer !== undefined) peer.saidAtMs = sentMs;
    return {
      group,
      view: this.#view.number,
      from: id,
      life,
      toLife,
      sentMs,
      echo: peer?.echo,
      leaseMs: durations.leaseMs,
      clockSkewMs: durations.clockSkewMs,
      items,
    };
  }

  /** Knows everybody of the view, and nobody else. */
  #meet(): void {
    for (const id of this.#quorums.everybody) {
      if (id === this.#settings.id || this.#peers.has(id)) continue;
      const never = Number.NEGATIVE_INFINITY;
      this.#peers.set(id, {
        ...{ life: 0, lifeBefore: 0, beganMs: never, sentMs: never, view: 0 },
        ...{ echo: undefined, saidAtMs: never, heardAtMs: never, trouble: undefined },
      });
    }
    for (const id of [...this.#peers.keys()]) if (!this.#quorums.has(id)) this.#peers.delete(id);
  }

  #nextWordMs(): number {
    let firstMs = Number.POSITIVE_INFINITY;
    for (const { saidAtMs } of this.#peers.values()) firstMs = Math.min(firstMs, saidAtMs);
    return firstMs + this.#settings.durations.leaseMs / WORDS_PER_LEASE;
  }

  #keepInTouch(nowMs: number): void {
    const { leaseMs } = this.#settings.durations;
    for (const [id, { saidAtMs }] of this.#peers)
      if (nowMs >= saidAtMs + leaseMs / WORDS_PER_LEASE) this.#outOf(id);
  }

  /** Notes when a majority of those before has come to this view. */
  #seeWhoHasMoved(): void {
    const { before, number } = this.#view;
    if (before === undefined || this.#movedAtMs !== undefined) return;
    const moved = before.filter(
      (id) => id === this.#settings.id || (this.#peers.get(id)?.view ?? 0) >= number,
    );
    if (moved.length >= majorityOf(before.length)) this.#movedAtMs = this.#clock.nowMs;
  }

  #settlesAtMs(): number {
    return this.#movedAtMs === undefined || this.#view.before === undefined
      ? Number.POSITIVE_INFINITY
      : this.#movedAtMs + this.#settings.durations.recoveryMs;
  }

  #settleView(): void {
    const { number, members } = this.#view;
    this.#view = { number, members, before: undefined };
    this.#quorums = new Quorums(this.#view);
    this.#proposer.quorums = this.#quorums;
    this.#meet();
    this.#events.push({ kind: 'settled', view: number });
  }
}

const isAnswer = ({ kind }: Item): boolean =>
  kind === 'promised' || kind === 'accepted' || kind === 'refused';
