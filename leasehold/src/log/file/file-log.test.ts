import { describe, expect, it } from 'vitest';
import type { LeaseholdError } from '../../runtime/errors.ts';
import type { Logger, LogFacts } from '../../runtime/logger.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import type { Storage } from '../../runtime/runtime.ts';
import type { Leadership, LogStart } from '../log.ts';
import { memoryStorage } from '../memory/memory-storage.ts';
import { DamagedLogError, StorageFailedError, UnknownLogFormatError } from './errors.ts';
import { openFileLog } from './file-log.ts';
import type { FileLog } from './file-log-options.ts';
import {
  decodeSegmentHead,
  encodeSegmentHead,
  HEAD_BYTES,
  type SegmentHead,
  segmentName,
  snapshotName,
} from './format.ts';
import { raiseCounters } from './raise-counters.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (of: Uint8Array): string => new TextDecoder().decode(of);
const SEGMENT_1 = segmentName(1);

/** The error of a disk. */
const failure = (code: string): Error => Object.assign(new Error(`${code}, as planned`), { code });

/** Storage in memory, of which the next operation of a kind can be told to fail. */
class Troubled {
  readonly storage: Storage;
  readonly plain: Storage = memoryStorage();
  readonly done: string[] = [];
  readonly #planned: { readonly what: string; readonly code: string; after: number }[] = [];

  constructor() {
    const { plain } = this;
    const act = async <T>(what: string, action: () => Promise<T>): Promise<T> => {
      this.done.push(what);
      const place = this.#planned.findIndex((plan) => what.startsWith(plan.what) && plan.after-- === 0);
      const [plan] = place < 0 ? [] : this.#planned.splice(place, 1);
      if (plan === undefined) return action();
      throw failure(plan.code);
    };
    this.storage = {
      list: () => plain.list(),
      rename: (from, to) => act(`rename ${to}`, () => plain.rename(from, to)),
      remove: (name) => act(`remove ${name}`, () => plain.remove(name)),
      syncDirectory: () => act('sync names', () => plain.syncDirectory()),
      open: async (name) => {
        const file = await plain.open(name);
        return {
          size: () => file.size(),
          read: (offset, length) => file.read(offset, length),
          write: (offset, what) => act(`write ${name}`, () => file.write(offset, what)),
          truncate: (size) => act(`truncate ${name}`, () => file.truncate(size)),
          sync: () => act(`sync ${name}`, () => file.sync()),
          isInPlace: () => file.isInPlace(),
          close: () => file.close(),
        };
      },
    };
  }

  /** The next that begins so fails (`sync`, `write 0000000000000001.log`), or the one after so many. */
  fail(what: string, code: string, after = 0): void {
    this.#planned.push({ what, code, after });
  }

  async change(name: string, offset: number, to: Uint8Array): Promise<void> {
    await (await this.plain.open(name)).write(offset, to);
  }

  async content(name: string): Promise<Uint8Array> {
    const file = await this.plain.open(name);
    return file.read(0, await file.size());
  }
}

class Bench {
  readonly disk: Troubled = new Troubled();
  readonly logged: string[] = [];
  readonly fatal: LeaseholdError[] = [];
  isLocked = false;
  isInPlace = true;
  #ids = 0;

