import { describe, expect, it } from 'vitest';
import { lostKeys } from './harness/losses.ts';
import { ManagersOnQuorum } from './harness/managers-on-quorum.ts';
import type { Program } from './harness/program.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { nowMs, until } from './harness/time.ts';
import { Stopwatch } from '../leasehold/src/node/testing/undisturbed-time.ts';

/** Of the default durations: how long owners are to survive without a leader. */
const LEADER_CHANGE_MS = 5_000;

interface Pool {
  readonly owners: readonly Program[];
  readonly lookup: Program;
}

async function pool(scene: Scene, { addresses: managers }: ManagersOnQuorum): Promise<Pool> {
  const owners = await Promise.all(['a', 'b'].map((name) => scene.owner({ name, managers })));
  const lookup = await scene.lookup({ managers, syncEveryMs: 1_000, staleAfterMs: 30_000 });
  await scene.shared(...owners);
  return { owners, lookup };
}

/** Does something that nobody is to notice: every key keeps owner and number, and none is reported as lost. */
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

describe('Managers that keep their log among themselves', () => {
  it(
    'the leader is killed and started again, twice: another leads in time, and nobody notices',
    onScene(async (scene) => {
      const managers = await ManagersOnQuorum.open(scene);
      const there = await pool(scene, managers);
      const withoutLeaderMs: number[] = [];
      await unnoticed(scene, there, async () => {
        for (let kill = 0; kill < 2; kill += 1) {
          const leader = await managers.leader();
          const sinceKill = new Stopwatch();
          leader.signal('SIGKILL');
          await leader.ended;
          await managers.leader(leader);
          withoutLeaderMs.push(sinceKill.ms);
          await managers.heard(2, leader);
          await managers.again(leader);
        }
      });
      expect(Math.max(...withoutLeaderMs), withoutLeaderMs.join(', ')).toBeLessThan(LEADER_CHANGE_MS);
      const c = await scene.owner({ name: 'c', managers: managers.addresses });
      await scene.shared(...there.owners, c);
    }),
  );

  it(
    'the leader stands still past its lease and goes on: it has been replaced, knows it, and says nothing false',
    onScene(async (scene) => {
      const managers = await ManagersOnQuorum.open(scene);
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
    }),
  );

  it(
    'a leader steps down, and one is ended in good order: another leads at once',
    onScene(async (scene) => {
      const managers = await ManagersOnQuorum.open(scene);
      const there = await pool(scene, managers);
      await unnoticed(scene, there, async () => {
        const leader = await managers.leader();
        expect(await leader.ask('stepDown')).toMatchObject({ hasSteppedDown: true });
        const next = await managers.leader(leader);
        next.signal('SIGTERM');
        await next.ended;
        await managers.heard(2, next);
      });
    }),
  );

  it(
    'all are killed at once and started again: every lease is as it was',
    onScene(async (scene) => {
      const managers = await ManagersOnQuorum.open(scene);
      const there = await pool(scene, managers);
      await unnoticed(scene, there, async () => {
        const killed = [...managers.programs];
        for (const program of killed) program.signal('SIGKILL');
        await Promise.all(killed.map(({ ended }) => ended));
        await Promise.all(killed.map((program) => managers.again(program)));
        await managers.heard(2);
      });
    }),
  );
});
