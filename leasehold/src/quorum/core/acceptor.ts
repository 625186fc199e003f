/**
 * The acceptor: what this replica has promised and accepted, and what it tells others about it.
 *
 * The promised ballot only grows, and is durable before anybody hears of it. Below it nothing is accepted, so a new leader
 * that has heard from a majority knows everything that an older ballot can still have chosen.
 *
 * Under one ballot a replica accepts without gaps: `upTo` says that every slot up to there is the leader's. A replica that
 * enters a ballot starts from its own chosen prefix, not from the end of its log, for what it has beyond may be of
 * another leader. Old entries stay where they are until the new leader replaces them: they are votes that a third
 * leader may need to see. Only what lies beyond the end of the log with which the leader's term began (`merged`) can go: the
 * leader would have it if it had been chosen.
 *
 *     own log     chosen │ old entries  …            │ beyond merged: dropped
 *     leader                first ├── entries ──┤
 *     upTo               ├── grows without gaps ──►
 *
 * Nothing else writes these five; every method below says why its step keeps what they mean:
 *
 *     promised   durable    no ballot below it is accepted any more; only grows
 *     ballot     memory     the leader's ballot that is being followed; 0 after a start
 *     merged     memory     the end of the log with which the leader's term began
 *     upTo       memory     in that ballot, all slots up to here are accepted, or known to be chosen
 *     synced     memory     how much of that is durable: what may be acknowledged; -1: nothing yet
 *
 * `ballot` and `upTo` are not durable on purpose. After a start a replica knows which entries it has accepted, but not whether
 * they are a prefix of the present leader's log, so it says nothing until that leader has shown it where they join.
 */

import type { Instant } from '../../runtime/time.ts';
import type { Acknowledgements } from './acknowledgements.ts';
import type { Ballot } from './ballot.ts';
import type { Journal } from './journal.ts';
import type { LeaseMachine } from './leases.ts';
import type { ReplicatedLog } from './log.ts';
import type { Accept, Accepted, Message, Prepare } from './messages.ts';
import type { Operation } from './operation.ts';

/** What the acceptor uses of its replica. */
export interface AcceptorDependencies {
  readonly self: string;
  readonly life: number;
  readonly log: ReplicatedLog;
  readonly journal: Journal;
  readonly leases: LeaseMachine;
  readonly acknowledged: Acknowledgements;
  /** Whether the log has every vote of this directory. */
  readonly isComplete: boolean;
  send(to: string, message: Message): void;
  broadcast(message: Message): void;
}

export class Acceptor {
  readonly #context: AcceptorDependencies;
  #promised: Ballot;
  #ballot: Ballot = 0;
  #merged = 0;
  #upTo = 0;
  #synced = -1;
  /** Whether the leader, or a new peer, waits for a word from us. */
  #isAsked = false;
  #acknowledgements = 0;
  #said: Pick<Accepted, 'ballot' | 'upTo' | 'mask'> | undefined;

  /** @param promised the highest ballot that this directory may have promised */
  constructor(context: AcceptorDependencies, promised: Ballot) {
    this.#context = context;
    this.#promised = promised;
  }

  get promised(): Ballot {
    return this.#promised;
  }

  get ballot(): Ballot {
    return this.#ballot;
  }

  get merged(): number {
    return this.#merged;
  }

  get upTo(): number {
    return this.#upTo;
  }

  get synced(): number {
    return this.#synced;
  }