  readonly #logger: Logger = {
    debug: () => {},
    info: (message, facts) => this.#note('info', message, facts),
    warn: (message, facts) => this.#note('warn', message, facts),
    error: (message, facts) => this.#note('error', message, facts),
  };

  get surroundings() {
    return {
      storage: this.disk.storage,
      runtime: nodeRuntime(),
      logger: this.#logger,
      randomId: () => `history-${++this.#ids}`,
      beginAbove: () => 0,
      lock: async () => {
        if (this.isLocked) throw failure('LOCKED');
        this.isLocked = true;
        return {
          path: 'data',
          isInPlace: async () => this.isInPlace,
          [Symbol.dispose]: () => void (this.isLocked = false),
        };
      },
      onFatal: (error: LeaseholdError) => void this.fatal.push(error),
    };
  }

  open(
    options: { maxBatchBytes?: number; preallocateBytes?: number; retryMs?: number } = {},
  ): Promise<FileLog> {
    return openFileLog({ preallocateBytes: 64, ...this.surroundings, ...options });
  }

  /** The start of a leader. The log is closed again. */
  async read(): Promise<LogStart> {
    await using log = await this.open();
    return (await elected(log)).start;
  }

  /** Batches 1, 2, 3, … with these texts. */
  async filled(...texts: readonly string[]): Promise<void> {
    await using log = await this.open();
    const leadership = await elected(log);
    for (const [place, content] of texts.entries()) await append(leadership, place + 1, content);
  }

  #note(level: string, message: string, facts: LogFacts = {}): void {
    this.logged.push(`${level} ${message} ${JSON.stringify(facts)}`);
  }
}

const elected = (log: FileLog): Promise<Leadership> =>
  new Promise((resolve) =>
    log.campaign('a', {
      elected: (leadership) => resolve(leadership),
      extended: () => {},
      deposed: () => {},
    }),
  );

const append = (leadership: Leadership, position: number, content: string): Promise<string> =>
  new Promise((resolve) => leadership.append({ position, bytes: bytes(content) }, resolve));

const contents = ({ snapshot, batches }: LogStart): string =>
  [
    ...(snapshot ? [`[${snapshot.position} ${text(snapshot.bytes)}]`] : []),
    ...batches.map(({ position, bytes: of }) => `${position} ${text(of)}`),
  ].join(' ');

/** Lets all happen that needs no more than memory. */
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 100; turn++) await undefined;
};

