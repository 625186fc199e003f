/**
 * Harm done to the files behind the log's back, where it must be noticed: anywhere but in the last
 * frame, which cannot be told from one that was never finished.
 */

import type { Storage } from '../../../runtime/runtime.ts';
import { DiskError } from '../../../sim/disk.ts';
import type { Random } from '../../../sim/random.ts';
import { readFile } from '../files.ts';
import { decodeFrame, decodeSegmentHead, HEAD_BYTES, historySeed, parseName } from '../format.ts';

/** Undoes it. */
export type Repair = () => Promise<void>;

/** Undefined if there is nothing that could be harmed. */
export async function damage(storage: Storage, random: Random): Promise<Repair | undefined> {
  const names = (await storage.list()).filter((name) => {
    const file = parseName(name);
    return file !== undefined && file.what !== 'temporary';
  });
  if (names.length === 0) return undefined;
  const name = random.pick(names);
  const content = await readFile(storage, name);
  const isLastSegment = name === names.filter((other) => other.endsWith('.log')).at(-1);
  const end = isLastSegment ? lastFrameAt(content) : contentEnd(content);
  if (end === 0) return undefined;
  const from = random.integer(0, end - 1);
  const to = random.chance(0.6) ? from + 1 : Math.min(end, from + random.integer(1, 600));
  const harmed = content.slice(from, to);
  const mode = random.integer(0, 2);
  for (let at = 0; at < harmed.length; at++) {
    harmed[at] = mode === 0 ? 0 : mode === 1 ? random.integer(0, 255) : (harmed[at] as number) ^ 0x10;
  }
  await write(storage, name, from, harmed);
  return async () => {
    if ((await storage.list()).includes(name)) await write(storage, name, from, content.slice(from, to));
  };
}

async function write(storage: Storage, name: string, offset: number, bytes: Uint8Array): Promise<void> {
  const file = await storage.open(name);
  for (;;) {
    await file.write(offset, bytes);
    try {
      await file.sync();
      break;
    } catch (error) {
      // A failure that was meant for the log, and did nothing but that it must be done again.
      if (!(error instanceof DiskError)) throw error;
    }
  }
  await file.close();
}

/** Where the last frame begins; the head counts as one. */
function lastFrameAt(content: Uint8Array): number {
  return framesOf(content).at(-2) ?? HEAD_BYTES;
}

function contentEnd(content: Uint8Array): number {
  return parseSegment(content) ? (framesOf(content).at(-1) ?? HEAD_BYTES) : content.length;
}

const parseSegment = (content: Uint8Array): boolean => typeof decodeSegmentHead(content) === 'object';

/** Where each frame begins, and where the last one ends. */
function framesOf(content: Uint8Array): readonly number[] {
  const head = decodeSegmentHead(content);
  const offsets = [HEAD_BYTES];
  if (head === undefined || typeof head === 'number') return offsets;
  const seed = historySeed(head.history);
  for (;;) {
    const frame = decodeFrame(content, offsets.at(-1) ?? 0, seed, 0);
    if (frame === undefined) return offsets;
    offsets.push(frame.end);
  }
}
