import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { outputOf } from './context.ts';

const sizeOf = (isTTY: boolean, columns: number | undefined, rows: number | undefined) => {
  const stream = Object.assign(new PassThrough(), { isTTY, columns, rows });
  const output = outputOf(stream as unknown as NodeJS.WriteStream);
  return [output.columns, output.rows];
};

describe('the size of an output', () => {
  it('is what the terminal says', () => {
    expect(sizeOf(true, 132, 50)).toEqual([132, 50]);
  });

  it('is a usual one if the terminal does not know its own', () => {
    expect(sizeOf(true, 0, 0)).toEqual([80, 24]);
    expect(sizeOf(true, undefined, undefined)).toEqual([80, 24]);
  });

  it('has no end of lines where there is no terminal', () => {
    expect(sizeOf(false, undefined, undefined)).toEqual([80, Number.POSITIVE_INFINITY]);
  });
});