describe('opening a log', () => {
  it('takes the lock first, and touches nothing if another has it', async () => {
    const bench = new Bench();
    bench.isLocked = true;
    await expect(bench.open()).rejects.toMatchObject({ code: 'LOCKED' });
    expect(bench.disk.done).toEqual([]);
  });

  it('gives the lock back when it cannot be opened, and when it is closed', async () => {
    const bench = new Bench();
    bench.disk.fail('sync', 'EIO');
    await expect(bench.open()).rejects.toThrow(StorageFailedError);
    expect(bench.isLocked).toBe(false);
    const log = await bench.open();
    expect(bench.isLocked).toBe(true);
    await Promise.all([log[Symbol.asyncDispose](), log[Symbol.asyncDispose]()]);
    expect(bench.isLocked).toBe(false);
  });

  it('makes the history durable before anything else', async () => {
    const bench = new Bench();
    await (await bench.open())[Symbol.asyncDispose]();
    const temporary = `${SEGMENT_1}.tmp`;
    expect(bench.disk.done).toEqual([
      `truncate ${temporary}`,
      `write ${temporary}`,
      `sync ${temporary}`,
      `rename ${SEGMENT_1}`,
      'sync names',
    ]);
    expect((await bench.read()).history).toBe('history-1');
    expect((await bench.read()).history).toBe('history-1');
  });

  it('keeps the key of the history in every segment, whatever is compacted', async () => {
    const bench = new Bench();
    const { key } = await bench.read();
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    {
      await using log = await bench.open();
      const leadership = await elected(log);
      await append(leadership, 1, 'a');
      leadership.compact(bytes('A'), 1);
    }
    expect(await bench.read()).toMatchObject({ history: 'history-1', key, snapshot: { position: 1 } });
  });

  it('gives a key to a history from before there were keys', async () => {
    const bench = new Bench();
    await bench.filled('a', 'b');
    const head = decodeSegmentHead(await bench.disk.content(SEGMENT_1)) as SegmentHead;
    await bench.disk.change(SEGMENT_1, 0, encodeSegmentHead({ ...head, key: undefined }));
    const { history, key, batches } = await bench.read();
    expect([history, batches.length]).toEqual(['history-1', 2]);
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(await bench.read()).toMatchObject({ history: 'history-1', key });
  });

  it('goes on without a key if there is no room for one', async () => {
    const bench = new Bench();
    await bench.filled('a');
    const head = decodeSegmentHead(await bench.disk.content(SEGMENT_1)) as SegmentHead;
    await bench.disk.change(SEGMENT_1, 0, encodeSegmentHead({ ...head, key: undefined }));
    bench.disk.fail(`write ${segmentName(2)}`, 'ENOSPC');
    expect(await bench.read()).toMatchObject({ history: 'history-1', key: undefined });
    expect((await bench.read()).key).toMatch(/^[0-9a-f]{64}$/);
  });

  it('leaves files alone that are not its own, and removes what it did not finish', async () => {
    const bench = new Bench();
    await bench.disk.change('lock', 0, bytes('me'));
    await bench.disk.change(`${segmentName(7)}.tmp`, 0, bytes('half'));
    await (await bench.open())[Symbol.asyncDispose]();
    expect(await bench.disk.plain.list()).toEqual([SEGMENT_1, 'lock']);
  });

  it('checks its options', async () => {
    const bench = new Bench();
    await expect(bench.open({ maxBatchBytes: 0 })).rejects.toMatchObject({
      details: { option: 'maxBatchBytes' },
    });
    await expect(bench.open({ preallocateBytes: -1 })).rejects.toMatchObject({
      details: { option: 'preallocateBytes' },
    });
    await expect(bench.open({ retryMs: 0 })).rejects.toMatchObject({ details: { option: 'retryMs' } });
    expect(bench.isLocked).toBe(false);
  });

  it('refuses a format that it does not know', async () => {
    const bench = new Bench();
    await bench.filled('a');
    const head = (await bench.disk.content(SEGMENT_1)).slice(0, HEAD_BYTES);
    const view = new DataView(head.buffer);
    view.setUint32(8, 2, true);
    const { checksum } = await import('./checksum.ts');
    view.setUint32(12, checksum(head.subarray(16), checksum(head.subarray(0, 12))), true);
    await bench.disk.change(SEGMENT_1, 0, head);
    await expect(bench.open()).rejects.toThrow(UnknownLogFormatError);
    await expect(bench.open()).rejects.toMatchObject({ version: 2, file: SEGMENT_1 });
  });
});

describe('an end that is not clean', () => {
  it('is cut off, with a warning that names file and offset', async () => {
    const bench = new Bench();
    await bench.filled('a', 'b');
    const whole = await bench.disk.content(SEGMENT_1);
    const end = whole.findLastIndex((byte) => byte !== 0) + 1;
    for (let cut = end - 1; ; cut--) {
      // As if only so much of the last frame had arrived.
      await (await bench.disk.plain.open(SEGMENT_1)).truncate(cut);
      const { batches } = await bench.read();
      if (batches.length < 2) break;
    }
    expect(contents(await bench.read())).toBe('1 a');
    const [warning] = bench.logged.filter((line) => line.startsWith('warn'));
    expect(warning).toMatch(/^warn cut a torn tail.*"file":"0000000000000001.log","offset":\d+/);
  });

  it('is made clean once and for all', async () => {
    const bench = new Bench();
    await bench.filled('a');
    const { length } = await bench.disk.content(SEGMENT_1);
    await bench.disk.change(SEGMENT_1, length, bytes('what a longer frame left behind'));
    expect(contents(await bench.read())).toBe('1 a');
    expect(contents(await bench.read())).toBe('1 a');
    expect(bench.logged.filter((line) => line.startsWith('warn'))).toHaveLength(1);
  });

  it('of zeros is what is preallocated, and nothing to speak of', async () => {
    const bench = new Bench();
    await bench.filled('a');
    await (await bench.disk.plain.open(SEGMENT_1)).truncate(5_000);
    expect(contents(await bench.read())).toBe('1 a');
    expect(bench.logged).toEqual([]);
  });

  it('is written again and synced before anybody reads it', async () => {
    const bench = new Bench();
    await bench.filled('a');
    bench.disk.done.length = 0;
    const log = await bench.open();
    expect(bench.disk.done).toEqual([
      `truncate ${SEGMENT_1}`,
      `write ${SEGMENT_1}`,
      `sync ${SEGMENT_1}`,
      'sync names',
    ]);
    await log[Symbol.asyncDispose]();
  });
});

