import { describe, expect, it } from 'vitest';
import { nodeRuntime } from '../../node/runtime.ts';
import { silent } from '../../runtime/logger.ts';
import type { Storage } from '../../runtime/runtime.ts';
import { memoryStorage } from '../memory/memory-storage.ts';
import { inMemory, type LogFailure } from './fence.ts';
import { recover } from './recovery.ts';
import { Writer } from './writer.ts';

/** A writer whose syncs end when they are told to. */
async function bench() {
  const plain = memoryStorage();
  const ends: (() => void)[] = [];
  let inFlight = 0;
  const most = { inFlight: 0 };
  const storage: Storage = {
    ...plain,
    open: async (name) => {
      const file = await plain.open(name);
      return {
        size: () => file.size(),
        read: (offset, length) => file.read(offset, length),
        write: (offset, bytes) => file.write(offset, bytes),
        truncate: (size) => file.truncate(size),
        close: () => file.close(),
        isInPlace: () => file.isInPlace(),
        sync: () => {
          if (name.endsWith('.tmp')) return file.sync();
          inFlight += 1;
          most.inFlight = Math.max(most.inFlight, inFlight);
          return new Promise((resolve) =>
            ends.push(() => {
              inFlight -= 1;
              resolve();
            }),
          );
        },
      };
    },
  };
  const found = await recover({ storage, logger: silent, randomId: () => 'h', beginAbove: () => 0 });
  const place = { isThere: true };
  const lock = { ...inMemory, path: 'data', isInPlace: async () => place.isThere };
  const fatal: string[] = [];
  const onFatal = (error: LogFailure): void => void fatal.push(error.code);
  const newKey = (): string => 'ab'.repeat(32);
  const options = {
    ...{
      storage,
      runtime: nodeRuntime(),
      logger: silent,
      preallocateBytes: 0,
      onFatal,
      lock,
      newKey,
    },
  };
  const writer = new Writer(options, found);
  const told: string[] = [];
  const submit = (...positions: readonly number[]): void => {
    for (const position of positions) {
      const bytes = new TextEncoder().encode(`${position}`);
      writer.submit({ kind: 'batch', term: 0, position, bytes }, (outcome) =>
        told.push(`${position} ${outcome}`),
      );
    }
  };
  const endSync = async (): Promise<void> => {
    ends.shift()?.();
    await turns();
  };
  return { writer, told, submit, endSync, most, syncs: () => ends.length, storage: plain, place, fatal };
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await undefined;
};

describe('a writer', () => {
  it('does not acknowledge what was synced to a directory that was replaced meanwhile', async () => {
    const { told, submit, endSync, place, fatal } = await bench();
    submit(1);
    await turns();
    await endSync();
    submit(2);
    await turns();
    place.isThere = false; // Somebody moved the directory away and put a copy in its place, without 2.
    await endSync();
    expect(told).toEqual(['1 written']);
    expect(fatal).toEqual(['LOG_REPLACED']);
  });

  it('has everything that is submitted in one turn ride on one sync', async () => {
    const { writer, told, submit, endSync, syncs } = await bench();
    submit(1, 2, 3);
    await turns();
    expect([told, syncs()]).toEqual([[], 1]);
    await endSync();
    expect(told).toEqual(['1 written', '2 written', '3 written']);
    expect(writer.stats.syncs).toBe(1);
  });

  it('has one sync in flight, and everything that comes meanwhile ride on the next', async () => {
    const { writer, told, submit, endSync, most } = await bench();
    submit(1);
    await turns();
    submit(2, 3);
    await turns();
    submit(4);
    await turns();
    await endSync();
    expect(told).toEqual(['1 written']);
    await endSync();
    expect(told).toEqual(['1 written', '2 written', '3 written', '4 written']);
    expect([most.inFlight, writer.stats.syncs]).toEqual([1, 2]);
  });

  it('begins a new segment between what was submitted before and after', async () => {
    const { writer, told, submit, endSync, storage } = await bench();
    submit(1);
    const rotated = writer.rotate();
    submit(2);
    await turns();
    await endSync();
    expect(await rotated).toBe('written');
    await turns();
    await endSync();
    expect(told).toEqual(['1 written', '2 written']);
    expect(writer.segments.map(({ sequence, lastPosition }) => [sequence, lastPosition])).toEqual([
      [1, 1],
      [2, 2],
    ]);
    expect(await storage.list()).toHaveLength(2);
  });

  it('does not begin one after an empty one', async () => {
    const { writer } = await bench();
    expect(await writer.rotate()).toBe('written');
    expect(writer.segments).toHaveLength(1);
  });
});
