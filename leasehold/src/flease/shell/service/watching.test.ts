import { describe, expect, it } from 'vitest';
import { noMajority } from '../../core/errors.ts';
import type { Holder, Look } from '../looking.ts';
import { Watching } from './watching.ts';

const ADA: Holder = { holder: 'ada', number: 7, validUntil: 5_000 };
const BEN: Holder = { holder: 'ben', number: 8, validUntil: 6_000 };

const has = (holder: Holder | undefined): Look => ({ holder });

/** Nobody knows, because of these. */
const without = (...members: readonly string[]): Look => ({
  error: noMajority('job', new Map(members.map((member) => [member, 'silent'])), 'too few answer'),
});

/** The events for these looks: the holder, or the members because of which the holder is unknown. */
async function told(...looks: readonly Look[]): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  await new Promise<void>((resolve) => {
    async function* looking(): AsyncGenerator<Look, never, void> {
      yield* looks;
      resolve();
      return new Promise<never>(() => {});
    }
    const watching = new Watching({ looking }, 'job', () => {
      const { data = '' } = watching.next() ?? {};
      const { holder, error } = JSON.parse(data);
      all.push(error === undefined ? (holder?.holder ?? 'nobody') : Object.keys(error.reasons).join(' '));
    });
  });
  return all;
}

describe('a request that watches a resource', () => {
  it('is told the holder at first, and at each change', async () => {
    expect(await told(has(undefined), has(undefined), has(ADA), has(ADA), has(BEN), has(undefined))).toEqual([
      'nobody',
      'ada',
      'ben',
      'nobody',
    ]);
  });

  it('is told that nobody knows when that was found twice in a row, or at first', async () => {
    expect(await told(has(ADA), without('ben'), has(ADA), without('ben'), without('ben'))).toEqual([
      'ada',
      'ben',
    ]);
    expect(await told(without('ben'))).toEqual(['ben']);
  });

  it('is told so once, although each attempt misses others', async () => {
    const [both, one, other] = [without('ben', 'cyd'), without('cyd'), without('ben')];
    expect(await told(both, one, both, other, one, both)).toEqual(['ben cyd']);
  });

  it('is told again if another obstacle stands in the way, and the holder when the holder is known, also if it is the same', async () => {
    expect(
      await told(has(ADA), without('ada'), without('ada'), without('ben'), without('ada'), has(ADA)),
    ).toEqual(['ada', 'ada', 'ben', 'ada']);
  });
});
