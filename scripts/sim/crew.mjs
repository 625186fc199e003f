/**
 * A crew of threads that plays seeds for several searches at once, and hands each search its
 * outcomes in the order of the seeds.
 *
 * The order is what makes a result independent of the number of threads: a search that stops at
 * its tenth failure stops at the same seed whether one thread found it or eight. Outcomes that are
 * ahead wait; those after the stop are thrown away.
 *
 *     search A   1 2 3 4 │ 5 6 ─ ─          waiting: 9 10
 *                used    │     └ being played by thread 1
 *     search B   1 2 │ ─ ─                  by thread 2
 *
 * An idle thread takes the next few seeds from the search that has the fewest threads on it: with
 * many searches each has its own thread, and the last one gets all of them. Few means about a
 * fifth of a second's worth, so that nobody waits long for the slowest.
 *
 * A run that never ends would hang everything, and a fault in a protocol can well cause one. So a
 * thread that spends long on one seed is ended, and the seed counts as broken. "Long" is the thread's own time
 * (`thread-time.mjs`), which a busy machine does not stretch: a seed's outcome never depends on wall time.
 */

import { Worker } from 'node:worker_threads';
import { ownMs } from './thread-time.mjs';

/** @import { SeedOutcome } from '../../leasehold/src/sim/simulation.ts' */
/** @import { Answer, Chunk } from './worker.mjs' */

/**
 * @typedef {object} SearchRequest
 * @property {string} bundle path of the bundled simulation
 * @property {number} from the first seed
 * @property {number} count how many at most
 * @property {boolean} [trace]
 * @property {boolean} [scenarios] whether schedules written by hand are played too
 * @property {(outcome: SeedOutcome) => boolean} use told every outcome, in order; false ends the search
 */

const CHUNK_MS = 200;
const CHUNK_MAX = 256;
const STUCK_MS = 60_000;
const LOOK_MS = 1_000;

export class Crew {
  /** @type {Set<Thread>} */
  #threads = new Set();
  /** @type {Set<Search>} */
  #searches = new Set();
  #jobs;
  #stuckMs;
  #watch;

  /** @param {{ jobs: number, stuckMs?: number | undefined }} options */
  constructor({ jobs, stuckMs = STUCK_MS }) {
    this.#jobs = jobs;
    this.#stuckMs = stuckMs;
    for (let job = 0; job < jobs; job += 1) this.#hire();
    this.#watch = setInterval(() => this.#endStuck(), Math.min(LOOK_MS, stuckMs));
  }

  /**
   * Resolves when all seeds have been used, or `use` said it was enough; rejects when the bundle
   * cannot even be loaded.
   *
   * @param {SearchRequest} request
   * @returns {Promise<void>}
   */
  search(request) {
    return new Promise((resolve, reject) => {
      this.#searches.add(new Search(request, resolve, reject));
      this.#assign();
    });
  }

  /** Ends all threads, in the middle of whatever they do. Searches under way never resolve. */
  async [Symbol.asyncDispose]() {
    clearInterval(this.#watch);
    this.#searches.clear();
    await Promise.all([...this.#threads].map((thread) => thread.worker.terminate()));
  }

  #hire() {
    const thread = new Thread();
    this.#threads.add(thread);
    thread.worker.on('message', (/** @type {Answer} */ answer) => this.#hear(thread, answer));
    thread.worker.on('error', (error) => this.#replace(thread, `the thread ended: ${error.message}`));
  }

  #assign() {
    for (const thread of this.#threads) {
      if (thread.task !== undefined) continue;
      /** @type {Search | undefined} */
      let neediest;
      for (const search of this.#searches) {
        if (search.hasMore && search.served < (neediest?.served ?? Number.POSITIVE_INFINITY))
          neediest = search;
      }
      if (neediest === undefined) return;
      thread.start(neediest);
    }
  }

  /**
   * @param {Thread} thread
   * @param {Answer} answer
   */
  #hear(thread, answer) {
    if ('where' in answer) {
      thread.where = answer.where;
      thread.hasStarted = true;
      return;
    }
    const { task } = thread;
    if (task === undefined) return;
    thread.steps += 1;
    if ('outcome' in answer) {
      task.seed = answer.outcome.seed + 1;
      this.#deliver(task.search, answer.outcome);
      return;
    }
    if ('unusable' in answer) task.search.fail(new Error(answer.unusable));
    thread.finish();
    this.#settle(task.search);
  }

  /** A thread's time on its seed is counted from the first look after the seed began: at most one look too little. */
  #endStuck() {
    for (const thread of this.#threads) {
      if (thread.task === undefined || !thread.hasStarted) continue;
      const now = ownMs(thread.worker, thread.where, this.#jobs);
      if (thread.seen.steps !== thread.steps) thread.seen = { steps: thread.steps, ownMs: now };
      else if (now - thread.seen.ownMs >= this.#stuckMs)
        this.#replace(thread, `the run did not end within ${this.#stuckMs / 1000} s of its own time`);
    }
  }

  /**
   * The seed the thread was at is broken; what it had not come to yet is for another thread.
   *
   * @param {Thread} thread
   * @param {string} message
   */
  #replace(thread, message) {
    this.#threads.delete(thread);
    void thread.worker.terminate();
    this.#hire();
    const { task } = thread;
    if (task !== undefined) {
      thread.finish();
      task.search.giveBack(task.seed + 1, task.end);
      const broken = { promise: 'assertion', message };
      this.#deliver(task.search, { seed: task.seed, broken, counts: {} });
    }
    this.#assign();
  }

  /**
   * @param {Search} search
   * @param {SeedOutcome} outcome
   */
  #deliver(search, outcome) {
    search.take(outcome);
    this.#settle(search);
  }

  /** @param {Search} search */
  #settle(search) {
    if (search.isOver) this.#searches.delete(search);
    this.#assign();
  }
}

