import { describe, expect, it } from 'vitest';
import { Body, Lines } from './body.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

describe('an answer that arrives in pieces', () => {
  it('is put together, also where a piece ends within a character', () => {
    const body = new Body(100);
    const whole = bytes('{"a":"é"}');
    for (const byte of whole) expect(body.add(Uint8Array.of(byte))).toBe(true);
    expect(body.text()).toBe('{"a":"é"}');
  });

  it('may come in thousands of pieces', () => {
    const body = new Body(10_000);
    for (let piece = 0; piece < 5_000; piece += 1) body.add(bytes(String(piece % 10)));
    expect(body.text()).toBe('0123456789'.repeat(500));
  });

  it('is no longer kept when it is too large', () => {
    const body = new Body(10);
    expect(body.add(bytes('0123456789'))).toBe(true);
    expect(body.add(bytes('x'))).toBe(false);
    expect(body.text()).toBe('');
  });
});

describe('a stream of lines', () => {
  it('gives each line when it is whole', () => {
    const lines = new Lines(100);
    expect(lines.add(bytes('{"a"'))).toEqual([]);
    expect(lines.add(bytes(':1}\n{"b":2}\n{"c'))).toEqual(['{"a":1}', '{"b":2}']);
    expect(lines.add(bytes('":3}'))).toEqual([]);
    expect(lines.add(bytes('\n'))).toEqual(['{"c":3}']);
  });

  it('takes no notice of empty ones', () => {
    expect(new Lines(100).add(bytes('\n \r\na\n\n'))).toEqual(['a']);
  });

  it('ends with a line that is too long, whole or not', () => {
    expect(new Lines(4).add(bytes('1234\n12345\n'))).toBeUndefined();
    const lines = new Lines(4);
    expect(lines.add(bytes('1234'))).toEqual([]);
    expect(lines.add(bytes('5'))).toBeUndefined();
  });
});
