import { describe, expect, it } from 'vitest';
import { hasControls, printable, printableAll, printableJson } from './printable.ts';

describe('printable text', () => {
  it.each([
    ['an escape sequence', 'a\x1b[2Jb', 'a\\x1b[2Jb'],
    ['a bell', 'a\x07', 'a\\x07'],
    ['line ends and tabs', 'a\nb\r\tc', 'a\\nb\\r\\tc'],
    ['DEL and the second set of controls', '\x7f\x9b31m', '\\x7f\\x9b31m'],
    ['a right-to-left override', 'a\u202etxt', 'a\\u202etxt'],
    ['isolates and marks', '\u2066\u2069\u200e\u061c', '\\u2066\\u2069\\u200e\\u061c'],
    ['separators of lines and paragraphs', '\u2028\u2029', '\\u2028\\u2029'],
    ['invisible characters', 'a\u200bb\ufeff', 'a\\u200bb\\ufeff'],
    ['tags', '\u{e0041}', '\\u{e0041}'],
    ['half of a pair', '\ud800', '\\ud800'],
  ])('shows %s by its code', (_, text, shown) => {
    expect(printable(text)).toBe(shown);
    expect(hasControls(text)).toBe(true);
    expect(printable(shown)).toBe(shown);
  });

  it.each(['presence-1', 'Zürich', 'شبکه\u200cها', '👩\u200d🚀', 'a\\x1b', ' '])('is %s as it is', (text) => {
    expect(printable(text)).toBe(text);
    expect(hasControls(text)).toBe(false);
  });

  it('is found in every field of a value', () => {
    expect(printableAll({ a: ['\x1b', 1, null], b: { c: '\n' } })).toEqual({
      a: ['\\x1b', 1, null],
      b: { c: '\\n' },
    });
  });
});

describe('printable JSON', () => {
  it('has no control character in it, and is the same value', () => {
    const value = { name: '\x1b\x7f\x9b\u202e\u2028\u{e0041}\n', list: [1] };
    for (const text of [printableJson(value), printableJson(value, 2)]) {
      expect(hasControls(text.replaceAll('\n', ''))).toBe(false);
      expect(JSON.parse(text)).toEqual(value);
    }
  });
});
