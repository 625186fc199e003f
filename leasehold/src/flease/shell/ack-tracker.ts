/**
 * Whether each peer acknowledges our packets: acts on them instead of discarding them. A peer that discards our packets does
 * not say so either, because an untrusted packet is not answered. But every packet names the last one of our packets
 * that counted. If that number stands still while we go on sending, and the peer goes on sending too, nothing of ours
 * counts there:
 *
 *     we      ── said 7 ──── said 8 ──────── said 9 ─────── said 10 ──
 *     peer          had 7 ──── had 7 ──────────── had 7 ──── had 7 ──►   since 8 the peer acknowledges nothing
 *
 * The least expected reason is another process under our name, for which both processes pay (`peer-table.ts`). The
 * other reason is a network that carries packets in one direction only.
 *
 * A peer that was stopped for long may send before reading the packets that arrived meanwhile; and a peer that has
 * just moved to our view could not acknowledge our earlier packets. So one packet is not enough: the peer also has to pass
 * over a packet that we have sent since.
 */

import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, later } from '../../runtime/time.ts';
import type { Packet } from '../core/messages.ts';
import type { ResolvedFleaseDurations } from '../core/options.ts';

export interface AckTrackerOptions {
  readonly clock: Pick<Runtime, 'now'>;
  readonly durations: Pick<ResolvedFleaseDurations, 'answerTimeoutMs'>;
  /** Whether our packets can reach the peer. */
  isConnected(peer: string): boolean;
  /** Whether a reason why our packets would not count is known and was reported. */
  isTroubled(peer: string): boolean;
  /** The peer stopped acknowledging our packets, or acknowledges them again. */
  changed(peer: string, isAcknowledging: boolean): void;
}

interface Heard {
  /** When the last of our packets that the peer acknowledged was sent, by our clock. */
  acknowledgedMs: number | undefined;
  /** When the first packet after that was sent; or, if the peer is doubted, the first since the doubt. */
  unacknowledgedSince: Instant | undefined;
  /** Whether the peer has once sent a packet without having acknowledged one that could have arrived. */
  isDoubted: boolean;
  isAcknowledging: boolean;
}

export class AckTracker {
  readonly #options: AckTrackerOptions;
  readonly #peers = new Map<string, Heard>();

  constructor(options: AckTrackerOptions) {
    this.#options = options;
  }

  isAcknowledging(peer: string): boolean {
    return this.#peers.get(peer)?.isAcknowledging !== false;
  }

  /** We send a packet. */
  said(to: string, { sentMs }: Pick<Packet, 'sentMs'>): void {
    const heard = this.#peers.get(to) ?? {
      acknowledgedMs: undefined,
      unacknowledgedSince: undefined,
      isDoubted: false,
      isAcknowledging: true,
    };
    this.#peers.set(to, heard);
    if (!this.#options.isConnected(to)) reset(heard);
    else if (sentMs !== heard.acknowledgedMs) heard.unacknowledgedSince ??= this.#options.clock.now();
  }

  /** The peer sends a packet, which names the last packet that the peer acknowledged. */
  heard({ from, echo }: Pick<Packet, 'from' | 'echo'>): void {
    const heard = this.#peers.get(from);
    if (heard === undefined) return;
    const { clock, durations, isConnected, isTroubled } = this.#options;
    const now = clock.now();
    if (echo?.sentMs !== heard.acknowledgedMs) {
      heard.acknowledgedMs = echo?.sentMs;
      reset(heard);
      this.#judge(from, heard, true);
      return;
    }
    if (
      heard.unacknowledgedSince === undefined ||
      now < later(heard.unacknowledgedSince, durations.answerTimeoutMs)
    )
      return;
    if (!isConnected(from) || isTroubled(from)) {
      reset(heard);
      return;
    }
    if (heard.isDoubted) this.#judge(from, heard, false);
    heard.isDoubted = true;
    heard.unacknowledgedSince = undefined;
  }

  /** Nobody but these is a member any more. */
  keep(members: readonly string[]): void {
    for (const peer of [...this.#peers.keys()]) if (!members.includes(peer)) this.#peers.delete(peer);
  }

  #judge(peer: string, heard: Heard, isAcknowledging: boolean): void {
    if (heard.isAcknowledging === isAcknowledging) return;
    heard.isAcknowledging = isAcknowledging;
    this.#options.changed(peer, isAcknowledging);
  }
}

function reset(heard: Heard): void {
  heard.unacknowledgedSince = undefined;
  heard.isDoubted = false;
}
