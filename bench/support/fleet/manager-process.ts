/**
 * A Manager on a data directory or an etcd, at the papers' pace, for a measurement. Says its port to the parent; if it
 * is told to wait for that, only once it leads and answers: one that has begun a log waits before it does.
 */

import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { PAPER_DURATIONS } from '../../../leasehold/src/pool/core/options.ts';
import { preferSmallHeap } from '../../../apps/cli/src/small-heap.ts';
import { startManager } from '../../../leasehold/src/pool/shell/manager/start-manager.ts';

const LOOK_EVERY_MS = 100;

preferSmallHeap();
const [where = '', when] = process.argv.slice(2);
const store = where.startsWith('etcd://')
  ? { store: where }
  : { store: { directory: where }, firstStart: true };
const manager = await startManager({
  ...store,
  listen: '127.0.0.1:0',
  defaults: PAPER_DURATIONS,
});
if (when === 'leading') {
  await manager.whenLeading();
  while (manager.observe().waitsUntil !== undefined) await pause(LOOK_EVERY_MS);
}
process.send?.({ port: Number(manager.address.split(':').at(-1)) });
process.on('disconnect', () => process.exit(0));
