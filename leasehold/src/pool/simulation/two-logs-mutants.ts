/** The comparison of the Managers' histories, wrong by one line each time; `two-logs-world.ts` has the worlds. */

import type { Mutant } from '../../sim/simulation.ts';

const HISTORY_WATCH = 'pool/core/history-watch.ts';

export const twoLogsMutants: readonly Mutant[] = [
  {
    name: 'used-although-another-history-is-led',
    promise: 'one-owner',
    story:
      'Two Managers with separate logs are in one list, and each owner takes keys from the one that answers first.',
    file: HISTORY_WATCH,
    from: 'if (leader.history !== history) return true;',
    to: 'if (leader.history !== history) return false;',
  },
  {
    name: 'disagreement-never-proved',
    promise: 'one-owner',
    story: 'An owner that hears now of one history, now of the other, goes on with the one it heard of last.',
    file: HISTORY_WATCH,
    from: 'if (disagreeing.length === 0) return;',
    to: 'if (disagreeing.length >= 0) return;',
  },
  {
    name: 'new-log-taken-for-a-disagreement',
    promise: 'settles',
    story: 'A log is lost and replaced, and owners let go of everything because they have heard of both.',
    file: HISTORY_WATCH,
    from: 'Math.max(one.firstRound, other.firstRound) < Math.min(one.lastRound, other.lastRound);',
    to: 'one.firstRound + other.firstRound > 0;',
  },
  {
    name: 'disagreement-never-ends',
    promise: 'settles',
    story: 'An operator stops one of two Managers, and owners hold nothing for ever.',
    file: HISTORY_WATCH,
    from: 'if (leader !== only) this.#heard.delete(key);\n    this.#disagreement = undefined;',
    to: 'if (leader !== only) this.#heard.delete(key);',
  },
  {
    name: 'unanswered-probe-not-repeated',
    promise: 'one-owner',
    story:
      'A few messages get lost, an owner hears nothing of one of two Managers for a hold, and takes keys from the other while both lead.',
    file: HISTORY_WATCH,
    from: 'this.#round.repeatAt = later(now, soonMs);\n      return this.#probes(this.#round);',
    to: 'this.#round.repeatAt = later(now, soonMs);\n      return [];',
  },
  {
    name: 'late-answer-taken-for-silence',
    promise: 'one-owner',
    story:
      'One of two Managers is on a busy machine and answers each probe too late for its round. Owners take keys from the other while both lead.',
    file: HISTORY_WATCH,
    from: 'this.#heard.set(keyOf(leader), { ...leader, heardAt: now });',
    to: 'this.#heard.set(keyOf(leader), leader);',
  },
  {
    name: 'older-term-followed-although-a-later-one-is-led',
    promise: 'one-owner',
    story:
      'A Manager is started on a copy of the data directory of another. An owner goes on with the original, and the copy grants its keys to a second owner when their hold is over.',
    file: HISTORY_WATCH,
    from: 'other.history === history && other.term > term);',
    to: 'other.history === history && other.term > term + 1e9);',
  },
  {
    name: 'two-leaders-of-one-term-taken-for-one',
    promise: 'one-owner',
    story:
      'A data directory is copied while no Manager runs, and a Manager is started on each. Both lead in the same term, and each owner follows one of them.',
    file: HISTORY_WATCH,
    from: 'if (one.term === other.term) return one.leader !== other.leader;',
    to: 'if (one.term === other.term) return false;',
  },
  {
    name: 'successor-on-a-shared-log-waited-for',
    promise: 'settles',
    story:
      'etcd ends the lease of a leader early. An owner that hears of the old and the new leader in one round waits for a hold, and loses its keys.',
    file: HISTORY_WATCH,
    from: 'successor === undefined || leader.isLogShared)',
    to: 'successor === undefined)',
  },
  {
    name: 'successor-followed-although-its-predecessor-leads',
    promise: 'one-owner',
    story:
      'A Manager is started on a copy of a data directory in which a key is free. An owner that hears both Managers takes the key from the copy, while another holds it under the original.',
    file: HISTORY_WATCH,
    from: 'return leader.lastRound >= successor.firstRound;',
    to: 'return false;',
  },
];
