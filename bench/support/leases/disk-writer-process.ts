/**
 * Keeps the disk busy: some at a time write a chunk, sync, rest for the rest of their beat, and again.
 *
 * Or it does the same work and spares the disk: it writes as much to a file system that is kept in memory. Where all cores are in use
 * a writer takes time from whoever is measured; only what is lost besides is due to the disk.
 */

import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { nowMs, obey, pause, say, told } from '../processes/conversation.ts';

export interface DiskWriterConfig {
  readonly disk: string;
  readonly memory: string;
  readonly writers: number;
  readonly chunkBytes: number;
  /** A chunk of each writer, if where it writes to is quick enough. */
  readonly everyMs: number;
}

export interface Place {
  readonly on: 'disk' | 'memory';
}

export interface Written {
  readonly megabytesPerSecond: number;
}

/** Then it begins again at the front: the disk is to be busy, not full. */
const CHUNKS_MAX = 64;

const { disk, memory, writers, chunkBytes, everyMs } = told<DiskWriterConfig>();
const files = { disk: await filesIn(disk), memory: await filesIn(memory) };
const chunk = new Uint8Array(chunkBytes).fill(1);

let isBusy = false;
let chunks = 0;
let writing: Promise<unknown> = Promise.resolve();
let beganMs = 0;

/** Without a name: nothing is left of them when this process ends. */
async function filesIn(directory: string): Promise<readonly FileHandle[]> {
  const paths = Array.from({ length: writers }, (_, writer) =>
    join(directory, `leasehold-${process.pid}-${writer}`),
  );
  const opened = await Promise.all(paths.map((path) => open(path, 'wx')));
  await Promise.all(paths.map((path) => rm(path)));
  return opened;
}

async function write(file: FileHandle): Promise<void> {
  for (let place = 0; isBusy; place = (place + 1) % CHUNKS_MAX) {
    const fromMs = nowMs();
    await file.write(chunk, 0, chunk.length, place * chunkBytes);
    await file.sync();
    chunks += 1;
    await pause(Math.max(0, fromMs + everyMs - nowMs()));
  }
}

obey({
  begin: ({ on }: Place) => {
    isBusy = true;
    [chunks, beganMs] = [0, nowMs()];
    writing = Promise.all(files[on].map(write));
    return {};
  },
  end: async () => {
    isBusy = false;
    await writing;
    const seconds = (nowMs() - beganMs) / 1_000;
    return { megabytesPerSecond: (chunks * chunkBytes) / 1e6 / seconds };
  },
});
say('ready');
