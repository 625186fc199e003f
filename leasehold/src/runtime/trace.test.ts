import { describe, expect, it } from 'vitest';
import { trace, traceLine } from './trace.ts';

describe('a trace', () => {
  it('is an effect like any other', () => {
    expect(trace('granted', { ranges: 3 })).toEqual({
      do: 'trace',
      event: { what: 'granted', facts: { ranges: 3 } },
    });
    expect(trace('left').event.facts).toEqual({});
  });

  it('is one line: what happened, then the facts in their order, in a column', () => {
    expect(traceLine(trace('granted', { pool: 'presence', ranges: 3, again: false }).event)).toBe(
      'granted            pool=presence ranges=3 again=false',
    );
  });

  it('leaves out facts that are missing, and has nothing at its end', () => {
    expect(traceLine(trace('left', { reason: undefined }).event)).toBe('left');
    expect(traceLine(trace('lost', { since: undefined, position: 0 }).event)).toBe(
      'lost               position=0',
    );
  });

  it('keeps a long name apart from the facts', () => {
    expect(traceLine(trace('a-name-longer-than-the-column', { a: 1 }).event)).toBe(
      'a-name-longer-than-the-column a=1',
    );
  });
});
