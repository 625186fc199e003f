/**
 * A disk as the authors of Flease had it, which turns: the kernel lets some processes have no more of the disk than such a one could
 * do. Disks of today sync in a fraction of a millisecond, and then nobody notices what else is written.
 *
 *     ZooKeeper ─┐
 *     Flease ────┼──► a control group: so many writes a second, so many bytes ──► the disk of this machine
 *     the writer ┘
 *
 * It takes the right to make control groups, and the first version of them. Where either is missing the disk stays as it is, and
 * whoever reads the figures is told so.
 */

import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';

const WRITES_PER_SECOND = 150;
const MEGABYTES_PER_SECOND = 100;
const CONTROLLER = '/sys/fs/cgroup/blkio';
const REMOVE_TRIES_MAX = 50;
const REMOVE_PAUSE_MS = 20;

export class SlowDisk implements Disposable {
  /** What was done about the disk, for the conditions. */
  readonly told: string;
  #group: string | undefined;
  readonly #exit = (): void => this[Symbol.dispose]();

  private constructor(told: string, group?: string) {
    this.told = told;
    this.#group = group;
    process.prependListener('exit', this.#exit); // While its processes are still there.
  }

  /** From here on these processes have a slow disk under that directory. */
  static under(directory: string, pids: readonly number[]): SlowDisk {
    if (!existsSync(join(CONTROLLER, 'blkio.throttle.write_iops_device')) || process.getuid?.() !== 0) {
      return new SlowDisk('the disk of this machine as it is, for it takes root and blkio to make it slower');
    }
    const group = join(CONTROLLER, `leasehold-bench-${process.pid}`);
    mkdirSync(group);
    const device = deviceOf(directory);
    const limit = (what: string, most: number): void =>
      writeFileSync(join(group, `blkio.throttle.${what}`), `${device} ${most}`);
    limit('write_iops_device', WRITES_PER_SECOND);
    limit('write_bps_device', MEGABYTES_PER_SECOND * 1e6);
    move(pids, group);
    return new SlowDisk(
      `EMULATED: a disk of ${WRITES_PER_SECOND} writes and ${MEGABYTES_PER_SECOND} MB a second for all of them, idle and busy, as one that turns has; made so by a control group`,
      group,
    );
  }

  [Symbol.dispose](): void {
    process.off('exit', this.#exit);
    const group = this.#group;
    this.#group = undefined;
    if (group === undefined) return;
    const pids = readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean);
    move(pids.map(Number), CONTROLLER);
    remove(group);
  }
}

/** The kernel may need a moment until nobody is in it; and at the end of a process there is nothing to wait with but this. */
function remove(group: string): void {
  for (let tries = 1; ; tries += 1) {
    try {
      rmdirSync(group);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY' || tries === REMOVE_TRIES_MAX) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, REMOVE_PAUSE_MS);
    }
  }
}

const move = (pids: readonly number[], group: string): void => {
  for (const pid of pids) writeFileSync(join(group, 'cgroup.procs'), String(pid));
};

/** The disk, not the partition, under a directory: “major:minor”. */
function deviceOf(directory: string): string {
  const { dev } = statSync(directory);
  const major = (dev >> 8) & 0xfff;
  const minor = (dev & 0xff) | ((dev >> 12) & 0xfff00);
  const place = realpathSync(`/sys/dev/block/${major}:${minor}`);
  const disk = existsSync(join(place, 'partition')) ? dirname(place) : place;
  return readFileSync(join(disk, 'dev'), 'utf8').trim();
}
