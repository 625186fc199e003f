import { describe, expect, it } from 'vitest';
import { wrap } from './commands/explain.ts';
import { fit } from './demo/screen.ts';
import { bytes, counted, duration, durationOfSeconds, percent, show, table } from './output.ts';
import { recordedContext } from './testing/recorded-context.ts';

describe('a table', () => {
  it('has columns under one another, numbers to the right', () => {
    expect(
      table(
        ['POOL', 'OWNERS', 'UNOWNED', 'URL'],
        [
          ['presence', 3, '0 %', 'http://a'],
          ['x', 1_200, '33.3 %', '-'],
        ],
      ),
    ).toEqual([
      'POOL      OWNERS  UNOWNED  URL',
      'presence       3      0 %  http://a',
      'x           1200   33.3 %  -',
    ]);
  });

  it('has its headings even if it has no rows', () => {
    expect(table(['KEY', 'OWNER'], [])).toEqual(['KEY  OWNER']);
  });
});

describe('numbers for people', () => {
  it.each([
    [0, '0 ms'],
    [340.4, '340 ms'],
    [2_500, '2.5 s'],
    [9_000, '9 s'],
    [59_949, '59.9 s'],
    [59_990, '1 min 0 s'],
    [200_000, '3 min 20 s'],
    [18_120_000, '5 h 2 min'],
    [277_200_000, '3 d 5 h'],
  ])('say how long %s ms is', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  it('do not speak of milliseconds where only seconds were counted', () => {
    expect([0, 1, 75].map(durationOfSeconds)).toEqual(['0 s', '1 s', '1 min 15 s']);
  });

  it.each([
    [0, '0 B'],
    [812, '812 B'],
    [1_500, '1.5 KB'],
    [20_400_000, '20 MB'],
  ])('say how much %s bytes is', (count, text) => {
    expect(bytes(count)).toBe(text);
  });

  it('do not call a trace of something nothing', () => {
    expect([0, 0.01, 33.333, 100].map(percent)).toEqual(['0 %', '< 0.1 %', '33.3 %', '100 %']);
  });

  it('count one as one', () => {
    expect([counted(0, 'owner'), counted(1, 'owner'), counted(2, 'owner')]).toEqual([
      '0 owners',
      '1 owner',
      '2 owners',
    ]);
  });
});

describe('the output of a command', () => {
  it('is text for people, and JSON for programs', () => {
    const [people, program] = [recordedContext(), recordedContext()];
    show(people, {}, { a: 1 }, () => ['one', 'two']);
    show(program, { json: true }, { a: 1 }, () => ['one', 'two']);
    expect(people.printed()).toBe('one\ntwo\n');
    expect(JSON.parse(program.printed())).toEqual({ a: 1 });
  });

  it('is wrapped at spaces, with the rest of a sentence further in', () => {
    expect(wrap('one two three four five six', 20)).toEqual(['one two three four', '  five six']);
  });

  it('is cut to the width of the terminal, and then loses its colours', () => {
    expect(fit('\u001b[31mred\u001b[39m', 3)).toBe('\u001b[31mred\u001b[39m');
    expect(fit('\u001b[31mreddish\u001b[39m', 5)).toBe('redd…');
  });
});
