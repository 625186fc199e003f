/**
 * Replicas with full disks. Each replica has a temporary file system of its own, which is made as small as the files in it, and large
 * again: then there is no room, and then there is.
 */

import { mkdir, statfs } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { isCoded } from '../leasehold/src/runtime/errors.ts';
import type { QuorumClient } from '../leasehold/src/quorum/index.ts';
import { QuorumCell } from './harness/quorum-cell.ts';
import { QuorumLoad, text } from './harness/quorum-load.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { nowMs, until } from './harness/time.ts';
import { Stopwatch } from '../leasehold/src/node/testing/undisturbed-time.ts';
import { run } from './harness/tools.ts';

const NAMES = ['a', 'b', 'c'];
const LANES_PER_REPLICA = 2;
/** Long: a write that had to wait for the lease of a full replica would take longer than {@link AT_ONCE_MS}. */
const LEASE_MS = 5_000;
const AT_ONCE_MS = 3_000;
/** A founder may be a copy from before the founding: for one hold after the start, writes wait for every member (decision 0085). */
const START_MS = 1.2 * (LEASE_MS + 100);
const PADDING = 'x'.repeat(64 * 1_024);
const LARGE = '256m';

class SmallDisk {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  static async mounted(scene: Scene, name: string): Promise<SmallDisk> {
    const path = scene.path(`${name}.mounted`);
    await mkdir(path);
    await run('mount', '-t', 'tmpfs', '-o', `size=${LARGE}`, 'leasehold', path);
    scene.defer(() => run('umount', '--lazy', path).then(() => {}));
    return new SmallDisk(path);
  }

  get directory(): string {
    return `${this.#path}/quorum`;
  }

  /** The files are there and can be written; they cannot grow by a page. Files that have grown since they were measured do not fit. */
  async fill(): Promise<void> {
    for (let used = await this.#usedBytes(), isFull = false; !isFull; ) {
      const failed = await run('mount', '-o', `remount,size=${used}`, this.#path).then(
        () => undefined,
        (error: unknown) => ({ error }),
      );
      isFull = failed === undefined;
      const grown = await this.#usedBytes();
      if (failed !== undefined && grown <= used) throw failed.error;
      used = grown;
    }
  }

  async #usedBytes(): Promise<number> {
    const { blocks, bfree, bsize } = await statfs(this.#path);
    return (blocks - bfree) * bsize;
  }

