import { describe, expect, it } from 'vitest';
import type { ClockChoice } from './programs/clocks.ts';
import { lostKeys } from './harness/losses.ts';
import type { Program } from './harness/program.ts';
import { Relay } from './harness/relay.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { nowMs, pause, until } from './harness/time.ts';
import { falseClock, setOffset } from './harness/tools.ts';

interface Clocked {
  readonly a: Program;
  readonly b: Program;
  /** Between a and the Manager. */
  readonly relay: Relay;
  /** Held by a. */
  readonly key: string;
  readonly number: number;
}

/** Two owners, of which a has false clocks and can be cut off. */
async function clocked(
  scene: Scene,
  {
    leaseMs = 3_000,
    environment,
    clocks,
  }: { leaseMs?: number; environment: Record<string, string>; clocks?: ClockChoice },
): Promise<Clocked> {
  const { managers } = await scene.manager({ defaults: { leaseMs } });
  const relay = await Relay.open(managers[0] ?? '');
  scene.defer(() => relay.close());
  const a = await scene.owner({
    name: 'a',
    managers: [relay.address],
    environment,
    ...(clocks && { clocks }),
  });
  const b = await scene.owner({ name: 'b', managers });
  await scene.shared(a, b);
  const [[key, number] = ['', 0]] = await scene.numbers(a);
  return { a, b, relay, key, number };
}

/** How fast a process' clock runs, by ours. */
async function measuredRate(program: Program): Promise<number> {
  const read = async () => {
    const beforeMs = nowMs();
    const { clockMs } = await program.ask('clocks');
    return { theirsMs: clockMs as number, oursMs: (beforeMs + nowMs()) / 2 };
  };
  const began = await read();
  await pause(2_000);
  const ended = await read();
  return (ended.theirsMs - began.theirsMs) / (ended.oursMs - began.oursMs);
}

const wasSuspended = (program: Program): boolean =>
  program.events.some(({ event, message }) => event === 'log' && message === 'was-suspended');

const takenOver = (scene: Scene, { b, key }: Clocked): Promise<unknown> =>
  until(`b has ${key} and has written`, () =>
    scene.observer.holders(key).includes(b.name) &&
    scene.register.value(key)?.incarnation === b.ready['incarnation']
      ? true
      : undefined,
  );

const letGo = (scene: Scene, { a }: Clocked): Promise<unknown> =>
  until('a has let go of everything', () => (scene.observer.heldBy(a).length === 0 ? true : undefined));

describe('an owner whose clock is slow, cut off from its Manager, with the guard against suspensions blind', () => {
  const blind: ClockChoice = { uptime: 'follows-clock' };

  it(
    'at 0.85 of the true rate, within the bound: it has stopped before the next one begins',
    onScene(
      async (scene) => {
        const scenery = await clocked(scene, { environment: falseClock({ rate: 0.85 }), clocks: blind });
        expect(await measuredRate(scenery.a)).toBeCloseTo(0.85, 1);
        expect(await measuredRate(scenery.a)).toBeLessThan(0.9);
        scenery.relay.isCut = true;
        await takenOver(scene, scenery);
        await letGo(scene, scenery);
        expect(scene.observer.violations()).toEqual([]);
        expect(wasSuspended(scenery.a)).toBe(false);
      },
      { needs: ['faketime'] },
    ),
  );

  it(
    'at 0.70, beyond the bound: two owners are seen at once, and the register refuses the one before',
    onScene(
      async (scene) => {
        const scenery = await clocked(scene, { environment: falseClock({ rate: 0.7 }), clocks: blind });
        expect(await measuredRate(scenery.a)).toBeLessThan(0.75);
        scenery.relay.isCut = true;
        await takenOver(scene, scenery);
        await letGo(scene, scenery);
        expect(scene.observer.violations()).not.toEqual([]);
        expect(scene.register.staleChecks()).not.toEqual([]);
        const { incarnation } = scenery.a.ready;
        expect(scene.register.refused.filter((write) => write.incarnation === incarnation)).not.toEqual([]);
        expect(wasSuspended(scenery.a)).toBe(false);
      },
      { needs: ['faketime'], clocks: 'false' },
    ),
  );
});

