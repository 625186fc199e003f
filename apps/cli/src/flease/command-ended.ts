/**
 * The final message about a command whose lease was lost. By then all is past; the reader wants to know whether the
 * command can have overlapped with the next holder's command, and which members of the group to look after.
 */

import type { FleaseStatus, LeaseEnd } from 'leasehold/flease';
import { endOfLease, LeaseLostError } from 'leasehold/internal';
import { duration } from '../output.ts';

export interface LostLease {
  readonly resource: string;
  readonly number: number;
  /** Whether the lease was still held when the command had ended. */
  readonly wasHeldToTheEnd: boolean;
  /** The reason of the lease's signal; undefined if not aborted. */
  readonly reason: unknown;
  /** How long this process stood still before that. */
  readonly stoodStillMs: number;
  /** Whether that was so long that the lease could not be renewed. */
  readonly hasOverslept: boolean;
  /** Members that may be why; see {@link suspectsOf}. */
  readonly suspects: Suspects;
}

export interface Suspects {
  /** Members that were not heard from, each with for how long; none if nobody has fallen silent since. */
  readonly unheard: readonly string[];
  /** The problems between us and connected peers, with their names. */
  readonly problems: readonly string[];
}

const NOBODY: Suspects = { unheard: [], problems: [] };

/**
 * The lease was lost; or we stood still, and either lost the lease by that, or kept the lease and the command was
 * ended as if the lease had been lost. `overdue`: the same, although nobody has noticed that we stood still.
 */
export type CommandEnd = LeaseEnd | 'stood-still' | 'overdue';

const HOW: Readonly<Record<Exclude<CommandEnd, 'stood-still'>, string>> = {
  ending: 'was not renewed in time',
  lapsed: 'was not renewed in time',
  lost: 'turned out to be no longer ours',
  clock: 'was given up, because the clock of this machine jumped or was not that of the others',
  released: 'was given back',
  closed: 'was given back',
  overdue: 'was held, but the process that watches was told of no renewal until the end that it knew of',
};

/**
 * The command was ended, because the lease had ended, or might have. `details` has `wasHeldToTheEnd`: if the lease was not held
 * any more when the command had ended, the command may have overlapped with the next holder's; and `unheard`: members that may be the
 * cause, each with the time since that member was heard.
 */
export function commandEnded(command: string, lost: LostLease): LeaseLostError {
  const { resource, number, wasHeldToTheEnd, reason } = lost;
  const how = howOf(lost);
  const { unheard, problems } = isUnrenewed(how) ? lost.suspects : NOBODY;
  const silence =
    unheard.length > 0
      ? `not heard from: ${unheard.join(', ')}`
      : 'too few members confirmed the renewal in time';
  const why = isUnrenewed(how) ? [silence, ...problems] : [];
  const held = wasHeldToTheEnd ? 'ended while it still had it' : 'may have run past it';
  const what = `the lease on ${JSON.stringify(resource)} (number ${number}) ${how === 'stood-still' ? standstill(lost) : HOW[how]}`;
  return new LeaseLostError('LEASE_LOST', [`${what}, and "${command}" ${held}`, ...why].join('; '), {
    ...{ module: 'flease', cause: reason },
    details: { command, resource, number, how, wasHeldToTheEnd, unheard },
  });
}

function howOf({ reason, stoodStillMs, hasOverslept }: LostLease): CommandEnd {
  const how = endOfLease(reason);
  if (how === undefined) return stoodStillMs > 0 ? 'stood-still' : 'overdue';
  return hasOverslept && isUnrenewed(how) ? 'stood-still' : how;
}

const isUnrenewed = (how: CommandEnd): boolean => how === 'ending' || how === 'lapsed';

const standstill = ({ reason, stoodStillMs }: LostLease): string =>
  endOfLease(reason) !== undefined
    ? `was not renewed in time, because this process stood still for about ${duration(stoodStillMs)}`
    : 'was held, but this process stood still until the end that it had known of last';

/** A live member sends something four times in a lease, and answers every request. */
const UNHEARD_FOR_LEASES = 0.3;

/**
 * Members that are no longer connected or were silent for long; and the problems with those that do send.
 *
 * A member that was never heard was missing when the lease was acquired, too: there was a majority without that
 * member, until another went missing. So such a member alone is not the cause, and is named only beside another.
 *
 * @param deafForMs how long nobody could be heard, because we did not listen
 */
export function suspectsOf(
  { peers, leaseMs }: Pick<FleaseStatus, 'peers' | 'leaseMs'>,
  deafForMs = 0,
): Suspects {
  const unheard: string[] = [];
  let hasSomebodyFallenSilent = false;
  const problems = new Map<string, string[]>();
  for (const { name, connected, heardAgoMs, problem } of peers) {
    if (heardAgoMs === undefined) unheard.push(`${name} at all`);
    else if (!connected || heardAgoMs - deafForMs >= leaseMs * UNHEARD_FOR_LEASES) {
      unheard.push(`${name} for ${duration(heardAgoMs)}`);
      hasSomebodyFallenSilent = true;
    } else if (problem !== undefined) problems.set(problem, [...(problems.get(problem) ?? []), name]);
  }
  return {
    unheard: hasSomebodyFallenSilent ? unheard : [],
    problems: [...problems].map(([problem, names]) => `${names.join(', ')}: ${problem}`),
  };
}
