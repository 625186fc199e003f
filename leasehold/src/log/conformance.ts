/// <reference lib="esnext.disposable" preserve="true" />

/**
 * The promises of every fenced log, on any store: one suite for all of them. A log's own tests cover the troubles of
 * that log's store; these tests show that users of `log.ts` can rely on the log.
 */

import { describe, expect, it } from 'vitest';
import { AssertionError } from '../runtime/assert.ts';
import type { Instant } from '../runtime/time.ts';
import type { DeposedReason, FencedLog, Following, Leadership, LogStart } from './log.ts';

/** A log under test, and the world around the log. */
export interface ConformanceBench extends AsyncDisposable {
  /** One process's way to the log; the same for the same name. */
  client(name: 'a' | 'b' | 'c'): FencedLog;
  /** The clock of that process. */
  now(name: 'a' | 'b' | 'c'): Instant;
  /** Lets a little time pass. */
  step(): Promise<void>;
  /** Lets so much time pass that every pending event has happened. */
  settle(): Promise<void>;
  /** Ends all processes in good order, and starts them again. */
  restart(): Promise<void>;
  /** Has the log drop the leader without a word to the leader, if this log can. */
  readonly supersede?: (() => void) | undefined;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (of: Uint8Array): string => new TextDecoder().decode(of);

/** `[2 snapshot] 3 c 4 d` */
function contents({ snapshot, batches }: LogStart): string {
  const written = batches.map(({ position, bytes: of }) => `${position} ${text(of)}`);
  return [...(snapshot ? [`[${snapshot.position} ${text(snapshot.bytes)}]`] : []), ...written].join(' ');
}

/** One campaign and its events. */
class Standing {
  leadership: Leadership | undefined;
  until: Instant | undefined;
  readonly deposed: DeposedReason[] = [];
  readonly outcomes: string[] = [];
  readonly campaign: Disposable;
  readonly #script: Script;

  constructor(script: Script, client: 'a' | 'b' | 'c', candidate: string) {
    this.#script = script;
    let isWithin = true;
    this.campaign = script.bench.client(client).campaign(candidate, {
      elected: (leadership, until) => {
        expect(isWithin, 'elected from within campaign').toBe(false);
        expect(this.leadership, 'elected twice').toBeUndefined();
        this.leadership = leadership;
        this.until = until;
      },
      extended: (until) => (this.until = until),
      deposed: (reason) => this.deposed.push(reason),
    });
    isWithin = false;
  }

  get leading(): Leadership {
    if (this.leadership === undefined) throw new Error('not elected');
    return this.leadership;
  }

  async elected(): Promise<this> {
    await this.#script.until(() => this.leadership !== undefined);
    return this;
  }

  /** Only asks. */
  submit(position: number, what: string | Uint8Array): void {
    let isWithin = true;
    this.leading.append({ position, bytes: typeof what === 'string' ? bytes(what) : what }, (outcome) => {
      expect(isWithin, 'answered from within append').toBe(false);
      this.outcomes.push(`${outcome} ${position}`);
    });
    isWithin = false;
  }

  async append(position: number, what: string | Uint8Array): Promise<string> {
    const before = this.outcomes.length;
    this.submit(position, what);
    await this.#script.until(() => this.outcomes.length > before);
    return this.outcomes.at(-1) ?? '';
  }

  /** `1 a`, `2 b`, … one after the other. */
  async appendAll(...words: readonly string[]): Promise<void> {
    for (const word of words) {
      const [position = '', what = ''] = word.split(' ');
      expect(await this.append(Number(position), what)).toBe(`appended ${position}`);
    }
  }
}

class Script {
  readonly bench: ConformanceBench;
  #candidates = 0;

  constructor(bench: ConformanceBench) {
    this.bench = bench;
  }

  stand(client: 'a' | 'b' | 'c' = 'a'): Standing {
    this.#candidates += 1;
    return new Standing(this, client, `${client}.${this.#candidates}`);
  }

  lead(client: 'a' | 'b' | 'c' = 'a'): Promise<Standing> {
    return this.stand(client).elected();
  }

