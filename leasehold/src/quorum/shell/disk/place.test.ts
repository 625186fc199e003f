import { beforeEach, describe, expect, it } from 'vitest';
import { putFile } from '../../../log/file/files.ts';
import { memoryStorage } from '../../../log/memory/memory-storage.ts';
import type { Storage } from '../../../runtime/runtime.ts';
import type { JournalTail } from './journal-disk.ts';
import { type FilePlaces, isCopied, isOlder, removePlace, writePlace } from './place.ts';

const FIRST = '0000000000000001.journal';
const SECOND = '0000000000000002.journal';
const THIRD = '0000000000000003.journal';
const NOW_MS = 100_000;
const FRAMES = 40;

/** Files that each have an inode of their own, anew whenever one is put there. */
class Files {
  readonly storage: Storage = memoryStorage();
  readonly inodes = new Map<string, string>();
  readonly places: FilePlaces = {
    of: (name = '.') => this.inodes.get(name) ?? 'the directory',
    modifiedMs: () => NOW_MS,
  };
  #inodes = 0;

  async put(name: string): Promise<void> {
    await putFile(this.storage, name, [Uint8Array.of(1)]);
    this.#inodes += 1;
    this.inodes.set(name, `inode ${this.#inodes}`);
  }

  remove(name: string): Promise<void> {
    return this.storage.remove(name);
  }

  isOlder(tail: Partial<JournalTail>): Promise<boolean> {
    const found = {
      segment: SECOND,
      frames: FRAMES,
      writtenMs: NOW_MS,
      state: 'clean',
      tornBytes: 0,
    } as const;
    return isOlder(this.storage, this.places, { ...found, ...tail });
  }

  get isCopied(): Promise<boolean> {
    return isCopied(this.storage, this.places);
  }
}

describe('the files of a replica', () => {
  let files: Files;
  beforeEach(async () => {
    files = new Files();
    for (const name of [FIRST, SECOND]) await files.put(name);
    await writePlace(files.storage, files.places, NOW_MS, FRAMES);
  });

  it('are in place after segments came and went', async () => {
    expect(await files.isCopied).toBe(false);
    await files.put(THIRD);
    await files.remove(FIRST);
    expect(await files.isCopied).toBe(false);
  });

  it('are copies if one that was noted is another file now', async () => {
    await files.put(SECOND);
    expect(await files.isCopied).toBe(true);
  });

  it('are copies if the note of them is damaged', async () => {
    const note = (segments: string): string =>
      `{"writtenMs":${NOW_MS},"directory":"the directory","segments":${segments}}`;
    for (const damaged of [note('null'), note('5'), note('{}'), 'null', '{']) {
      await putFile(files.storage, 'place', [new TextEncoder().encode(damaged)]);
      expect(await files.isCopied, damaged).toBe(true);
    }
  });

  it('are copies if none is left that was noted: a journal was restored beside a newer note', async () => {
    await files.put(THIRD);
    await files.remove(SECOND);
    await files.remove(FIRST);
    expect(await files.isCopied).toBe(true);
  });

  it('hold an older journal if it has fewer frames than were noted', async () => {
    expect(await files.isOlder({ frames: FRAMES + 2 })).toBe(false);
    expect(await files.isOlder({ frames: FRAMES - 1 })).toBe(true);
  });

  it('hold an older journal if the segment was written long after its last frame, unless a write was torn', async () => {
    const writtenMs = NOW_MS - 1_000;
    expect(await files.isOlder({ writtenMs })).toBe(true);
    expect(await files.isOlder({ writtenMs, state: 'torn' })).toBe(false);
    expect(await files.isOlder({ writtenMs: NOW_MS + 60_000 })).toBe(false); // A sync does not include the times.
  });

  it('count as copies after the note was removed', async () => {
    await removePlace(files.storage);
    expect(await files.isCopied).toBe(true);
    await removePlace(files.storage);
  });
});
