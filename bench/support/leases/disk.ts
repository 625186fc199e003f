/**
 * The disk under the data of whoever writes: whether there is one, how long a sync takes, and somebody who keeps it busy.
 */

import { closeSync, fdatasyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Program } from '../processes/program.ts';
import { median } from '../processes/statistics.ts';
import type { Workshop } from '../processes/workshop.ts';
import type { DiskWriterConfig, Place, Written } from './disk-writer-process.ts';

const TMPFS = 0x01_02_19_94;
const SYNCS = 50;
const SYNCED_BYTES = 4_096;

/** As the authors of Flease had it. */
export const CHUNK_BYTES: number = 512 * 1_024;
/** They had one; but the disk's queue is one for all, and three servers that sync would leave a single writer little of it. */
export const WRITERS = 4;
export const EVERY_MS = 60;
/** A file system that is kept in memory. */
const MEMORY = '/dev/shm';

/** A sync of memory is none, and would flatter whoever depends on it. */
export function assertRealDisk(): void {
  if (statfsSync(tmpdir()).type !== TMPFS) return;
  throw new Error(
    `${tmpdir()} is kept in memory; set TMPDIR to a directory on a disk, so that syncs are syncs`,
  );
}

/** What a small write takes until it is on the disk, with nothing else under way. */
export function syncMs(directory: string): number {
  const path = join(directory, 'sync');
  const file = openSync(path, 'w');
  const block = new Uint8Array(SYNCED_BYTES).fill(1);
  const times = Array.from({ length: SYNCS }, () => {
    const fromMs = performance.now();
    writeSync(file, block);
    fdatasyncSync(file);
    return performance.now() - fromMs;
  });
  closeSync(file);
  rmSync(path);
  return median(times);
}

/** Another program of the same machine, which writes a lot. */
export class DiskLoad {
  readonly #program: Program;

  private constructor(program: Program) {
    this.#program = program;
  }

  static async open(workshop: Workshop): Promise<DiskLoad> {
    const config: DiskWriterConfig = {
      ...{ disk: workshop.folder('disk-writer'), memory: MEMORY },
      ...{ writers: WRITERS, chunkBytes: CHUNK_BYTES, everyMs: EVERY_MS },
    };
    const bundle = await workshop.bundle('leases/disk-writer-process');
    const program = workshop.start('who writes to the disk', bundle, config);
    await program.heard('ready');
    return new DiskLoad(program);
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** Does it while somebody writes there, and says how much was written. */
  async during<T>(
    on: Place['on'],
    act: () => Promise<T>,
  ): Promise<{ readonly done: T; readonly written: Written }> {
    await this.#program.ask('begin', { on });
    const done = await act();
    const written = await this.#program.ask<Written>('end');
    return { done, written };
  }
}