describe('clocks that show another time', () => {
  it(
    'a wall clock set by 30 s, ahead and then back, changes nothing for Manager, owners and look-ups',
    onScene(
      async (scene) => {
        const file = scene.path('offset');
        setOffset(file, '+0');
        const environment = falseClock({ file, wallOnly: true });
        const { manager, managers } = await scene.manager({}, { environment });
        const a = await scene.owner({ name: 'a', managers, environment });
        const b = await scene.owner({ name: 'b', managers, environment });
        const lookup = await scene.lookup({ managers, environment });
        await scene.shared(a, b);
        const before = await Promise.all([a, b].map((owner) => scene.numbers(owner)));
        for (const [offset, seconds] of [
          ['+30', 30],
          ['-30', -30],
          ['+0', 0],
        ] as const) {
          setOffset(file, offset);
          for (const program of [a, b, lookup]) {
            const wallMs = (await program.ask('clocks'))['wallMs'] as number;
            expect(wallMs - Date.now()).toBeGreaterThan(seconds * 1_000 - 5_000);
            expect(wallMs - Date.now()).toBeLessThan(seconds * 1_000 + 5_000);
          }
          await pause(2_000); // More than one renewal, and several syncs.
        }
        expect(await Promise.all([a, b].map((owner) => scene.numbers(owner)))).toEqual(before);
        expect([...lostKeys(lookup)]).toEqual([]);
        expect(await manager.ask('observe')).toMatchObject({ role: 'leading', term: 1 });
        expect([a, b, lookup].filter(wasSuspended)).toEqual([]);
        for (const key of scene.keys) expect(scene.observer.tenures(key).length).toBeLessThanOrEqual(2);
      },
      { needs: ['faketime'] },
    ),
  );

  it(
    'a monotonic clock with another beginning is as good as any',
    onScene(
      async (scene) => {
        const { managers } = await scene.manager();
        const under = ['unshare', '-T', '--monotonic', '3600', '--boottime', '3600'];
        const a = await scene.owner({ name: 'a', managers, under });
        const b = await scene.owner({ name: 'b', managers });
        await scene.shared(a, b);
        const { clockMs } = await a.ask('clocks');
        expect(Number(clockMs) - nowMs()).toBeGreaterThan(3_500_000);
        a.signal('SIGKILL');
        await scene.shared(b);
      },
      { needs: ['time namespaces'] },
    ),
  );

  // A process in which libfaketime sets the clock back can stop in the library's own lock, and then says nothing at all any more: seen once in many runs, and played again then.
  it(
    'a monotonic clock that goes back: the owner drops what it holds, says so, and is an owner again when it has caught up',
    { retry: 1 },
    onScene(
      async (scene) => {
        const file = scene.path('offset');
        setOffset(file, '+0');
        const scenery = await clocked(scene, { environment: falseClock({ file }) });
        const { a } = scenery;
        const beganMs = (await a.ask('clocks'))['sinceStartMs'] as number;
        await pause(2_500 - beganMs);
        const before = a.events.length;
        setOffset(file, '-2');
        await a.logged('clock went back', { after: before });
        await a.logged('was-suspended', { after: before });
        await a.logged('the lease expired', { after: before });
        await until('a holds keys again', async () => ((await scene.numbers(a)).size > 0 ? true : undefined));
      },
      { needs: ['faketime'] },
    ),
  );
});

describe('a machine that was suspended: the monotonic clock stood still, the world went on', () => {
  /** Stops a, cut off, until b has its keys; then wakes it with a clock that has not moved. */
  async function suspend(scene: Scene, clocks: ClockChoice): Promise<Clocked> {
    const file = scene.path('offset');
    setOffset(file, '+0');
    const scenery = await clocked(scene, { environment: falseClock({ file }), clocks });
    scenery.relay.isCut = true;
    const stoppedMs = nowMs();
    scenery.a.signal('SIGSTOP');
    await takenOver(scene, scenery);
    const asleepMs = nowMs() - stoppedMs - 20; // A little less: it must not go back.
    setOffset(file, `-${(asleepMs / 1_000).toFixed(3)}`);
    return scenery;
  }

  it(
    'the owner drops its leases at the first look, by the time since boot',
    onScene(
      async (scene) => {
        const scenery = await suspend(scene, { wall: 'real' });
        const { a, key } = scenery;
        const [request] = a.askAtOnce(['request', { key }]);
        a.signal('SIGCONT');
        expect((await request)?.reply).toMatchObject({ number: null });
        expect(wasSuspended(a)).toBe(true);
        await a.event('lost');
      },
      { needs: ['faketime'] },
    ),
  );

  it(
    'one that cannot know it, because the time since boot stood still too, goes on, and the register refuses',
    onScene(
      async (scene) => {
        const scenery = await suspend(scene, { wall: 'real', uptime: 'follows-clock' });
        const { a, key, number } = scenery;
        const [request, write] = a.askAtOnce(['request', { key }], ['write', { key, number }]);
        a.signal('SIGCONT');
        expect((await request)?.reply).toMatchObject({ number });
        expect((await write)?.reply).toMatchObject({ isAccepted: false });
        expect(wasSuspended(a)).toBe(false);
      },
      { needs: ['faketime'], clocks: 'false' },
    ),
  );
});
