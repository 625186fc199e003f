import { describe, expect, it } from 'vitest';
import { keyOf, type MemberId } from '../../../membership/core/incarnation.ts';
import type { Word } from './messages.ts';
import { type Entry, Participation } from './participation.ts';

const member = (name: string, nonce = 1): MemberId => ({ name, incarnation: { startedMs: 1, nonce } });
const [A, B, C] = [member('a'), member('b'), member('c')];
const word = (view: string, from: string): Word => ({
  ...{ kind: 'word', view, from, maxServers: 3, tokensPerSecond: 1, burst: 9, isRepeated: false },
});

/** Delivers a view to a, in which the others say where they come from, and enters. */
function enter(
  participation: Participation,
  view: string,
  others: readonly (readonly [MemberId, string])[],
  lines: ReadonlyMap<string, string> = new Map(),
): Entry {
  participation.deliver({ id: view, members: [A, ...others.map(([id]) => id)] });
  for (const [id, from] of others) participation.hear(id, word(view, from));
  return participation.enter((id) => lines.get(keyOf(id)));
}

const linesOf = ({ lines }: Entry): string[] =>
  [...lines.values()].map(({ id, line }) => `${id.name} ${line}`);

describe('taking part in a view', () => {
  it('waits for the word of every member for this very view', () => {
    const participation = new Participation(() => A);
    participation.deliver({ id: 'v1', members: [A, B, C] });
    participation.hear(B, word('v1', 'x'));
    participation.hear(C, word('v0', 'x'));
    expect(participation.unheard).toEqual([C]);
    expect(participation.takesPart).toBe(false);
    participation.hear(C, word('v1', 'x'));
    expect(participation.unheard).toEqual([]);
  });

  it('keeps credits if all of the former cohort came along, and the accounts with them', () => {
    const participation = new Participation(() => A);
    expect(enter(participation, 'v1', [[B, 'alone b']]).keepsCredits).toBe(true);
    const entry = enter(
      participation,
      'v2',
      [
        [B, 'v1'],
        [C, 'alone c'],
      ],
      new Map([[keyOf(B), 'v1']]),
    );
    expect(entry.keepsCredits).toBe(true);
    expect(linesOf(entry)).toEqual(['b v1', 'c v2']);
    expect(participation.cameFrom).toBe('v1');
    expect(participation.cohort).toBe('v2');
  });

  it.each([
    ['is missing', [[C, 'v1']]],
    [
      'has taken part elsewhere in between',
      [
        [B, 'v9'],
        [C, 'v1'],
      ],
    ],
    [
      'is another incarnation',
      [
        [member('b', 2), 'v1'],
        [C, 'v1'],
      ],
    ],
  ] as const)('begins anew, with new accounts, if a member of the former cohort %s', (_, others) => {
    const participation = new Participation(() => A);
    enter(participation, 'v1', [
      [B, 'alone b'],
      [C, 'alone c'],
    ]);
    const entry = enter(participation, 'v2', others, new Map([[keyOf(C), 'v1']]));
    expect(entry.keepsCredits).toBe(false);
    expect(linesOf(entry)).toContain('c v2');
  });
});
