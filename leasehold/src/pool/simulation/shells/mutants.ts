/** What applications call, wrong by one line each time: `npm run sim -- pool-shells --mutants`. */

import type { Mutant } from '../../../sim/simulation.ts';

const LEASED_MAP = 'pool/shell/state/leased-map.ts';

const KEY_CHANGES = 'pool/shell/owner/key-changes.ts';
const MOVING_KEYS = 'pool/shell/moves/moving-keys.ts';
const ATTEMPT = 'pool/shell/moves/attempt.ts';
const STAGES = 'pool/shell/moves/stages.ts';
const OUTGOING_STREAM = 'pool/shell/moves/outgoing-stream.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'guard-does-not-check-at-the-end',
    promise: 'one-at-a-time',
    story:
      'Guarded work outlasts its lease, and guard hands its result over as if the key had been held all along.',
    file: 'pool/shell/owner/guarded-work.ts',
    from: '  if (!holding.isHeld()) throw leaseLost(key, holding.number);\n',
    to: '',
  },
  {
    name: 'queue-by-the-key-as-given',
    promise: 'one-at-a-time',
    story: 'A key and its own position queue separately, and two pieces of work on one key run at once.',
    file: 'pool/shell/owner/key-queue.ts',
    from: 'const position = keyHash(key);',
    to: 'const position = key as never as Hash;',
  },
  {
    name: 'served-before-it-is-loaded',
    promise: 'upcalls-in-order',
    story: 'Keys are served as soon as they are granted, while onGrant still loads their state.',
    file: 'pool/shell/owner/pool-owner.ts',
    from: 'loads: application.onGrant !== undefined || application.onArrive !== undefined,',
    to: 'loads: false,',
  },
  {
    name: 'suspension-unnoticed-by-checks',
    promise: 'one-at-a-time',
    story:
      'A check reads a clock that stood still while the machine slept, and passes after the lease is over.',
    file: 'pool/shell/owner/key-checks.ts',
    from: 'if (!this.#coreIsUnaware && !this.#guard.wasSuspended(now)) return false;',
    to: 'if (!this.#coreIsUnaware) return false;',
  },
  {
    name: 'turn-not-passed-on',
    promise: 'answered',
    story: 'Work ends, and the call that waits for the key is not woken.',
    file: 'pool/shell/owner/key-queue.ts',
    from: "      waiter.end('turn');\n      return;\n",
    to: '      return;\n',
  },
  {
    name: 'map-returns-any-entry',
    promise: 'memory-is-current',
    story: 'A LeasedMap returns an entry although another owner may have changed the state since.',
    file: LEASED_MAP,
    from: 'return found?.since === since ? found : undefined;',
    to: 'return found;',
  },
  {
    name: 'shared-map-read-after-its-span-returned',
    promise: 'memory-is-current',
    story:
      'Keys come back, and their new partition takes over the Map of the old one, in which entries of the time before are left.',
    file: 'pool/shell/state/partitions.ts',
    from: 'fresh ??= new Partition(since);',
    to: 'fresh ??= Object.assign(new Partition<T>(since), row.value && { entries: row.value.entries });',
  },
  {
    name: 'version-without-the-number',
    promise: 'versions-never-return',
    story: 'A version counts the changes in one process alone, and another owner counts the same.',
    file: LEASED_MAP,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    from: '`${entry.number}.${entry.count}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    to: '`${entry.count}`',
  },
  {
    name: 'numbers-wrap-around',
    promise: 'numbers-grow',
    story: 'The number of a grant is kept in too few bits, so a later owner works under a lower number.',
    file: 'pool/core/table.ts',
    from: '} owns it`);\n  return { ...row, owner, number: position,',
    to: '} owns it`);\n  return { ...row, owner, number: 1 + (position % 64),',
  },
  {
    ...{ name: 'moved-without-a-flush', promise: 'flushed-before-it-moves', file: MOVING_KEYS },
    story: 'In the stop the application is not asked to flush the keys, because it was asked before.',
    from: 'const why = onDepart && (await this.#depart(ranges, onDepart, stop.signal, true));',
    to: 'const why = onDepart && (await this.#depart(RangeSet.empty, onDepart, stop.signal, true));',
  },
  {
    ...{ name: 'failed-flush-moves', promise: 'flushed-before-it-moves', file: MOVING_KEYS },
    story: 'Keys move although onDepart has failed, and the next owner reads an old store.',
    from: "say(why === undefined ? { is: 'stopped', ticket } : { is: 'stopFailed', ticket, why });",
    to: "say({ is: 'stopped', ticket });",
  },
  {
    ...{ name: 'work-begins-in-the-stop', promise: 'flushed-before-it-moves', file: MOVING_KEYS },
    story: 'Callers are not held back in a stop, and their work writes what is flushed no more.',
    from: 'queue.hold(ranges);\n    this.#streamNext();',
    to: 'this.#streamNext();',
  },
  {
    ...{ name: 'work-not-waited-for', promise: 'flushed-before-it-moves', file: MOVING_KEYS },
    story: 'A stop does not wait for work under way, which writes after the flush.',
    from: 'const ends = [queue.idle(ranges, stop.signal)];',
    to: 'const ends = [Promise.resolve()];',
  },
  {
    ...{ name: 'served-before-it-is-taken-up', promise: 'upcalls-in-order', file: KEY_CHANGES },
    story: 'Keys that arrive are served as soon as they are granted, while onArrive still runs.',
    from: "queue.hold(RangeSet.of(spans));\n    calls.load('onArrive',",
    to: "loaded(spans);\n    calls.load('onArrive',",
  },
  {
    ...{ name: 'last-changes-not-sent', promise: 'nothing-missing', file: ATTEMPT },
    story: 'The last frame is made of what was read before the freeze.',
    from: "if (this.#phase !== 'following') throw new Uncarriable('the snapshot is not sent yet');\n    this.#takeChanges();",
    to: "if (this.#phase !== 'following') throw new Uncarriable('the snapshot is not sent yet');",
  },
  {
    ...{ name: 'stage-not-committed', promise: 'nothing-missing', file: STAGES },
    story: 'A target is granted keys that came with their state, and does not show the state.',
    from: 'this.#imports.get(ticket)?.commit(spans);',
    to: 'this.#imports.get(ticket)?.commit([]);',
  },
  {
    ...{ name: 'earlier-attempt-kept', promise: 'nothing-missing', file: STAGES },
    story: 'Another attempt of a ticket begins, and what the earlier one has staged is taken for its own.',
    from: 'const stages = this.#stages;\n    this.#stages = [];',
    to: 'const stages: Stage<unknown>[] = [];',
  },
  {
    ...{ name: 'memory-kept-after-a-move', promise: 'nothing-revived', file: OUTGOING_STREAM },
    story: 'A source is not told to forget what has moved, and finds it again when the keys come back empty.',
    from: 'this.#done(this.#states, part, moved);',
    to: 'this.#done(this.#states, part, moved && this.#states.length === 0);',
  },
  {
    ...{ name: 'returned-keys-forgotten', promise: 'upcalls-in-order', file: OUTGOING_STREAM },
    story: 'A source that is given its keys back is told to forget them, and serves them all the same.',
    from: 'this.#done(this.#states, part, moved);',
    to: 'this.#done(this.#states, part, moved || this.#isHanded);',
  },
];
