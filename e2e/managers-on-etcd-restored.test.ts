import { describe, expect, it } from 'vitest';
import { ManagersOnEtcd } from './harness/managers-on-etcd.ts';
import type { Program } from './harness/program.ts';
import { onScene, type Scene, type SceneOptions } from './harness/scene.ts';
import { until } from './harness/time.ts';

const ETCD: SceneOptions = { needs: ['etcd'] };

/** Two owners, of which etcd's backup knows, and a third that joined after it was made. */
async function pastABackup(scene: Scene): Promise<{ managers: ManagersOnEtcd; owners: readonly Program[] }> {
  const managers = await ManagersOnEtcd.open(scene);
  const join = (name: string): Promise<Program> => scene.owner({ name, managers: managers.addresses });
  const early = [await join('a'), await join('b')];
  await scene.shared(...early);
  await managers.whileEtcdIsDown(() => managers.backUp());
  await managers.heard(2);
  const owners = [...early, await join('c')];
  await scene.shared(...owners);
  return { managers, owners };
}

/** Says what a halted Manager said of it. */
async function halted(program: Program): Promise<string> {
  const said = await program.event(({ level, message }) => level === 'error' && message === 'halted', {
    called: 'that it halted',
  });
  expect(await program.ask('observe')).toMatchObject({ role: 'halted' });
  return JSON.stringify(said);
}

const nobodyHolds = (scene: Scene, owners: readonly Program[]): Promise<true> =>
  until('nobody holds anything', () =>
    owners.every((owner) => scene.observer.heldBy(owner).length === 0) ? true : undefined,
  );

describe('an etcd that was put back from a backup', () => {
  it(
    'is noticed by the Managers that have seen more: standbys halt, and the leader ends at its next extension',
    onScene(async (scene) => {
      const { managers, owners } = await pastABackup(scene);
      const leader = await managers.leader();
      await managers.whileEtcdIsDown(() => managers.restore());
      const standbys = managers.programs.filter((program) => program !== leader);
      for (const word of await Promise.all(standbys.map(halted))) {
        expect(word).toContain('leasehold manager recover');
      }
      // Its key was in the backup too, and nobody gives it anything to write; but it reads the head.
      const failed = await leader.event('failed');
      expect(failed).toMatchObject({ code: 'STORE_WENT_BACK', retryable: false });
      expect(failed['message']).toContain('leasehold manager recover');
      await nobodyHolds(scene, owners);
    }, ETCD),
  );

  it(
    'is noticed by Managers that were started since, when an owner shows what it was granted',
    onScene(async (scene) => {
      const { managers, owners } = await pastABackup(scene);
      for (const program of managers.programs) program.signal('SIGKILL');
      await Promise.all(managers.programs.map(({ ended }) => ended));
      await managers.whileEtcdIsDown(() => managers.restore());
      await Promise.all(managers.programs.map((program) => managers.again(program)));
      const first = await until('a Manager halts', async () => {
        for (const program of managers.programs) {
          if ((await program.ask('observe'))['role'] === 'halted') return program;
        }
        return undefined;
      });
      expect(await halted(first)).toContain('leasehold manager recover');
      await nobodyHolds(scene, owners);
    }, ETCD),
  );
});
