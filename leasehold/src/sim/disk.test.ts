import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StorageFile } from '../runtime/runtime.ts';
import { later } from '../runtime/time.ts';
import { SimDisk, type DiskOptions } from './disk.ts';
import { SimProcess } from './process.ts';
import { World } from './world.ts';

const drain = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (read: Uint8Array): string => new TextDecoder().decode(read);

class Bench {
  readonly world: World;
  readonly disk: SimDisk;

  constructor(options: Partial<DiskOptions> = {}, seed = 1) {
    this.world = new World({ seed });
    this.disk = new SimDisk(this.world, { name: 'disk', ...options });
  }

  /** Starts an operation on the disk, and lets the world run until the operation is done. */
  async done<T>(work: Promise<T>): Promise<T> {
    let settled = false;
    const watched = work.finally(() => (settled = true));
    watched.catch(() => undefined);
    for (let i = 0; i < 100 && !settled; i++) {
      await this.world.runAsync({ untilMs: this.world.trueMs + 10_000, drain });
    }
    if (!settled) throw new Error('it never completed');
    return watched;
  }

  open(name: string): Promise<StorageFile> {
    return this.done(this.disk.open(name));
  }

  /** The file as a program sees it; undefined if missing. */
  async content(name: string): Promise<string | undefined> {
    if (!(await this.done(this.disk.list())).includes(name)) return undefined;
    const file = await this.open(name);
    return text(await this.done(file.read(0, 1e6)));
  }

  async write(name: string, content: string, sync: 'synced' | 'unsynced'): Promise<void> {
    const file = await this.open(name);
    await this.done(file.write(0, bytes(content)));
    if (sync === 'unsynced') return;
    await this.done(file.sync());
    await this.done(this.disk.syncDirectory());
  }
}

describe('a disk, while the power is on', () => {
  it('reads what was written, synced or not', async () => {
    const bench = new Bench();
    const file = await bench.open('log');
    await bench.done(file.write(0, bytes('hello world')));
    await bench.done(file.write(6, bytes('there')));
    expect(text(await bench.done(file.read(0, 100)))).toBe('hello there');
    expect(text(await bench.done(file.read(6, 2)))).toBe('th');
    expect(await bench.done(file.read(50, 2))).toHaveLength(0);
    expect(await bench.done(file.size())).toBe(11);
  });

  it('shortens, lengthens with zeros, and fills holes with zeros', async () => {
    const bench = new Bench();
    const file = await bench.open('log');
    await bench.done(file.write(0, bytes('abcdef')));
    await bench.done(file.truncate(2));
    await bench.done(file.truncate(4));
    await bench.done(file.write(6, bytes('g')));
    expect(text(await bench.done(file.read(0, 100)))).toBe('ab\0\0\0\0g');
  });

  it('lists, renames over, and removes', async () => {
    const bench = new Bench();
    await bench.write('b', 'old', 'unsynced');
    await bench.write('a', 'new', 'unsynced');
    expect(await bench.done(bench.disk.list())).toEqual(['a', 'b']);
    await bench.done(bench.disk.rename('a', 'b'));
    expect(await bench.done(bench.disk.list())).toEqual(['b']);
    expect(await bench.content('b')).toBe('new');
    await bench.done(bench.disk.remove('b'));
    expect(await bench.done(bench.disk.list())).toEqual([]);
  });

  it('says what is wrong in the codes of Node', async () => {
    const bench = new Bench();
    await expect(bench.done(bench.disk.rename('x', 'y'))).rejects.toMatchObject({
      code: 'ENOENT',
      file: 'x',
    });
    await expect(bench.done(bench.disk.remove('x'))).rejects.toMatchObject({ code: 'ENOENT' });
    const file = await bench.open('log');
    await bench.done(file.close());
    await expect(bench.done(file.size())).rejects.toMatchObject({ code: 'EBADF' });
    await expect(bench.done(file.sync())).rejects.toMatchObject({ code: 'EBADF' });
  });

  it('is full at its capacity: what fits of a write is there all the same, and room can be made', async () => {
    const bench = new Bench({ capacityBytes: 10 });
    const file = await bench.open('log');
    await bench.done(file.write(0, bytes('12345678')));
    await expect(bench.done(file.write(8, bytes('90123')))).rejects.toMatchObject({
      code: 'ENOSPC',
      retryable: true,
    });
    expect(await bench.content('log')).toBe('1234567890');
    await bench.done(file.write(0, bytes('x'))); // Overwriting existing bytes needs no room.
    await expect(bench.done(file.truncate(11))).rejects.toMatchObject({ code: 'ENOSPC' });
    await bench.done(file.truncate(2));
    await bench.done(file.write(2, bytes('345')));
    expect(bench.disk.usedBytes).toBe(5);
  });

  it('does not mind that the caller uses its buffer again at once', async () => {
    const bench = new Bench();
    const file = await bench.open('log');
    const buffer = bytes('mine');
    const written = file.write(0, buffer);
    buffer.fill(0);
    await bench.done(written);
    expect(await bench.content('log')).toBe('mine');
  });

  it('takes true time, and for a slow sync a long time', async () => {
    const bench = new Bench({ delayMs: [1, 1], syncMs: [10, 10], slowSyncMs: [500, 500] });
    const times: number[] = [];
    const work = async (): Promise<void> => {
      const file = await bench.disk.open('log');
      times.push(bench.world.trueMs);
      await file.sync();
      times.push(bench.world.trueMs);
      bench.disk.slowSyncChance = 1;
      await file.sync();
      times.push(bench.world.trueMs);
    };
    await bench.done(work());
    expect(times).toEqual([1, 11, 511]);
  });
});

