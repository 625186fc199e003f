/** A Manager on a data directory, at the papers' pace, for a measurement. Says its port to the parent. */

import process from 'node:process';
import { PAPER_DURATIONS } from '../../../leasehold/src/pool/options.ts';
import { preferSmallHeap } from '../../../apps/cli/src/small-heap.ts';
import { startManager } from '../../../leasehold/src/pool/shell/start-manager.ts';

preferSmallHeap();
const [directory] = process.argv.slice(2);
const manager = await startManager({ directory, port: 0, http: false, defaults: PAPER_DURATIONS });
process.send?.({ port: Number(manager.address.split(':').at(-1)) });
process.on('disconnect', () => process.exit(0));