describe('damage', () => {
  it('in the middle is refused with file and offset, and nothing is changed', async () => {
    const bench = new Bench();
    await bench.filled('a', 'b', 'c');
    const before = await bench.disk.content(SEGMENT_1);
    const offset = HEAD_BYTES + 24 + 24 + 10; // In the first batch; the term comes before.
    await bench.disk.change(SEGMENT_1, offset, Uint8Array.of((before[offset] ?? 0) ^ 1));
    const damaged = await bench.disk.content(SEGMENT_1);
    const error = await bench.open().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(DamagedLogError);
    expect(error).toMatchObject({ code: 'DAMAGED_LOG', file: SEGMENT_1, offset: HEAD_BYTES + 48 });
    expect(String(error)).toMatch(/"0000000000000001.log" at offset 176: .* a good one follows at offset/);
    expect(String(error)).toMatch(/backup.* empty directory.* look-ups report everything as lost/);
    expect(String(error)).toMatch(/leasehold manager recover/);
    expect(await bench.disk.content(SEGMENT_1)).toEqual(damaged);
    expect(bench.isLocked).toBe(false);
  });

  it('anywhere but in the last frame is noticed, or does no harm', async () => {
    const bench = new Bench();
    await bench.filled('first', 'second', 'third');
    const whole = await bench.disk.content(SEGMENT_1);
    const good = contents(await bench.read());
    const restored = await bench.disk.content(SEGMENT_1); // With more terms.
    const lastBatchAt = text(whole).indexOf('third');
    for (let offset = 0; offset < lastBatchAt; offset++) {
      await bench.disk.change(SEGMENT_1, offset, Uint8Array.of((restored[offset] ?? 0) ^ 0xff));
      const found = await bench.read().then(contents, (error: unknown) => error);
      if (found !== good) expect(found, `at ${offset}`).toBeInstanceOf(DamagedLogError);
      await bench.disk.change(SEGMENT_1, 0, restored);
      await (await bench.disk.plain.open(SEGMENT_1)).truncate(restored.length);
    }
  });

  it('of a snapshot is refused', async () => {
    const bench = new Bench();
    await compacted(bench);
    await bench.disk.change(snapshotName(2), HEAD_BYTES, bytes('S'));
    await expect(bench.open()).rejects.toMatchObject({ code: 'DAMAGED_LOG', file: snapshotName(2) });
  });

  it('is what a missing segment is', async () => {
    const bench = new Bench();
    await compacted(bench);
    await bench.disk.plain.remove(segmentName(2));
    await expect(bench.open()).rejects.toMatchObject({ code: 'DAMAGED_LOG', file: snapshotName(2) });
    await bench.disk.plain.open(segmentName(3));
    await expect(bench.open()).rejects.toMatchObject({ code: 'DAMAGED_LOG', file: segmentName(2) });
  });

  it('is what a snapshot of another log is', async () => {
    const [bench, other] = [new Bench(), new Bench()];
    await compacted(bench);
    other.surroundings.randomId(); // So that the other history has another name.
    await compacted(other);
    await bench.disk.change(snapshotName(2), 0, await other.disk.content(snapshotName(2)));
    await expect(bench.open()).rejects.toThrow(/of another log/);
  });
});

/** Batches 1 and 2 in a snapshot, 3 afterwards. */
async function compacted(bench: Bench): Promise<void> {
  await using log = await bench.open();
  const leadership = await elected(log);
  await append(leadership, 1, 'a');
  await append(leadership, 2, 'b');
  leadership.compact(bytes('snapshot'), 2);
  await append(leadership, 3, 'c');
  await turns();
}

