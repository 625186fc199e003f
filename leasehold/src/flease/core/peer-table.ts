/**
 * The state of each peer: incarnation, view, clock, and whether its packets count.
 *
 * Ignored and reported by name: a packet of another group; of a process that is no member of ours, or that has our
 * own name; of a peer with other durations, because every argument adds our durations to theirs; of a peer with
 * another view of the same number (`view-digest.ts`). Ignored without a report: packets of an earlier incarnation.
 * Reported but not ignored: a peer in a later view, or in an earlier one that we were not told of, or with a clock
 * that is off. Such a peer is refused, with the reason (`member.ts`).
 *
 * **Durations that were longer before.** A member that restarts with shorter durations would end its recovery before
 * the promises of its earlier incarnation are over. The member cannot know that, but a peer that still has the longer
 * durations names them in every packet. So a recovering member also waits as long as that peer's durations demand,
 * counted from the last packet that names them ({@link PeerTable.longerUntilMs}). Of members that are restarted one
 * by one, all but the last hear an old one, and no majority of two or more consists of the last alone. A peer with
 * shorter durations delays nobody, because our own recovery covers every promise of that peer. A group whose members
 * are all stopped, and started again at once with shorter durations, hears nobody: that is a rule for the operator
 * (decision 0022).
 *
 * An incarnation that sends after the last packet of another has succeeded it. If the earlier incarnation goes on
 * sending, two processes share one name, each with its own memory, and two majorities may have only that name in
 * common. Then neither counts while both are heard.
 */

import type { Echo, Packet } from './messages.ts';
import type { ResolvedFleaseDurations } from './options.ts';
import { type ClockBounds, PeerClocks } from './peer-clocks.ts';
import { majorityOf, type View } from './view.ts';
import { contradict, type ViewDigest } from './view-digest.ts';

/** A problem with a peer that an operator should know. */
export type PeerTrouble =
  | { readonly why: 'other-group'; readonly group: string }
  | { readonly why: 'not-a-member' }
  | { readonly why: 'same-name' }
  | ({ readonly why: 'other-durations' } & Pick<Packet, 'leaseMs' | 'clockSkewMs' | 'takeoverMs'>)
  /** The same view number as ours, but other members. */
  | { readonly why: 'other-members' }
  /** An earlier view than ours, although we were started as if that change were settled. */
  | { readonly why: 'earlier-view'; readonly view: number }
  /** A later view than ours. */
  | { readonly why: 'later-view'; readonly view: number }
  | { readonly why: 'clock-off'; readonly bounds: ClockBounds };

export interface PeerStatus {
  readonly id: string;
  readonly heardAgoMs: number | undefined;
  readonly view: number;
  readonly trouble: PeerTrouble | undefined;
  readonly clock: ClockBounds | undefined;
}

/** Another view of the same number, or an earlier one that we were not told of: either may be a second group. */
export type Contradiction = Extract<PeerTrouble['why'], 'other-members' | 'earlier-view'>;

interface Peer {
  incarnation: number;
  incarnationBefore: number;
  /** When the present incarnation was first and last heard, by its own clock. */
  beganMs: number;
  sentMs: number;
  /** Until when packets do not count because two processes have this name, by our clock. */
  doubtedUntilMs: number;
  view: number;
  /** Of that view. */
  digest: ViewDigest | undefined;
  /** How the last packet contradicts our view, if so. */
  contradiction: Contradiction | undefined;
  /** When the last packet arrived, whether or not it counted, by our clock. */
  cameAtMs: number;
  echo: Echo | undefined;
  saidAtMs: number;
  heardAtMs: number;
  /** The last one. */
  trouble: PeerTrouble | undefined;
}

/** Each peer gets at least so many packets per lease, so that clocks and views are known. */
const WORDS_PER_LEASE = 4;

export interface PeerTableSettings {
  readonly group: string;
  readonly id: string;
  readonly durations: ResolvedFleaseDurations;
  readonly report: (peer: string, trouble: PeerTrouble) => void;
}

export class PeerTable {
  readonly #settings: PeerTableSettings;
  readonly #clocks: PeerClocks;
  readonly #peers = new Map<string, Peer>();
  /** Unknown processes that were reported. */
  readonly #strangers = new Set<string>();
  /** The longest recovery that a peer's durations demand, if longer than ours, and when that time is over. */
  #longerMs = 0;
  #longerUntilMs = NEVER;

  constructor(settings: PeerTableSettings) {
    this.#settings = settings;
    this.#clocks = new PeerClocks(settings.durations.clockSkewMs);
  }

