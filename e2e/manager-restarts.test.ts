import { describe, expect, inject, it } from 'vitest';
import { lostKeys } from './harness/losses.ts';
import { lastingPort } from '../leasehold/src/node/testing/lasting-port.ts';
import type { Program, ProgramEvent } from './harness/program.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { nowMs, pause, until } from './harness/time.ts';

/**
 * Forty hold the same promise, each at a random moment of a commit and eight of them while the log is read again. The long
 * variant looks for rarer moments, and for what builds up over many restarts.
 */
const KILLS = inject('long') ? 200 : 40;

describe('a Manager that is restarted on its data directory', () => {
  it(
    'takes no lease from anybody, and tells nobody of a loss',
    onScene(async (scene) => {
      const options = {
        store: { directory: scene.path('data') },
        listen: `127.0.0.1:${await lastingPort()}`,
      };
      const { manager, managers } = await scene.manager(options);
      const a = await scene.owner({ name: 'a', managers });
      const b = await scene.owner({ name: 'b', managers });
      const lookup = await scene.lookup({ managers, staleAfterMs: 20_000 });
      await scene.shared(a, b);
      const before = await Promise.all([a, b].map((owner) => scene.numbers(owner)));
      const { history, position } = await manager.ask('observe');

      const restartedMs = nowMs();
      manager.signal('SIGTERM');
      expect(await manager.ended).toMatchObject({ code: 0 });
      const { manager: again } = await scene.manager(options);
      await until('the Manager has heard everybody', async () => {
        const { heard, lookups } = await again.ask('observe');
        return heard === 2 && lookups === 1 ? true : undefined;
      });
      expect(await again.ask('observe')).toMatchObject({ role: 'leading', history });
      expect((await again.ask('observe'))['position']).toBeGreaterThan(Number(position));
      expect(await Promise.all([a, b].map((owner) => scene.numbers(owner)))).toEqual(before);
      for (const key of scene.keys) {
        const since = scene.observer.tenures(key).filter(({ firstBeforeMs }) => firstBeforeMs > restartedMs);
        expect(since).toEqual([]);
      }
      expect([...lostKeys(lookup)]).toEqual([]);

      const c = await scene.owner({ name: 'c', managers });
      await scene.shared(a, b, c);
    }),
  );

  it(
    `is killed in the middle of commits ${KILLS} times, and nothing that was said is taken back`,
    onScene(async (scene) => {
      const options = {
        ...{ store: { directory: scene.path('data') }, listen: `127.0.0.1:${await lastingPort()}` },
        ...{ defaults: { leaseMs: 60_000 } },
      };
      let { manager, managers } = await scene.manager(options);
      const { history } = await manager.ask('observe');
      const steady = await Promise.all(
        ['a', 'b'].map((name) => scene.owner({ name, managers, pool: 'steady' })),
      );
      // A busy machine may leave the look-up hardly a moment between two kills: being cut off is not what this test is about.
      const lookup = await scene.lookup({ managers, pool: 'steady', staleAfterMs: 600_000 });
      await scene.shared(...steady);
      const numbers = await Promise.all(steady.map((owner) => scene.numbers(owner)));
      const churn = await startChurn(scene, managers);

      for (let kill = 0; kill < KILLS; kill += 1) {
        // Most when commits follow each other; some while it still reads what the last one left.
        if (kill % 5 !== 0) {
          await manager.event(isCommitOfOwners, { called: 'that it committed something' });
          await pause(Math.random() * 40);
        } else await pause(100 + Math.random() * 150);
        manager.signal('SIGKILL');
        await manager.ended;
        manager = scene.startManager(options);
      }
      await manager.event('ready');

      expect(await manager.ask('observe')).toMatchObject({ role: 'leading', history });
      for (const [index, owner] of steady.entries()) {
        expect(await scene.numbers(owner)).toEqual(numbers[index]);
      }
      expect([...lostKeys(lookup)]).toEqual([]);
      await churnedWell(scene, churn, managers);
    }),
  );
});

const isCommitOfOwners = ({ message, facts }: ProgramEvent): boolean =>
  message === 'committed' && (facts as { records: string }).records !== 'opening';

interface Owned {
  readonly name: string;
  readonly incarnation: string;
}

const CHURN_KEYS = Array.from({ length: 8 }, (_, index) => `churned-${index}`);

async function startChurn(scene: Scene, managers: readonly string[]): Promise<Program> {
  const config = { managers, pool: 'churn', owners: 12, keys: CHURN_KEYS };
  const churn = scene.start({ name: 'churn', program: 'churn', config });
  await churn.event('ready');
  return churn;
}

/** Numbers only grew, none was given twice, and what was granted or left before is so at the end. */
async function churnedWell(scene: Scene, churn: Program, managers: readonly string[]): Promise<void> {
  const said = (event: string) => churn.events.filter((each) => each.event === event);
  expect(said('left').length, 'enough came and went to prove something').toBeGreaterThan(KILLS / 4);
  expect(said('failed')).toEqual([]);
  const latest = new Map<string, { number: number; incarnation: string }>();
  for (const grant of said('granted')) {
    const { key, number, incarnation } = grant as unknown as {
      key: string;
      number: number;
      incarnation: string;
    };
    const before = latest.get(key);
    latest.set(key, { number, incarnation });
    if (before === undefined) continue;
    expect(number, key).toBeGreaterThanOrEqual(before.number);
    if (number === before.number) expect(incarnation, key).toBe(before.incarnation);
  }
  await churn.ask('stop');
  const lookup = await scene.lookup({ managers, pool: 'churn' });
  const owners = async (): Promise<Owned[]> => {
    const found = await lookup.ask('find', { keys: CHURN_KEYS });
    return (found['owners'] as readonly (Owned | null)[]).filter((owner) => owner !== null);
  };
  const unheard = new Set(said('unheard').map(({ incarnation }) => incarnation));
  const gaveUp = new Set(said('gave-up').map(({ name }) => name));
  // Others a Manager may still take for members: until their holds are over they own what they had.
  const isExcused = ({ name, incarnation }: Owned): boolean => unheard.has(incarnation) || gaveUp.has(name);
  expect(
    (await owners()).filter((owner) => !isExcused(owner)),
    'whoever was told that it has left owns nothing',
  ).toEqual([]);
  await until('all holds are over', async () => ((await owners()).length === 0 ? true : undefined));
  // Not watched: the observer compares the owners of one pool.
  const last = scene.startOwner({ name: 'last', managers, pool: 'churn', keys: CHURN_KEYS });
  await last.event('ready');
  for (const key of CHURN_KEYS) {
    const number = await until(`the last one has ${key}`, () => scene.numberOf(last, key));
    expect(number, key).toBeGreaterThan(latest.get(key)?.number ?? 0);
  }
}
