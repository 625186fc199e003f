import { spawn } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { lastingPort } from '../leasehold/src/node/testing/lasting-port.ts';
import type { Program } from './harness/program.ts';
import { LEASE_MS, onScene, type Scene, SHORT } from './harness/scene.ts';
import { pause } from './harness/time.ts';
import { run } from './harness/tools.ts';

/** Owners with long addresses, each of which takes its room in the log. */
function comeAndGo(scene: Scene, managers: readonly string[]): Program {
  const config = { managers, pool: 'restless', owners: 6, keys: [], padding: 2_000 };
  return scene.start({ name: 'restless', program: 'churn', config });
}

/** From here on every sync of that process fails. */
async function failSyncs(scene: Scene, pid: number): Promise<void> {
  const inject = ['-e', 'trace=fdatasync,fsync', '-e', 'inject=fdatasync,fsync:error=EIO'];
  const strace = spawn('strace', ['-f', '-p', String(pid), '-o', scene.path('strace'), ...inject], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  scene.defer(() => void strace.kill('SIGKILL'));
  await new Promise<void>((resolve, reject) => {
    strace.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('attached')) resolve();
    });
    strace.once('close', () => reject(new Error('strace did not attach')));
  });
}

describe('a disk that cannot sync', () => {
  it(
    'ends the Manager, which says why and acknowledges nothing; the next one goes on with what was acknowledged',
    onScene(
      async (scene) => {
        const options = {
          store: { directory: scene.path('data') },
          listen: `127.0.0.1:${await lastingPort()}`,
        };
        const { manager, managers } = await scene.manager(options);
        const a = await scene.owner({ name: 'a', managers });
        await scene.shared(a);
        const before = await scene.numbers(a);

        await failSyncs(scene, manager.pid);
        const late = scene.startOwner({ name: 'late', managers });
        expect(await manager.event('failed')).toMatchObject({ code: 'STORAGE_FAILED', retryable: false });
        expect(await manager.ended).toMatchObject({ code: 1 });
        expect(String((await manager.event('failed'))['message'])).toMatch(
          /could not sync ".*EIO.*Look at the disk and at the kernel log/,
        );
        expect(late.events.filter(({ event }) => event === 'ready')).toEqual([]);

        await scene.manager(options);
        await late.event('ready');
        scene.observer.watch(late);
        await scene.shared(a, late);
        for (const [key, number] of await scene.numbers(a)) expect(number).toBe(before.get(key));
      },
      { needs: ['strace'] },
    ),
  );
});

describe('a disk that is full', () => {
  it(
    'refuses changes and says so; renewals go on; and when there is room again so does everything',
    onScene(
      async (scene) => {
        const directory = scene.path('small');
        await mkdir(directory);
        await run('mount', '-t', 'tmpfs', '-o', 'size=512k', 'leasehold', directory);
        scene.defer(() => run('umount', directory).then(() => {}));
        await writeFile(`${directory}/filler`, Buffer.alloc(400 * 1024));
        const { manager, managers } = await scene.manager({
          ...SHORT,
          store: { directory: `${directory}/data` },
        });
        const a = await scene.owner({ name: 'a', managers });
        await scene.shared(a);
        const before = await scene.numbers(a);

        const late = comeAndGo(scene, managers);
        await manager.logged('no room for the log');
        await pause(2 * LEASE_MS);
        expect(await scene.numbers(a)).toEqual(before);
        expect(manager.ending).toBeUndefined();
        const soFar = late.events.length;
        await pause(LEASE_MS / 3);
        expect(late.events.slice(soFar), 'nobody comes or goes').toEqual([]);

        await rm(`${directory}/filler`);
        await late.event('joined', { after: soFar });
        expect(await scene.numbers(a)).toEqual(before);
      },
      { needs: ['temporary file systems'] },
    ),
  );
});
