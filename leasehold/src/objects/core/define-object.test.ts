import { describe, expect, expectTypeOf, it } from 'vitest';
import { defineObject, type Remote } from './define-object.ts';

const base = { name: 'x', version: 1, state: () => ({ n: 0 }) };

describe('a definition', () => {
  it('gives calls and reads their types at the caller, without the object', () => {
    const Jobs = defineObject({
      name: 'jobs',
      version: 1,
      state: () => ({ waiting: [] as { id: string; body: string }[], running: new Map<string, Date>() }),
      calls: {
        add(jobs, id: string, body: string) {
          if (!jobs.state.waiting.some((job) => job.id === id)) jobs.state.waiting.push({ id, body });
          return jobs.state.waiting.length;
        },
        async take(jobs) {
          return jobs.state.waiting.shift();
        },
      },
      reads: { count: (jobs) => jobs.state.running.size },
    });
    type Jobs = Remote<typeof Jobs>;
    expectTypeOf<Jobs['add']>().toEqualTypeOf<(id: string, body: string) => Promise<number>>();
    expectTypeOf<Jobs['take']>().toEqualTypeOf<() => Promise<{ id: string; body: string } | undefined>>();
    expectTypeOf<Jobs['count']>().toEqualTypeOf<() => Promise<number>>();
    expectTypeOf<keyof Jobs>().toEqualTypeOf<'add' | 'take' | 'count'>();
  });

  it('does not let a read replace the state, nor end it', () => {
    defineObject({
      ...base,
      reads: {
        replace(object) {
          // @ts-expect-error the state is read-only
          object.state = { n: 1 };
          // @ts-expect-error a read does not delete
          object.delete();
        },
      },
    });
  });

  it.each<[string, object, string]>([
    ['without a name', { ...base, name: '' }, 'option name is empty'],
    ['with a name of 65 characters', { ...base, name: 'x'.repeat(65) }, '1 to 64 characters'],
    ['with version 0', { ...base, version: 0 }, 'option version is 0'],
    ['without a state', { ...base, state: undefined }, 'option state is undefined'],
    ['with a state that is no function', { ...base, state: {} }, 'it must be a function'],
    ['with save alone', { ...base, save: () => 1 }, 'a kind has both save and load, or neither'],
    ['with load alone', { ...base, load: () => 1 }, 'a kind has both save and load, or neither'],
    [
      'with a call that is no function',
      { ...base, calls: { go: 3 } },
      'option calls.go is 3, but it must be a function',
    ],
    [
      'with a call named then',
      { ...base, calls: Object.fromEntries([['then', () => 1]]) },
      'this name has a meaning in the language',
    ],
    [
      'with a read named toString',
      { ...base, reads: { toString: () => '' } },
      'this name has a meaning in the language',
    ],
    [
      'with one name twice',
      { ...base, calls: { a: () => 1 }, reads: { a: () => 1 } },
      'one name has one meaning',
    ],
    ['with what does not exist', { ...base, onMessage: () => 1 }, 'onMessage'],
  ])('%s is refused', (_, definition, message) => {
    expect(() => defineObject(definition as never)).toThrow(message);
  });
});
