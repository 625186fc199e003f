import { describe, expect, it } from 'vitest';
import { textOption } from './text-option.ts';

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
