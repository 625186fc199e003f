/**
 * Runs the commands of a step and collects what they say, so that a step that passes says nothing
 * and one that fails says everything.
 *
 * Each command leads a process group of its own: some start processes that start processes, and
 * whoever stops the tests wants all of them to stop.
 */

import { spawn } from 'node:child_process';
import process from 'node:process';
import { root } from '../project.mjs';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Step } from './steps.mjs' */

const GRACE_MS = 3_000;
const isWindows = process.platform === 'win32';

/** @type {ChildProcess | undefined} */
let running;

/**
 * @param {Step} step
 * @param {(line: string) => void} say told the latest line while it runs
 * @returns {Promise<{ ok: boolean, output: string }>}
 */
export async function runStep({ commands }, say) {
  let output = '';
  let ok = true;
  for (const command of commands) {
    const code = await run(command, (text) => {
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
 * @param {(text: string) => void} hear
 * @returns {Promise<number>}
 */
function run(command, hear) {
  const child = spawn(process.execPath, [...command], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: !isWindows,
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
  });
  running = child;
  child.stdout.setEncoding('utf8').on('data', hear);
  child.stderr.setEncoding('utf8').on('data', hear);
  return new Promise((resolve) => {
    child.on('error', (error) => (hear(`${error.message}\n`), resolve(1)));
    child.on('close', (code) => {
      running = undefined;
      resolve(code ?? 1);
    });
  });
}

/** Asks what is running to stop, and after a moment does not ask any more. */
export async function stopSteps() {
  const child = running;
  if (child?.pid === undefined) return;
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
