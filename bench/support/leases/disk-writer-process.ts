/** Keeps the disk busy: writes a chunk, syncs, rests for a while, and again. */

import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { nowMs, obey, pause, say, told } from '../processes/conversation.ts';

export interface DiskWriterConfig {
  readonly directory: string;
  readonly chunkBytes: number;
  readonly restMs: number;
}

export interface Written {
  readonly chunks: number;
  readonly megabytesPerSecond: number;
}

/** Then it begins again at the front: the disk is to be busy, not full. */
const CHUNKS_MAX = 512;

const { directory, chunkBytes, restMs } = told<DiskWriterConfig>();
const file = await open(join(directory, 'chunks'), 'w');
const chunk = new Uint8Array(chunkBytes).fill(1);

let isBusy = false;
let chunks = 0;
let writing: Promise<void> = Promise.resolve();
let beganMs = 0;

async function write(): Promise<void> {
  while (isBusy) {
    await file.write(chunk, 0, chunk.length, (chunks % CHUNKS_MAX) * chunkBytes);
    await file.sync();
    chunks += 1;
    await pause(restMs);
  }
}

obey({
  begin: () => {
    isBusy = true;
    [chunks, beganMs] = [0, nowMs()];
    writing = write();
    return {};
  },
  end: async () => {
    isBusy = false;
    await writing;
    const seconds = (nowMs() - beganMs) / 1_000;
    return { chunks, megabytesPerSecond: (chunks * chunkBytes) / 1e6 / seconds };
  },
});
say('ready');
