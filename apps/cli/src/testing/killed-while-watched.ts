/** A process that starts a command under a watchman, says for how long the command may live, and kills itself. */

import { spawn } from 'node:child_process';
import process from 'node:process';
import { Watchman } from '../flease/watchman.ts';

const [, , graceMs = '', allowedMs = '', command = '', ...args] = process.argv;

const watchman = new Watchman(Number(graceMs));
const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
await new Promise((resolve) => child.stdout.once('data', resolve));
await watchman.watch(-(child.pid ?? 0));
watchman.allow(Number(allowedMs));
process.kill(process.pid, 'SIGKILL');
