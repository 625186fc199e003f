import { describe, expect, it } from 'vitest';
import { memoryStorage } from '../../log/memory/memory-storage.ts';
import type { JournalTail } from './disk/journal-disk.ts';
import { type FilePlaces, isCopied, writePlace } from './disk/place.ts';
import { putFile } from '../../log/file/files.ts';
import { doubtOf } from './doubt.ts';

const SEGMENT = '0000000000000001.journal';
const NOW_MS = 100_000;
const TAIL: JournalTail = { segment: SEGMENT, frames: 40, writtenMs: NOW_MS, state: 'clean', tornBytes: 0 };
const PLACES: FilePlaces = { of: (name = '.') => name, modifiedMs: () => NOW_MS };

describe('a directory in its place', () => {
  it.each([
    ['is not in doubt if the journal is whole', {}, undefined],
    ['is not in doubt after a crash', { state: 'torn', tornBytes: 9 }, undefined],
    ['is in doubt if the end is damaged', { state: 'damaged', tornBytes: 9 }, 'damaged-end'],
    ['is in doubt if there were more frames', { frames: 39 }, 'older-journal'],
  ] as const)('%s, at the next start too, whatever is written meanwhile', async (_, tail, doubt) => {
    const storage = memoryStorage();
    await putFile(storage, SEGMENT, [Uint8Array.of(1)]);
    await writePlace(storage, PLACES, NOW_MS, TAIL.frames);
    expect(await isCopied(storage, PLACES)).toBe(false);
    expect(await doubtOf(storage, PLACES, { ...TAIL, ...tail }, false)).toBe(doubt);
    expect(await isCopied(storage, PLACES)).toBe(doubt !== undefined);
  });
});
