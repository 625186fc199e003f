import { SingleError } from 'leasehold/internal';

/** The leader, according to a standby Manager. */
export interface LeaderTold {
  readonly id: string;
  /** Where the leader's HTTP API can be reached; null if unknown. */
  readonly http: string | null;
}

/** The Manager that was asked does not lead, and has nothing from the one that does. Ask that one. */
export class NotLeadingError extends SingleError {
  override readonly name = 'NotLeadingError';
  readonly code = 'NOT_LEADING';
  readonly retryable = true;
  /** For programs: the leader, as far as known. */
  readonly facts: Readonly<Record<string, unknown>>;

  /** In the words of the Manager, but for how to ask the other: on the command line that is an option. */
  constructor(url: string, leader: LeaderTold | null) {
    super(`the Manager at ${url} stands by, and knows neither pools nor owners${restOf(leader)}`);
    this.facts = { leader };
  }
}

function restOf(leader: LeaderTold | null): string {
  if (leader === null) return ', nor who leads';
  const { id, http } = leader;
  return `; ${id} leads, as far as it knows: ask that one, with --at${http === null ? '' : ` ${http}`}`;
}

/** Null if the refusal names no leader, or cannot be understood. */
export function leaderTold(refusal: object): LeaderTold | null {
  const leader = 'leader' in refusal ? refusal.leader : null;
  if (typeof leader !== 'object' || leader === null) return null;
  if (!('id' in leader) || typeof leader.id !== 'string') return null;
  const http = 'http' in leader && typeof leader.http === 'string' ? leader.http : null;
  return { ...leader, id: leader.id, http };
}
