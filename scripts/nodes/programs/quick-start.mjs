/** The program of the quick start, without syntax that is newer than Node 20. */

import { joinPool, connectLookup, serveStatus, startManager } from 'leasehold';

const manager = await startManager({ listen: '127.0.0.1:0', firstStart: true });
const status = await serveStatus(manager, { listen: '127.0.0.1:0' });
const managers = [manager.address];
const owner = await joinPool({ managers, pool: 'visits', name: 'server-1', url: 'http://127.0.0.1:8081' });
const lookup = await connectLookup({ managers, pool: 'visits' });

const number = await owner.whenOwned('alice');
const { url } = await lookup.whenFound('alice');
const isSame = await owner.guard('alice', (held) => held.number === number);
const ready = await fetch(`${status.url}/readyz`);
console.log(`alice is at ${url}, same number: ${isSame}, ready: ${ready.status}`);

await lookup.close();
await owner.close();
await status.close();
await manager.close();
if (!isSame || !ready.ok) process.exitCode = 1;
