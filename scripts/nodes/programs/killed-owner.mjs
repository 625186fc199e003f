/**
 * Real processes: a Manager, and a server under `leasehold run` that is killed. The look-up must hear of the loss by the
 * death certificate, long before the lease of 60 s runs out.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectLookup, startManager } from 'leasehold';

const SERVER = `
  import { joinPool } from 'leasehold';
  const managers = [process.env.MANAGER];
  await joinPool({ managers, pool: 'visits', name: 'server-1', url: 'http://127.0.0.1:8081' });
  console.log(process.pid);
`;

const folder = mkdtempSync(join(tmpdir(), 'leasehold-nodes-'));
const cli = join('node_modules', 'leasehold', 'dist', 'cli', 'leasehold.js');
const defaults = { leaseMs: 60_000, holdMs: 75_000 };
const manager = await startManager({
  ...{ listen: '127.0.0.1:0', store: { directory: folder }, firstStart: true, defaults },
});
writeFileSync('server.mjs', SERVER);
const args = [cli, 'run', '--managers', manager.address, '--', process.execPath, 'server.mjs'];
const supervisor = spawn(process.execPath, args, {
  env: { ...process.env, MANAGER: manager.address },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const ended = new Promise((resolve) => supervisor.on('close', resolve));
const pid = await new Promise((resolve, reject) => {
  supervisor.stdout.once('data', (text) => resolve(Number(text)));
  supervisor.once('close', (code) => reject(new Error(`the supervisor ended with ${code}`)));
});
/** @type {(value?: unknown) => void} */
let heard = () => {};
const lost = new Promise((resolve) => {
  heard = resolve;
});
const lookup = await connectLookup({
  managers: [manager.address],
  pool: 'visits',
  onLoss: (loss) => loss.has('alice') && heard(),
});
await lookup.whenFound('alice');
const killedAt = performance.now();
process.kill(pid, 'SIGKILL');
await lost;
const ms = performance.now() - killedAt;
console.log(`the loss was told ${ms < 30_000 ? 'by the certificate' : 'late'}, ended with ${await ended}`);
await lookup.close();
await manager.close();
rmSync(folder, { recursive: true, force: true });
if (ms >= 30_000) process.exitCode = 1;
