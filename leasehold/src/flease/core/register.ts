/**
 * The acceptor: for each resource, the highest ballot promised and the last lease written.
 *
 * This is the round-based register of the paper (algorithm 1), the heart of Paxos. The paper proves the register for
 * processes that never forget. Ours forget: a restarted member has nothing, and a running member drops expired
 * entries, because millions of resources would fill the memory. Time makes up for the loss, by one argument for both
 * cases:
 *
 *     asked   ├──── attempt ────┤                        acceptors act on an attempt for half a lease, A
 *             ├─────────────── lease ──────────────┤     any lease it wrote is over after a lease, L = 2A
 *             │                                    ├ ε ┤ forgotten
 *     later        ← A →   asked ├──── attempt ────┼───┤ an attempt accepted after that was asked at least L + ε − A
 *             ├── interval ──┼── interval ──┼──          after it: so in a later interval, with a higher ballot
 *
 * *Lemma.* Every ballot that an acceptor X acts on after forgetting a ballot w is higher than w. X forgets w when the
 * clock of X is past `w.asked + L + ε`. X acts on k only if that clock is at most `k.asked + A`. So `k.asked >
 * w.asked + L + ε − A > w.asked + A`. An interval is A long, so k is in a later interval.
 *
 * As far as ballots go, an acceptor that forgets therefore behaves like one that never does, and the paper's lemmas
 * R1 to R5 hold. The forgotten lease is gone for good. But a lease ends L after its holder asked for it by the
 * holder's clock, which is no later than L + ε by ours, and finding an expired lease is the same as finding none.
 *
 * A restart forgets everything at once, at some R by our clock. Every promise before R was asked no later than R + ε
 * (`early` is refused), so all of them may be forgotten at R + L + 2ε. Hence the recovery period after a restart is
 * t_max + 2ε, not the paper's t_max. A clean shutdown is a restart like any other.
 *
 * Cases that the paper leaves out:
 *
 *  - A duplicate of a read finds its own ballot and is refused as outbid. The proposer ignores a refusal from a member
 *    that has already said yes.
 *  - A duplicate of a write is written again, to no effect.
 *  - A delayed write is refused by its age.
 *
 * Invariants. Relax the first or the last, and `npm run sim -- flease` finds a world in which the relaxed rule
 * matters. The lemma rests on the second; relaxing the second alone did no harm in a thousand worlds, because
 * proposers give up sooner and compare clocks:
 *
 *  1. An acceptor promises and writes nothing for a ballot lower than one promised or written for that resource.
 *  2. An acceptor acts on no attempt that was asked more than half a lease ago, or later than the skew from now.
 *  3. An acceptor forgets nothing before `lease + skew` has passed since the latest asking behind the entry.
 */

import { TimerWheel } from './timer-wheel.ts';
import { type Ballot, compareBallots, roundToExceed } from './ballot.ts';
import { type Lease, NUMBERS_PER_MS } from './lease.ts';
import type { RefusalReason } from './messages.ts';
import type { ResolvedFleaseDurations } from './options.ts';
import type { Entry, Table } from './table.ts';

/** The written lease, and the ballot it was written under. */
export type Written = Readonly<Pick<Entry, 'written' | 'lease'>>;

export interface Refusal {
  readonly refused: RefusalReason;
  readonly round: number;
}

/** How many times within a lease the registers are searched for entries that may be forgotten. */
const SWEEPS_PER_LEASE = 8;

export class Registers {
  readonly #durations: ResolvedFleaseDurations;
  readonly #table: Table;
  readonly #sweeps: TimerWheel<Entry>;
  #size = 0;

  constructor(durations: ResolvedFleaseDurations, table: Table) {
    this.#durations = durations;
    this.#table = table;
    this.#sweeps = new TimerWheel(durations.leaseMs / SWEEPS_PER_LEASE);
  }

  get size(): number {
    return this.#size;
  }

  /** When {@link sweep} next has an entry to forget. */
  get sweepAtMs(): number {
    return this.#sweeps.nextMs;
  }

  /** For a query, which needs no promise. */
  written(resource: string): Written {
    return this.#table.find(resource) ?? NOTHING;
  }

  /**
   * Promises, and returns the written lease; or refuses with a reason.
   *
   * @param known the resource's entry in the table, if the caller has it
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
   * Writes, or refuses with a reason.
   *
   * @param known the resource's entry in the table, if the caller has it
   */
  write(resource: string, ballot: Ballot, lease: Lease, nowMs: number, known?: Entry): Refusal | undefined {
    const untimely = this.#untimely(ballot, nowMs);
    if (untimely !== undefined) return untimely;
    const { leaseMs, clockSkewMs } = this.#durations;
    if (lease.untilMs > nowMs + leaseMs + clockSkewMs) return EARLY;
    // A proposer takes no number further ahead than the skew of its clock, which is ahead of ours by at most the
    // skew.
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

  /** Forgets expired entries, and reschedules the rest. */
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

  /** The first promise for a resource, or the first since the entry was forgotten. */
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

  /** Rounds restart in every interval, so a higher round helps only within the same interval. */
  #outbid({ askedMs }: Ballot, promised: Ballot): Refusal {
    return { refused: 'outbid', round: roundToExceed(promised, askedMs, this.#durations.attemptMs) };
  }

  /** The latest asking behind any part of the entry. */
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
