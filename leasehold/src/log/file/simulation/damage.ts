/**
 * Harm to the files behind the log's back, where the log must notice: anywhere but in the last frame, which cannot be
 * told from an unfinished one.
 */

import type { Storage } from '../../../runtime/runtime.ts';
import { DiskError } from '../../../sim/disk.ts';
import type { Random } from '../../../sim/random.ts';
import { readFile } from '../files.ts';
import { decodeFrame, decodeSegmentHead, HEAD_BYTES, historySeed, parseName } from '../format.ts';

/** Undoes the harm. */
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
  const frames = framesOf(content);
  const end = isLastSegment ? (frames.at(-2) ?? HEAD_BYTES) : (frames.at(-1) ?? content.length);
  const [from, to, how] = random.pick([
    () => [...part(random, end, 1), random.pick(HOW)] as const,
    () => [...part(random, end, random.integer(1, 600)), random.pick(HOW)] as const,
    // All frames from some frame on are gone, as if never written.
    () => [frames.length > 1 ? random.pick(frames.slice(0, -1)) : 0, end, HOW[0]] as const,
  ])();
  if (from >= to) return undefined;
  const harmed = content.slice(from, to);
  for (let at = 0; at < harmed.length; at++) harmed[at] = how(harmed[at] as number, random);
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
      // A failure that was meant for the log, with no effect but a repetition.
      if (!(error instanceof DiskError)) throw error;
    }
  }
  await file.close();
}

const HOW: readonly [
  (byte: number, random: Random) => number,
  ...((byte: number, random: Random) => number)[],
] = [() => 0, (byte) => byte ^ 0x10, (_, random) => random.integer(0, 255)];

function part(random: Random, end: number, length: number): readonly [from: number, to: number] {
  const from = random.integer(0, end - 1);
  return [from, Math.min(end, from + length)];
}

/** Where each frame of a segment begins, and where the last one ends; nothing for a snapshot. */
function framesOf(content: Uint8Array): readonly number[] {
  const head = decodeSegmentHead(content);
  if (head === undefined || typeof head === 'number') return [];
  const offsets = [HEAD_BYTES];
  const seed = historySeed(head.history);
  for (;;) {
    const frame = decodeFrame(content, offsets.at(-1) ?? 0, seed, 0);
    if (frame === undefined) return offsets;
    offsets.push(frame.end);
  }
}
