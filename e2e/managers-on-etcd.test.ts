import { describe, expect, it } from 'vitest';
import { lostKeys } from './harness/losses.ts';
import { ManagersOnEtcd } from './harness/managers-on-etcd.ts';
import type { Program, ProgramEvent } from './harness/program.ts';
import { onScene, type Scene, type SceneOptions } from './harness/scene.ts';
import { nowMs, until } from './harness/time.ts';
import { Stopwatch } from '../leasehold/src/node/testing/undisturbed-time.ts';

/** The default durations, since etcd keeps no key for less than two seconds. */
const LEASE_MS = 9_000;
const LEADER_LEASE_MS = 2_000;

const ETCD: SceneOptions = { needs: ['etcd'] };

interface Pool {
  readonly owners: readonly Program[];
  readonly lookup: Program;
}

async function pool(scene: Scene, { addresses: managers }: ManagersOnEtcd): Promise<Pool> {
  const owners = await Promise.all(['a', 'b'].map((name) => scene.owner({ name, managers })));
  const lookup = await scene.lookup({ managers, syncEveryMs: 1_000, staleAfterMs: 30_000 });
  await scene.shared(...owners);
  return { owners, lookup };
}

/** Does something that nobody is to notice: every key stays where it is, under its number, and none is reported as lost. */
async function unnoticed(scene: Scene, { owners, lookup }: Pool, act: () => Promise<void>): Promise<void> {
  const before = await Promise.all(owners.map((owner) => scene.numbers(owner)));
  const said = owners.map(({ events }) => events.length);
  const beganMs = nowMs();
  await act();
  expect(await Promise.all(owners.map((owner) => scene.numbers(owner)))).toEqual(before);
  const since = scene.observer.tenures().filter(({ firstBeforeMs }) => firstBeforeMs > beganMs);
  expect(since, 'nobody got a key').toEqual([]);
  const lost = owners.flatMap(({ events }, index) =>
    events.slice(said[index]).filter(({ event }) => event === 'lost'),
  );
  expect(lost, 'nobody lost one').toEqual([]);
  expect([...lostKeys(lookup)]).toEqual([]);
  expect(scene.register.refused).toEqual([]);
}

const isComplaint = ({ event, level }: ProgramEvent): boolean =>
  event === 'log' && (level === 'warn' || level === 'error');

const complaints = (program: Program, after = 0): readonly string[] =>
  program.events
    .slice(after)
    .filter(isComplaint)
    .map(({ message, facts }) => `${String(message)} ${JSON.stringify(facts)}`);

