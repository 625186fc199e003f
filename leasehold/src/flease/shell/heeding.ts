/**
 * Whether each peer heeds our packets: acts on them instead of discarding them. A peer that discards our packets does
 * not say so either, because an untrusted packet is not answered. But every packet names the last one of our packets
 * that counted. If that number stands still while we go on sending, and the peer goes on sending too, nothing of ours
 * counts there:
 *
 *     we      ── said 7 ──── said 8 ──────── said 9 ─────── said 10 ──
 *     peer          had 7 ──── had 7 ──────────── had 7 ──── had 7 ──►   since 8 the peer does not heed us
 *
 * The least expected reason is another process under our name, for which both processes pay (`peer-table.ts`). The
 * other reason is a network that carries packets in one direction only.
 *
 * A peer that was stopped for long may send before reading the packets that arrived meanwhile; and a peer that has
 * just moved to our view could not heed our earlier packets. So one packet is not enough: the peer also has to pass
 * over a packet that we have sent since.
 */

import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, later } from '../../runtime/time.ts';
import type { Packet } from '../messages.ts';
import type { ResolvedFleaseDurations } from '../options.ts';

export interface HeedingOptions {
  readonly clock: Pick<Runtime, 'now'>;
  readonly durations: Pick<ResolvedFleaseDurations, 'answerMs'>;
  /** Whether our packets can reach the peer. */
  isConnected(peer: string): boolean;
  /** Whether a reason why our packets would not count is known and was reported. */
  isTroubled(peer: string): boolean;
  /** The peer stopped heeding us, or heeds us again. */
  changed(peer: string, isHeeding: boolean): void;
}

interface Heard {
  /** When the last of our packets that the peer heeded was sent, by our clock. */
  heededMs: number | undefined;
  /** When the first packet after that was sent; or, if the peer is doubted, the first since the doubt. */
  unheededSince: Instant | undefined;
  /** Whether the peer has once sent a packet without having heeded one that could have arrived. */
  isDoubted: boolean;
  isHeeding: boolean;
}

export class Heeding {
  readonly #options: HeedingOptions;
  readonly #peers = new Map<string, Heard>();

  constructor(options: HeedingOptions) {
    this.#options = options;
  }

  isHeeding(peer: string): boolean {
    return this.#peers.get(peer)?.isHeeding !== false;
  }

  /** We send a packet. */
  said(to: string, { sentMs }: Pick<Packet, 'sentMs'>): void {
    const heard = this.#peers.get(to) ?? {
      heededMs: undefined,
      unheededSince: undefined,
      isDoubted: false,
      isHeeding: true,
    };
    this.#peers.set(to, heard);
    if (!this.#options.isConnected(to)) reset(heard);
    else if (sentMs !== heard.heededMs) heard.unheededSince ??= this.#options.clock.now();
  }

  /** The peer sends a packet, which names the last packet that the peer heeded. */
  heard({ from, echo }: Pick<Packet, 'from' | 'echo'>): void {
    const heard = this.#peers.get(from);
    if (heard === undefined) return;
    const { clock, durations, isConnected, isTroubled } = this.#options;
    const now = clock.now();
    if (echo?.sentMs !== heard.heededMs) {
      heard.heededMs = echo?.sentMs;
      reset(heard);
      this.#judge(from, heard, true);
      return;
    }
    if (heard.unheededSince === undefined || now < later(heard.unheededSince, durations.answerMs)) return;
    if (!isConnected(from) || isTroubled(from)) {
      reset(heard);
      return;
    }
    if (heard.isDoubted) this.#judge(from, heard, false);
    heard.isDoubted = true;
    heard.unheededSince = undefined;
  }

  /** Nobody but these is a member any more. */
  keep(members: readonly string[]): void {
    for (const peer of [...this.#peers.keys()]) if (!members.includes(peer)) this.#peers.delete(peer);
  }

  #judge(peer: string, heard: Heard, isHeeding: boolean): void {
    if (heard.isHeeding === isHeeding) return;
    heard.isHeeding = isHeeding;
    this.#options.changed(peer, isHeeding);
  }
}

function reset(heard: Heard): void {
  heard.unheededSince = undefined;
  heard.isDoubted = false;
}
