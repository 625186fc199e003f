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
 */

import type { Instant } from '../../runtime/time.ts';
import type { Ballot } from './ballot.ts';
import type { Context } from './context.ts';
import type { Accept, Accepted, Prepare } from './messages.ts';

export class Acceptor {
  readonly #context: Context;
  /** Whether the leader, or a new peer, waits for a word from us. */
  #isAsked = false;
  #acknowledgements = 0;
  #said: Pick<Accepted, 'ballot' | 'upTo' | 'mask'> | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** A candidate wants a promise. True if it gets one, as soon as that is durable. */
  prepare(from: string, { ballot, chosen }: Prepare): boolean {
    const context = this.#context;
    const { log } = context;
    if (ballot <= context.promised || chosen < log.base) {
      context.send(from, { kind: 'refused', ballot, promised: context.promised });
      return false;
    }
    context.promised = ballot;
    const entries = chosen < log.last ? log.slice(chosen + 1, log.last) : [];
    const { isComplete } = context;
    context.journal.defer({
      to: from,
      message: {
        ...{ kind: 'prepared', ballot, chosen: log.chosen, committed: log.committed, entries },
        ...{ votes: 0, isComplete },
      },
      holds: () => context.promised === ballot,
    });
    return true;
  }

  /** Follows a leader. False if its ballot is too low. */
  enter(from: string, ballot: Ballot, merged: number): boolean {
    const context = this.#context;
    if (ballot < context.promised) {
      context.send(from, { kind: 'refused', ballot, promised: context.promised });
      return false;
    }
    if (ballot > context.ballot) {
      context.ballot = ballot;
      context.keepAfter = Number.POSITIVE_INFINITY; // Another one feeds now.
      context.upTo = context.log.chosen;
      context.synced = -1;
      context.acknowledged.begin(ballot);
      this.#dropUnchosen(ballot, merged);
    }
    context.merged = merged;
    context.promised = ballot;
    return true;
  }

  accept(from: string, message: Accept): void {
    const context = this.#context;
    const { log } = context;
    const { ballot, first, operations } = message;
    if (first > context.upTo + 1) {
      context.send(from, { kind: 'gap', ballot, from: context.upTo + 1 });
      return;
    }
    operations.forEach((operation, place) => {
      const slot = first + place;
      const isKnown = slot <= log.chosen || log.find(slot)?.ballot === ballot; // A ballot has one value for a slot.
      if (isKnown) return;
      log.set(slot, { ballot, operation });
      context.journal.touch(slot);
    });
    context.upTo = Math.max(context.upTo, first + operations.length - 1);
    this.#isAsked = true;
  }

  /** Says at the next opportunity how far this replica is. */
  ask(): void {
    this.#isAsked = true;
  }

  /** Everything up to the flight's `upTo` is durable; that says nothing in another ballot. */
  synced(ballot: Ballot, upTo: number): void {
    if (ballot === this.#context.ballot) this.#context.synced = Math.max(this.#context.synced, upTo);
  }

  /** Tells everybody how far this replica is and whom it has promised, if somebody waits for it or it has changed. */
  acknowledge(now: Instant): boolean {
    const context = this.#context;
    const { ballot, promised, synced, life } = context;
    if (ballot === 0 || promised !== ballot || synced < 0) return false;
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

  #dropUnchosen(ballot: Ballot, merged: number): void {
    const { log, journal } = this.#context;
    let last = log.last;
    while (last > Math.max(merged, log.chosen) && log.at(last).ballot < ballot) last -= 1;
    if (last === log.last) return;
    log.truncate(last);
    journal.truncated(last);
  }
}
