import { describe, expect, it } from 'vitest';
import { Agenda } from './agenda.ts';

describe('an agenda', () => {
  it('hands out what is due, up to a stretch late and never early', () => {
    const agenda = new Agenda<string>(10);
    agenda.add(25, 'later');
    agenda.add(11, 'first');
    agenda.add(19, 'second');
    expect(agenda.nextMs).toBe(20);
    expect(agenda.due(19)).toEqual([]);
    expect(agenda.due(20)).toEqual(['first', 'second']);
    expect(agenda.nextMs).toBe(30);
    expect(agenda.due(1_000)).toEqual(['later']);
    expect(agenda.nextMs).toBe(Number.POSITIVE_INFINITY);
  });

  it('hands out everything that has become due meanwhile, the soonest first', () => {
    const agenda = new Agenda<number>(10);
    for (const ms of [35, 5, 15, 95]) agenda.add(ms, ms);
    expect(agenda.due(50)).toEqual([5, 15, 35]);
  });

  it('can be cleared', () => {
    const agenda = new Agenda<string>(10);
    agenda.add(5, 'gone');
    agenda.clear();
    expect(agenda.nextMs).toBe(Number.POSITIVE_INFINITY);
    expect(agenda.due(100)).toEqual([]);
  });
});
