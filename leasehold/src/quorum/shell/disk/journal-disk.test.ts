import { describe, expect, it } from 'vitest';
import { memoryStorage } from '../../../log/memory/memory-storage.ts';
import type { Storage } from '../../../runtime/runtime.ts';
import { SimDisk } from '../../../sim/disk.ts';
import { World } from '../../../sim/world.ts';
import { initialConfiguration } from '../../core/configuration.ts';
import type { Frame } from '../../core/journal.ts';
import { recover } from '../../core/recovery.ts';
import type { SnapshotPart } from '../../core/snapshot.ts';
import { frame as frameForm } from '../../wire/frames.ts';
import { JournalDisk, type OpenedJournal } from './journal-disk.ts';

const NONE: Frame = {
  ...{ promised: 33, chosen: 0, committed: 0, lastBefore: 0, holdMs: 0, first: 1 },
  ...{ votes: 0, heard: new Map() },
  ...{ truncateTo: Number.POSITIVE_INFINITY, entries: [], base: undefined },
};
const frame = (chosen: number): Frame => ({ ...NONE, chosen, lastBefore: chosen });
/** A frame that needs nothing from before but a snapshot as of this slot, if there is one. */
const based = (chosen: number, base: number): Frame => ({ ...frame(chosen), base });

const configuration = initialConfiguration([], { mode: 'all' });

/** A snapshot whose values name the slot. */
const partsOf = (slot: number, count = 3): SnapshotPart[] =>
  Array.from({ length: count }, (_, first) => ({
    ...{ slot, configuration, first, sessions: [], isLast: first === count - 1 },
    values: [{ key: `k${first}`, value: new TextEncoder().encode(`${slot}`), revision: 1 }],
  }));

const SEGMENT_BYTES = 600;
const ID = 'a~1';
/** Without the frame that every journal begins with, which promises nothing. */
async function open(storage: Storage, id = ID): Promise<OpenedJournal> {
  const opened = await JournalDisk.open({
    ...{ storage, id, path: '/a', isInPlace: async () => true, wallMs: () => 7 },
    ...{ segmentBytes: SEGMENT_BYTES, zerosBytes: 256 },
  });
  return { ...opened, frames: opened.frames.filter((each) => each === 'damaged' || each.promised > 0) };
}

async function written(...frames: readonly Frame[]): Promise<Storage> {
  const storage = memoryStorage();
  await JournalDisk.create(storage, ID, '/a', 7);
  const { disk } = await open(storage);
  for (const each of frames) await disk.write(each);
  await disk.close();
  return storage;
}

async function damage(storage: Storage, name: string, at: (size: number) => number): Promise<void> {
  const file = await storage.open(name);
  await file.write(at(await file.size()), Uint8Array.of(0xaa));
}

const marks = ({ frames }: OpenedJournal): (number | 'damaged')[] =>
  frames.map((each) => (each === 'damaged' ? each : each.chosen));
const journals = async (storage: Storage): Promise<string[]> =>
  (await storage.list()).filter((name) => name.endsWith('.journal'));

const drain = async (): Promise<void> => {
  for (let turns = 0; turns < 20; turns += 1) await undefined;
};

/** After a restart nothing is missing, and a snapshot is whole and of one slot. */
function checkRecovery({ frames, snapshots }: OpenedJournal): void {
  const recovery = recover(frames, snapshots);
  if (recovery.kind !== 'recovered') throw new Error('votes are lost');
  const { missing, snapshot } = recovery.state;
  expect(missing).toEqual([]);
  const values = snapshot?.state.values ?? [];
  expect(values.map(({ value }) => new TextDecoder().decode(value))).toEqual(
    values.map(() => String(snapshot?.slot)),
  );
  expect(values).toHaveLength(snapshot === undefined ? 0 : 3);
}

const FRAME_BYTES = 72;
const FIRST = '0000000000000001.journal';
/** Head, and the bytes of small frames with their own heads and record heads; the first of them says nothing. */
const frameAt = (place: number): number => 32 + FRAME_BYTES * (place + 1);

