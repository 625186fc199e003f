/**
 * How far the drain of an owner is, made of what a Manager says every third of a second, and in words.
 *
 * Ranges are those that the owner had when the drain began: what has gone since has been handed over, or was lost. Which of the two, the
 * table says at the end, because every range knows when it last lost its state: so the result is right also if the leader, and with it the count of
 * bytes, has changed meanwhile. Bytes count from the beginning of a term, so what was sent in earlier ones is added.
 */

import type { MoverAnswer, MovesAnswer } from '../answers.ts';
import { bytes, counted, duration } from '../output.ts';

const BAR_WIDTH = 18;
/** The rate is that of the last few seconds. */
const RATE_OVER_MS = 3_000;

/** What a look at the owner shows. */
interface Look {
  readonly atMs: number;
  readonly left: number;
  readonly bytes: number;
}

export class DrainProgress {
  readonly pool: string;
  readonly owner: string;
  /** How many ranges there were. */
  readonly ranges: number;
  readonly #startedMs: number;
  #looks: Look[];
  /** Sent in earlier terms, and before the drain. */
  #base: number;
  #term: number | undefined;
  #targets: number | null = null;
  #isKnown = true;

  constructor(pool: string, owner: string, ranges: number, nowMs: number) {
    this.pool = pool;
    this.owner = owner;
    this.ranges = ranges;
    this.#startedMs = nowMs;
    this.#looks = [{ atMs: nowMs, left: ranges, bytes: 0 }];
    this.#base = 0;
  }

  get #last(): Look {
    return this.#looks.at(-1) as Look;
  }

  get left(): number {
    return this.#last.left;
  }

  get bytes(): number {
    return this.#last.bytes;
  }

  /** No Manager that leads has answered. */
  unheard(): void {
    this.#isKnown = false;
  }

  hear(
    { term }: Pick<MovesAnswer, 'term'>,
    { ranges, sentBytes, targets }: MoverAnswer,
    nowMs: number,
  ): void {
    if (this.#term === undefined) this.#base = -sentBytes;
    else if (this.#term !== term) this.#base = this.bytes;
    this.#term = term;
    this.#targets = targets;
    this.#isKnown = true;
    const look = { atMs: nowMs, left: ranges, bytes: Math.max(this.bytes, this.#base + sentBytes) };
    this.#looks = [...this.#looks.filter(({ atMs }) => nowMs - atMs <= RATE_OVER_MS), look];
  }

  tookMs(nowMs: number): number {
    return nowMs - this.#startedMs;
  }

  /** Bytes in a second, lately. */
  get #rate(): number {
    const [first = this.#last] = this.#looks;
    const ms = this.#last.atMs - first.atMs;
    return ms === 0 ? 0 : ((this.#last.bytes - first.bytes) * 1_000) / ms;
  }

  /** How long the rest takes if it goes on as it did. */
  #leftMs(nowMs: number): number | undefined {
    const gone = this.ranges - this.left;
    return gone <= 0 ? undefined : (this.tookMs(nowMs) / gone) * this.left;
  }

  #waitsFor(): string | undefined {
    if (!this.#isKnown) return 'waits for a Manager that leads';
    return this.#targets === 0 && this.left > 0 ? 'waits: no other owner can take its keys' : undefined;
  }

  /** Beside a bar, or alone. */
  #facts(nowMs: number): readonly string[] {
    const leftMs = this.#leftMs(nowMs);
    const time = leftMs === undefined ? [] : [`${duration(Math.ceil(leftMs / 1_000) * 1_000)} left`];
    return [
      `${this.ranges - this.left} of ${counted(this.ranges, 'range')}`,
      ...(this.bytes === 0 ? [] : [bytes(this.bytes), `${bytes(this.#rate)}/s`]),
      ...(this.#waitsFor() === undefined ? time : [this.#waitsFor() ?? '']),
    ];
  }

  /** One line that is written over the one before. */
  bar(nowMs: number): string {
    const done = this.ranges === 0 ? 1 : (this.ranges - this.left) / this.ranges;
    const full = Math.max(0, Math.min(BAR_WIDTH, Math.floor(done * BAR_WIDTH)));
    const bar = `[${'#'.repeat(full)}${'-'.repeat(BAR_WIDTH - full)}]`;
    return `${this.owner} of ${this.pool}  ${bar}  ${this.#facts(nowMs).join('   ')}`;
  }

  /** A line of its own. */
  line(nowMs: number): string {
    return `${this.owner} of ${this.pool}: ${this.#facts(nowMs).join(', ')}`;
  }
}
