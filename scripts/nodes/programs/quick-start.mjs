/** The program of the quick start, without syntax that is newer than Node 20. */

import { joinPool, openLookup, startManager } from 'leasehold';

const manager = await startManager({ port: 0, http: { port: 0 }, firstStart: true });
const managers = [manager.address];
const owner = await joinPool({ managers, pool: 'visits', name: 'server-1', url: 'http://127.0.0.1:8081' });
const lookup = await openLookup({ managers, pool: 'visits' });

const number = await owner.whenOwned('alice');
const { url } = await lookup.whenFound('alice');
const isSame = await owner.guard('alice', (held) => held.number === number);
const ready = await fetch(`${manager.httpUrl}/readyz`);
console.log(`alice is at ${url}, same number: ${isSame}, ready: ${ready.status}`);

await lookup.close();
await owner.leave();
await manager.close();
if (!isSame || !ready.ok) process.exitCode = 1;