  /** A candidate wants a promise. True if it gets one, as soon as that is durable. */
  prepare(from: string, { ballot, chosen }: Prepare): boolean {
    const context = this.#context;
    const { log } = context;
    if (ballot <= this.#promised || chosen < log.base) {
      context.send(from, { kind: 'refused', ballot, promised: this.#promised });
      return false;
    }
    this.#promised = ballot;
    const entries = chosen < log.last ? log.slice(chosen + 1, log.last) : [];
    const { isComplete } = context;
    context.journal.defer({
      to: from,
      message: {
        ...{ kind: 'prepared', ballot, chosen: log.chosen, committed: log.committed, entries },
        ...{ votes: 0, isComplete },
      },
      holds: () => this.#promised === ballot,
    });
    return true;
  }

  /**
   * Follows a leader. False if its ballot is too low. In a new ballot, `upTo` begins at the chosen prefix: a chosen slot is the same in every
   * ballot, and anything beyond may be of another leader.
   */
  enter(from: string, ballot: Ballot, merged: number): boolean {
    const context = this.#context;
    if (ballot < this.#promised) {
      context.send(from, { kind: 'refused', ballot, promised: this.#promised });
      return false;
    }
    if (ballot > this.#ballot) {
      this.#begin(ballot, context.log.chosen);
      this.#dropUnchosen(ballot, merged);
    }
    this.#merged = merged;
    this.#promised = ballot;
    return true;
  }

  /**
   * This replica leads in its own ballot, and its log is what a majority has reported, proposed anew: so all of the log is of this ballot. The
   * promise of the ballot was durable at a majority before; the entries are not, so nothing is acknowledged yet.
   */
  lead(ballot: Ballot): void {
    const { last } = this.#context.log;
    this.#begin(ballot, last);
    this.#merged = last;
  }

  /** A leader accepts its own proposal, in the slot after its last one: so without a gap. */
  propose(ballot: Ballot, operation: Operation): void {
    const { log, journal } = this.#context;
    const slot = log.last + 1;
    log.set(slot, { ballot, operation });
    journal.touch(slot);
    this.#upTo = slot;
  }

  accept(from: string, message: Accept): void {
    const context = this.#context;
    const { log } = context;
    const { ballot, first, operations } = message;
    if (first > this.#upTo + 1) {
      context.send(from, { kind: 'gap', ballot, from: this.#upTo + 1 });
      return;
    }
    operations.forEach((operation, place) => {
      const slot = first + place;
      const isKnown = slot <= log.chosen || log.find(slot)?.ballot === ballot; // A ballot has one value for a slot.
      if (isKnown) return;
      log.set(slot, { ballot, operation });
      context.journal.touch(slot);
    });
    this.#upTo = Math.max(this.#upTo, first + operations.length - 1);
    this.#isAsked = true;
  }

  /**
   * More of the log is known to be chosen: after a start, from a member that was asked for slots, or by a snapshot. A chosen slot is the same in
   * every ballot, so in the one that is followed, too.
   */
  learnt(): void {
    this.#upTo = Math.max(this.#upTo, this.#context.log.chosen);
  }

  /** Says at the next opportunity how far this replica is. */
  ask(): void {
    this.#isAsked = true;
  }

  /** Everything up to the flight's `upTo` is durable; that says nothing in another ballot. */
  durable({ ballot, upTo }: { readonly ballot: Ballot; readonly upTo: number }): void {
    if (ballot === this.#ballot) this.#synced = Math.max(this.#synced, upTo);
  }

  /** Tells everybody how far this replica is and whom it has promised, if somebody waits for it or it has changed. */
  acknowledge(now: Instant): boolean {
    const context = this.#context;
    const { life } = context;
    const ballot = this.#ballot;
    const synced = this.#synced;
    if (ballot === 0 || this.#promised !== ballot || synced < 0) return false;
    const mask = context.leases.mask(now);
    const said = this.#said;
    const isNews = said?.ballot !== ballot || said.upTo < synced || (said.mask & ~mask) !== 0;
    if (!isNews && !this.#isAsked) return false;
    this.#isAsked = false;
    this.#acknowledgements += 1;
    const { durableCommitted: settled, durableVotes: votes } = context.journal;
    const accepted = { ballot, upTo: synced, mask, settled, life, number: this.#acknowledgements };
    this.#said = accepted;
    context.acknowledged.take(context.self, accepted);
    context.broadcast({ kind: 'accepted', ...accepted, committed: context.log.committed, votes });
    return true;
  }

  /** What was synced or acknowledged in another ballot says nothing in this one. */
  #begin(ballot: Ballot, upTo: number): void {
    this.#ballot = ballot;
    this.#upTo = upTo;
    this.#synced = -1;
    this.#context.acknowledged.begin(ballot);
  }

  #dropUnchosen(ballot: Ballot, merged: number): void {
    const { log, journal } = this.#context;
    let last = log.last;
    while (last > Math.max(merged, log.chosen) && log.at(last).ballot < ballot) last -= 1;
    if (last === log.last) return;
    log.truncate(last);
    journal.truncated(last);
  }
}
