/** The number of the worker that runs this test, from 0: workers run side by side, and must not share ports or networks. */

import process from 'node:process';

export const WORKERS_MAX = 8;

export const worker: number = (Number(process.env['VITEST_POOL_ID'] ?? 1) - 1) % WORKERS_MAX;
