import { expect, it } from 'vitest';
import { batch, put, transaction } from '../core/operation.ts';
import { ChangeHistory } from './change-history.ts';

const MIB = 1024 * 1024;

it('a history of changes keeps no more than 64 MiB, and says from where on', () => {
  const history = new ChangeHistory(0, { changed: () => {}, skipped: () => {} });
  const rest = { session: 0, number: 0, answeredBelow: 0, origin: 'a~1', life: 1, id: 1 };
  for (let slot = 1; slot <= 200; slot += 1) {
    const operation = batch([{ ...rest, command: put('one', new Uint8Array(MIB)) }]);
    history.show(slot, operation, [{ kind: 'done', revision: slot, found: [] }]);
  }
  expect(history.position).toBe(200);
  expect(history.oldest).toBe(137);
  expect(history.since(137)).toHaveLength(63);
  expect(history.since(136)).toBeUndefined();
});

it('a history of changes tells each of several writes of one key that one slot holds, and of a transaction only what it leaves', () => {
  const told: string[] = [];
  const history = new ChangeHistory(0, {
    changed: ({ found }) =>
      told.push(...found.map(({ key, value, revision }) => `${key}=${value?.[0] ?? 'deleted'}@${revision}`)),
    skipped: () => {},
  });
  const rest = { session: 1, number: 1, answeredBelow: 0, origin: 'a~1', life: 1, id: 1 };
  const operation = batch([
    { ...rest, command: put('k', new Uint8Array([1])) },
    { ...rest, command: transaction([], [{ do: 'delete', key: 'k' }]) },
    {
      ...rest,
      command: transaction(
        [],
        [2, 3].map((byte) => ({ do: 'put', key: 'k', value: new Uint8Array([byte]) })),
      ),
    },
  ]);
  history.show(
    1,
    operation,
    [7, 8, 9].map((revision) => ({ kind: 'done', revision, found: [] })),
  );
  expect(told).toEqual(['k=1@7', 'k=deleted@8', 'k=3@9']);
});
