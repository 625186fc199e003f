/**
 * A process that imports one module, and prints the processor time that this took and the parts of Node for networks that it loaded.
 *
 *   node import-cost.mjs <module> [limit]    with `limit`, asks a rate limiter of one process once
 */

import process from 'node:process';

const [, , name = '', use] = process.argv;
/** Not declared for users. @returns {readonly string[]} */
const loaded = () =>
  /** @type {{ moduleLoadList: readonly string[] }} */ (/** @type {unknown} */ (process)).moduleLoadList;
const had = new Set(loaded());
const before = process.cpuUsage();
const module = await import(name);
const { user, system } = process.cpuUsage(before);
if (use === 'limit') await module.ratelimit({ limit: 1, per: '1s' }).consume('alice');
const network = loaded().filter(
  (part) => !had.has(part) && /^NativeModule (?:net|tls|https?|http2|dgram)$/.test(part),
);
console.log(JSON.stringify({ processorMs: (user + system) / 1_000, network }));
