/**
 * Asks every owner, over and over, what it holds, and compares.
 *
 * An answer says: at some instant between the question and the answer, by the clock of the test, this
 * owner held these keys under these numbers. Nothing more is needed, not even the owner's clock. Two
 * owners are *surely* caught together when the one with the lower number is asked after the one with
 * the higher number has answered:
 *
 *     number 7   ask ├──┤ "mine"
 *     number 5                 ask ├──┤ "mine"       5 was held after 7 was: two owners
 *
 * What overlaps for less than it takes to ask twice goes unseen; what is reported is never an error of
 * measurement.
 */

import type { Program } from './program.ts';
import { pause } from './time.ts';

/** A key, held by one life of an owner under one number. */
export interface Tenure {
  readonly key: string;
  readonly number: number;
  readonly owner: string;
  readonly incarnation: string;
  /** It was held at some instant before this. */
  readonly firstBeforeMs: number;
  /** It was held at some instant after this. */
  lastAfterMs: number;
}

interface Held {
  readonly incarnation: string;
  readonly numbers: readonly (number | null)[];
}

const ASK_EVERY_MS = 5;

export class Observer {
  readonly keys: readonly string[];
  readonly #tenures = new Map<string, Tenure>();
  readonly #held = new Map<string, ReadonlySet<string>>();
  readonly #rounds: Promise<void>[] = [];
  #isOver = false;

  constructor(keys: readonly string[]) {
    this.keys = keys;
  }

  watch(owner: Program): void {
    this.#rounds.push(this.#ask(owner));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#rounds);
  }

  tenures(key?: string): readonly Tenure[] {
    const all = [...this.#tenures.values()].sort((one, two) => one.number - two.number);
    return key === undefined ? all : all.filter((tenure) => tenure.key === key);
  }

  /** The keys that an owner had when it last answered. */
  heldBy(owner: Program): readonly string[] {
    return [...(this.#held.get(owner.name) ?? [])];
  }

  /** Everybody who holds a key, by their last answers. */
  holders(key: string): readonly string[] {
    return [...this.#held].filter(([, held]) => held.has(key)).map(([name]) => name);
  }

  /** Two owners of a key at once, or of one number; none if all is well. */
  violations(): string[] {
    return this.keys.flatMap((key) => {
      let last: Tenure | undefined;
      return this.tenures(key).flatMap((tenure) => {
        const before = last;
        if (before === undefined || tenure.lastAfterMs > before.lastAfterMs) last = tenure;
        if (before === undefined) return [];
        const isTwice = before.number === tenure.number;
        const isTogether = before.lastAfterMs > tenure.firstBeforeMs;
        return isTwice || isTogether ? [`two owners of ${key}: ${shown(before)}; ${shown(tenure)}`] : [];
      });
    });
  }

  async #ask(owner: Program): Promise<void> {
    while (!this.#isOver && owner.ending === undefined) {
      try {
        const { reply, askedMs, answeredMs } = await owner.askTimed('check', { keys: this.keys });
        this.#take(owner.name, reply['held'] as readonly Held[], askedMs, answeredMs);
      } catch {
        // It ended while it was asked: what it held then nobody knows.
      }
      await pause(ASK_EVERY_MS);
    }
    this.#held.delete(owner.name);
  }

  #take(owner: string, held: readonly Held[], askedMs: number, answeredMs: number): void {
    const now = new Set<string>();
    for (const { incarnation, numbers } of held) {
      this.keys.forEach((key, index) => {
        const number = numbers[index] ?? undefined;
        if (number === undefined) return;
        now.add(key);
        const id = `${key} ${number} ${incarnation}`;
        const tenure = this.#tenures.get(id);
        if (tenure !== undefined) tenure.lastAfterMs = askedMs;
        else {
          const times = { firstBeforeMs: answeredMs, lastAfterMs: askedMs };
          this.#tenures.set(id, { key, number, owner, incarnation, ...times });
        }
      });
    }
    this.#held.set(owner, now);
  }
}

const shown = ({ owner, number, firstBeforeMs, lastAfterMs }: Tenure): string =>
  `${owner} #${number} from ${firstBeforeMs.toFixed(1)} to ${lastAfterMs.toFixed(1)}`;
