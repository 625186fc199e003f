import { describe, expect, it } from 'vitest';
import { ElectedManagers } from './harness/elected-managers.ts';
import { toldOf } from './harness/losses.ts';
import type { Program } from './harness/program.ts';
import { JOINER, ReplacedManager } from './harness/replaced-manager.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { nowMs, until } from './harness/time.ts';

interface Pool {
  readonly owners: readonly Program[];
  readonly lookup: Program;
}

async function pool(
  scene: Scene,
  { addresses: managers }: Pick<ElectedManagers, 'addresses'>,
): Promise<Pool> {
  const owners = await Promise.all(['a', 'b'].map((name) => scene.owner({ name, managers })));
  await scene.shared(...owners);
  const lookup = await scene.lookup({ managers, syncEveryMs: 500, staleAfterMs: 60_000 });
  return { owners, lookup };
}

/** Everything was lost, and said to be; what is held since was given after the last of it had run out. */
async function beganAnew(scene: Scene, { owners, lookup }: Pool, failedMs: number): Promise<void> {
  await toldOf(lookup, scene.keys);
  await until('every key is held anew', () => (tenuresSince(scene, failedMs).size > 0 ? true : undefined));
  await scene.shared(...owners);
  wereToldOnce(scene, lookup, failedMs);

  const since = tenuresSince(scene, failedMs);
  const before = scene.observer.tenures().filter((tenure) => !since.has(tenure));
  const lastMs = Math.max(...before.map(({ lastAfterMs }) => lastAfterMs));
  const firstMs = Math.min(...[...since].map(({ firstBeforeMs }) => firstBeforeMs));
  expect(firstMs, 'no lease was given before all others had run out').toBeGreaterThan(lastMs);
  const numbersBefore = Math.max(...before.map(({ number }) => number));
  expect(Math.min(...[...since].map(({ number }) => number))).toBeGreaterThan(numbersBefore);
  expect(scene.register.refused).toEqual([]);
}

/**
 * The loss of everything is told once, and first. The new leader may admit an owner some milliseconds before the other: then that owner gets
 * all keys, and gives a part of them back when the other comes. That is a loss of these keys, told once; all of them go to the other owner.
 */
function wereToldOnce(scene: Scene, lookup: Program, failedMs: number): void {
  const [first, ...others] = lookup.events.filter(
    ({ event, heardMs }) => event === 'loss' && heardMs > failedMs,
  );
  expect(first, 'because another leads who knows of nothing').toMatchObject({
    why: 'history-changed',
    keys: scene.keys,
  });
  expect(others.filter(({ why }) => why !== 'reported')).toEqual([]);
  const givenBack = others.flatMap(({ keys }) => keys as readonly string[]);
  expect(givenBack, 'each key at most once').toEqual([...new Set(givenBack)]);
  expect(new Set(givenBack.flatMap((key) => scene.observer.holders(key))).size).toBeLessThanOrEqual(1);
}

const tenuresSince = (scene: Scene, beganMs: number) =>
  new Set(scene.observer.tenures().filter(({ firstBeforeMs }) => firstBeforeMs > beganMs));

describe('Managers that elect each other and keep nothing', () => {
  it(
    'the leader is killed: another leads, waits until all leases have run out, and everything is reported as lost',
    onScene(async (scene) => {
      const managers = await ElectedManagers.open(scene);
      const there = await pool(scene, managers);
      const leader = await managers.leader();
      const { term } = await leader.ask('observe');
      const killedMs = nowMs();
      leader.signal('SIGKILL');
      await leader.ended;
      const next = await managers.leader(leader);
      expect(Number((await next.ask('observe'))['term'])).toBeGreaterThan(Number(term));
      await beganAnew(scene, there, killedMs);
    }),
  );

  it(
    'the leader stands still past its lease and goes on: it has been replaced, knows it, and says nothing false',
    onScene(async (scene) => {
      const managers = await ElectedManagers.open(scene);
      const there = await pool(scene, managers);
      const leader = await managers.leader();
      const stoppedMs = nowMs();
      leader.signal('SIGSTOP');
      const next = await managers.leader(leader);
      leader.signal('SIGCONT');
      await leader.logged('deposed');
      await beganAnew(scene, there, stoppedMs);
      expect((await next.ask('observe'))['role']).toBe('leading');
      expect((await leader.ask('observe'))['role']).toBe('standby');
    }),
  );

  it(
    'one is replaced by another: it costs a change of leader, if the one that leads is restarted last',
    onScene(async (scene) => {
      const managers = await ReplacedManager.open(scene);
      const there = await pool(scene, managers);
      const leader = await managers.leader();
      const [leaver = '', stays = ''] = managers.others(leader);

      await managers.enter(JOINER, leaver);
      expect(await managers.end(stays)).toBe(0);
      await managers.enter(stays, leaver);
      expect(await managers.leader()).toBe(leader);
      expect(there.lookup.events.filter(({ event }) => event === 'loss')).toEqual([]);

      const endedMs = nowMs();
      expect(await managers.end(leader)).toBe(0);
      await managers.enter(leader, leaver);
      await managers.settled(JOINER, stays, leader);
      expect(await managers.end(leaver)).toBe(0);
      await beganAnew(scene, there, endedMs);
      expect([JOINER, stays, leader]).toContain(await managers.leader());
    }),
  );
});
