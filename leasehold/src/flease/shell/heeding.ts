/**
 * Whether the others heed what we say. Whoever does not heed a member does not tell it either: a word that cannot be
 * trusted is not answered. But every packet says which one of ours was the last that counted. If that stands still
 * while we go on speaking, and so does the peer, nothing of ours counts there:
 *
 *     we      ── said 7 ──── said 8 ──────── said 9 ─────── said 10 ──
 *     peer          had 7 ──── had 7 ──────────── had 7 ──── had 7 ──►   since 8 it does not heed us
 *
 * The reason that nobody thinks of is another process under our name, for which both pay (`acquaintances.ts`). The
 * rest is a network that carries one way only.
 *
 * A peer that was stopped for long may speak before it has read what came meanwhile; and one that has just moved to
 * our view could not heed what we said before. So one word is not enough: it has to pass over something that we have
 * said since, too.
 */

import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, later } from '../../runtime/time.ts';
import type { Packet } from '../messages.ts';
import type { ResolvedFleaseDurations } from '../options.ts';

export interface HeedingOptions {
  readonly clock: Pick<Runtime, 'now'>;
  readonly durations: Pick<ResolvedFleaseDurations, 'answerMs'>;
  /** Whether what we say is on its way. */
  isConnected(peer: string): boolean;
  /** Whether it is known why what we say would not count, and said. */
  isTroubled(peer: string): boolean;
  /** It does not, or does again. */
  changed(peer: string, isHeeding: boolean): void;
}

interface Heard {
  /** When the last of ours that it heeded was sent, by our clock. */
  heededMs: number | undefined;
  /** When the first one after that was; or, if it is doubted, the first since then. */
  unheededSince: Instant | undefined;
  /** Whether it has spoken once without having heeded what it could have. */
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

  /** We say something. */
  said(to: string, { sentMs }: Pick<Packet, 'sentMs'>): void {
    const heard = this.#peers.get(to) ?? {
      heededMs: undefined,
      unheededSince: undefined,
      isDoubted: false,
      isHeeding: true,
    };
    this.#peers.set(to, heard);
    if (!this.#options.isConnected(to)) beginAnew(heard);
    else if (sentMs !== heard.heededMs) heard.unheededSince ??= this.#options.clock.now();
  }

  /** It says something, and so what it has heeded. */
  heard({ from, echo }: Pick<Packet, 'from' | 'echo'>): void {
    const heard = this.#peers.get(from);
    if (heard === undefined) return;
    const { clock, durations, isConnected, isTroubled } = this.#options;
    const now = clock.now();
    if (echo?.sentMs !== heard.heededMs) {
      heard.heededMs = echo?.sentMs;
      beginAnew(heard);
      this.#judge(from, heard, true);
      return;
    }
    if (heard.unheededSince === undefined || now < later(heard.unheededSince, durations.answerMs)) return;
    if (!isConnected(from) || isTroubled(from)) {
      beginAnew(heard);
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

function beginAnew(heard: Heard): void {
  heard.unheededSince = undefined;
  heard.isDoubted = false;
}