/** A worker and what it is at: `seed` of `search`, and from there to `end`. */
class Thread {
  worker = new Worker(new URL('./worker.mjs', import.meta.url));
  /** @type {{ readonly search: Search, seed: number, readonly end: number, readonly startedAt: number, readonly size: number } | undefined} */
  task;
  /** Whether the thread runs and has said {@link where} its processor time is told. */
  hasStarted = false;
  /** @type {string | undefined} */
  where;
  /** Grows with each seed begun; and what it was at the last look, with the thread's own time then. */
  steps = 0;
  seen = { steps: 0, ownMs: 0 };

  /** @param {Search} search */
  start(search) {
    const { first, count } = search.next();
    const { bundle, trace, scenarios } = search;
    this.steps += 1;
    this.task = { search, seed: first, end: first + count, startedAt: performance.now(), size: count };
    search.threads += 1;
    /** @type {Chunk} */
    const chunk = { bundle, first, count, trace, scenarios };
    this.worker.postMessage(chunk);
  }

  finish() {
    if (this.task === undefined) return;
    const { search, startedAt, size } = this.task;
    search.threads -= 1;
    search.timed((performance.now() - startedAt) / size);
    this.task = undefined;
  }
}

/** What is left to play, and what has been played but not used. */
class Search {
  bundle;
  trace;
  scenarios;
  threads = 0;
  isOver = false;
  #use;
  #resolve;
  #reject;
  /** Next seed to use, and next to play. */
  #used;
  #next;
  #end;
  /** @type {{ first: number, end: number }[]} */
  #returned = [];
  /** @type {Map<number, SeedOutcome>} */
  #ahead = new Map();
  /** Unknown at first: then one seed at a time. */
  #seedMs = CHUNK_MS;

  /**
   * @param {SearchRequest} request
   * @param {() => void} resolve
   * @param {(error: Error) => void} reject
   */
  constructor({ bundle, from, count, trace = false, scenarios = true, use }, resolve, reject) {
    this.bundle = bundle;
    this.trace = trace;
    this.scenarios = scenarios;
    this.#used = from;
    this.#next = from;
    this.#end = from + count;
    this.#use = use;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** A trace is one seed, and somebody is waiting to see why it failed: it goes first. */
  get served() {
    return this.trace ? -1 : this.threads;
  }

  get hasMore() {
    return !this.isOver && (this.#returned.length > 0 || this.#next < this.#end);
  }

  next() {
    const many = Math.max(1, Math.min(CHUNK_MAX, Math.floor(CHUNK_MS / this.#seedMs)));
    const { first, end } = this.#returned.pop() ?? { first: this.#next, end: this.#end };
    const count = Math.min(many, end - first);
    if (first === this.#next) this.#next += count;
    else this.giveBack(first + count, end);
    return { first, count };
  }

  /**
   * @param {number} first
   * @param {number} end
   */
  giveBack(first, end) {
    if (first < end) this.#returned.push({ first, end });
  }

  /** @param {number} seedMs */
  timed(seedMs) {
    this.#seedMs = Math.max(seedMs, 0.01);
  }

  /** @param {SeedOutcome} outcome */
  take(outcome) {
    this.#ahead.set(outcome.seed, outcome);
    for (;;) {
      const due = this.#ahead.get(this.#used);
      if (this.isOver || due === undefined) return;
      this.#ahead.delete(this.#used);
      this.#used += 1;
      if (!this.#use(due) || this.#used === this.#end) this.#finish();
    }
  }

  /** @param {Error} error */
  fail(error) {
    if (this.isOver) return;
    this.isOver = true;
    this.#reject(error);
  }

  #finish() {
    this.isOver = true;
    this.#ahead.clear();
    this.#resolve();
  }
}
