/** A group of three in one process: a lease that moves from one member to another. */

import { once } from 'node:events';
import { createServer } from 'node:net';
import { joinFlease } from 'leasehold/flease';

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** @type {Record<string, string>} */
const peers = {};
for (const id of ['ada', 'ben', 'cyd']) peers[id] = `127.0.0.1:${await freePort()}`;
const [ada, ben, cyd] = await Promise.all(
  Object.keys(peers).map((name) => joinFlease({ name, peers, leaseMs: 1_000, clockSkewMs: 50 })),
);
if (!ada || !ben || !cyd) throw new Error('three were started');
const first = await ada.acquire('backup');
const refused = await ben.acquireIfFree('backup');
await first.release();
const second = await cyd.acquire('backup');
const grows = second.number > first.number;
console.log(`held by one: ${refused === undefined}, then by another under a higher number: ${grows}`);
await Promise.all([ada, ben, cyd].map((member) => member.close()));
if (refused !== undefined || !grows) process.exitCode = 1;
