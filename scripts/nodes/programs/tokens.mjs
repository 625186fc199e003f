/** A pool over TLS: a Manager, an owner and a look-up with a narrow token each, and a process of another cluster, which is refused. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectLookup, joinPool, startManager } from 'leasehold';
import { createRoot, createToken } from 'leasehold/security';

const directory = await mkdtemp(join(tmpdir(), 'leasehold-nodes-'));
const [ca, foreign] = [join(directory, 'ca'), join(directory, 'foreign')];
await createRoot(ca);
await createRoot(foreign);
/** @param {string} grants */
const token = (grants) => createToken({ ca, grants });

const manager = await startManager({
  listen: '127.0.0.1:0',
  firstStart: true,
  tls: await token('server:pool'),
});
const managers = [manager.address];
const owner = await joinPool({
  ...{ managers, pool: 'visits', name: 'server-1', url: 'http://127.0.0.1:8081' },
  tls: await token('owner:pool/visits/server-*'),
});
const lookup = await connectLookup({ managers, pool: 'visits', tls: await token('reader:pool/visits') });
const number = await owner.whenOwned('alice');
const { url } = await lookup.whenFound('alice');

/** @param {string | false} tls */
const refusal = async (tls) => {
  try {
    const stranger = await connectLookup({ managers, pool: 'visits', tls });
    await stranger.close();
    return 'none';
  } catch (error) {
    return /** @type {{ code?: string }} */ (error).code ?? String(error);
  }
};
const refusals = [
  await refusal(await createToken({ ca: foreign, grants: 'everything' })),
  await refusal(await token('reader:pool/other')),
  await refusal(false),
].join(', ');
console.log(`alice is at ${url} under ${number > 0 ? 'a number' : 'none'}; refused: ${refusals}`);

await lookup.close();
await owner.close();
await manager.close();
await rm(directory, { recursive: true });
if (number === undefined || refusals !== 'WRONG_CLUSTER, NOT_ALLOWED, TLS_REQUIRED') process.exitCode = 1;
