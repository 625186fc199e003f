import { describe, expect, it } from 'vitest';
import { onScene } from './harness/scene.ts';
import { RegisterClient, type Write } from './programs/register-client.ts';

const write = (number: number, incarnation: string): Write => ({ key: 'k', number, incarnation });

describe('the register and its unfenced twin', () => {
  it(
    'report a write whose check passed after a higher number was written, though fencing refused it',
    onScene(
      async (scene) => {
        const [a, b] = [new RegisterClient(scene.register.path), new RegisterClient(scene.register.path)];
        expect(await a.write([write(1, 'a')])).toEqual([true]);
        expect(await b.write([write(2, 'b')])).toEqual([true]);
        expect(scene.register.staleChecks()).toEqual([]);
        await a.write([write(1, 'a')]); // May have been checked before b wrote.
        expect(scene.register.staleChecks()).toEqual([]);
        expect(await a.write([write(1, 'a')])).toEqual([false]); // Was checked after the last one was answered.
        expect(scene.register.staleChecks()).toHaveLength(1);
        expect(scene.violations()).toHaveLength(1);
      },
      { clocks: 'false' },
    ),
  );

  it(
    'do not report a write that was not checked: fencing is for that one',
    onScene(async (scene) => {
      const [a, b] = [new RegisterClient(scene.register.path), new RegisterClient(scene.register.path)];
      await a.write([write(1, 'a')]);
      await b.write([write(2, 'b')]);
      expect(await a.write([{ ...write(1, 'a'), isUnchecked: true }])).toEqual([false]);
      expect(await a.write([{ ...write(1, 'a'), isUnchecked: true }])).toEqual([false]);
      expect(scene.register.staleChecks()).toEqual([]);
    }),
  );

  it(
    'report a number that two incarnations used, also where fencing refused both',
    onScene(async (scene) => {
      const client = new RegisterClient(scene.register.path);
      await client.write([write(3, 'c'), write(1, 'a'), write(1, 'b')]);
      const found = scene.register.sharedNumbers();
      scene.register.log.length = 0; // Or the scene itself would fail.
      expect(found).toHaveLength(1);
    }),
  );
});
