import { LeaseholdError } from 'leasehold/manager';
import type { StatusAnswer } from './answers.ts';

/** The Manager that was asked does not lead, and has nothing from the one that does. Ask that one. */
export class StandsByError extends LeaseholdError {
  override readonly name = 'StandsByError';
  readonly code = 'STANDS_BY';
  readonly retryable = true;
  /** For programs: who leads, as far as is known. */
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(url: string, { id, leader, managers }: StatusAnswer) {
    const known = leader === null || leader.id === id ? null : leader;
    const http = managers.find((manager) => manager.id === known?.id)?.http ?? null;
    const place = http === null ? 'with --api' : `with --api ${http}`;
    const rest =
      known === null ? ', nor who leads' : `; ${known.id} leads, as far as it knows: ask that one, ${place}`;
    super(`the Manager at ${url} stands by, and knows no pools${rest}`);
    this.facts = { leader: known === null ? null : { ...known, http } };
  }
}
