import { describe, expect, it } from 'vitest';
import { toldOf } from './harness/losses.ts';
import { Network } from './harness/network.ts';
import type { Program } from './harness/program.ts';
import { HOLD_MS, LEASE_MS, onScene, type Scene, SHORT } from './harness/scene.ts';
import { nowMs, until } from './harness/time.ts';

async function networked(
  scene: Scene,
): Promise<{ network: Network; manager: Program; managers: readonly string[] }> {
  const network = await Network.open(scene, 'm', 'a', 'b');
  const options = { ...SHORT, listen: `${network.address('m')}:0`, insecure: true };
  const { manager, managers } = await scene.manager(options, { under: network.on('m') });
  return { network, manager, managers };
}

describe('a network that is cut in one direction', () => {
  it(
    'replies to an owner are lost: it stops by its lease, and nobody has its keys before the hold is over',
    onScene(
      async (scene) => {
        const { network, managers } = await networked(scene);
        const a = await scene.owner({ name: 'a', managers, under: network.on('a') });
        const b = await scene.owner({ name: 'b', managers, under: network.on('b') });
        const lookup = await scene.lookup({ managers, under: network.on('b') });
        await scene.shared(a, b);
        const keys = scene.observer.heldBy(a);

        await network.deafen('a', 'm');
        const cutMs = nowMs();
        await until('a holds nothing', () => (scene.observer.heldBy(a).length === 0 ? true : undefined));
        expect(nowMs() - cutMs).toBeGreaterThan(LEASE_MS / 2);
        await scene.shared(b);
        await toldOf(lookup, keys);
        for (const key of keys) {
          const tenures = scene.observer.tenures(key);
          const last = tenures.findLast(({ owner }) => owner === 'a');
          const next = tenures.find(({ number }) => number > (last?.number ?? Number.POSITIVE_INFINITY));
          expect(next?.owner).toBe('b');
          // The last answer that a heard was sent before the cut, and the hold began with it or later.
          expect(next?.firstBeforeMs).toBeGreaterThan(cutMs + HOLD_MS - LEASE_MS / 6 - 200);
          expect(next?.firstBeforeMs).toBeGreaterThan(last?.lastAfterMs ?? Number.POSITIVE_INFINITY);
        }

        await network.heal('a');
        await scene.shared(a, b);
      },
      { needs: ['network namespaces'] },
    ),
  );

  it(
    'a look-up that hears nothing reports everything as lost, and again what was lost meanwhile',
    onScene(
      async (scene) => {
        const { network, managers } = await networked(scene);
        const b = await scene.owner({ name: 'b', managers, under: network.on('b') });
        const lookup = await scene.lookup({ managers, under: network.on('a') });
        await scene.shared(b);
        await network.deafen('a', 'm');
        const loss = await lookup.event('loss');
        expect(loss).toMatchObject({ why: 'cut-off', keys: scene.keys });

        const before = lookup.events.length;
        b.signal('SIGKILL');
        await network.heal('a');
        await lookup.event(({ event, why }) => event === 'loss' && why === 'reported', { after: before });
      },
      { needs: ['network namespaces'] },
    ),
  );
});
