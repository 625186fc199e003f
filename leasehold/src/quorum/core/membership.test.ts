import { describe, expect, it } from 'vitest';
import { encodeMessage } from '../wire/messages.ts';
import {
  type Configuration,
  initialConfiguration,
  type ProposedConfiguration,
  resolved,
} from './configuration.ts';
import type { Accept } from './messages.ts';
import { type Change, changed, isInForce } from './membership.ts';

const GROUP = initialConfiguration(
  ['a', 'b', 'c'].map((storage, seat) => ({ seat, storage })),
  { mode: 'all' },
);

function after(configuration: Configuration, change: Change): Configuration {
  const next = changed([configuration], change, 'a');
  if (typeof next === 'string') throw new Error(next);
  return resolved(configuration, [next]);
}

describe('a change of members', () => {
  it('is in force once it is made, so a copy has nothing to do', () => {
    const changes: readonly Change[] = [
      { kind: 'add', storage: 'd' },
      { kind: 'remove', storage: 'c' },
      { kind: 'replace', storage: 'b', by: 'e' },
    ];
    for (const change of changes) {
      expect(isInForce(GROUP, change)).toBe(false);
      expect(isInForce(after(GROUP, change), change)).toBe(true);
    }
  });

  it('seats an eighth member only in the place of another', () => {
    const seven = initialConfiguration(
      [...'abcdefg'].map((storage, seat) => ({ seat, storage })),
      { mode: 'all' },
    );
    expect(changed([seven], { kind: 'add', storage: 'h' }, 'a')).toBe('too-many-members');
    expect(after(seven, { kind: 'replace', storage: 'b', by: 'h' }).members).toHaveLength(7);
  });

  it('leaves a cell its last member, which cannot hand over the lead', () => {
    const one = initialConfiguration([{ seat: 0, storage: 'a' }], { mode: 'all' });
    expect(changed([one], { kind: 'remove', storage: 'a' }, 'a')).toBe('no-member-would-be-left');
  });

  it('never seats a directory again that was removed', () => {
    const removed = after(GROUP, { kind: 'remove', storage: 'c' });
    expect(changed([removed], { kind: 'add', storage: 'c' }, 'a')).toBe('removed-before');
    const replaced = after(GROUP, { kind: 'replace', storage: 'b', by: 'e' });
    expect(changed([replaced], { kind: 'replace', storage: 'c', by: 'b' }, 'a')).toBe('removed-before');
    expect(isInForce(after(replaced, { kind: 'remove', storage: 'e' }), { kind: 'add', storage: 'e' })).toBe(
      false,
    );
  });

  it('carries no tables of the placement, however large they are', () => {
    const objects = new Map(Array.from({ length: 65_536 }, (_, object) => [object, 1]));
    const placement = { mode: 'chosen', slices: [7], objects, automatic: { weight: 1 } } as const;
    const next = changed([{ ...GROUP, placement }], { kind: 'add', storage: 'd' }, 'a');
    if (typeof next === 'string') throw new Error(next);
    expect(encodeMessage(acceptOf(next)).length).toBeLessThan(100);
    expect(resolved({ ...GROUP, placement }, [next]).placement).toBe(placement);
  });
});

const acceptOf = (configuration: ProposedConfiguration): Accept => ({
  ...{ kind: 'accept' as const, ballot: 33, merged: 1, first: 2, chosen: 1, committed: 1 },
  operations: [{ kind: 'configuration', configuration }],
});
