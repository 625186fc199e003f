/**
 * What a real etcd of three members does when it is killed, paused or cut off: `docs/decisions/0013` has what was
 * seen, and this says it again, on whatever version is installed. It takes some minutes.
 *
 *     node scripts/observe-etcd.mjs [expiry | expiry-across-kill | election | in-flight | paused | early | watches]
 */

import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { bundle } from './bundle.mjs';

// Broken off, it still ends what it has started.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
const { observe } = await import(pathToFileURL(await bundle('bench/support/etcd/observe.ts')).href);
await observe((/** @type {string} */ line) => console.log(line), process.argv[2]);