  /** The start of a leader elected now, which resigns at once. */
  async read(client: 'a' | 'b' | 'c' = 'a'): Promise<LogStart> {
    const standing = await this.lead(client);
    standing.leading.resign();
    return standing.leading.start;
  }

  follow(client: 'a' | 'b' | 'c' = 'c'): {
    readonly told: string[];
    readonly following: Following;
    asked: Instant[];
  } {
    const told: string[] = [];
    const asked: Instant[] = [];
    let isWithin = true;
    const tell = (what: string): void => {
      expect(isWithin, 'told from within follow').toBe(false);
      told.push(what);
    };
    const following = this.bench.client(client).follow({
      reset: (start) => tell(`reset ${contents(start)}`.trimEnd()),
      batch: ({ position, bytes: of }) => tell(`${position} ${text(of)}`),
      head: (position, askedAt) => {
        tell(`head ${position}`);
        asked.push(askedAt);
      },
    });
    isWithin = false;
    return { told, following, asked };
  }

  async until(condition: () => boolean): Promise<void> {
    for (let steps = 0; !condition(); steps++) {
      if (steps > 2_000) throw new Error('it never happened');
      await this.bench.step();
    }
  }
}

/** Declares the whole suite for one kind of log. */
export function describeFencedLog(name: string, open: () => Promise<ConformanceBench>): void {
  const check = (what: string, body: (script: Script) => Promise<void>): void => {
    it(what, async () => {
      await using bench = await open();
      await body(new Script(bench));
    });
  };

  describe(`${name}, as a fenced log: an election`, () => {
    check('is won by one who stands, with a lease that is not over and an empty log', async (script) => {
      const standing = await script.lead();
      expect(standing.until).toBeGreaterThan(script.bench.now('a'));
      expect(standing.leading.term).toBeGreaterThan(0);
      expect(contents(standing.leading.start)).toBe('');
      expect(standing.leading.start.floor).toBe(0);
      expect(standing.leading.start.history).not.toBe('');
    });

    check('has one winner at a time; the next one is elected when it resigns', async (script) => {
      const first = await script.lead('a');
      const second = script.stand('b');
      await script.bench.settle();
      expect([second.leadership, first.deposed]).toEqual([undefined, []]);
      first.leading.resign();
      await second.elected();
      expect(second.leading.term).toBeGreaterThan(first.leading.term);
    });

    check('gives a greater term each time, also to the same process and after a restart', async (script) => {
      const terms: number[] = [];
      for (const client of ['a', 'a', 'b'] as const) {
        const standing = await script.lead(client);
        terms.push(standing.leading.term);
        standing.leading.resign();
      }
      await script.bench.restart();
      terms.push((await script.lead()).leading.term);
      expect(terms).toEqual([...new Set(terms)].sort((a, b) => a - b));
    });

    check('is not won by one who has withdrawn', async (script) => {
      const standing = script.stand();
      standing.campaign[Symbol.dispose]();
      await script.bench.settle();
      expect([standing.leadership, standing.deposed]).toEqual([undefined, []]);
      await script.lead('b');
    });

    check('is lost again by disposing of the campaign, without being told so', async (script) => {
      const standing = await script.lead();
      standing.campaign[Symbol.dispose]();
      await script.lead('b');
      expect(standing.deposed).toEqual([]);
    });

    check('can be resigned from within', async (script) => {
      const log = script.bench.client('a');
      let elected = 0;
      log.campaign('a.0', {
        elected: (leadership) => {
          elected += 1;
          leadership.resign();
        },
        extended: () => {},
        deposed: () => {},
      });
      await script.until(() => elected === 1);
      await script.lead('b');
    });

    check('keeps the history, also after a restart', async (script) => {
      const { history } = await script.read();
      expect((await script.read('b')).history).toBe(history);
      await script.bench.restart();
      expect((await script.read()).history).toBe(history);
    });
  });

  describe(`${name}, as a fenced log: an append`, () => {
    check('is there for the next leader, in order and byte by byte', async (script) => {
      const first = await script.lead('a');
      await first.appendAll('1 a', '2 b', '7 c');
      const odd = Uint8Array.from({ length: 256 }, (_, byte) => byte);
      await first.append(8, odd);
      await first.append(9, new Uint8Array(0));
      first.leading.resign();
      const { batches, snapshot } = await script.read('b');
      expect(snapshot).toBeUndefined();
      expect(batches.map(({ position }) => position)).toEqual([1, 2, 7, 8, 9]);
      expect([...(batches[3]?.bytes ?? [])]).toEqual([...odd]);
      expect(batches[4]?.bytes.length).toBe(0);
    });

    check('is there after a restart', async (script) => {
      const standing = await script.lead();
      await standing.appendAll('1 a', '2 b');
      await script.bench.restart();
      const next = await script.lead();
      expect(contents(next.leading.start)).toBe('1 a 2 b');
      await next.appendAll('3 c');
      await script.bench.restart();
      expect(contents(await script.read())).toBe('1 a 2 b 3 c');
    });

    check('is one at a time', async (script) => {
      const standing = await script.lead();
      standing.submit(1, 'a');
      expect(() => standing.submit(2, 'b')).toThrow(AssertionError);
      await script.until(() => standing.outcomes.length > 0);
      expect(standing.outcomes).toEqual(['appended 1']);
    });

    check('may follow at once, from within the answer', async (script) => {
      const { leading } = await script.lead();
      const told: string[] = [];
      leading.append({ position: 1, bytes: bytes('a') }, () =>
        leading.append({ position: 2, bytes: bytes('b') }, (outcome) => told.push(outcome)),
      );
      await script.until(() => told.length > 0);
      leading.resign();
      expect(contents(await script.read('b'))).toBe('1 a 2 b');
    });

    check('of one who has resigned has no effect and no answer', async (script) => {
      const first = await script.lead('a');
      await first.appendAll('1 a');
      first.leading.resign();
      const second = await script.lead('b');
      first.submit(2, 'stale');
      await second.appendAll('2 fresh');
      await script.bench.settle();
      second.leading.resign();
      expect(first.outcomes).toEqual(['appended 1']);
      expect(contents(await script.read())).toBe('1 a 2 fresh');
    });

    check('of one who was superseded has no effect; it is deposed instead', async (script) => {
      const { supersede } = script.bench;
      if (supersede === undefined) return; // Impossible here: a leader leads until resigning.
      const first = await script.lead('a');
      supersede();
      const second = await script.lead('b');
      first.submit(1, 'stale');
      await second.appendAll('1 fresh');
      await script.until(() => first.deposed.length > 0);
      second.leading.resign();
      expect(first.outcomes).toEqual([]);
      expect(contents(await script.read('c'))).toBe('1 fresh');
    });

    check(
      'that was under way when its leader resigned is there for the next one or never',
      async (script) => {
        const first = await script.lead('a');
        first.submit(1, 'a');
        first.leading.resign();
        const second = await script.lead('b');
        const seen = contents(second.leading.start);
        expect(['', '1 a']).toContain(seen);
        await script.bench.settle();
        second.leading.resign();
        expect(first.outcomes).toEqual([]);
        expect(contents(await script.read('c'))).toBe(seen);
      },
    );

    check('that is too large is refused, and leaves the place to another', async (script) => {
      const { maxBatchBytes } = script.bench.client('a');
      if (maxBatchBytes === Number.POSITIVE_INFINITY) return; // Nothing is too large.
      const standing = await script.lead();
      expect(await standing.append(1, new Uint8Array(maxBatchBytes + 1))).toBe('refused 1');
      expect(await standing.append(1, new Uint8Array(maxBatchBytes))).toBe('appended 1');
      await script.bench.restart();
      expect((await script.read()).batches.map(({ bytes: of }) => of.length)).toEqual([maxBatchBytes]);
    });
  });

  describe(`${name}, as a fenced log: a compaction`, () => {
    check('puts a snapshot in the place of what is up to it, and keeps what is after', async (script) => {
      const first = await script.lead('a');
      await first.appendAll('1 a', '2 b', '3 c', '5 d');
      first.leading.compact(bytes('snapshot'), 3);
      await script.bench.settle();
      first.leading.resign();
      expect(contents(await script.read('b'))).toBe('[3 snapshot] 5 d');
      await script.bench.restart();
      expect(contents(await script.read())).toBe('[3 snapshot] 5 d');
    });

    check('of everything leaves a log that goes on', async (script) => {
      const standing = await script.lead();
      for (const [round, first] of [1, 11, 21].entries()) {
        await standing.appendAll(`${first} a`, `${first + 1} b`);
        standing.leading.compact(bytes(`snapshot-${round}`), first + 1);
        await standing.appendAll(`${first + 2} c`);
      }
      await script.bench.settle();
      await script.bench.restart();
      const next = await script.lead();
      expect(contents(next.leading.start)).toBe('[22 snapshot-2] 23 c');
      await next.appendAll('24 d');
      next.leading.resign();
      expect(contents(await script.read())).toBe('[22 snapshot-2] 23 c 24 d');
    });

    check('does not undo a later one', async (script) => {
      const standing = await script.lead();
      await standing.appendAll('1 a', '2 b', '3 c');
      standing.leading.compact(bytes('later'), 2);
      await script.bench.settle();
      standing.leading.compact(bytes('earlier'), 1);
      await script.bench.settle();
      standing.leading.resign();
      expect(contents(await script.read('b'))).toBe('[2 later] 3 c');
    });

    check('by one who has resigned has no effect', async (script) => {
      const first = await script.lead('a');
      await first.appendAll('1 a');
      first.leading.resign();
      await script.lead('b');
      first.leading.compact(bytes('stale'), 1);
      await script.bench.settle();
      await script.bench.restart();
      expect(contents(await script.read())).toBe('1 a');
    });
  });

  describe(`${name}, as a fenced log: a follower`, () => {
    check('starts from all there is, and is told every batch once and in order', async (script) => {
      const leader = await script.lead('a');
      await leader.appendAll('1 a', '2 b');
      const { told } = script.follow();
      await script.until(() => told.length > 0);
      await leader.appendAll('3 c', '8 d');
      leader.leading.resign();
      await (await script.lead('b')).appendAll('9 e');
      await script.until(() => told.at(-1) === '9 e');
      await script.bench.settle();
      expect(told).toEqual(['reset 1 a 2 b', '3 c', '8 d', '9 e']);
    });

    check(
      'starts from the snapshot if there is one, and is not reset by one of what it has',
      async (script) => {
        const leader = await script.lead('a');
        await leader.appendAll('1 a', '2 b');
        leader.leading.compact(bytes('snapshot'), 1);
        await script.bench.settle();
        const { told } = script.follow();
        await script.until(() => told.length > 0);
        await leader.appendAll('3 c');
        await script.until(() => told.length > 1);
        leader.leading.compact(bytes('another'), 3);
        await leader.appendAll('4 d');
        await script.bench.settle();
        expect(told).toEqual(['reset [1 snapshot] 2 b', '3 c', '4 d']);
      },
    );

    check('reads a head that is not behind what was appended before it asked', async (script) => {
      const leader = await script.lead('a');
      const { told, following, asked } = script.follow();
      await script.until(() => told.length > 0);
      await leader.appendAll('1 a', '4 b');
      const before = script.bench.now('c');
      following.askHead();
      await script.until(() => told.includes('head 4'));
      expect(asked[0]).toBeGreaterThanOrEqual(before);
      expect(asked[0]).toBeLessThanOrEqual(script.bench.now('c'));
    });

    check('is told nothing once it has ended', async (script) => {
      const leader = await script.lead('a');
      const { told, following } = script.follow();
      await script.until(() => told.length > 0);
      following.askHead();
      following[Symbol.dispose]();
      following.askHead();
      await leader.appendAll('1 a');
      await script.bench.settle();
      expect(told).toEqual(['reset']);
    });
  });
}
