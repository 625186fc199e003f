/**
 * A Manager, three owners and some look-ups, one of whose owners is killed again and again.
 *
 * The clock runs from the kill until both is true: a request for each of the dead owner's keys, sent to
 * where a look-up points, is answered by somebody who holds it; and every look-up was told of the loss.
 * Keys are a sample, but every range of the dead is as likely to be in it as any other.
 */

import process from 'node:process';
import { nowMs, pause } from '../processes/conversation.ts';
import type { ManagerConfig } from '../processes/manager-process.ts';
import type { Program } from '../processes/program.ts';
import type { Workshop } from '../processes/workshop.ts';
import type { OwnerConfig, OwnerReady } from './owner-process.ts';
import { Requests } from './requests.ts';
import type { SupervisorConfig } from './supervisor-process.ts';
import { Watcher } from './watcher.ts';

/** How an owner is started: under a supervisor, by itself, or with a lock that its successor can get. */
export type Start = 'supervised' | 'alone' | 'locked';

export interface Crash {
  readonly killedMs: number;
  /** When every look-up was told. */
  readonly toldMs: number;
  /** When the last of the keys was served by somebody else. */
  readonly servedMs: number;
  readonly keys: number;
}

interface Bundles {
  readonly owner: string;
  readonly supervisor: string;
}

interface Slot {
  readonly config: OwnerConfig;
  program: Program;
  ready: OwnerReady;
}

const OWNERS = 3;
const KEYS = 600;
const SETTLED_WITHIN_MS = 60_000;
const CRASH_OVER_WITHIN_MS = 60_000;

export class CrashScene implements AsyncDisposable {
  readonly #workshop: Workshop;
  readonly #start: Start;
  readonly #bundles: Bundles;
  readonly #keys: readonly string[] = Array.from({ length: KEYS }, (_, index) => `key-${index}`);
  readonly #slots: Slot[] = [];
  readonly #watchers: Watcher[] = [];
  readonly #requests = new Requests();
  readonly #manager: Program;
  readonly #started: Program[] = [];

  private constructor(workshop: Workshop, start: Start, bundles: Bundles, manager: Program) {
    this.#workshop = workshop;
    this.#start = start;
    this.#bundles = bundles;
    this.#manager = manager;
  }

  static async open(workshop: Workshop, start: Start, lookups: number): Promise<CrashScene> {
    const bundles = {
      owner: await workshop.bundle('crash/owner-process'),
      supervisor: await workshop.bundle('crash/supervisor-process'),
    };
    const config: ManagerConfig = { directory: workshop.folder(`manager-${start}`) };
    const bundle = await workshop.bundle('processes/manager-process');
    const manager = workshop.start('the Manager', bundle, config);
    const managers = [String((await manager.heard('ready'))['address'])];
    const scene = new CrashScene(workshop, start, bundles, manager);
    for (let index = 0; index < OWNERS; index += 1) {
      const name = `owner-${index}`;
      const lockFile = start === 'locked' ? `${workshop.directory}/${name}.lock` : undefined;
      scene.#slots.push(await scene.#enter({ name, managers, lockFile }));
    }
    for (let index = 0; index < lookups; index += 1) {
      scene.#watchers.push(await Watcher.open(managers, scene.#keys));
    }
    return scene;
  }

  /** The program of an owner: the owner itself, or its supervisor. */
  program(index: number): Program {
    return this.#slot(index).program;
  }

  /** What owners warned of so far; in a run without faults of its own, nothing. */
  get warnings(): readonly string[] {
    const said = this.#started.flatMap((program) => program.said);
    return said.filter(({ event }) => event === 'warned').map((warned) => String(warned['message']));
  }

