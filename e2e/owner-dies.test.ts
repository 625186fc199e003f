import { describe, expect, it } from 'vitest';
import type { Program } from './harness/program.ts';
import { lostKeys, toldOf } from './harness/losses.ts';
import { HOLD_MS, LEASE_MS, onScene, type Scene } from './harness/scene.ts';
import { nowMs } from './harness/time.ts';

const restart = async (
  scene: Scene,
  owner: Program,
  join: Parameters<Scene['owner']>[0],
): Promise<Program> => {
  owner.signal('SIGKILL');
  await owner.ended;
  return scene.owner(join);
};

describe('an owner that is killed', () => {
  it(
    'is followed by another once its hold is over, and every look-up is told',
    onScene(async (scene) => {
      const { managers } = await scene.manager();
      const a = await scene.owner({ name: 'a', managers });
      const b = await scene.owner({ name: 'b', managers });
      const lookups = await Promise.all([1, 2, 3].map(() => scene.lookup({ managers })));
      await scene.shared(a, b);
      const lost = scene.observer.heldBy(a);
      const kept = scene.observer.heldBy(b);

      a.signal('SIGKILL');
      const killedMs = nowMs();
      await a.ended;
      await scene.shared(b);
      for (const lookup of lookups) {
        await toldOf(lookup, lost);
        expect([...lostKeys(lookup)].sort()).toEqual([...lost].sort());
      }

      // The lease ran from a report sent before the kill, the hold from the answer to it.
      const renewEveryMs = LEASE_MS / 6;
      for (const key of lost) {
        const next = scene.observer.tenures(key).at(-1);
        expect(next?.owner).toBe('b');
        expect(next?.firstBeforeMs).toBeGreaterThan(killedMs + HOLD_MS - 2 * renewEveryMs);
      }
      for (const key of kept)
        expect(
          scene.observer
            .tenures(key)
            .map(({ owner }) => owner)
            .at(-1),
        ).toBe('b');
      const owners = (await lookups[0]?.ask('find', { keys: lost }))?.['owners'] as { name: string }[];
      expect(new Set(owners.map(({ name }) => name))).toEqual(new Set(['b']));
    }),
  );

  it(
    'and is back within a second under its name is another, and what it held is told as lost',
    onScene(async (scene) => {
      const { managers } = await scene.manager();
      const a = await scene.owner({ name: 'a', managers });
      const lookup = await scene.lookup({ managers });
      await scene.shared(a);
      const before = await scene.numbers(a);
      const again = await restart(scene, a, { name: 'a', managers });
      expect(again.ready['incarnation']).not.toBe(a.ready['incarnation']);

      await toldOf(lookup, scene.keys);
      await scene.shared(again);
      for (const [key, number] of await scene.numbers(again)) {
        expect(number).toBeGreaterThan(before.get(key) ?? Number.NaN);
      }
    }),
  );

  it(
    'and is back under its name with the lock that it had is followed at once, long before its lease is over',
    onScene(async (scene) => {
      const leaseMs = 60_000;
      const { managers } = await scene.manager({ defaults: { leaseMs } });
      const join = { name: 'a', managers, lockFile: scene.path('a.lock') };
      const a = await scene.owner(join);
      const lookup = await scene.lookup({ managers });
      await scene.shared(a);
      const killedMs = nowMs();
      const again = await restart(scene, a, join);
      await toldOf(lookup, scene.keys);
      await scene.shared(again);
      expect(nowMs() - killedMs).toBeLessThan(leaseMs / 2);
    }),
  );
});