  /** Knows these members, and no others. */
  meet(everybody: readonly string[]): void {
    for (const id of everybody) {
      if (id !== this.#settings.id && !this.#peers.has(id)) this.#peers.set(id, unheard());
    }
    for (const id of [...this.#peers.keys()]) {
      if (everybody.includes(id)) continue;
      this.#peers.delete(id);
      this.#clocks.forget(id);
    }
  }

  /**
   * Our clock has changed: bounds measured against the old clock mean nothing, and times noted by it may lie far
   * ahead.
   */
  forgetClocks(nowMs: number): void {
    this.#clocks.reset(nowMs);
    if (this.#longerMs > 0) this.#longerUntilMs = nowMs + this.#longerMs;
    for (const peer of this.#peers.values()) {
      peer.beganMs = this.#saneMs(peer.beganMs, nowMs);
      peer.sentMs = this.#saneMs(peer.sentMs, nowMs);
      peer.echo = undefined;
      peer.saidAtMs = NEVER;
      peer.heardAtMs = NEVER;
      peer.cameAtMs = nowMs;
      peer.doubtedUntilMs = Math.min(peer.doubtedUntilMs, nowMs + this.#settings.durations.recoveryMs);
    }
  }

  /** At least two clocks are off, and more than agree with ours. */
  get isClockOutlier(): boolean {
    return this.#clocks.isClockOutlier;
  }

  isClockOff(id: string): boolean {
    return this.#clocks.judge(id) === 'off';
  }

  /** A recovering member waits at least until then, because of peers with longer durations. */
  get longerUntilMs(): number {
    return this.#longerUntilMs;
  }

  /** How a peer contradicts our view of the group, if one does. */
  get contradiction(): Contradiction | undefined {
    for (const { contradiction } of this.#peers.values())
      if (contradiction !== undefined) return contradiction;
    return undefined;
  }

  /** When the first contradiction will be too old to count, unless that peer is heard before. */
  get contradictedUntilMs(): number {
    let firstMs = Number.POSITIVE_INFINITY;
    for (const peer of this.#peers.values()) {
      if (peer.contradiction !== undefined) firstMs = Math.min(firstMs, this.#contradictsUntilMs(peer));
    }
    return firstMs;
  }

  /**
   * A peer that has sent nothing for one recovery period is dead or cut off, and its contradiction no longer counts:
   * a member that starts would not hear that peer in all of its recovery either.
   */
  forgetContradictions(nowMs: number): void {
    for (const peer of this.#peers.values()) {
      if (nowMs > this.#contradictsUntilMs(peer)) peer.contradiction = undefined;
    }
    if (nowMs > this.#longerUntilMs) this.#longerMs = 0;
  }

  #contradictsUntilMs({ cameAtMs }: Peer): number {
    return cameAtMs + this.#settings.durations.recoveryMs;
  }

  echoFor(id: string): Echo | undefined {
    return this.#peers.get(id)?.echo;
  }

  /** Records a packet. False if its items must be ignored. */
  hear(packet: Packet, own: Pick<Packet, 'view' | 'digest'>, nowMs: number): boolean {
    const peer = this.#recognise(packet, nowMs);
    if (peer === undefined) return false;
    peer.cameAtMs = nowMs; // Whether or not the packet counts: the peer is not gone.
    if (!this.#isPresentIncarnation(packet, peer, nowMs)) return false;
    const { from, view } = packet;
    const sentMs = this.#saneMs(packet.sentMs, nowMs);
    const contradiction = contradictionOf(packet, own);
    const isOther = contradiction === 'other-members';
    // The last packet counts: views do not go back, so the last view is the highest, unless an earlier one was false.
    if (sentMs >= peer.sentMs) {
      peer.view = isOther ? 0 : view;
      peer.digest = packet.digest;
      peer.contradiction = contradiction;
    }
    peer.sentMs = Math.max(peer.sentMs, sentMs);
    if (isOther) {
      this.#report(from, peer, { why: 'other-members' });
      return false;
    }
    peer.heardAtMs = nowMs;
    peer.echo = { sentMs: packet.sentMs, receivedMs: nowMs };
    this.#clocks.hear(packet, nowMs);
    const bounds = this.#clocks.bounds(from);
    if (this.isClockOff(from) && bounds !== undefined) this.#report(from, peer, { why: 'clock-off', bounds });
    else if (view > own.view) this.#report(from, peer, { why: 'later-view', view });
    else if (contradiction === 'earlier-view') this.#report(from, peer, { why: contradiction, view });
    else peer.trouble = undefined;
    return true;
  }

  /**
   * Whether most of the old members are known to be in that view, or in a later one. Their packets may have arrived
   * before we knew the view.
   */
  haveMoved({ before, number }: View, own: ViewDigest): boolean {
    if (before === undefined) return false;
    const hasMoved = ({ view, digest }: Peer): boolean =>
      view > number || (view === number && digest !== undefined && !contradict(digest, own));
    const moved = before.filter(
      (id) => id === this.#settings.id || hasMoved(this.#peers.get(id) ?? unheard()),
    );
    return moved.length >= majorityOf(before.length);
  }

  said(to: string, nowMs: number): void {
    const peer = this.#peers.get(to);
    if (peer !== undefined) peer.saidAtMs = nowMs;
  }

  /** When the next packet is due to some peer, if only to tell the time. */
  get nextWordMs(): number {
    let firstMs = Number.POSITIVE_INFINITY;
    for (const { saidAtMs } of this.#peers.values()) firstMs = Math.min(firstMs, saidAtMs);
    return firstMs + this.#settings.durations.leaseMs / WORDS_PER_LEASE;
  }

  /** Peers to which nothing was sent for too long. */
  neglected(nowMs: number): string[] {
    const sinceMs = nowMs - this.#settings.durations.leaseMs / WORDS_PER_LEASE;
    return [...this.#peers].filter(([, { saidAtMs }]) => saidAtMs <= sinceMs).map(([id]) => id);
  }

  status(nowMs: number): PeerStatus[] {
    return [...this.#peers].map(([id, { heardAtMs, view, trouble }]) => ({
      id,
      heardAgoMs: heardAtMs === NEVER ? undefined : nowMs - heardAtMs,
      view,
      trouble,
      clock: this.#clocks.bounds(id),
    }));
  }

  #recognise(packet: Packet, nowMs: number): Peer | undefined {
    const { from, group, leaseMs, clockSkewMs, takeoverMs } = packet;
    const { durations } = this.#settings;
    const peer = this.#peers.get(from);
    if (group !== this.#settings.group) this.#report(from, peer, { why: 'other-group', group });
    else if (from === this.#settings.id) this.#report(from, peer, { why: 'same-name' });
    else if (peer === undefined) this.#report(from, peer, { why: 'not-a-member' });
    else if (!isAgreed(packet, durations)) {
      this.#report(from, peer, { why: 'other-durations', leaseMs, clockSkewMs, takeoverMs });
      this.#noteLonger(packet, nowMs);
    } else return peer;
    return undefined;
  }

  #noteLonger({ leaseMs, clockSkewMs, takeoverMs }: Packet, nowMs: number): void {
    const { durations } = this.#settings;
    const recoveryMs = leaseMs + 2 * clockSkewMs;
    if (recoveryMs <= durations.recoveryMs && takeoverMs <= durations.takeoverMs) return;
    this.#longerMs = Math.max(this.#longerMs, recoveryMs + takeoverMs);
    this.#longerUntilMs = Math.max(this.#longerUntilMs, nowMs + recoveryMs + takeoverMs);
  }

  /** A clock that was ahead must not keep a later incarnation with a correct clock from being heard. */
  #saneMs(sentMs: number, nowMs: number): number {
    return Math.min(sentMs, nowMs + this.#settings.durations.clockSkewMs);
  }

  #isPresentIncarnation(packet: Packet, peer: Peer, nowMs: number): boolean {
    const { from, incarnation } = packet;
    if (incarnation !== peer.incarnation) {
      const sentMs = this.#saneMs(packet.sentMs, nowMs);
      if (sentMs <= peer.sentMs) return false;
      if (incarnation === peer.incarnationBefore && sentMs > peer.beganMs) {
        peer.doubtedUntilMs = nowMs + this.#settings.durations.recoveryMs;
        this.#report(from, peer, { why: 'same-name' });
      }
      peer.incarnationBefore = peer.incarnation;
      peer.incarnation = incarnation;
      peer.beganMs = sentMs;
    }
    return nowMs > peer.doubtedUntilMs;
  }

  /** Reports each trouble of a member once until it changes, and a limited number of unknown processes once each. */
  #report(from: string, peer: Peer | undefined, trouble: PeerTrouble): void {
    if (peer === undefined) {
      if (this.#strangers.has(from) || this.#strangers.size >= STRANGERS_MAX) return;
      this.#strangers.add(from);
    } else {
      const isReported = peer.trouble?.why === trouble.why;
      peer.trouble = trouble;
      if (isReported) return;
    }
    this.#settings.report(from, trouble);
  }
}

const isAgreed = (packet: Packet, { leaseMs, clockSkewMs, takeoverMs }: ResolvedFleaseDurations): boolean =>
  packet.leaseMs === leaseMs && packet.clockSkewMs === clockSkewMs && packet.takeoverMs === takeoverMs;

function contradictionOf(
  { view, digest }: Packet,
  own: Pick<Packet, 'view' | 'digest'>,
): Contradiction | undefined {
  if (view === own.view) return contradict(digest, own.digest) ? 'other-members' : undefined;
  return view < own.view && own.digest.before === 0 ? 'earlier-view' : undefined;
}

const NEVER = Number.NEGATIVE_INFINITY;
/** An attacker that can connect can use any number of names. */
const STRANGERS_MAX = 100;

const unheard = (): Peer => ({
  incarnation: 0,
  incarnationBefore: 0,
  beganMs: NEVER,
  sentMs: NEVER,
  doubtedUntilMs: NEVER,
  view: 0,
  digest: undefined,
  contradiction: undefined,
  cameAtMs: NEVER,
  echo: undefined,
  saidAtMs: NEVER,
  heardAtMs: NEVER,
  trouble: undefined,
});
