/**
 * The acceptor's half: for each resource, what has been promised and what is written.
 *
 * This is the round-based register of the paper (its algorithm 1), which is the heart of Paxos. It is proved
 * for processes that never forget. Ours forget: they restart with nothing, and they drop what is over, or
 * millions of resources would fill them. What makes up for it is time, and the argument is the same for both:
 *
 *     asked   ├──── attempt ────┤                        an attempt is heeded for half a lease, A
 *             ├─────────────── lease ──────────────┤     whatever it wrote is over after a lease, L = 2A
 *             │                                    ├ ε ┤ forgotten
 *     later        ← A →   asked ├──── attempt ────┼───┤ anything heeded after that was asked at least L + ε − A
 *             ├── interval ──┼── interval ──┼──          after it: so in a later interval, with a higher ballot
 *
 * *Lemma.* Whatever an acceptor X heeds after it has forgotten a ballot w has a higher ballot than w. X forgets
 * w when its clock is past `w.asked + L + ε`. It heeds k only if its clock is at most `k.asked + A`. So
 * `k.asked > w.asked + L + ε − A > w.asked + A`, an interval is A long, and k is in a later one.
 *
 * So as far as ballots go an acceptor that forgets behaves like one that never does, and the paper's lemmas R1
 * to R5 hold. What is forgotten for good is the lease; but a lease ends L after it was asked for by its holder's
 * clock, which is no later than L + ε by ours, and to find an expired lease is the same as to find none.
 *
 * A restart forgets everything at once, at some R by our clock. What had been promised was asked no later than
 * R + ε (`early` is refused), so it may be forgotten at R + L + 2ε: hence the silence after a restart, which is
 * t_max + 2ε and not the paper's t_max. A clean shutdown is a restart like any other.
 *
 * What the paper does not speak of:
 *
 *  - A read that comes twice finds its own ballot and is refused as outbid; whoever asked ignores that of one who has said yes.
 *  - A write that comes twice is written again, to no effect.
 *  - A write that comes late is refused by its age.
 *
 * Always true. Relax the first or the last, and `npm run sim -- flease` finds a world in which it matters. The second is what
 * the lemma rests on; without it alone no harm has been found in a thousand worlds, since whoever asks gives up sooner, and compares clocks:
 *
 *  1. Nothing is promised or written for a ballot lower than one promised or written for that resource.
 *  2. Nothing is heeded that was asked more than half a lease ago, or later than the skew from now.
 *  3. Nothing is forgotten before `lease + skew` has passed since the latest asking it stems from.
 */

import { Agenda } from './agenda.ts';
import { type Ballot, compareBallots, roundToExceed } from './ballot.ts';
import { type Lease, NUMBERS_PER_MS } from './lease.ts';
import type { RefusalReason } from './messages.ts';
import type { ResolvedFleaseDurations } from './options.ts';

export interface Register {
  promised: Ballot;
  written: Ballot | undefined;
  lease: Lease | undefined;
}

export type Verdict = { readonly refused: RefusalReason; readonly round: number } | undefined;

/** So many times within a lease the registers are looked over for what may be forgotten. */
const SWEEPS_PER_LEASE = 8;

export class Registers {
  readonly #durations: ResolvedFleaseDurations;
  readonly #registers = new Map<string, Register>();
  readonly #sweeps: Agenda<string>;

  constructor(durations: ResolvedFleaseDurations) {
    this.#durations = durations;
    this.#sweeps = new Agenda(durations.leaseMs / SWEEPS_PER_LEASE);
  }

  get size(): number {
    return this.#registers.size;
  }

  /** When {@link sweep} next has something to forget. */
  get sweepAtMs(): number {
    return this.#sweeps.nextMs;
  }

  /** What is written: to be said after {@link read} has promised, or to a query, which promises nothing. */
  written(resource: string): { readonly written: Ballot | undefined; readonly lease: Lease | undefined } {
    return this.#registers.get(resource) ?? NOTHING;
  }

  /** All there is of it, for our own proposer. */
  look(resource: string): Readonly<Register> | undefined {
    return this.#registers.get(resource);
  }

  /** Promises, or says why not. */
  read(resource: string, ballot: Ballot, nowMs: number): Verdict {
    const untimely = this.#untimely(ballot, nowMs);
    if (untimely !== undefined) return untimely;
    const register = this.#registers.get(resource);
    if (register === undefined) {
      this.#registers.set(resource, { promised: ballot, written: undefined, lease: undefined });
      this.#sweeps.add(this.#forgetAtMs(ballot.askedMs), resource);
      return undefined;
    }
    const order = compareBallots(ballot, register.promised, this.#durations.attemptMs);
    if (order <= 0) return { refused: 'outbid', round: this.#roundOf(register, ballot) };
    register.promised = ballot;
    return undefined;
  }

  /** Writes, or says why not. */
  write(resource: string, ballot: Ballot, lease: Lease, nowMs: number): Verdict {
    const untimely = this.#untimely(ballot, nowMs);
    if (untimely !== undefined) return untimely;
    const { leaseMs, clockSkewMs } = this.#durations;
    if (lease.untilMs > nowMs + leaseMs + clockSkewMs) return EARLY;
    // Nobody takes a number further ahead than the skew of its clock, which is ahead of ours by no more than that.
    if (lease.number > (nowMs + 2 * clockSkewMs) * NUMBERS_PER_MS) return EARLY;
    const register = this.#registers.get(resource);
    if (register === undefined) {
      this.#registers.set(resource, { promised: ballot, written: ballot, lease });
      this.#sweeps.add(this.#forgetAtMs(ballot.askedMs), resource);
      return undefined;
    }
    const order = compareBallots(ballot, register.promised, this.#durations.attemptMs);
    if (order < 0) return { refused: 'outbid', round: this.#roundOf(register, ballot) };
    if (order > 0) register.promised = ballot;
    register.written = register.promised;
    register.lease = lease;
    return undefined;
  }

  /** Forgets what is over, and leaves the rest for later. */
  sweep(nowMs: number): void {
    for (const resource of this.#sweeps.due(nowMs)) {
      const register = this.#registers.get(resource);
      if (register === undefined) continue;
      const atMs = this.#forgetAtMs(this.#askedMs(register));
      if (nowMs > atMs) this.#registers.delete(resource);
      else this.#sweeps.add(atMs, resource);
    }
  }

  /** Loses everything, as a restart does. */
  clear(): void {
    this.#registers.clear();
    this.#sweeps.clear();
  }

  #untimely(ballot: Ballot, nowMs: number): Verdict {
    if (nowMs > ballot.askedMs + this.#durations.attemptMs) return LATE;
    if (ballot.askedMs > nowMs + this.#durations.clockSkewMs) return EARLY;
    return undefined;
  }

  /** Rounds begin anew in every interval, so a higher round is of use only in the same one. */
  #roundOf({ promised }: Register, { askedMs }: Ballot): number {
    return roundToExceed(promised, askedMs, this.#durations.attemptMs);
  }

  /** The latest asking that anything in it stems from. */
  #askedMs({ promised, written, lease }: Register): number {
    const leaseAskedMs = lease === undefined ? promised.askedMs : lease.untilMs - this.#durations.leaseMs;
    return Math.max(promised.askedMs, written?.askedMs ?? promised.askedMs, leaseAskedMs);
  }

  #forgetAtMs(askedMs: number): number {
    return askedMs + this.#durations.leaseMs + this.#durations.clockSkewMs;
  }
}

const NOTHING = { written: undefined, lease: undefined };
const LATE = { refused: 'late', round: 0 } as const;
const EARLY = { refused: 'early', round: 0 } as const;
