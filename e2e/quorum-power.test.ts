/**
 * Replicas that lose their power: bytes that were not synced are gone. Each replica has a file system of its own in an image. All of them are
 * stopped at one instant, and the images are copied: a copy has the bytes that had reached the disk, and nothing of the caches. Then the
 * processes are killed, and the copies take the places of the images.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, renameSync } from 'node:fs';
import process from 'node:process';
import { describe, expect, it, type TestContext } from 'vitest';
import { QuorumCell } from './harness/quorum-cell.ts';
import { QuorumLoad } from './harness/quorum-load.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { pause, until } from './harness/time.ts';

const NAMES = ['a', 'b', 'c'];
const CUTS = Number(process.env['QUORUM_POWER_CUTS'] ?? 3);
const LANES_PER_REPLICA = 3;

const works = (command: string, ...args: readonly string[]): boolean => spawnSync(command, args).status === 0;

function leaveOut(context: TestContext, why: string): never {
  if (process.env['CI'] === 'true') throw new Error(`${why}, and this must be tested in CI`);
  console.warn(`LEFT OUT: ${context.task.name}: ${why}`);
  return context.skip(why);
}

/** A file system in an image, which can be set back to the state of the disk at an instant. */
class Disk {
  readonly directory: string;
  readonly #image: string;
  readonly #mounted: string;

  constructor(scene: Scene, name: string) {
    this.#image = scene.path(`${name}.image`);
    this.#mounted = scene.path(`${name}.mounted`);
    this.directory = `${this.#mounted}/quorum`;
    mkdirSync(this.#mounted);
    execFileSync('truncate', ['-s', '64M', this.#image]);
  }

  make(): boolean {
    return works('mkfs.ext4', '-q', this.#image) && this.#mount();
  }

  copy(): void {
    execFileSync('cp', ['--sparse=always', this.#image, `${this.#image}.copy`]);
  }

  /** The copy takes the place of the image. */
  async goBack(): Promise<void> {
    await this.unmount();
    renameSync(`${this.#image}.copy`, this.#image);
    if (!this.#mount()) throw new Error('the copy cannot be mounted');
  }

  /** A process that looks through all mounts of this machine keeps the mount busy for a moment. */
  unmount(): Promise<true> {
    return until('the file system is not in use', () => (works('umount', this.#mounted) ? true : undefined));
  }

  #mount(): boolean {
    return works('mount', '-o', 'loop', this.#image, this.#mounted);
  }
}

describe('replicas that all lose their power under load', () => {
  it(`lose nothing that they acknowledged: the history over ${CUTS} cuts is linearizable`, (context) =>
    onScene(async (scene) => {
      const disks = new Map(NAMES.map((name) => [name, new Disk(scene, name)]));
      for (const disk of disks.values()) {
        if (!disk.make())
          leaveOut(context, 'no file system can be mounted from an image here (it takes root)');
        scene.defer(async () => void (await disk.unmount()));
      }
      const directoryOf = (name: string): string => disks.get(name)?.directory ?? '';
      const options = { leaseMs: 1_000, electionMs: 500 };
      const cell = await QuorumCell.running(scene, NAMES, options, directoryOf);
      const load = new QuorumLoad();
      const lanes = NAMES.flatMap((name) =>
        Array.from({ length: LANES_PER_REPLICA }, (_, at) => load.lane(`${name}${at}`, cell.client(name))),
      );
      for (let cut = 0; cut < CUTS; cut += 1) {
        const before = load.done;
        await until('calls are answered', () => (load.done > before + 200 ? true : undefined));
        await pause(Math.random() * 300);
        for (const name of NAMES) cell.program(name).signal('SIGSTOP');
        for (const disk of disks.values()) disk.copy();
        await Promise.all(NAMES.map((name) => cell.kill(name)));
        for (const disk of disks.values()) await disk.goBack();
        for (const name of NAMES) cell.start(name);
        await Promise.all(NAMES.map((name) => cell.program(name).event('ready')));
      }
      const last = load.done;
      await until('calls are answered after the last cut', () => (load.done > last + 200 ? true : undefined));
      load.isOver = true;
      await Promise.all(lanes);
      expect(load.verdict()).toEqual({ ok: true });
      console.log(`${CUTS} power cuts, ${load.done} calls answered`);
      for (const name of NAMES) await cell.kill(name);
    })(context));
});
