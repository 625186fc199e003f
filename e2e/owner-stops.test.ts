import { describe, expect, it } from 'vitest';
import type { Program } from './harness/program.ts';
import { LEASE_MS, onScene, type Scene } from './harness/scene.ts';
import { until } from './harness/time.ts';

/** Two owners; a key of the first, and the number under which it has it. */
async function twoOwners(scene: Scene): Promise<{ a: Program; b: Program; key: string; number: number }> {
  const { managers } = await scene.manager();
  const a = await scene.owner({ name: 'a', managers });
  const b = await scene.owner({ name: 'b', managers });
  await scene.shared(a, b);
  const [[key, number] = ['', 0]] = await scene.numbers(a);
  return { a, b, key, number };
}

/** Resolves when the other has taken the key over, and has written under its own number. */
async function takenOver(scene: Scene, key: string, number: number): Promise<void> {
  await until(`${key} is written under another number`, () =>
    (scene.register.value(key)?.number ?? 0) > number ? true : undefined,
  );
}

describe('an owner that is stopped for longer than its lease', () => {
  it(
    'finds at the first look after waking that it holds nothing',
    onScene(async (scene) => {
      const { a, key, number } = await twoOwners(scene);
      a.signal('SIGSTOP');
      const [request, continuous] = a.askAtOnce(['request', { key }], ['continuous', { key, number }]);
      await takenOver(scene, key, number);
      a.signal('SIGCONT');
      expect((await request)?.reply).toMatchObject({ number: null });
      expect((await continuous)?.reply).toMatchObject({ isHeld: false });
      // What it may have checked before it was stopped, and wrote after.
      for (const write of scene.register.refused) expect(write.incarnation).toBe(a.ready['incarnation']);
    }),
  );

  it(
    'between its check and its write is refused by the register',
    onScene(async (scene) => {
      const { a, key, number } = await twoOwners(scene);
      expect((await a.ask('request', { key }))['number']).toBe(number);
      a.signal('SIGSTOP');
      const [write] = a.askAtOnce(['write', { key, number }]);
      await takenOver(scene, key, number);
      a.signal('SIGCONT');
      expect((await write)?.reply).toMatchObject({ isAccepted: false });
      expect(scene.register.value(key)?.incarnation).not.toBe(a.ready['incarnation']);
    }),
  );
});

describe('an owner whose event loop stands still for longer than its lease', () => {
  const busyMs = LEASE_MS + 1_000;

  it(
    'refuses the second of two requests that wait, though no timer has gone off yet',
    onScene(async (scene) => {
      const { a, key, number } = await twoOwners(scene);
      const [first, second] = a.askAtOnce(['request', { key, busyMs }], ['request', { key }]);
      expect((await first)?.reply).toMatchObject({ number });
      expect((await second)?.reply).toMatchObject({ number: null });
      expect(await a.ask('write', { key, number })).toMatchObject({ isAccepted: false });
    }),
  );

  it(
    'aborts the signal of a key that it held, and the check says no before that',
    onScene(async (scene) => {
      const { a, key } = await twoOwners(scene);
      await a.ask('hold', { key });
      const [, second] = a.askAtOnce(['request', { key, busyMs }], ['request', { key }]);
      const aborted = await a.event('aborted');
      expect(aborted).toMatchObject({ key, isHeld: false, code: 'LEASE_LOST', retryable: false });
      expect((await second)?.reply).toMatchObject({ number: null });
    }),
  );

  it(
    'gives no result of guarded work to the caller, and does not begin the work that waits for the key',
    onScene(async (scene) => {
      const { a, key } = await twoOwners(scene);
      const [first, second] = a.askAtOnce(['guard', { key, busyMs }], ['guard', { key }]);
      expect((await first)?.reply.error).toMatchObject({ name: 'LeaseLostError', code: 'LEASE_LOST' });
      expect((await second)?.reply.error).toMatchObject({ name: 'NotOwnerError', code: 'NOT_OWNER' });
    }),
  );

  it(
    'that waits instead of standing still keeps its lease for longer than one',
    onScene(async (scene) => {
      const { a, key, number } = await twoOwners(scene);
      expect(await a.ask('guard', { key, waitMs: busyMs })).toMatchObject({ number });
    }),
  );
});
