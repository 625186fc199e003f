/**
 * The questions and promises of one replica: when it asks, and whom it promises.
 *
 * A grantor refuses two kinds of holders. One that its newest configuration does not seat: nobody would count it among
 * the holders that a write must reach. And one that has not synced what the grantor itself had a grace period ago: a holder that
 * answers but cannot write would block every write of its keys, and could not even be told from a slow one.
 *
 * A copy that may have forgotten votes promises nothing (`copy.ts`).
 */

import { type Instant, later } from '../../runtime/time.ts';
import type { Ballot } from './ballot.ts';
import { bit, memberOf } from './configuration.ts';
import type { Context } from './context.ts';
import { holdFor } from './leases.ts';
import type { Ask, LeasePromise } from './messages.ts';

export class LeaseExchange {
  readonly #context: Context;
  #askAt: Instant;
  /** What was durable here when, as far back as the grace period. */
  readonly #reached: { readonly at: Instant; readonly ballot: Ballot; readonly upTo: number }[] = [];

  constructor(context: Context, now: Instant) {
    this.#context = context;
    this.#askAt = now;
  }

  get wakeAt(): Instant {
    return this.#askAt;
  }

  /** Asks every member for a promise; without a seat, asks to be fed. */
  wake(now: Instant): void {
    if (now < this.#askAt) return;
    const context = this.#context;
    const { leaseMs, renewEveryMs, electionMs } = context.durations;
    this.#askAt = later(now, context.isMember ? renewEveryMs : electionMs);
    if (context.isMember && context.room.isFull) this.#release(true);
    else if (context.isMember) {
      const { ballot, synced } = context.acceptor;
      context.broadcast({ kind: 'ask', ...context.leases.ask(leaseMs, now), leaseMs, ballot, upTo: synced });
    } else {
      const members = new Set([...context.peers, ...context.contacts]);
      for (const member of members) context.send(member, { kind: 'join' });
    }
  }

  /** Answers with a promise, as soon as the next life would wait for its end. */
  grant(from: string, { life, number, leaseMs, ballot, upTo }: Ask, now: Instant): void {
    const context = this.#context;
    const member = memberOf(context.log.newestConfiguration, from);
    if (member === undefined || !context.isComplete || this.#lags(ballot, upTo, now)) return;
    context.leases.grant(from, bit(member.seat), { life, number }, leaseMs, now);
    const reading = { stamp: now, by: context.life };
    const promise = { kind: 'promise', life, number, ...reading, last: context.log.last } as const;
    const holdMs = holdFor(leaseMs);
    context.holdMs = Math.max(context.holdMs, holdMs);
    if (holdMs <= context.journal.durableHoldMs) context.send(from, promise);
    else context.journal.defer({ to: from, message: promise, holds: () => true });
  }

  /** A member has promised. The promise counts unless the clock of the member is too fast for that (`peer-clocks.ts`). */
  promised(from: string, promise: LeasePromise, now: Instant): void {
    const { leases, clocks } = this.#context;
    const askedAt = leases.askedAt(promise);
    const isInStep = askedAt === undefined || clocks.read(from, promise, askedAt, now);
    if (isInStep)
      leases.promised(from, promise, promise.last, now); // Which takes no answer to a question that nobody asked.
    else leases.distrust(from);
  }

  /** Nothing that was counted on this clock is trusted. */
  suspended(now: Instant): void {
    this.#context.leases.drop();
    this.#context.clocks.suspended();
    this.#askAt = now;
  }

  /** Stops reading, then says so. The process is about to end. */
  release(now: Instant): void {
    this.#release(false);
    this.#askAt = later(now, this.#context.durations.leaseMs);
  }

  /** The disk is full, or has room again: `room.ts`. */
  roomChanged(now: Instant): void {
    this.#askAt = now;
    this.wake(now);
  }

  #release(isDiskFull: boolean): void {
    this.#context.broadcast({ kind: 'release', ...this.#context.leases.release(), isDiskFull });
  }

  /** Takes note of how far this replica is. */
  note(now: Instant): void {
    const { acceptor, durations } = this.#context;
    const { ballot, synced } = acceptor;
    const newest = this.#reached.at(-1);
    if (newest?.ballot === ballot && newest.upTo === synced) return;
    this.#reached.push({ at: now, ballot, upTo: synced });
    const since = later(now, -durations.graceMs);
    while ((this.#reached[1]?.at ?? now) < since) this.#reached.shift();
  }

  #lags(ballot: Ballot, upTo: number, now: Instant): boolean {
    const since = later(now, -this.#context.durations.graceMs);
    const due = this.#reached.findLast(({ at }) => at <= since);
    if (due === undefined) return false;
    return ballot < due.ballot || (ballot === due.ballot && upTo < due.upTo);
  }
}
