/** The default deployment, wrong by one line each time: `npm run sim -- file-pool --mutants`. */

import type { Mutant } from '../../../sim/simulation.ts';

const LEADER = 'pool/core/manager/leader.ts';
const WRITER = 'log/file/writer.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'acknowledged-before-sync',
    promise: 'log-is-truth',
    story: 'A batch is acknowledged before it is durable, and owners have acted on it when the power is cut.',
    file: WRITER,
    from: '    await syncFile(this.#file, this.#name);\n    this.stats.lastSyncMs',
    to: '    this.stats.lastSyncMs',
  },
  {
    name: 'emptied-directory-granted-at-once',
    promise: 'one-owner',
    story: 'A Manager that finds an empty directory grants keys which owners hold from the log before.',
    file: LEADER,
    from: 'const isAbove = start.floor > this.#state.position && !isFirst;',
    to: 'const isAbove = false;',
  },
  {
    name: 'first-start-believed',
    promise: 'one-owner',
    story:
      'A Manager whose operator calls its log the first grants keys before owners of the log before could connect.',
    file: 'pool/core/manager/witnesses.ts',
    from: 'begunHere !== true || (firstStart === true && isAddressNew !== true)',
    to: 'begunHere !== true',
  },
  {
    name: 'witness-of-an-earlier-log-ignored',
    promise: 'one-owner',
    story:
      'An owner tells of the log before, and the Manager grants the keys of another owner, which is cut off, all the same.',
    file: LEADER,
    from: 'if (until === undefined || now >= until || !hasSeenAnotherLog(seen, this.history)) return undefined;',
    to: 'if (until === undefined || !hasSeenAnotherLog(seen, this.history)) return undefined;\n    if (now < until) return undefined;',
  },
  {
    name: 'new-log-begins-at-one',
    promise: 'continuity',
    story: 'A log in an emptied directory gives out the numbers of the log before it once more.',
    file: 'log/new-log.ts',
    from: 'Math.max(1, Math.floor(runtime.wallMs()))',
    to: 'Math.min(1, Math.floor(runtime.wallMs()))',
  },
  {
    name: 'restart-taken-for-a-recovery',
    promise: 'settles',
    story:
      'A Manager that was restarted answers nobody until everything has run out, and healthy leases lapse.',
    file: LEADER,
    from: 'const isAbove = start.floor > this.#state.position && !isFirst;',
    to: 'const isAbove = start.floor >= 0 && !isFirst;',
  },
];
