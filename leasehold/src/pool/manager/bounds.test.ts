import { describe, expect, it } from 'vitest';
import { digest } from '../../runtime/digest.ts';
import { instant } from '../../runtime/time.ts';
import type { Sync } from '../messages.ts';
import { Audience } from './audience.ts';
import { Deaths } from './deaths.ts';

const sync = (pool: string): Sync => ({ kind: 'sync', pool, lookup: 'l.1', sequence: 1, seen: undefined });

describe('what a leader remembers of those who prove deaths', () => {
  it('is no more than ten thousand proofs, the latest', () => {
    const deaths = new Deaths(() => 1_000);
    for (let index = 0; index <= 10_000; index += 1) deaths.hear(`secret ${index}`, 's', instant(0));
    expect([0, 1, 10_000].map((index) => deaths.has(digest(`secret ${index}`)))).toEqual([false, true, true]);
  });

  it('is told once, and only when it has taken effect', () => {
    const deaths = new Deaths(() => 1_000);
    const proof = deaths.hear('secret', 's', instant(0));
    expect(deaths.confirm(() => true)).toEqual([]);
    expect(deaths.confirm(() => false)).toEqual([{ to: 's', proof }]);
    expect(deaths.confirm(() => false)).toEqual([]);
    deaths.forget(instant(1_000));
    expect(deaths.has(proof)).toBe(false);
  });
});

describe('what a leader remembers of look-ups', () => {
  it('is forgotten when they have not asked for long, whatever pool they asked for', () => {
    const audience = new Audience(() => 1_000);
    audience.hear('one', sync('p'), instant(0));
    audience.hear('two', sync('q'), instant(3_000));
    audience.forget(instant(4_001));
    expect([...audience.listeners()].map(({ address }) => address)).toEqual(['two']);
    audience.forget(instant(7_001));
    expect([...audience.listeners()]).toEqual([]);
  });

  it('is no more than two hundred thousand, and has room again when some are forgotten', () => {
    const audience = new Audience(() => 1_000);
    for (let index = 0; index <= 200_000; index += 1) audience.hear('one', sync(`p${index}`), instant(0));
    expect([...audience.listeners()]).toHaveLength(200_000);
    audience.forget(instant(5_000));
    audience.hear('one', sync('p'), instant(5_000));
    expect([...audience.listeners()]).toHaveLength(1);
  });
});