describe('a compaction', () => {
  it('removes what the snapshot replaces only when the snapshot is durable', async () => {
    const bench = new Bench();
    await compacted(bench);
    expect(await bench.disk.plain.list()).toEqual([segmentName(2), snapshotName(2)]);
    const done = bench.disk.done.filter((what) => /snapshot|names|remove/.test(what));
    expect(done.slice(-7)).toEqual([
      `write ${snapshotName(2)}.tmp`,
      `write ${snapshotName(2)}.tmp`,
      `sync ${snapshotName(2)}.tmp`,
      `rename ${snapshotName(2)}`,
      'sync names',
      `remove ${SEGMENT_1}`,
      'sync names',
    ]);
    expect(contents(await bench.read())).toBe('[2 snapshot] 3 c');
  });

  it('for which there is no room leaves the log as it was, and it goes on', async () => {
    const bench = new Bench();
    for (const what of [`write ${segmentName(2)}.tmp`, `write ${snapshotName(2)}.tmp`])
      bench.disk.fail(what, 'ENOSPC');
    await compacted(bench);
    expect(contents(await bench.read())).toBe('1 a 2 b 3 c');
    expect(bench.logged.join()).toMatch(/error no room to compact the log/);
    expect((await bench.disk.plain.list()).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    expect(bench.fatal).toEqual([]);
  });

  it('that was interrupted is finished when the log is opened', async () => {
    const bench = new Bench();
    bench.disk.fail('remove', 'EIO');
    await compacted(bench);
    expect(bench.fatal).toHaveLength(1);
    expect(await bench.disk.plain.list()).toContain(SEGMENT_1);
    expect(contents(await bench.read())).toMatch(/^\[2 snapshot\]/);
    expect(await bench.disk.plain.list()).toEqual([segmentName(2), snapshotName(2)]);
  });
});

describe('a disk that is full', () => {
  it('refuses the batch, of which nothing is left, and takes others when there is room', async () => {
    const bench = new Bench();
    const log = await bench.open();
    const leadership = await elected(log);
    await append(leadership, 1, 'a');
    for (const code of ['ENOSPC', 'EDQUOT']) {
      bench.disk.fail(`write ${SEGMENT_1}`, code);
      expect(await append(leadership, 2, 'no room')).toBe('refused');
      expect(bench.disk.done.slice(-3)).toEqual([
        `write ${SEGMENT_1}`,
        `truncate ${SEGMENT_1}`,
        `sync ${SEGMENT_1}`,
      ]);
    }
    expect(bench.logged[0]).toMatch(/^error no room for the log: it refuses changes until there is/);
    expect(await append(leadership, 2, 'b')).toBe('appended');
    expect(log.stats).toMatchObject({ appends: 2, refused: 2 });
    await log[Symbol.asyncDispose]();
    expect(contents(await bench.read())).toBe('1 a 2 b');
  });

  it('elects when there is room', async () => {
    const bench = new Bench();
    const log = await bench.open({ retryMs: 1 });
    bench.disk.fail(`write ${SEGMENT_1}`, 'ENOSPC');
    expect((await elected(log)).term).toBeGreaterThan(1);
    await log[Symbol.asyncDispose]();
  });

  it('does without preallocated space', async () => {
    const bench = new Bench();
    const log = await bench.open({ preallocateBytes: 1 });
    const leadership = await elected(log);
    bench.disk.fail(`write ${SEGMENT_1}`, 'ENOSPC', 1); // The batch fits, the zeros afterwards do not.
    expect(await append(leadership, 1, 'a')).toBe('appended');
    expect(await append(leadership, 2, 'b')).toBe('appended');
    await log[Symbol.asyncDispose]();
    expect(contents(await bench.read())).toBe('1 a 2 b');
    expect(bench.logged).toEqual([]);
  });
});

describe('storage that fails', () => {
  it.each([
    ['a sync', 'sync 0', 'EIO'],
    ['a sync for lack of room', 'sync 0', 'ENOSPC'],
    ['a write', 'write 0', 'EIO'],
  ])('by %s ends it: it says so once, and answers nothing any more', async (_, what, code) => {
    const bench = new Bench();
    const log = await bench.open();
    const leadership = await elected(log);
    await append(leadership, 1, 'a');
    const outcomes: string[] = [];
    const told: string[] = [];
    log.follow({ reset: () => {}, batch: () => told.push('batch'), head: () => told.push('head') }).askHead();
    await turns();
    bench.disk.fail(what, code);
    leadership.append({ position: 2, bytes: bytes('b') }, (outcome) => outcomes.push(outcome));
    await turns();
    expect(bench.fatal).toHaveLength(1);
    expect(bench.fatal[0]).toMatchObject({ code: 'STORAGE_FAILED', file: SEGMENT_1 });
    const syncs = bench.disk.done.length;
    leadership.append({ position: 2, bytes: bytes('b') }, (outcome) => outcomes.push(outcome));
    leadership.compact(bytes('snapshot'), 1);
    leadership.resign();
    log.campaign('b', { elected: () => outcomes.push('elected'), extended: () => {}, deposed: () => {} });
    await turns();
    expect([outcomes, told, bench.fatal.length]).toEqual([[], ['head'], 1]);
    expect(bench.disk.done).toHaveLength(syncs);
    await log[Symbol.asyncDispose]();
    expect(bench.isLocked).toBe(false);
  });
});

describe('closing a log', () => {
  it('deposes the leader, finishes what was begun, and answers no more', async () => {
    const bench = new Bench();
    const log = await bench.open();
    const told: string[] = [];
    await new Promise<void>((resolve) =>
      log.campaign('a', {
        elected: (leadership) => {
          leadership.append({ position: 1, bytes: bytes('a') }, (outcome) => told.push(outcome));
          resolve();
        },
        extended: () => {},
        deposed: (reason) => told.push(reason),
      }),
    );
    await log[Symbol.asyncDispose]();
    expect(told).toEqual(['resigned']);
    expect(contents(await bench.read())).toBe('1 a');
  });
});

describe('raising the counters', () => {
  it('begins a new history, with terms and positions above those that were seen', async () => {
    const bench = new Bench();
    await bench.filled('a', 'b');
    const before = await bench.read();
    const raised = await raiseCounters({ ...bench.surroundings, term: 70, position: 900 });
    expect(raised).toEqual({ history: expect.not.stringMatching(before.history), term: 70, floor: 900 });
    const log = await bench.open();
    const leadership = await elected(log);
    expect(leadership.term).toBe(71);
    expect(leadership.start).toMatchObject({ history: raised.history, floor: 900 });
    expect(contents(leadership.start)).toBe('1 a 2 b');
    expect(() => leadership.append({ position: 900, bytes: bytes('c') }, () => {})).toThrow(/append at 900/);
    expect(await append(leadership, 901, 'c')).toBe('appended');
    leadership.compact(bytes('snapshot'), 901);
    await turns();
    await log[Symbol.asyncDispose]();
    expect(await bench.read()).toMatchObject({ history: raised.history, floor: 900, batches: [] });
  });

  it('never lowers anything, leaves a position out, and needs the lock', async () => {
    const bench = new Bench();
    await bench.filled('a', 'b');
    expect(await raiseCounters({ ...bench.surroundings, term: 0, position: 0 })).toMatchObject({
      term: 1,
      floor: 3,
    });
    bench.isLocked = true;
    await expect(raiseCounters({ ...bench.surroundings, term: 9, position: 9 })).rejects.toThrow('LOCKED');
    await expect(raiseCounters({ ...bench.surroundings, term: -1, position: 9 })).rejects.toMatchObject({
      details: { option: 'term' },
    });
  });
});
