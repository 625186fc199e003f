/**
 * A process that starts a command under a watchman and kills itself at a given instant, before any further step.
 */

import process from 'node:process';
import { behindGate } from '../flease/gate.ts';
import { Watchman } from '../flease/watchman.ts';

const GRACE_MS = 100;

const [, , instant = '', command = '', ...args] = process.argv;

const at = (name: string): void => {
  if (instant === name) process.kill(process.pid, 'SIGKILL');
};

const watchman = new Watchman(GRACE_MS);
const { child, open } = behindGate(command, args, { env: process.env, detached: true });
at('started');
const watched = watchman.watch(-(child.pid ?? 0));
at('watchman told');
await watched;
at('watchman knows');
open();
at('gate open');
