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
 *  - A read that comes twice finds its own ballot and is refused as outbid; whoever asked ignores that of one who has
 *    said yes.
 *  - A write that comes twice is written again, to no effect.
 *  - A write that comes late is refused by its age.
 *
 * Always true. Relax the first or the last, and `npm run sim -- flease` finds a world in which it matters. The second
 * is what the lemma rests on; without it alone no harm has been found in a thousand worlds, since whoever asks gives
 * up sooner, and compares clocks:
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
import type { Entry, Table } from './table.ts';

/** What is written, and under which ballot. */
export type Written = Readonly<Pick<Entry, 'written' | 'lease'>>;

export interface Refusal {
  readonly refused: RefusalReason;
  readonly round: number;
}

/** So many times within a lease the registers are looked over for what may be forgotten. */
const SWEEPS_PER_LEASE = 8;

export class Registers {
  readonly #durations: ResolvedFleaseDurations;
  readonly #table: Table;
  readonly #sweeps: Agenda<Entry>;
  #size = 0;

  constructor(durations: ResolvedFleaseDurations, table: Table) {
    this.#durations = durations;
    this.#table = table;
    this.#sweeps = new Agenda(durations.leaseMs / SWEEPS_PER_LEASE);
  }

  get size(): number {
    return this.#size;
  }

  /** When {@link sweep} next has something to forget. */
  get sweepAtMs(): number {
    return this.#sweeps.nextMs;
  }

  /** For a query, which is promised nothing. */
  written(resource: string): Written {
    return this.#table.find(resource) ?? NOTHING;
  }

  /**
   * Promises, and says what is written; or says why not.
   *
   * @param known where it is in the table, if that is known
   */
  read(resource: string, ballot: Ballot, nowMs: number, known?: Entry): Written | Refusal {
    const untimely = this.#untimely(ballot, nowMs);
    if (untimely !== undefined) return untimely;
    const register = known ?? this.#table.findOrAdd(resource);
    const { promised } = register;
    if (promised === undefined) this.#begin(register, ballot);
    else if (this.#compare(ballot, promised) <= 0) return this.#outbid(ballot, promised);
    register.promised = ballot;
    return register;
  }

  /**
   * Writes, or says why not.
   *
   * @param known where it is in the table, if that is known
   */
  write(resource: string, ballot: Ballot, lease: Lease, nowMs: number, known?: Entry): Refusal | undefined {
    const untimely = this.#untimely(ballot, nowMs);
    if (untimely !== undefined) return untimely;
    const { leaseMs, clockSkewMs } = this.#durations;
    if (lease.untilMs > nowMs + leaseMs + clockSkewMs) return EARLY;
    // Nobody takes a number further ahead than the skew of its clock, which is ahead of ours by no more than that.
    if (lease.number > (nowMs + 2 * clockSkewMs) * NUMBERS_PER_MS) return EARLY;
    const register = known ?? this.#table.findOrAdd(resource);
    const { promised } = register;
    if (promised === undefined) this.#begin(register, ballot);
    else if (this.#compare(ballot, promised) < 0) return this.#outbid(ballot, promised);
    register.promised = ballot;
    register.written = ballot;
    register.lease = lease;
    return undefined;
  }

  /** Forgets what is over, and leaves the rest for later. */
  sweep(nowMs: number): void {
    for (const register of this.#sweeps.due(nowMs)) {
      if (register.promised === undefined) continue;
      const atMs = this.#forgetAtMs(this.#askedMs(register, register.promised));
      if (nowMs > atMs) this.#forget(register);
      else this.#sweeps.add(atMs, register);
    }
  }

  /** Loses everything, as a restart does. */
  clear(): void {
    for (const entry of this.#table.entries()) if (entry.promised !== undefined) this.#forget(entry);
    this.#sweeps.clear();
  }

  /** Something is promised for the first time, or for the first time since it was forgotten. */
  #begin(register: Entry, { askedMs }: Ballot): void {
    this.#size += 1;
    this.#sweeps.add(this.#forgetAtMs(askedMs), register);
  }

  #forget(register: Entry): void {
    this.#size -= 1;
    register.promised = undefined;
    register.written = undefined;
    register.lease = undefined;
    this.#table.tidy(register);
  }

  #untimely(ballot: Ballot, nowMs: number): Refusal | undefined {
    if (nowMs > ballot.askedMs + this.#durations.attemptMs) return LATE;
    if (ballot.askedMs > nowMs + this.#durations.clockSkewMs) return EARLY;
    return undefined;
  }

  #compare(ballot: Ballot, promised: Ballot): number {
    return compareBallots(ballot, promised, this.#durations.attemptMs);
  }

  /** Rounds begin anew in every interval, so a higher round is of use only in the same one. */
  #outbid({ askedMs }: Ballot, promised: Ballot): Refusal {
    return { refused: 'outbid', round: roundToExceed(promised, askedMs, this.#durations.attemptMs) };
  }

  /** The latest asking that anything in it stems from. */
  #askedMs({ written, lease }: Written, promised: Ballot): number {
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
