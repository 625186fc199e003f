/**
 * Runs the commands of a step and collects what they say, so that a step that passes says nothing
 * and one that fails says everything.
 *
 * Each command leads a process group of its own: some start processes that start processes, and
 * whoever stops the tests wants all of them to stop.
 */

import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import process from 'node:process';
import { root } from '../project.mjs';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Step } from './steps.mjs' */

const GRACE_MS = 3_000;
const isWindows = process.platform === 'win32';

/** @type {Set<ChildProcess>} */
const running = new Set();

/**
 * @param {Step} step
 * @param {(line: string) => void} say told the latest line while it runs
 * @returns {Promise<{ ok: boolean, output: string }>}
 */
export async function runStep({ commands, calculates = false }, say) {
  let output = '';
  let ok = true;
  for (const command of commands) {
    const code = await run(command, calculates, (text) => {
      output += text;
      const line = text.trimEnd().split('\n').at(-1)?.trim();
      if (line) say(line);
    });
    ok &&= code === 0;
  }
  return { ok, output: output.trim() };
}

/**
 * @param {readonly string[]} command
 * @param {boolean} givesWay
 * @param {(text: string) => void} hear
 * @returns {Promise<number>}
 */
function run(command, givesWay, hear) {
  const child = spawn(process.execPath, [...command], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: !isWindows,
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
  });
  running.add(child);
  if (givesWay && child.pid !== undefined) giveWay(child.pid);
  child.stdout.setEncoding('utf8').on('data', hear);
  child.stderr.setEncoding('utf8').on('data', hear);
  return new Promise((resolve) => {
    child.on('error', (error) => (running.delete(child), hear(`${error.message}\n`), resolve(1)));
    child.on('close', (code) => {
      running.delete(child);
      resolve(code ?? 1);
    });
  });
}

/**
 * Everybody else goes first. Linux may share the processors out among sessions before it looks at the priorities within
 * them, and each command leads a session of its own; so the session is told, too.
 *
 * @param {number} pid
 */
function giveWay(pid) {
  const session = `/proc/${pid}/autogroup`;
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
    if (existsSync(session)) writeFileSync(session, String(constants.priority.PRIORITY_LOW));
  } catch {
    // It has just gone, or we may not: then it does not give way.
  }
}

/** Asks what is running to stop, and after a moment does not ask any more. */
export async function stopSteps() {
  await Promise.all([...running].map(stop));
}

/** @param {ChildProcess} child */
async function stop(child) {
  const gone = new Promise((resolve) => child.on('close', resolve));
  signalGroup(child.pid, 'SIGINT');
  const late = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), GRACE_MS);
  await gone;
  clearTimeout(late);
}

/**
 * @param {number | undefined} pid
 * @param {NodeJS.Signals} signal
 */
function signalGroup(pid, signal) {
  if (pid === undefined) return;
  try {
    process.kill(isWindows ? pid : -pid, signal);
  } catch {
    // It has just gone by itself.
  }
}
