/**
 * An owner with something to do: it writes to the register for every key it holds, over and over, each
 * write under the number of the check before it, as a careful application would.
 */

import { type HeldKey, type JoinPoolOptions, joinPool } from 'leasehold/pool';
import { chooseClocks, type ClockChoice } from './clocks.ts';
import { errorFacts, fail, logger, nowMs, obey, say, stallFor, told } from './conversation.ts';
import { RegisterClient } from './register-client.ts';

interface Config {
  readonly join: JoinPoolOptions;
  readonly keys: readonly string[];
  readonly register: string;
  readonly writeEveryMs: number;
  readonly clocks?: ClockChoice;
  /** Leaves the pool and ends at these; a second one ends the process, as Node does by default. */
  readonly leaveOn?: readonly NodeJS.Signals[];
}

interface Request {
  readonly key: string;
  readonly number: number;
  readonly keys: readonly string[];
  readonly busyMs?: number;
  readonly waitMs?: number;
  readonly text: string;
}

const { join, keys, register: path, writeEveryMs, clocks, leaveOn = [] } = told<Config>();
chooseClocks(clocks);
const register = new RegisterClient(path);

try {
  const owner = await joinPool({
    ...join,
    logger,
    onLost: (ranges) => say('lost', { keys: keys.filter((key) => ranges.has(key)) }),
  });
  const { incarnation } = owner;
  /** State that moves with its keys, where `moves` is on. */
  const notes = owner.leasedMap<string>('notes');
  const handles = new Map<string, HeldKey>();

  const write = (key: string, number: number) =>
    register.write([{ key, number, incarnation, isUnchecked: true }]);
  const writeAll = async (): Promise<void> => {
    const writes = keys.flatMap((key) => {
      const number = owner.check(key);
      return number === undefined ? [] : [{ key, number, incarnation }];
    });
    if (writes.length > 0) await register.write(writes);
    setTimeout(() => void writeAll(), writeEveryMs);
  };

  obey({
    /** What is held, in one turn of the event loop. */
    check: ({ keys: asked }: Request) => ({
      held: [{ incarnation, numbers: asked.map((key) => owner.check(key) ?? null) }],
    }),
    continuous: ({ key, number }: Request) => ({ isHeld: owner.isHeld(key, number) }),
    /** A request that takes long to serve: checked, and then the event loop stands still. */
    request: ({ key, busyMs }: Request) => {
      const number = owner.check(key);
      if (busyMs !== undefined) stallFor(busyMs);
      return { number: number ?? null };
    },
    /** A write under a number that was good at some time. */
    write: async ({ key, number }: Request) => ({ isAccepted: (await write(key, number))[0] }),
    hold: ({ key }: Request) => {
      const held = owner.hold(key);
      if (held === undefined) return { number: null };
      handles.set(key, held);
      held.signal.addEventListener('abort', () =>
        say('aborted', { key, isHeld: held.isHeld(), ...errorFacts(held.signal.reason) }),
      );
      return { number: held.number };
    },
    guard: async ({ key, busyMs, waitMs }: Request) =>
      owner.guard(key, async ({ number }) => {
        if (busyMs !== undefined) stallFor(busyMs);
        if (waitMs !== undefined) await new Promise((resolve) => setTimeout(resolve, waitMs));
        return { number };
      }),
    note: async ({ key, text }: Request) =>
      owner.guard(key, (held) => {
        notes.set(held, text);
        return { number: held.number };
      }),
    /** The notes of these keys, within `guard`; null for a key without a note. */
    notes: async ({ keys: asked }: Request) => {
      const read = (key: string): Promise<string | null> =>
        owner.guard(key, (held) => notes.get(held) ?? null);
      return { notes: await Promise.all(asked.map(read)) };
    },
    /** How many moves are under way here. */
    moving: () => ({ moving: owner.status().moving }),
    clocks: () => ({ wallMs: Date.now(), clockMs: nowMs(), sinceStartMs: performance.now() }),
    leave: async () => {
      await owner.close();
      say('left');
      return {};
    },
  });
  for (const signal of leaveOn) {
    process.once(signal, async () => {
      say('signal', { signal });
      // With `moves`, this hands the keys over first.
      await owner[Symbol.asyncDispose]();
      say('left');
      process.exit(0);
    });
  }
  void writeAll();
  say('ready', { pid: process.pid, incarnation, name: owner.name });
} catch (error) {
  fail(error);
  process.exit();
}
