/**
 * Runs the commands of a step and collects what they say, so that a step that passes says nothing
 * and one that fails says everything.
 *
 * Each command leads a process group of its own: some start processes that start processes, and
 * whoever stops the tests wants all of them to stop.
 */

import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import process from 'node:process';
import { root } from '../project.mjs';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Step } from './steps.mjs' */

const GRACE_MS = 3_000;
const isWindows = process.platform === 'win32';

/** @type {Set<ChildProcess>} */
const running = new Set();

/** Those that go last. @type {Set<ChildProcess>} */
const givingWay = new Set();
let isUrgent = false;

/**
 * @param {Step} step
 * @param {(line: string) => void} say told the latest line while it runs
 * @returns {Promise<{ ok: boolean, output: string, processorSeconds: number }>} how long its processes calculated, where the system says so
 */
export async function runStep({ commands, row, environment = {} }, say) {
  let output = '';
  let ok = true;
  let processorSeconds = 0;
  for (const command of commands) {
    const ended = await run(command, row === 'worlds', environment, (text) => {
      output += text;
      const line = text.trimEnd().split('\n').at(-1)?.trim();
      if (line) say(line);
    });
    ok &&= ended.code === 0;
    processorSeconds += ended.processorSeconds;
  }
  return { ok, output: output.trim(), processorSeconds };
}

/**
 * @param {readonly string[]} command
 * @param {boolean} givesWay
 * @param {Readonly<Record<string, string>>} environment
 * @param {(text: string) => void} hear
 * @returns {Promise<{ code: number, processorSeconds: number }>}
 */
function run(command, givesWay, environment, hear) {
  const child = spawn(process.execPath, [...command], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: !isWindows,
    env: { ...process.env, ...environment, NO_COLOR: '1', FORCE_COLOR: undefined },
  });
  running.add(child);
  if (givesWay && !isUrgent && child.pid !== undefined) {
    givingWay.add(child);
    prefer(child.pid, constants.priority.PRIORITY_LOW);
  }
  child.stdout.setEncoding('utf8').on('data', hear);
  child.stderr.setEncoding('utf8').on('data', hear);
  return new Promise((resolve) => {
    let processorSeconds = 0;
    /** @param {number} code */
    const end = (code) => {
      running.delete(child);
      givingWay.delete(child);
      resolve({ code, processorSeconds });
    };
    child.on('error', (error) => (hear(`${error.message}\n`), end(1)));
    child.on('exit', () => (processorSeconds = processorSecondsOfChildren()));
    child.on('close', (code) => end(code ?? 1));
  });
}

let accounted = 0;

/**
 * The processor time of the children that ended since the last call, with all that they waited for. On a busy machine it
 * says what a step costs; its seconds do not. Linux tells it in ticks of 10 ms; elsewhere it is not known.
 */
function processorSecondsOfChildren() {
  const place = '/proc/self/stat';
  if (!existsSync(place)) return 0;
  const text = readFileSync(place, 'utf8');
  // After the name of the program, which is in brackets: the 14th and 15th field.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const total = (Number(fields[13]) + Number(fields[14])) / 100;
  const since = total - accounted;
  accounted = total;
  return since;
}

/**
 * Nothing is left for which to give way. Without this, a step of calculation beside a program that always wants the
 * processor, which is nobody's test, would get a hundredth of it and hardly end.
 */
export function endGivingWay() {
  isUrgent = true;
  for (const { pid } of givingWay) if (pid !== undefined) prefer(pid, constants.priority.PRIORITY_NORMAL);
  givingWay.clear();
}

/**
 * Linux may share the processors out among sessions before it looks at the priorities within them, and each command
 * leads a session of its own; so the session is told, too. Within it, a priority is that of one thread.
 *
 * @param {number} pid
 * @param {number} priority
 */
function prefer(pid, priority) {
  const session = `/proc/${pid}/autogroup`;
  const threads = `/proc/${pid}/task`;
  try {
    if (existsSync(session)) writeFileSync(session, String(priority));
    const ids = existsSync(threads) ? readdirSync(threads).map(Number) : [pid];
    for (const id of ids) setPriority(id, priority);
  } catch {
    // It has just gone, or we may not: then it keeps the priority that it has, and its verdict is the same.
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
