import { describe, expect, it } from 'vitest';
import type { Answer } from './answer.ts';
import { put } from './operation.ts';
import { Trio } from './testing/trio.ts';

const value = new Uint8Array([7]);
const READ = 1_000_000;

/** A cell in which the leader alone reads by itself. Elections take 300 ms, and a read waits for the leader for 150 ms. */
function written(): Trio {
  const trio = new Trio('leader');
  trio.submit('a', put('key', value));
  return trio;
}

const answersOf = (trio: Trio, name: string): readonly Answer[] =>
  (trio.effects.get(name) ?? []).flatMap((effect) =>
    effect.do === 'answer' && effect.id === READ ? [effect.answer] : [],
  );

const queriesOf = (trio: Trio, name: string): number =>
  (trio.effects.get(name) ?? []).filter((effect) => effect.do === 'send' && effect.message.kind === 'query')
    .length;

const read = (trio: Trio, name: string, mode: 'best' | 'quorum'): void =>
  trio.input(name, (replica) => replica.read(READ, ['key'], mode, trio.now));

describe('a read whose answers are late', () => {
  it('is answered by the leader, though the members have been asked meanwhile', () => {
    const trio = written();
    const { follower } = trio;
    trio.late = 'remote-answer';
    read(trio, follower, 'best');
    trio.pass(20); // The leader has answered.
    trio.cutOff.add(follower);
    trio.pass(200);
    expect(queriesOf(trio, follower)).toBeGreaterThan(0);
    expect(answersOf(trio, follower)).toEqual([]);
    trio.cutOff.clear();
    trio.release();
    expect(answersOf(trio, follower)).toMatchObject([{ kind: 'read', served: 'leader' }]);
    trio.pass(1_000);
    expect(answersOf(trio, follower)).toHaveLength(1);
  });

  it('counts what members said to an earlier round', () => {
    const trio = written();
    const { follower } = trio;
    trio.late = 'queried';
    read(trio, follower, 'quorum');
    trio.pass(150); // All have answered the first round.
    const asked = queriesOf(trio, follower);
    trio.cutOff.add(follower);
    trio.pass(200);
    expect(queriesOf(trio, follower)).toBeGreaterThan(asked);
    trio.cutOff.clear();
    trio.release();
    trio.pass(5);
    expect(answersOf(trio, follower)).toMatchObject([{ kind: 'read', served: 'quorum' }]);
  });
});