describe('the journal on files', () => {
  it('gives back the frames that were written, and goes on behind them', async () => {
    const storage = await written(frame(1), frame(2));
    const { disk } = await open(storage);
    const entries = frameForm.samples().flatMap((sample) => sample.entries);
    const full = { ...frame(2), first: 3, entries, heard: new Map([['a~1f', 40]]) };
    await disk.write(full);
    const { frames } = await open(storage);
    expect(frames).toStrictEqual([frame(1), frame(2), full]);
  });

  it('begins new segments as it grows, and reads them in order', async () => {
    const many = Array.from({ length: 40 }, (_, at) => frame(at));
    const storage = await written(...many);
    expect((await journals(storage)).length).toBeGreaterThan(3);
    expect((await open(storage)).frames).toStrictEqual(many);
  });

  it('deletes what came before a frame that has every entry', async () => {
    const storage = await written(
      ...Array.from({ length: 30 }, (_, at) => frame(at)),
      based(30, 0),
      frame(31),
    );
    expect((await journals(storage)).length).toBe(1);
    expect(marks(await open(storage))).toEqual([30, 31]);
  });

  it('keeps everything until the snapshot of a frame has its name, and deletes it then', async () => {
    const storage = await written(frame(1), frame(2));
    const { disk } = await open(storage);
    await disk.write(based(3, 2));
    const [first, second, last] = partsOf(2) as [SnapshotPart, SnapshotPart, SnapshotPart];
    await disk.save(first);
    await disk.write(frame(4));
    await disk.save(second);
    const before = await open(storage);
    expect(marks(before)).toEqual([1, 2, 3, 4]);
    expect(before.snapshots.size).toBe(0);
    await disk.save(last);
    const after = await open(storage);
    expect(marks(after)).toEqual([3, 4]);
    expect(after.snapshots.get(2)?.state.values.map(({ key }) => key)).toEqual(['k0', 'k1', 'k2']);
    expect(await journals(storage)).toHaveLength(1);
  });

  it('keeps a received snapshot apart from the journal until a frame says that it counts', async () => {
    const storage = await written(frame(1), frame(2));
    const { disk } = await open(storage);
    for (const part of partsOf(40)) await disk.save(part);
    expect((await open(storage)).snapshots.size).toBe(0);
    await disk.write(based(40, 40));
    const after = await open(storage);
    expect([marks(after), [...after.snapshots.keys()]]).toEqual([[40], [40]]);
  });

  it('begins a snapshot anew where another one was not finished', async () => {
    const storage = await written(frame(1));
    const { disk } = await open(storage);
    for (const part of partsOf(5, 9).slice(0, 7)) await disk.save(part);
    await disk.write(based(6, 6));
    for (const part of partsOf(6, 2)) await disk.save(part);
    expect((await open(storage)).snapshots.get(6)?.state.values).toHaveLength(2);
  });

  it('refuses a directory whose snapshot is damaged: the state is nowhere else in it', async () => {
    const storage = await written(frame(1));
    const { disk } = await open(storage);
    await disk.write(based(2, 2));
    for (const part of partsOf(2)) await disk.save(part);
    await damage(storage, '0000000000000002.snapshot', (size) => size - 40);
    await expect(open(storage)).rejects.toMatchObject({ code: 'DATA_LOST' });
  });

  it('cuts off the end that a crash left, and writes the next frame in its place', async () => {
    const storage = await written(frame(1), ...Array.from({ length: 5 }, (_, at) => frame(at + 2)));
    const file = await storage.open(FIRST);
    await file.write(512, new Uint8Array((await file.size()) - 512)); // The frame that crosses the sector is the last.
    const opened = await open(storage);
    expect(opened.tail).toMatchObject({ state: 'torn', frames: 6 });
    expect(marks(opened)).toEqual([1, 2, 3, 4, 5]);
    await opened.disk.write(frame(9));
    const again = await open(storage);
    expect(marks(again)).toEqual([1, 2, 3, 4, 5, 9]);
    expect(again.tail).toMatchObject({ state: 'clean', frames: 7 });
  });

  it('leaves nothing of a torn frame behind a shorter one that is written in its place', async () => {
    const storage = await written(frame(1));
    const file = await storage.open(FIRST);
    const sectors = new Uint8Array(1_024).fill(0xaa); // Of a long frame, whose first sector did not arrive.
    await file.write(512, sectors);
    const opened = await open(storage);
    expect(opened.tail.state).toBe('torn');
    await opened.disk.write(frame(2));
    const again = await open(storage);
    expect(marks(again)).toEqual([1, 2]);
    expect(again.tail).toMatchObject({ state: 'clean', tornBytes: 0 });
  });

  it('leaves nothing of a frame for which the disk had no room, and writes the next one in its place', async () => {
    const storage = await written(frame(1));
    let isFull = false;
    const full: Storage = {
      ...storage,
      open: async (name) => {
        const file = await storage.open(name);
        return {
          isInPlace: () => file.isInPlace(),
          size: () => file.size(),
          read: (offset, bytes) => file.read(offset, bytes),
          truncate: (bytes) => file.truncate(bytes),
          sync: () => file.sync(),
          close: () => file.close(),
          write: async (offset, bytes) => {
            await file.write(offset, isFull ? bytes.subarray(0, bytes.length / 2) : bytes);
            if (isFull) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
          },
        };
      },
    };
    const { disk } = await open(full);
    isFull = true;
    await expect(disk.write({ ...frame(2), heard: new Map([['b', 7]]) })).rejects.toThrow(
      'no space left on device',
    );
    const meanwhile = await open(storage);
    expect([marks(meanwhile), meanwhile.tail]).toMatchObject([[1], { state: 'clean', tornBytes: 0 }]);
    isFull = false;
    await disk.write(frame(2));
    const after = await open(storage);
    expect([marks(after), after.tail.state]).toEqual([[1, 2], 'clean']);
  });

  it('leaves the end as it is until there is a frame to write: the time of the last write is part of what is known', async () => {
    const storage = await written(frame(1), frame(2));
    await damage(storage, FIRST, () => frameAt(1) + 30);
    const file = await storage.open(FIRST);
    const before = await file.read(0, await file.size());
    await open(storage);
    expect(await file.read(0, await file.size())).toEqual(before);
  });

  it.each([
    ['its mark', 0],
    ['its length', 5],
    ['its index', 8],
    ['the number of its records', 16],
    ['its checksum', 20],
    ['its time', 40],
    ['its content', 60],
    ['the zeros behind it', 80],
  ])('takes no last frame for torn of which %s was changed: it may have been acknowledged', async (_, at) => {
    const storage = await written(frame(1), frame(2));
    await damage(storage, FIRST, () => frameAt(1) + at);
    const opened = await open(storage);
    expect(opened.tail.state).toBe('damaged');
    expect(marks(opened)).toEqual(at < FRAME_BYTES ? [1] : [1, 2]);
    await opened.disk.write(frame(3));
    expect((await open(storage)).tail.state).toBe('clean');
  });

  it('says where a frame is damaged that has a valid one behind it', async () => {
    const storage = await written(frame(1), frame(2), frame(3));
    await damage(storage, FIRST, () => frameAt(1) + 30);
    expect(marks(await open(storage))).toEqual([1, 'damaged', 3]);
  });

  it('takes a missing segment for damage, unless a later frame has everything', async () => {
    const many = Array.from({ length: 30 }, (_, at) => frame(at));
    const storage = await written(...many);
    await storage.remove(FIRST);
    const opened = await open(storage);
    expect(marks(opened)[0]).toBe('damaged');
    expect(recover(opened.frames)).toMatchObject({ kind: 'recovered' });
    await opened.disk.write(based(30, 0));
    expect(marks(await open(storage))).toEqual([30]);
  });

  it('refuses a later segment whose first frame is lost: its name was given after that frame was durable', async () => {
    const storage = await written(frame(1), based(2, 0));
    await damage(storage, '0000000000000002.journal', () => 60);
    await expect(open(storage)).rejects.toMatchObject({ code: 'DATA_LOST' });
  });

  it.each([
    ['emptied', 0],
    ['cut behind its head', 32],
    ['filled with zeros', undefined],
  ])('refuses an only segment that was %s: a new journal has a frame', async (_, size) => {
    const storage = await written(frame(1), frame(2));
    const file = await storage.open(FIRST);
    if (size === undefined) await file.write(0, new Uint8Array(await file.size()));
    else await file.truncate(size);
    await expect(open(storage)).rejects.toMatchObject({ code: 'DATA_LOST' });
  });

  it.each([
    ['magic', 0],
    ['format', 8],
    ['number', 16],
    ['first index', 24],
  ])('takes a wrong %s in the head of a segment for damage', async (_, at) => {
    const storage = await written(...Array.from({ length: 10 }, (__, chosen) => frame(chosen)));
    await damage(storage, '0000000000000002.journal', () => at);
    expect(marks(await open(storage))).toContain('damaged');
  });

  it('takes no frame of another directory for one of its own', async () => {
    const storage = await written(frame(1), frame(2));
    await expect(open(storage, 'b~2')).rejects.toMatchObject({ code: 'DATA_LOST' });
  });

  it('keeps everything that was synced through power cuts at any instant', async () => {
    let cuts = 0;
    let torn = 0;
    for (let seed = 1; seed <= 60; seed += 1) {
      const world = new World({ seed });
      const disk = new SimDisk(world, { name: 'disk' });
      let synced = 0;
      let saving: Promise<void> = Promise.resolve();
      for (let life = 0; life < 4; life += 1) {
        const storage = disk.mount((complete) => complete());
        const play = (async () => {
          if (!(await JournalDisk.isThere(storage))) {
            if (life > 0 && synced > 0) throw new Error('the journal is gone');
            await JournalDisk.create(storage, ID, '/a', 7);
          }
          const opened = await open(storage);
          const last = marks(opened).at(-1) ?? 0;
          expect(last).toBeGreaterThanOrEqual(synced);
          expect(opened.tail.state).not.toBe('damaged');
          if (opened.tail.state === 'torn') torn += 1;
          checkRecovery(opened);
          for (let at = Number(last) + 1; ; at += 1) {
            const isOwn = at % 14 === 0;
            if (at % 7 === 0) {
              const parts = async (): Promise<void> => {
                for (const part of partsOf(at)) await opened.disk.save(part);
              };
              // The own state is written beside the frames; a received one is there before the frame.
              if (isOwn) saving = saving.then(parts);
              else await (saving = saving.then(parts));
              await opened.disk.write(based(at, at));
            } else await opened.disk.write(frame(at));
            synced = at;
          }
        })();
        let failure: unknown;
        play.catch((error: unknown) => {
          failure = error;
        });
        const untilMs = world.trueMs + world.random.fork(`cut ${life}`).between(5, 120);
        await world.runAsync({ untilMs, drain });
        if (failure !== undefined) throw failure;
        disk.crash();
        saving = Promise.resolve();
        cuts += 1;
      }
      expect(synced).toBeGreaterThan(0);
    }
    expect(cuts).toBe(240);
    expect(torn).toBeGreaterThan(0);
  });
});
