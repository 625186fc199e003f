/**
 * Lets one process at a time do something, and survives one that dies while doing it.
 *
 * The lock is a directory, since making one either succeeds or finds it there. Its holder touches
 * it every second; one that has not been touched for a while belongs to the dead, whoever they
 * were, so no process id is written down that another process could have by now.
 *
 * A dead lock is taken away by renaming it, which only one of several waiters can do. A slow
 * waiter could still rename the lock that a quicker one has made since; it sees that by the time on
 * what it got, and puts it back.
 */

import { mkdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import process from 'node:process';

const TOUCH_MS = 1_000;
const DEAD_MS = 15_000;
const LOOK_MS = 200;

/**
 * @template T
 * @param {string} path where the lock goes
 * @param {() => Promise<T>} work
 * @param {() => void} [onWait] called once, if somebody else is at it
 * @returns {Promise<T>}
 */
export async function oneAtATime(path, work, onWait) {
  for (let waiting = false; !take(path); waiting = true) {
    if (!waiting) onWait?.();
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    buryIfDead(path);
  }
  const touching = setInterval(() => touch(path), TOUCH_MS);
  try {
    return await work();
  } finally {
    clearInterval(touching);
    rmSync(path, { recursive: true, force: true });
  }
}

/** @param {string} path */
function take(path) {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** @param {string} path */
function buryIfDead(path) {
  try {
    if (!isDead(path)) return;
    const grave = `${path}.${process.pid}`;
    renameSync(path, grave);
    if (isDead(grave)) rmSync(grave, { recursive: true, force: true });
    else renameSync(grave, path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

/** @param {string} path */
const isDead = (path) => Date.now() - statSync(path).mtimeMs > DEAD_MS;

/** @param {string} path */
function touch(path) {
  try {
    utimesSync(path, new Date(), new Date());
  } catch {
    // It was taken from us, because we slept for long. The work cannot be called back.
  }
}

/** @param {unknown} error */
const codeOf = (error) => (error instanceof Error && 'code' in error ? error.code : undefined);
