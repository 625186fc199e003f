/**
 * The disk under the data of whoever writes: whether there is one, how long a sync takes, and somebody who keeps it busy.
 */

import { closeSync, fdatasyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Program } from '../processes/program.ts';
import { median } from '../processes/statistics.ts';
import type { Workshop } from '../processes/workshop.ts';
import type { DiskWriterConfig, Written } from './disk-writer-process.ts';

const TMPFS = 0x01_02_19_94;
const SYNCS = 50;
const SYNCED_BYTES = 4_096;

/** As the authors of Flease had it. */
export const CHUNK_BYTES: number = 512 * 1_024;
export const REST_MS = 7;

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
      ...{ directory: workshop.folder('disk-writer'), chunkBytes: CHUNK_BYTES, restMs: REST_MS },
    };
    const bundle = await workshop.bundle('leases/disk-writer-process');
    const program = workshop.start('who writes to the disk', bundle, config);
    await program.heard('ready');
    return new DiskLoad(program);
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** Does it while the disk is busy, and says how busy it was. */
  async during<T>(act: () => Promise<T>): Promise<{ readonly done: T; readonly written: Written }> {
    await this.#program.ask('begin');
    const done = await act();
    const written = await this.#program.ask<Written>('end');
    return { done, written };
  }
}
