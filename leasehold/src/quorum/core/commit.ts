/**
 * When is a slot committed, so that its effect may be shown? The same function decides at the leader, at the replica
 * near the client, and for a read that is held back.
 *
 * *Chosen* is Paxos: a majority of every configuration that counts has accepted the slot, and so it can never change.
 * *Committed* adds the readers: nobody who may still read a key locally can have missed the write.
 *
 *     votes that count   those of acceptors whose promised holders have all accepted as well
 *     committed          such votes are a majority of every configuration that counts
 *                        and every earlier slot in conflict is committed
 *
 * Why this is enough: a reader needs promises of a majority, and a committed write has votes of a majority that count. They
 * share a member q. Either q promised the reader before it voted: then the reader is in the mask of q's vote, and has
 * accepted the write, so it sees the write in its own log. Or q voted first: then the floor of q's promise includes the
 * write, and the reader waits until it has that. So one acknowledgement is sound evidence however late it arrives.
 *
 * A configuration is judged as if every member held it: when it is committed, no member reads by the configuration
 * before it alone. Conflicts commit in order because a reader looks at the last write only.
 */

import type { Acknowledgements } from './acknowledgements.ts';
import {
  type Configuration,
  holdersOfAny,
  isQuorumOfEach,
  type Mask,
  maskOf,
  membersMask,
} from './configuration.ts';
import type { ReplicatedLog } from './log.ts';
import { keysOf, type Operation } from './operation.ts';

/**
 * Advances the chosen prefix and the committed slots of the log, as far as what was acknowledged allows; returns the slots that
 * were committed. Judges only what this replica has accepted itself in this ballot.
 */
export function judge(log: ReplicatedLog, acknowledged: Acknowledgements, upTo: number): number[] {
  const committed: number[] = [];
  const pending = new PendingKeys();
  for (let slot = log.committed + 1; slot <= upTo; slot += 1) {
    if (log.isCommitted(slot)) continue;
    const { operation } = log.at(slot);
    const configurations = electorateOf(log, slot, operation);
    const hasAccepted = (storage: string): boolean => acknowledged.hasReached(storage, slot);
    if (!isQuorumOfEach(configurations, hasAccepted)) break; // Not chosen; so nothing later is.
    log.choose(slot);
    const hasVote = (storage: string): boolean => {
      const vote = acknowledged.of(storage);
      return vote !== undefined && vote.upTo >= slot && (vote.mask & missing) === 0;
    };
    const missing = missingHolders(configurations, operation, hasAccepted);
    if (isQuorumOfEach(configurations, hasVote) && !pending.conflictWith(operation)) {
      committed.push(slot);
      log.commit(slot);
    } else pending.add(operation);
  }
  return committed;
}

/**
 * Judges when there is something to judge. A judgement rests on the log and on what was acknowledged, not on time; after
 * one that changed nothing, another has nothing to find until one of these has changed. Most inputs, such as reads, change neither.
 */
export class Judge {
  #seen = { log: -1, acknowledged: -1, upTo: -1 };

  judge(log: ReplicatedLog, acknowledged: Acknowledgements, upTo: number): number[] {
    const seen = this.#seen;
    const isSeen =
      seen.log === log.changes && seen.acknowledged === acknowledged.changes && seen.upTo === upTo;
    if (isSeen) return [];
    this.#seen = { log: log.changes, acknowledged: acknowledged.changes, upTo };
    return judge(log, acknowledged, upTo);
  }
}

/** The configurations that have a say about a slot. */
function electorateOf(log: ReplicatedLog, slot: number, operation: Operation): Configuration[] {
  const configurations = log.configurationsFor(slot);
  if (operation.kind === 'configuration') configurations.push(log.configurationAt(slot));
  return configurations;
}

/** The seats of holders that have not accepted the slot, over all configurations that count. */
function missingHolders(
  configurations: readonly Configuration[],
  operation: Operation,
  hasAccepted: (storage: string) => boolean,
): Mask {
  let missing = 0;
  for (const configuration of configurations) {
    let needed = operation.kind === 'configuration' ? membersMask(configuration) : 0;
    needed |= holdersOfAny(configuration, keysOf(operation).written);
    missing |= needed & ~maskOf(configuration, hasAccepted);
  }
  return missing;
}

/** The keys of slots that are not committed yet, collected when a later slot asks: while everything waits for one holder none does. */
class PendingKeys {
  readonly #written = new Set<string>();
  readonly #read = new Set<string>();
  #operations: Operation[] = [];

  add(operation: Operation): void {
    this.#operations.push(operation);
  }

  #collect(): void {
    for (const operation of this.#operations) {
      const { written, read } = keysOf(operation);
      for (const key of written) this.#written.add(key);
      for (const key of read) this.#read.add(key);
    }
    this.#operations = [];
  }

  conflictWith(operation: Operation): boolean {
    this.#collect();
    const { written, read } = keysOf(operation);
    const isWritten = (key: string): boolean => this.#written.has(key);
    return written.some((key) => isWritten(key) || this.#read.has(key)) || read.some(isWritten);
  }
}
