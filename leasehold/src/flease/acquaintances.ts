/**
 * What a member knows of the others: which life each is in, which view, what its clock shows, and whether it may
 * speak at all.
 *
 * Not heeded, and reported by name: a packet of another group; of a member that is not in ours, or that has our own
 * name; of one with other durations, for every argument adds ours to theirs; of one that means another view by the
 * same number (`view-digest.ts`). Not heeded and not worth a word: what an earlier life of a member said. Reported,
 * and not passed over: one that is in a later view, or in an earlier one that we were not told of, or whose clock is
 * off. What it asks is refused, and it is told why (`member.ts`).
 *
 * A life that speaks after the last words of another has followed it. If the other goes on speaking all the same,
 * two processes have one name, each with a memory of its own, and two majorities may have nothing in common but
 * that name. Neither is heeded then for as long as both are heard.
 */

import type { Echo, Packet } from './messages.ts';
import type { ResolvedFleaseDurations } from './options.ts';
import { type ClockBounds, PeerClocks } from './peer-clocks.ts';
import { majorityOf, type View } from './view.ts';
import { contradict, type ViewDigest } from './view-digest.ts';

/** Something about a peer that somebody should know. */
export type PeerTrouble =
  | { readonly why: 'other-group'; readonly group: string }
  | { readonly why: 'not-a-member' }
  | { readonly why: 'same-name' }
  | { readonly why: 'other-durations'; readonly leaseMs: number; readonly clockSkewMs: number }
  /** It is in our view by its number, but not by who is in it. */
  | { readonly why: 'other-members' }
  /** It is not as far as we are, and we were started without a word of those before, as if that were settled. */
  | { readonly why: 'earlier-view'; readonly view: number }
  /** It is further than we are. */
  | { readonly why: 'later-view'; readonly view: number }
  | { readonly why: 'clock-off'; readonly bounds: ClockBounds };

export interface PeerStatus {
  readonly id: string;
  readonly heardAgoMs: number | undefined;
  readonly view: number;
  readonly trouble: PeerTrouble | undefined;
  readonly clock: ClockBounds | undefined;
}

/** Another view of the same number, or one before ours that we were not told of: either may be a group beside ours. */
export type Contradiction = Extract<PeerTrouble['why'], 'other-members' | 'earlier-view'>;

interface Peer {
  life: number;
  lifeBefore: number;
  /** When the present life was first and last heard, by its own clock. */
  beganMs: number;
  sentMs: number;
  /** Until when it is not heeded because another has its name, by our clock. */
  doubtedUntilMs: number;
  view: number;
  /** Of that view. */
  digest: ViewDigest | undefined;
  /** How what it said last contradicts what we were told, if it does. */
  contradiction: Contradiction | undefined;
  /** When anything came from it last, whether or not that was heeded, by our clock. */
  cameAtMs: number;
  echo: Echo | undefined;
  saidAtMs: number;
  heardAtMs: number;
  /** As it was last. */
  trouble: PeerTrouble | undefined;
}

/** Something is said to every peer so many times in a lease, so that clocks and views are known. */
const WORDS_PER_LEASE = 4;

export interface AcquaintancesSettings {
  readonly group: string;
  readonly id: string;
  readonly durations: ResolvedFleaseDurations;
  readonly report: (peer: string, trouble: PeerTrouble) => void;
}

export class Acquaintances {
  readonly #settings: AcquaintancesSettings;
  readonly #clocks: PeerClocks;
  readonly #peers = new Map<string, Peer>();
  /** Strangers that were reported. */
  readonly #strangers = new Set<string>();

  constructor(settings: AcquaintancesSettings) {
    this.#settings = settings;
    this.#clocks = new PeerClocks(settings.durations.clockSkewMs);
  }

  /** Knows these, and nobody else. */
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

