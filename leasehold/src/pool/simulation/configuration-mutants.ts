/**
 * Mutants that only show where configurations differ, or are wrong: pools with leases of their own, leases that are shortened, two
 * owners of one name; and one that shows where a leader leads for some time.
 */

import type { Mutant } from '../../sim/simulation.ts';

const LEADER = 'pool/core/manager/leader.ts';
const HOLDS = 'pool/core/manager/holds.ts';
const DECISION = 'pool/core/manager/decision.ts';

export const configurationMutants: readonly Mutant[] = [
  {
    name: 'longest-pool-not-waited-for',
    promise: 'settles',
    story:
      'The log is told how long most pools need, and owners of a pool with longer leases are never answered.',
    file: 'pool/core/manager/settings.ts',
    from: 'for (const { durations } of settings.pools?.values() ?? []) most = Math.max(most, of(durations));',
    to: '',
  },
  {
    name: 'name-taken-from-a-living-owner',
    promise: 'settles',
    story: 'A second owner under the name of one that lives is admitted beside it.',
    file: DECISION,
    from: 'if (names.has(identity.name)) continue;',
    to: "if (names.has('')) continue;",
  },
  {
    name: 'renewal-waits-for-the-batch',
    promise: 'nobody-starved',
    story: 'A leader renews nobody while it does not know what became of a batch, and healthy owners lapse.',
    file: LEADER,
    from: 'if (!this.#mayAnswer(now) || this.#pending.inFlight?.condemned.has(incarnation)) return [];',
    to: 'if (!this.#mayAnswer(now) || this.#pending.inFlight !== undefined) return [];',
  },
  {
    name: 'longer-leases-forgotten-when-shortened',
    promise: 'one-owner',
    story: 'A leader that was told of shorter leases writes how long these last, and has given longer ones.',
    file: HOLDS,
    from: 'this.#waitMs = Math.max(givenMs, longestTakeoverMs(settings));',
    to: 'this.#waitMs = longestTakeoverMs(settings);',
  },
];