describe('Managers that share an etcd', () => {
  it(
    'the leader is killed, again and again: another leads, and nobody notices',
    onScene(async (scene) => {
      const managers = await ManagersOnEtcd.open(scene);
      const there = await pool(scene, managers);
      await unnoticed(scene, there, async () => {
        for (let kill = 0; kill < 3; kill += 1) {
          const leader = await managers.leader();
          leader.signal('SIGKILL');
          await leader.ended;
          await managers.heard(2);
          await managers.again(leader);
        }
      });
      const c = await scene.owner({ name: 'c', managers: managers.addresses });
      await scene.shared(...there.owners, c);
    }, ETCD),
  );

  it(
    'the leader stands still past its lease and goes on: it has been replaced, knows it, and says nothing false',
    onScene(async (scene) => {
      const managers = await ManagersOnEtcd.open(scene);
      const there = await pool(scene, managers);
      const leader = await managers.leader();
      const { term } = await leader.ask('observe');
      await unnoticed(scene, there, async () => {
        leader.signal('SIGSTOP');
        await managers.heard(2, leader);
        leader.signal('SIGCONT');
        await leader.logged('deposed');
        await until('the old leader follows the other', async () => {
          const seen = await leader.ask('observe');
          return seen['role'] === 'standby' && Number(seen['term']) > Number(term) ? true : undefined;
        });
        await managers.heard(2);
      });
    }, ETCD),
  );

  it(
    'the leader is cut from etcd and from nobody else: it stops leading by its own clock, and owners go to the next',
    onScene(
      async (scene) => {
        const managers = await ManagersOnEtcd.open(scene, { isNetworked: true });
        const there = await pool(scene, managers);
        const leader = await managers.leader();
        await unnoticed(scene, there, async () => {
          await managers.cutFromEtcd(leader);
          await managers.heard(2, leader);
          // It cannot know of the other; but it has stopped to act, or the observer would see two owners in the end.
          expect(leader.events.filter(({ message }) => message === 'deposed')).toEqual([]);
          await managers.heal(leader);
          await leader.logged('deposed');
          await until('the old leader follows the other', async () => {
            const { position } = await (await managers.leader()).ask('observe');
            return (await leader.ask('observe'))['position'] === position ? true : undefined;
          });
        });
      },
      { needs: ['etcd', 'network namespaces'] },
    ),
  );

  it(
    'most of etcd is down for longer than a lease: leases run out safely, few words are lost on it, and all heals by itself',
    onScene(async (scene) => {
      const managers = await ManagersOnEtcd.open(scene);
      const { owners, lookup } = await pool(scene, managers);
      const [first, second] = managers.cluster.members;
      const spoken = [
        // That the lease has run out, and that it was taken up again.
        ...owners.map((program) => ({ program, after: program.events.length, mostLines: 2 })),
        // It is without a fresh answer for less than it can stand.
        { program: lookup, after: lookup.events.length, mostLines: 1 },
        // Each member of etcd, and that none answers.
        ...managers.programs.map((program) => ({ program, after: program.events.length, mostLines: 12 })),
      ];
      await Promise.all([first?.kill(), second?.kill()]);
      const sinceDown = new Stopwatch();
      await until('nobody holds anything', () =>
        owners.every((owner) => scene.observer.heldBy(owner).length === 0) ? true : undefined,
      );
      const { ms: lapsedMs, disturbedMs } = sinceDown;
      // Had the leader stopped to renew at once, they would have run out up to a renewal earlier.
      expect(lapsedMs, 'renewed for as long as the leader lease allowed').toBeGreaterThan(
        LEASE_MS - 500 - disturbedMs,
      );
      expect(lapsedMs, 'and not longer').toBeLessThan(LEASE_MS + LEADER_LEASE_MS + 500);

      await managers.cluster.heal();
      await managers.heard(2);
      await scene.shared(...owners);
      for (const { program, after, mostLines } of spoken) {
        const said = complaints(program, after);
        expect(said.length, `${program.name} said:\n${said.join('\n')}`).toBeLessThanOrEqual(mostLines);
      }
    }, ETCD),
  );

  it(
    'all are restarted, one after the other, and step down before: nobody notices, and only connections are spoken of',
    onScene(async (scene) => {
      const managers = await ManagersOnEtcd.open(scene);
      const there = await pool(scene, managers);
      const { programs } = managers;
      // Before that they waited to be let in, as the log was just begun.
      const everybody = [...there.owners, there.lookup].map((program) => ({
        program,
        after: program.events.length,
      }));
      await unnoticed(scene, there, async () => {
        for (const manager of programs) {
          const wasLeading = (await managers.leader()) === manager;
          expect(await manager.ask('stepDown')).toMatchObject({ hasSteppedDown: wasLeading });
          manager.signal('SIGTERM');
          expect(await manager.ended).toMatchObject({ code: 0 });
          await managers.heard(2);
          await managers.again(manager);
        }
      });
      for (const { program, after } of everybody) {
        const said = complaints(program, after);
        expect(
          said.filter((line) => !/^(not connected|connected again|connected at last) /.test(line)),
        ).toEqual([]);
        expect(said.length, said.join('\n')).toBeLessThanOrEqual(2 * programs.length);
      }
    }, ETCD),
  );
});