  async empty(): Promise<void> {
    await run('mount', '-o', `remount,size=${LARGE}`, this.#path);
  }
}

interface Stage {
  readonly cell: QuorumCell;
  readonly load: QuorumLoad;
  readonly lanes: Promise<void>[];
  diskOf(name: string): SmallDisk;
}

async function staged(scene: Scene): Promise<Stage> {
  const disks = new Map<string, SmallDisk>();
  for (const name of NAMES) disks.set(name, await SmallDisk.mounted(scene, name));
  const diskOf = (name: string): SmallDisk => disks.get(name) as SmallDisk;
  const options = { leaseMs: LEASE_MS, electionMs: 500 };
  const cell = await QuorumCell.running(scene, NAMES, options, (name) => diskOf(name).directory);
  const load = new QuorumLoad();
  const lanes = NAMES.flatMap((name) =>
    Array.from({ length: LANES_PER_REPLICA }, (_, at) => load.lane(`${name}${at}`, cell.client(name))),
  );
  const startedMs = nowMs();
  await until('the hold of the start is over', () => (nowMs() - startedMs > START_MS ? true : undefined));
  return { cell, load, lanes, diskOf };
}

/** Writes until the replica has noticed that there is no room; its journal has some ahead of time. */
async function fill({ cell, diskOf }: Stage, name: string, client: QuorumClient): Promise<void> {
  const program = cell.program(name);
  const after = program.events.length;
  await diskOf(name).fill();
  let isFull = false;
  const noticed = program.logged('the disk is full', { after }).then(() => (isFull = true));
  while (!isFull) {
    const padded = client.put('padding', PADDING, { timeoutMs: 20_000 }).catch((error: unknown) => {
      if (!isCoded(error)) throw error;
    });
    await Promise.race([padded, noticed]);
  }
}

const readiness = async (cell: QuorumCell, name: string): Promise<{ status: number; text: string }> => {
  const answer = await fetch(`${String(cell.program(name).ready['url'])}/readyz`);
  return { status: answer.status, text: await answer.text() };
};

const isReady = (cell: QuorumCell, name: string): Promise<true> =>
  until(`${name} is ready`, async () => ((await readiness(cell, name)).status === 200 ? true : undefined));

const servesMore = ({ load }: Stage): Promise<true> => {
  const before = load.done;
  return until('calls are answered', () => (load.done > before + 50 ? true : undefined));
};

async function verdict({ load, lanes }: Stage): Promise<void> {
  load.isOver = true;
  await Promise.all(lanes);
  expect(load.verdict()).toEqual({ ok: true });
}

describe('a leader whose disk is full', () => {
  it(
    'says so, gives up leading and reading, and the others go on at once; with room again it goes on, too',
    onScene(
      async (scene) => {
        const stage = await staged(scene);
        const { cell, diskOf } = stage;
        const leader = await cell.leader();
        const other = NAMES.find((name) => name !== leader) as string;
        const client = await cell.client(other);
        await client.put('k', 'before');
        await servesMore(stage);

        await fill(stage, leader, client);
        const sinceFull = new Stopwatch();
        await client.put('k', 'after', { timeoutMs: 60_000 });
        const tookMs = sinceFull.ms;
        console.log(`a write took ${Math.round(tookMs)} ms after the disk of the leader was full`);
        expect(tookMs, 'nobody waits for the lease of the full replica').toBeLessThan(AT_ONCE_MS);
        expect(await readiness(cell, leader)).toMatchObject({ status: 503 });
        expect((await readiness(cell, leader)).text).toContain('the disk is full');
        const { isLeased, role, members } = await cell.program(leader).ask('status');
        expect({ isLeased, role }).toEqual({ isLeased: false, role: 'follower' });
        expect(members).toContainEqual(expect.objectContaining({ name: leader, isDiskFull: true }));
        await servesMore(stage);
        expect(text((await (await cell.client(leader)).get('k')).value)).toBe('after');

        await diskOf(leader).empty();
        await cell.program(leader).logged('there is room on the disk again');
        await isReady(cell, leader);
        await until('the replica reads locally again', async () =>
          (await cell.program(leader).ask('status'))['isLeased'] === true ? true : undefined,
        );
        await verdict(stage);
      },
      { needs: ['temporary file systems'] },
    ),
  );
});

describe('a majority whose disks are full', () => {
  it(
    'refuses writes with an error that says what to do, loses nothing, and goes on when there is room',
    onScene(
      async (scene) => {
        const stage = await staged(scene);
        const { cell, diskOf } = stage;
        const leader = await cell.leader();
        const full = NAMES.filter((name) => name !== leader);
        const client = await cell.client(leader);
        await client.put('quiet', 'before');
        await servesMore(stage);

        for (const name of full) await fill(stage, name, client);
        const refused = await client.put('late', 'x', { timeoutMs: 5_000 }).catch((error: unknown) => error);
        expect(refused).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
        expect(String(refused)).toContain('Make room there');
        for (const name of full)
          expect(await readiness(cell, name)).toMatchObject({
            status: 503,
            text: expect.stringContaining('the disk is full'),
          });
        expect(text((await client.get('quiet', { timeoutMs: 20_000 })).value)).toBe('before');

        // One of them ends, and cannot start: the life that begins must be written down first.
        const [killed = '', waiting = ''] = full;
        await cell.kill(killed);
        await diskOf(killed).fill();
        expect(await cell.start(killed).event('failed')).toMatchObject({ code: 'ENOSPC', retryable: true });
        await diskOf(waiting).empty();
        await cell.program(waiting).logged('there is room on the disk again');
        await client.put('late', 'y', { timeoutMs: 60_000 });
        await servesMore(stage);

        await diskOf(killed).empty();
        await cell.start(killed).event('ready');
        for (const name of NAMES) await isReady(cell, name);
        await servesMore(stage);
        await verdict(stage);
      },
      { needs: ['temporary file systems'] },
    ),
  );
});
