import { describe, expect, it } from 'vitest';
import { type Configuration, initialConfiguration } from './configuration.ts';
import { type Change, changed, isInForce } from './membership.ts';

const GROUP = initialConfiguration(
  ['a', 'b', 'c'].map((storage, seat) => ({ seat, storage })),
  { mode: 'all' },
);

function after(configuration: Configuration, change: Change): Configuration {
  const next = changed([configuration], change, 'a');
  if (typeof next === 'string') throw new Error(next);
  return next;
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

  it('never seats a directory again that was removed', () => {
    const removed = after(GROUP, { kind: 'remove', storage: 'c' });
    expect(changed([removed], { kind: 'add', storage: 'c' }, 'a')).toBe('removed-before');
    const replaced = after(GROUP, { kind: 'replace', storage: 'b', by: 'e' });
    expect(changed([replaced], { kind: 'replace', storage: 'c', by: 'b' }, 'a')).toBe('removed-before');
    expect(isInForce(after(replaced, { kind: 'remove', storage: 'e' }), { kind: 'add', storage: 'e' })).toBe(
      false,
    );
  });
});
