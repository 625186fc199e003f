/**
 * A claim: "until then, the value of this key is the one of this revision", told to the process around the replica.
 *
 * A local read shows the value of a key now. A claim says how long the value stays: a process that has written the key acts on that
 * for a while without asking again, as the leader of a fenced log does. The claim is a read that stays legal:
 *
 *     until   for each configuration that counts, the instant up to which a majority has promised, with floors that are
 *             reached; of these the least, and at most one lease from now
 *
 * While this replica acknowledges nothing new, its log, its configurations and its promises stay as they are. A local read
 * at any instant before `until` would then find this revision, and by the argument of `commit.ts` no other write of the key
 * is committed anywhere without an acknowledgement of this replica. So only an acknowledgement can make a claim false, and
 * the claim is checked before each of them, when all that was received is in the log:
 *
 *  - An entry that could write the key ends the claim. An entry whose conditions name another revision of the key cannot
 *    write while the claim holds, and is passed over: a rival that lost a race does not depose the winner.
 *  - A configuration under which the time that was told is too long ends the claim: this replica is removed, no longer
 *    holds the key, or lacks promises of the new members.
 *
 * The end is an effect in front of the acknowledgement, so the process hears of the end before another replica can conclude
 * anything from the acknowledgement. A suspension drops all promises, and so ends the claim in the same turn, as a configuration
 * does: the clock of the claim stood still. A release of the read leases ends the claim too, before the grantors hear of
 * the release.
 *
 * A claim that has run out is not over. If a majority promises again, and no entry could have written the key, the revision
 * still stands, and the claim goes on.
 */

import { earliest, type Instant, instant, later } from '../../runtime/time.ts';
import type { ClaimEnd, Context } from './context.ts';
import type { Command, Operation, Revision } from './operation.ts';
import type { Reads } from './reads.ts';

/** A key, and the revision of its value, whose write is known here to be committed. */
export interface Claimed {
  readonly key: string;
  readonly revision: Revision;
}

interface Claim extends Claimed {
  /** As the process was told last. */
  until: Instant;
}

export class KeyClaim {
  readonly #context: Context;
  readonly #reads: Reads;
  #claim: Claim | undefined;

  constructor(context: Context, reads: Reads) {
    this.#context = context;
    this.#reads = reads;
  }

  /** An earlier claim is forgotten; undefined: the process no longer relies on any. */
  begin(claimed: Claimed | undefined): void {
    this.#claim = claimed && { ...claimed, until: instant(Number.NEGATIVE_INFINITY) };
  }

  /** Ends or extends the claim; before anything is acknowledged. */
  check(now: Instant): void {
    const claim = this.#claim;
    if (claim === undefined) return;
    if (this.#isOverwritten(claim)) {
      this.end('overwritten');
      return;
    }
    const { leaseMs, renewEveryMs } = this.#context.durations;
    const legalUntil = this.#reads.leasedUntil(claim.key, now);
    if (legalUntil < claim.until && claim.until > now) {
      this.end('shortened');
      return;
    }
    const until = earliest(legalUntil, later(now, leaseMs));
    const isNews = claim.until <= now || until >= later(claim.until, renewEveryMs / 2);
    if (until <= now || !isNews) return;
    claim.until = until;
    this.#context.claimExtended(claim.revision, until);
  }

  end(why: ClaimEnd): void {
    const claim = this.#claim;
    this.#claim = undefined;
    if (claim !== undefined) this.#context.claimEnded(claim.revision, why);
  }

  #isOverwritten({ key, revision }: Claim): boolean {
    const { log, machine } = this.#context;
    if (machine.read(key, machine.applied).revision !== revision) return true;
    return log
      .writersAfter(key, machine.applied)
      .some((slot) => couldWrite(log.at(slot).operation, key, revision));
  }
}

/** Whether an operation could write a key that has this revision when the operation is applied. */
function couldWrite(operation: Operation, key: string, revision: Revision): boolean {
  return (
    operation.kind === 'batch' && operation.requests.some(({ command }) => writes(command, key, revision))
  );
}

function writes(command: Command, key: string, revision: Revision): boolean {
  if (command.kind !== 'transaction') return false;
  const isRuledOut = command.conditions.some(
    (condition) =>
      condition.key === key &&
      (condition.is === 'absent' || (condition.is === 'revision' && condition.revision !== revision)),
  );
  return !isRuledOut && command.actions.some((action) => action.do !== 'get' && action.key === key);
}
