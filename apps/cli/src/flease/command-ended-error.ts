/**
 * What is said in the end of a command whose lease was lost. By then all of it is past; who reads it wants to know
 * whether the command can have overlapped with the next holder's, and whom of the group to look after.
 */

import { type FleaseStatus, type LeaseEnd, LeaseEndedError, LeaseholdError } from 'leasehold/flease';
import { duration } from '../output.ts';

export interface LostLease {
  readonly resource: string;
  readonly number: number;
  /** Whether it was still held when the command had ended. */
  readonly wasHeldToTheEnd: boolean;
  /** What the lease's signal aborted with; undefined if it has not. */
  readonly reason: unknown;
  /** How long this process stood still before that. */
  readonly stoodStillMs: number;
  /** Whether that was so long that it could not be renewed. */
  readonly hasOverslept: boolean;
  /** Members that may be why; see {@link suspectsOf}. */
  readonly suspects: Suspects;
}

export interface Suspects {
  /** Members that were not heard from, each with for how long; none if nobody has fallen silent since. */
  readonly unheard: readonly string[];
  /** What is the matter between us and others that do speak, with their names. */
  readonly problems: readonly string[];
}

const NOBODY: Suspects = { unheard: [], problems: [] };

/**
 * The lease was lost; or we stood still, and either it was lost by that, or it was not and the command was ended as if
 * it had been. `overdue`: the same, although nobody has noticed that we stood still.
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

/** The command was ended, because its lease was, or might have been. */
export class CommandEndedError extends LeaseholdError {
  override readonly name = 'CommandEndedError';
  readonly code = 'COMMAND_ENDED';
  readonly retryable = true;
  readonly command: string;
  readonly resource: string;
  readonly number: number;
  readonly how: CommandEnd;
  /** Whether the lease was still held when the command had ended: if not, it may overlap with the next holder's. */
  readonly wasHeldToTheEnd: boolean;
  /** Members that may be why, each with how long it was not heard from. */
  readonly unheard: readonly string[];

  constructor(command: string, lost: LostLease) {
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
    super([`${what}, and "${command}" ${held}`, ...why].join('; '), { cause: reason });
    this.command = command;
    this.resource = resource;
    this.number = number;
    this.how = how;
    this.wasHeldToTheEnd = wasHeldToTheEnd;
    this.unheard = unheard;
  }
}

function howOf({ reason, stoodStillMs, hasOverslept }: LostLease): CommandEnd {
  if (!(reason instanceof LeaseEndedError)) return stoodStillMs > 0 ? 'stood-still' : 'overdue';
  return hasOverslept && isUnrenewed(reason.how) ? 'stood-still' : reason.how;
}

const isUnrenewed = (how: CommandEnd): boolean => how === 'ending' || how === 'lapsed';

const standstill = ({ reason, stoodStillMs }: LostLease): string =>
  reason instanceof LeaseEndedError
    ? `was not renewed in time, because this process stood still for about ${duration(stoodStillMs)}`
    : 'was held, but this process stood still until the end that it had known of last';

/** A member that lives says something four times in a lease, and answers whenever it is asked. */
const UNHEARD_FOR_LEASES = 0.3;

/**
 * Members that are not connected any more or said nothing for long; and what is the matter with those that do speak.
 *
 * One that was never heard was not there when the lease was acquired either: without it there was a majority, until
 * somebody else was missing, too. So by itself it is not why, and is named only beside such a one.
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
  for (const { id, connected, heardAgoMs, problem } of peers) {
    if (heardAgoMs === undefined) unheard.push(`${id} at all`);
    else if (!connected || heardAgoMs - deafForMs >= leaseMs * UNHEARD_FOR_LEASES) {
      unheard.push(`${id} for ${duration(heardAgoMs)}`);
      hasSomebodyFallenSilent = true;
    } else if (problem !== undefined) problems.set(problem, [...(problems.get(problem) ?? []), id]);
  }
  return {
    unheard: hasSomebodyFallenSilent ? unheard : [],
    problems: [...problems].map(([problem, ids]) => `${ids.join(', ')}: ${problem}`),
  };
}