describe('a disk whose power was cut', () => {
  /** How often each content was found, over many seeds. */
  async function found(
    seeds: number,
    prepare: (bench: Bench) => Promise<void>,
    name = 'log',
  ): Promise<Map<string | undefined, number>> {
    const outcomes = new Map<string | undefined, number>();
    for (let seed = 1; seed <= seeds; seed++) {
      const bench = new Bench({ sectorBytes: 4 }, seed);
      await prepare(bench);
      bench.disk.crash();
      const content = await bench.content(name);
      outcomes.set(content, (outcomes.get(content) ?? 0) + 1);
    }
    return outcomes;
  }

  it('has what was synced, always', async () => {
    expect([...(await found(50, (bench) => bench.write('log', 'hello', 'synced'))).keys()]).toEqual([
      'hello',
    ]);
  });

  it('may have lost a file whose directory was not synced, even if the file was', async () => {
    const outcomes = await found(50, async (bench) => {
      const file = await bench.open('log');
      await bench.done(file.write(0, bytes('hello')));
      await bench.done(file.sync());
    });
    expect(new Set(outcomes.keys())).toEqual(new Set(['hello', undefined]));
  });

  it('may have kept any of the sectors that were not synced, but each of them whole', async () => {
    const outcomes = await found(400, async (bench) => {
      await bench.write('log', 'aaaabbbbcccc', 'synced');
      await bench.write('log', 'AAAABBBBCCCC', 'unsynced');
    });
    const all = ['aaaa', 'AAAA'].flatMap((one) =>
      ['bbbb', 'BBBB'].flatMap((two) => ['cccc', 'CCCC'].map((three) => one + two + three)),
    );
    expect([...outcomes.keys()].toSorted()).toEqual(all.toSorted());
  });

  it('may have lengthened a file without the bytes', async () => {
    const outcomes = await found(400, async (bench) => {
      await bench.write('log', 'aaaa', 'synced');
      const file = await bench.open('log');
      await bench.done(file.write(4, bytes('bbbbcccc')));
    });
    expect(new Set(outcomes.keys())).toEqual(
      new Set(['aaaa', 'aaaabbbbcccc', 'aaaa\0\0\0\0\0\0\0\0', 'aaaabbbb\0\0\0\0', 'aaaa\0\0\0\0cccc']),
    );
  });

  it('may have written back something in between', async () => {
    const outcomes = await found(400, async (bench) => {
      await bench.write('log', '1111', 'synced');
      for (const value of ['2222', '3333']) await bench.write('log', value, 'unsynced');
    });
    expect(new Set(outcomes.keys())).toEqual(new Set(['1111', '2222', '3333']));
  });

  it('has a rename wholly or not at all, and surely once the directory was synced', async () => {
    const replace = async (bench: Bench): Promise<void> => {
      await bench.write('log', 'old', 'synced');
      const file = await bench.open('log.new');
      await bench.done(file.write(0, bytes('new')));
      await bench.done(file.sync());
      await bench.done(bench.disk.rename('log.new', 'log'));
    };
    expect(new Set((await found(100, replace)).keys())).toEqual(new Set(['old', 'new']));
    const durably = async (bench: Bench): Promise<void> => {
      await replace(bench);
      await bench.done(bench.disk.syncDirectory());
    };
    expect([...(await found(100, durably)).keys()]).toEqual(['new']);
  });

  it('may bring back a file that was removed', async () => {
    const outcomes = await found(100, async (bench) => {
      await bench.write('log', 'old', 'synced');
      await bench.done(bench.disk.remove('log'));
    });
    expect(new Set(outcomes.keys())).toEqual(new Set(['old', undefined]));
  });

  it('does not bring back by a slow sync of the directory what was removed since', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const bench = new Bench({ syncMs: [1, 1], slowSyncMs: [500, 500] }, seed);
      const work = async (): Promise<void> => {
        await bench.disk.open('log');
        bench.disk.slowSyncChance = 1;
        const slow = bench.disk.syncDirectory();
        bench.disk.slowSyncChance = 0;
        await bench.disk.syncDirectory();
        await bench.disk.remove('log');
        await bench.disk.syncDirectory();
        await slow;
      };
      await bench.done(work());
      bench.disk.crash();
      expect(await bench.done(bench.disk.list())).toEqual([]);
    }
  });

  it('never completes what was under way', async () => {
    const bench = new Bench();
    const file = await bench.open('log');
    let settled = 0;
    for (const work of [file.write(0, bytes('x')), file.sync(), bench.disk.syncDirectory()]) {
      work.finally(() => (settled += 1)).catch(() => undefined);
    }
    bench.disk.crash();
    file
      .size()
      .finally(() => (settled += 1))
      .catch(() => undefined);
    await bench.world.runAsync({ untilMs: 1e5, drain });
    expect(settled).toBe(0);
  });

  it('has every byte that was synced and not written to again', async () => {
    const command = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({ do: fc.constant('write' as const), at: fc.nat(40), length: fc.nat(20) }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('truncate' as const), at: fc.nat(60) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('sync' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.array(command, { minLength: 5, maxLength: 40, size: 'max' }),
        async (seed, commands) => {
          const bench = new Bench({ sectorBytes: 8 }, seed);
          await bench.write('log', '', 'synced');
          let file = await bench.open('log');
          // The value of each byte after a power cut; undefined where the byte was touched since the sync.
          let durable: (number | undefined)[] = [];
          let size = 0;
          let stamp = 0;
          /** A write may change all touched sectors: they are written whole, with the other bytes. */
          const touch = (from: number, to: number): void => {
            for (let i = from; i < to && i < durable.length; i++) durable[i] = undefined;
          };
          for (const command of [...commands, { do: 'crash' as const }]) {
            if (command.do === 'write') {
              stamp = (stamp % 250) + 1;
              const end = command.at + command.length;
              await bench.done(file.write(command.at, new Uint8Array(command.length).fill(stamp)));
              touch(command.at, end);
              if (command.length > 0) size = Math.max(size, end);
            } else if (command.do === 'truncate') {
              await bench.done(file.truncate(command.at));
              touch(command.at, Number.POSITIVE_INFINITY);
              size = command.at;
            } else if (command.do === 'sync') {
              await bench.done(file.sync());
              durable = [...(await bench.done(file.read(0, 1_000)))];
            } else {
              bench.disk.crash();
              file = await bench.open('log');
              const read = await bench.done(file.read(0, 1_000));
              durable.forEach((byte, i) => {
                if (byte !== undefined) expect(read[i], `byte ${i}`).toBe(byte);
              });
              size = read.length;
              durable = [...read];
            }
            expect(await bench.done(file.size())).toBe(size);
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('a sync that fails', () => {
  it('says EIO, and a second one succeeds although the bytes are not there', async () => {
    const contents = new Set<string | undefined>();
    for (let seed = 1; seed <= 30; seed++) {
      const bench = new Bench({}, seed);
      await bench.write('log', 'old', 'synced');
      const file = await bench.open('log');
      await bench.done(file.write(0, bytes('new')));
      bench.disk.failNextSync();
      await expect(bench.done(file.sync())).rejects.toMatchObject({ code: 'EIO', file: 'log' });
      await bench.done(file.sync());
      expect(await bench.content('log')).toBe('new');
      bench.disk.crash();
      contents.add(await bench.content('log'));
    }
    expect(contents).toEqual(new Set(['old', 'new']));
  });

  it('may be one of a directory', async () => {
    const lists = new Set<string>();
    for (let seed = 1; seed <= 30; seed++) {
      const bench = new Bench({}, seed);
      await bench.open('log');
      bench.disk.failNextSync();
      await expect(bench.done(bench.disk.syncDirectory())).rejects.toMatchObject({ code: 'EIO' });
      await bench.done(bench.disk.syncDirectory());
      bench.disk.crash();
      lists.add((await bench.done(bench.disk.list())).join());
    }
    expect(lists).toEqual(new Set(['', 'log']));
  });

  it('comes as often as it was told to', async () => {
    const bench = new Bench({ syncFailChance: 0.3 });
    const file = await bench.open('log');
    for (let i = 0; i < 300; i++) await bench.done(file.sync().catch(() => undefined));
    expect(bench.disk.counts.syncs).toBe(300);
    expect(bench.disk.counts.failedSyncs / 300).toBeCloseTo(0.3, 1);
  });
});

describe('a disk under a process', () => {
  it('answers only while that incarnation runs, but finishes what it was asked to do', async () => {
    const bench = new Bench({ delayMs: [10, 10] });
    const { world, disk } = bench;
    const seen: string[] = [];
    const process = new SimProcess(world, {
      name: 'p',
      start: (runtime, incarnation) => {
        const storage = runtime.storage(disk);
        const work = async (): Promise<void> => {
          const file = await storage.open('log');
          seen.push(
            `${Math.round(world.trueMs)} incarnation ${incarnation} opened, size ${await file.size()}`,
          );
          await file.write(0, bytes('hello'));
          seen.push(`${Math.round(world.trueMs)} incarnation ${incarnation} wrote`);
        };
        runtime.wakeAt(later(runtime.now(), 0), () => void work());
      },
    });
    process.start();
    world.at(5, () => process.pause(100)); // The open completes meanwhile.
    world.at(120, () => process.restart()); // The write is under way.
    await world.runAsync({ untilMs: 1_000, drain });
    expect(seen).toEqual([
      '105 incarnation 1 opened, size 0',
      '130 incarnation 2 opened, size 5',
      '150 incarnation 2 wrote',
    ]);
  });
});