  /** Resolves when each key is held by one owner, each owner has some, and every look-up knows. */
  async settled(): Promise<void> {
    const until = nowMs() + SETTLED_WITHIN_MS;
    while (!(await this.#isSettled())) {
      if (nowMs() > until) throw new Error('the owners did not agree on who has what');
      await pause(25);
    }
    // Not always at the same time after the last change.
    await pause(100 + 400 * Math.random());
  }

  /** Kills an owner; `meanwhile` is called at once after that. Then waits until all is as it should be. */
  async kill(index: number, meanwhile: () => void = () => {}): Promise<Crash> {
    const { incarnation, pid, url } = this.#slot(index).ready;
    const numbers = await this.#requests.numbers(url, this.#keys);
    const keys = this.#keys.filter((_, each) => numbers[each] !== null);
    if (keys.length === 0) throw new Error('the owner to be killed has no keys');
    const tellings = this.#watchers.map((watcher) => watcher.told(keys, incarnation));
    const killedMs = nowMs();
    process.kill(pid, 'SIGKILL');
    meanwhile();
    const stop = new AbortController();
    const tooLate = setTimeout(() => stop.abort(), CRASH_OVER_WITHIN_MS);
    const over = new Promise<never>((_, reject) =>
      stop.signal.addEventListener('abort', () =>
        reject(new Error(`not over ${CRASH_OVER_WITHIN_MS / 1_000} s after the kill`)),
      ),
    );
    try {
      const all = Promise.all([this.#served(keys, incarnation, stop.signal), ...tellings]);
      const [servedMs, ...told] = await Promise.race([all, over]);
      return { killedMs, servedMs, toldMs: Math.max(...told), keys: keys.length };
    } finally {
      clearTimeout(tooLate);
      stop.abort();
    }
  }

  /** Starts the successor of an owner that was killed. */
  launch(index: number): Program {
    const slot = this.#slot(index);
    slot.program = this.#run(slot.config);
    return slot.program;
  }

  /** Resolves when the successor is in the pool. */
  async entered(index: number): Promise<void> {
    const slot = this.#slot(index);
    slot.ready = (await slot.program.heard('ready')) as unknown as OwnerReady;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#requests[Symbol.dispose]();
    await Promise.all(this.#watchers.map((watcher) => watcher[Symbol.asyncDispose]()));
    const programs = [...this.#slots.map(({ program }) => program), this.#manager];
    for (const program of programs) program.kill();
    await Promise.all(programs.map(({ ended }) => ended));
  }

  /** When the last of the keys was answered for by somebody who holds it. */
  async #served(keys: readonly string[], dead: string, signal: AbortSignal): Promise<number> {
    const waiting = new Set(keys);
    let servedMs = nowMs();
    while (waiting.size > 0 && !signal.aborted) {
      await Promise.all(
        [...this.#successors(waiting, dead)].map(async ([url, asked]) => {
          const numbers = await this.#requests.numbers(url, asked);
          asked.forEach((key, index) => {
            if (typeof numbers[index] === 'number') waiting.delete(key);
          });
          servedMs = nowMs();
        }),
      );
      if (waiting.size > 0) await pause(1);
    }
    return servedMs;
  }

  /** Where a look-up points now, with the keys that it points there. */
  #successors(keys: Iterable<string>, dead: string): ReadonlyMap<string, readonly string[]> {
    const byUrl = new Map<string, string[]>();
    for (const key of keys) {
      const url = this.#watchers[0]?.successor(key, dead);
      if (url === undefined) continue;
      const asked = byUrl.get(url) ?? [];
      asked.push(key);
      byUrl.set(url, asked);
    }
    return byUrl;
  }

  async #isSettled(): Promise<boolean> {
    const answers = await Promise.all(
      this.#slots.map(async ({ ready }) => ({
        url: ready.url,
        numbers: await this.#requests.numbers(ready.url, this.#keys),
      })),
    );
    if (answers.some(({ numbers }) => !numbers.some((number) => number !== null))) return false;
    return this.#keys.every((key, index) => {
      const holders = answers.filter(({ numbers }) => typeof numbers[index] === 'number');
      const url = holders[0]?.url;
      return holders.length === 1 && this.#watchers.every(({ lookup }) => lookup.find(key)?.url === url);
    });
  }

  async #enter(config: OwnerConfig): Promise<Slot> {
    const program = this.#run(config);
    return { config, program, ready: (await program.heard('ready')) as unknown as OwnerReady };
  }

  #run(config: OwnerConfig): Program {
    const { owner, supervisor } = this.#bundles;
    const supervised: SupervisorConfig = { ...config, program: owner };
    const program =
      this.#start === 'supervised'
        ? this.#workshop.start(`the supervisor of ${config.name}`, supervisor, supervised)
        : this.#workshop.start(config.name, owner, config);
    this.#started.push(program);
    return program;
  }

  #slot(index: number): Slot {
    const slot = this.#slots[index % OWNERS];
    if (slot === undefined) throw new Error('there is no such owner');
    return slot;
  }
}
