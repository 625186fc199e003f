import { expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { Script } from '../simulation/script.ts';
import { put } from './operation.ts';

it('decides a write once, however many copies of it came while the disk of the leader was busy', () => {
  const script = new Script(3, { mode: 'all' });
  script.submit(0, put('first', new Uint8Array([1])));
  const leader = script.nodes[0]?.replica ?? expect.unreachable();
  expect(script.nodes[0]?.writing).toBeDefined();
  const { last } = leader.view.log;
  const session = leader.view.machine.sessions.open[Symbol.iterator]().next().value as number;
  const copy = { kind: 'submit', session, answeredBelow: 1, command: put('k', new Uint8Array([2])) } as const;
  const now = instant(2_000);
  for (const id of [100, 101, 102]) leader.takeAll([{ ...copy, id, number: 50 }], now);
  leader.takeAll([{ ...copy, id: 103, number: 51 }], now);
  script.sync(0);
  const operation = leader.view.log.at(last + 1).operation;
  expect(
    operation.kind === 'batch' ? operation.requests.map(({ number, id }) => [number, id]) : undefined,
  ).toEqual([
    [50, 102],
    [51, 103],
  ]);
});
