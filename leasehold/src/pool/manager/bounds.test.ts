import { describe, expect, it } from 'vitest';
import { digest } from '../../runtime/digest.ts';
import { instant } from '../../runtime/time.ts';
import type { Report, Sync } from '../messages.ts';
import { resolveDurations } from '../options.ts';
import { ManagerState } from '../state.ts';
import { Audience } from './audience.ts';
import { Correspondence } from './correspondence.ts';
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

describe('what a leader remembers of owners that are no members', () => {
  const durations = resolveDurations();
  const nobody = ManagerState.empty;
  const member = { incarnation: 'm.1', name: 'm', url: 'http://m', proof: undefined };
  const pools = [{ pool: 'p', records: [{ kind: 'join', member } as const] }];
  const onlyM = nobody.apply(1, { term: 1, leader: 'm1', takeoverMs: 0, pools });

  const reportOf = (incarnation: string): Report => ({
    ...{ kind: 'report', pool: 'p', incarnation, name: incarnation, url: `http://${incarnation}` },
    ...{ proof: undefined, sequence: 1, wantsAnswer: true, heard: undefined, seen: undefined },
    ...{ held: [{ start: 0n, end: 1n, number: 7 }], letGo: [], leaving: false, load: 0 },
  });

  /** Ten thousand strangers were heard at instant 0, and one more at instant 1. */
  function crowded() {
    const correspondence = new Correspondence({
      ...{ history: 'h', term: 1 },
      durations: () => durations,
      due: () => undefined,
    });
    const hear = (incarnation: string, state: ManagerState, at: number) =>
      correspondence.hear(incarnation, reportOf(incarnation), state, instant(at));
    for (let index = 0; index < 10_000; index += 1) hear(`a.${index}`, nobody, 0);
    hear('last.1', nobody, 1);
    return { correspondence, hear };
  }

  it('is nobody else once they are more than ten thousand', () => {
    const { correspondence, hear } = crowded();
    expect(correspondence.sessions.has('last.1')).toBe(true);
    expect(hear('late.1', nobody, 2)).toMatchObject({ event: { what: 'too-many-strangers' } });
    expect(correspondence.sessions.has('late.1')).toBe(false);
  });

  it('has room again when those are forgotten who have said nothing for a hold', () => {
    const { correspondence, hear } = crowded();
    correspondence.forgetStrangers(nobody, instant(durations.holdMs));
    expect([...correspondence.sessions.keys()]).toEqual(['last.1']);
    expect(hear('late.1', nobody, durations.holdMs)).toMatchObject({ isMember: false, isFirst: true });
  });

  it('keeps no member out, however much it is', () => {
    const { hear } = crowded();
    expect(hear('m.1', onlyM, 2)).toMatchObject({ isMember: true, isFirst: true });
    expect(hear('late.1', onlyM, 2)).toMatchObject({ event: { what: 'too-many-strangers' } });
  });

  it('is nothing of what they claim to hold', () => {
    const { correspondence } = crowded();
    expect(correspondence.sessions.get('last.1')?.report.held).toEqual([]);
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