  /** Our clock is another: what was measured against it means nothing, and what was noted by it may lie far ahead. */
  forgetClocks(nowMs: number): void {
    this.#clocks.beginAnew(nowMs);
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
  get isOddOneOut(): boolean {
    return this.#clocks.isOddOneOut;
  }

  isClockOff(id: string): boolean {
    return this.#clocks.judge(id) === 'off';
  }

  /** How somebody contradicts what we were told of the group, as far as we know. */
  get contradiction(): Contradiction | undefined {
    for (const { contradiction } of this.#peers.values())
      if (contradiction !== undefined) return contradiction;
    return undefined;
  }

  /** When somebody will have contradicted us so long ago that it does not count any more, unless it is heard before. */
  get contradictedUntilMs(): number {
    let firstMs = Number.POSITIVE_INFINITY;
    for (const peer of this.#peers.values()) {
      if (peer.contradiction !== undefined) firstMs = Math.min(firstMs, this.#contradictsUntilMs(peer));
    }
    return firstMs;
  }

  /**
   * Nobody contradicts us from its grave: who has said nothing for as long as a silence lasts is gone, or cut off, and whoever
   * begins would not hear it in all of its silence either.
   */
  forgetContradictions(nowMs: number): void {
    for (const peer of this.#peers.values()) {
      if (nowMs > this.#contradictsUntilMs(peer)) peer.contradiction = undefined;
    }
  }

  #contradictsUntilMs({ cameAtMs }: Peer): number {
    return cameAtMs + this.#settings.durations.recoveryMs;
  }

  echoFor(id: string): Echo | undefined {
    return this.#peers.get(id)?.echo;
  }

  /** Takes note of a packet. False if nothing in it is to be heeded. */
  hear(packet: Packet, own: Pick<Packet, 'view' | 'digest'>, nowMs: number): boolean {
    const peer = this.#recognise(packet);
    if (peer === undefined) return false;
    peer.cameAtMs = nowMs; // Whatever it says, and whether or not that is heeded: it is not gone.
    if (!this.#isItsLife(packet, peer, nowMs)) return false;
    const { from, view } = packet;
    const sentMs = this.#saneMs(packet.sentMs, nowMs);
    const contradiction = contradictionOf(packet, own);
    const isOther = contradiction === 'other-members';
    // What it said last counts: views do not go back, so that is the highest, unless one before was false.
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
   * Whether most of those before are known to be in that view, or in a later one. What they mean by it was perhaps
   * said before we knew it.
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

  /** When somebody is next to be told something, if only the time. */
  get nextWordMs(): number {
    let firstMs = Number.POSITIVE_INFINITY;
    for (const { saidAtMs } of this.#peers.values()) firstMs = Math.min(firstMs, saidAtMs);
    return firstMs + this.#settings.durations.leaseMs / WORDS_PER_LEASE;
  }

  /** Those to whom nothing was said for too long. */
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

  #recognise({ from, group, leaseMs, clockSkewMs }: Packet): Peer | undefined {
    const { durations } = this.#settings;
    const peer = this.#peers.get(from);
    if (group !== this.#settings.group) this.#report(from, peer, { why: 'other-group', group });
    else if (from === this.#settings.id) this.#report(from, peer, { why: 'same-name' });
    else if (peer === undefined) this.#report(from, peer, { why: 'not-a-member' });
    else if (leaseMs !== durations.leaseMs || clockSkewMs !== durations.clockSkewMs) {
      this.#report(from, peer, { why: 'other-durations', leaseMs, clockSkewMs });
    } else return peer;
    return undefined;
  }

  /** A clock that is ahead must not keep the lives after it, whose clock is right, from being heard. */
  #saneMs(sentMs: number, nowMs: number): number {
    return Math.min(sentMs, nowMs + this.#settings.durations.clockSkewMs);
  }

  #isItsLife(packet: Packet, peer: Peer, nowMs: number): boolean {
    const { from, life } = packet;
    if (life !== peer.life) {
      const sentMs = this.#saneMs(packet.sentMs, nowMs);
      if (sentMs <= peer.sentMs) return false;
      if (life === peer.lifeBefore && sentMs > peer.beganMs) {
        peer.doubtedUntilMs = nowMs + this.#settings.durations.recoveryMs;
        this.#report(from, peer, { why: 'same-name' });
      }
      peer.lifeBefore = peer.life;
      peer.life = life;
      peer.beganMs = sentMs;
    }
    return nowMs > peer.doubtedUntilMs;
  }

  /** Of a member once, and again when it is something else; of a stranger once, and of so many strangers. */
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

function contradictionOf(
  { view, digest }: Packet,
  own: Pick<Packet, 'view' | 'digest'>,
): Contradiction | undefined {
  if (view === own.view) return contradict(digest, own.digest) ? 'other-members' : undefined;
  return view < own.view && own.digest.before === 0 ? 'earlier-view' : undefined;
}

const NEVER = Number.NEGATIVE_INFINITY;
/** Whoever can connect can give itself any name, and another one each time. */
const STRANGERS_MAX = 100;

const unheard = (): Peer => ({
  life: 0,
  lifeBefore: 0,
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
