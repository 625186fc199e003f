/** Faults in how owners leave a pool; `mutants.ts` has all the others. */

import type { Mutant } from '../../sim/simulation.ts';

const OWNER = 'pool/core/owner/owner.ts';
const LEADER = 'pool/core/manager/leader.ts';
const OWNER_SESSIONS = 'pool/core/manager/owner-sessions.ts';

export const leavingMutants: readonly Mutant[] = [
  {
    name: 'leaver-keeps-what-comes-late',
    promise: 'settles',
    story: 'An owner that is leaving keeps keys granted before the Manager heard of it.',
    file: OWNER,
    from: "isLeaving: this.#leaving !== 'no' }",
    to: 'isLeaving: false }',
  },
  {
    name: 'withdrawn-while-the-join-is-written',
    promise: 'left-for-good',
    story:
      'A candidate that leaves while its join is being written is told that it has left, and is a member right after.',
    file: LEADER,
    from: '      if (isComing) {',
    to: '      if (isComing && session.hasWithdrawn) {',
  },
  {
    name: 'told-to-have-left-before-the-commit',
    promise: 'left-for-good',
    story: 'An owner that leaves and has nothing is told that it has left before its removal is committed.',
    file: OWNER_SESSIONS,
    from: 'admitted: true,',
    to: 'admitted: !session.report.leaving || session.spans.length > 0,',
  },
];
