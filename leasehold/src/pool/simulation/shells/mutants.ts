/** What applications call, wrong by one line each time: `npm run sim -- pool-shells --mutants`. */

import type { Mutant } from '../../../sim/simulation.ts';

const POOL_OWNER = 'pool/shell/pool-owner.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'guard-does-not-check-at-the-end',
    promise: 'one-at-a-time',
    story:
      'Guarded work outlasts its lease, and guard hands its result over as if the key had been held all along.',
    file: POOL_OWNER,
    from: '    if (!held.isContinuous()) throw new LeaseLostError(key, held.number);\n',
    to: '',
  },
  {
    name: 'queue-by-the-key-as-given',
    promise: 'one-at-a-time',
    story: 'A key and its own position queue separately, and two pieces of work on one key run at once.',
    file: 'pool/shell/key-queue.ts',
    from: 'const position = keyPosition(key);',
    to: 'const position = key as never as Position;',
  },
  {
    name: 'served-before-it-is-loaded',
    promise: 'upcalls-in-order',
    story: 'Keys are served as soon as they are granted, while onGrant still loads their state.',
    file: POOL_OWNER,
    from: 'loads: application.onGrant !== undefined,',
    to: 'loads: false,',
  },
  {
    name: 'suspension-unnoticed-by-checks',
    promise: 'one-at-a-time',
    story:
      'A check reads a clock that stood still while the machine slept, and passes after the lease is over.',
    file: POOL_OWNER,
    from: 'if (!this.#coreIsUnaware && !this.#guard.wasSuspended(now)) return false;',
    to: 'if (!this.#coreIsUnaware) return false;',
  },
  {
    name: 'turn-not-passed-on',
    promise: 'answered',
    story: 'Work ends, and the call that waits for the key is not woken.',
    file: 'pool/shell/key-queue.ts',
    from: "      next.end('turn');\n      return;\n",
    to: '      return;\n',
  },
  {
    name: 'map-returns-any-entry',
    promise: 'memory-is-current',
    story: 'A LeasedMap returns an entry although another owner may have changed the state since.',
    file: 'pool/shell/leased-map.ts',
    from: 'if (entry === undefined || this.#isContinuous(held.key, entry.number)) return entry?.value;',
    to: 'if (entry === undefined || held.isContinuous()) return entry?.value;',
  },
  {
    name: 'numbers-wrap-around',
    promise: 'numbers-grow',
    story: 'The number of a grant is kept in too few bits, so a later owner works under a lower number.',
    file: 'pool/table.ts',
    from: '} owns it`);\n  return { ...row, owner, number: position,',
    to: '} owns it`);\n  return { ...row, owner, number: 1 + (position % 64),',
  },
];
