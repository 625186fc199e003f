import { describe, expect, it } from 'vitest';
import { printable } from './printable.ts';
import { nameOption, textOption } from './text-option.ts';

describe('a text that is an option', () => {
  it('is given back if the wire can carry it', () => {
    expect(textOption('id', 'ada', 3)).toBe('ada');
  });

  it.each<[unknown, string]>([
    ['', 'option id is empty, but it must be a text of 1 to 64 characters'],
    [7, 'option id is 7, but it must be a text of 1 to 64 characters'],
    ['\ud800', 'but it must be well-formed Unicode'],
    [
      'x'.repeat(10_000),
      `option id is ${'x'.repeat(32)}… (10000 characters), but it must be a text of 1 to 64 characters`,
    ],
  ])('is refused otherwise, and no more of it shown than tells what it is: %.8s', (value, complaint) => {
    expect(() => textOption('id', value, 64)).toThrow(complaint);
  });
});

describe('a name or a url that is an option', () => {
  it('is given back if people can read it', () => {
    expect(nameOption('name', 'Zürich-3', 64)).toBe('Zürich-3');
  });

  it.each(['a\x1b[2J', 'a\nb', 'a\x07', 'a\u202eb', 'a\u200b'])(
    'is refused with control or invisible characters, which the complaint escapes: %j',
    (value) => {
      const complaint = `option name is ${printable(value)}, but it must have no control or invisible characters in it`;
      expect(() => nameOption('name', value, 64)).toThrow(complaint);
    },
  );
});
