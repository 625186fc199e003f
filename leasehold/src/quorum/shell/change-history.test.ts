import { expect, it } from 'vitest';
import { batch, put } from '../core/operation.ts';
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
