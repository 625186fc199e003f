import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { calledAs, outputOf } from './context.ts';

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

describe('an output that nobody reads any more', () => {
  const broken = (code: string): Error => Object.assign(new Error(code), { code });
  const written = () => {
    const stream = new PassThrough();
    const ended = vi.fn();
    return { stream, ended, output: outputOf(stream as unknown as NodeJS.WriteStream, ended) };
  };

  it.each(['EPIPE', 'EIO'])('ends a command that was started for what it prints: %s', (code) => {
    const { stream, ended } = written();
    stream.emit('error', broken(code));
    expect(ended).toHaveBeenCalledOnce();
  });

  it('does not end one that was started for what it does', () => {
    const { stream, ended, output } = written();
    output.goOnUnread();
    stream.emit('error', broken('EPIPE'));
    stream.emit('error', broken('ENOSPC'));
    expect(ended).not.toHaveBeenCalled();
  });

  it('is a fault if it is anything else that keeps a result from being printed', () => {
    const { stream } = written();
    expect(() => stream.emit('error', broken('ENOSPC'))).toThrow('ENOSPC');
  });
});

describe('the words that start this program, as hints repeat them', () => {
  const BIN = '/app/node_modules/.bin/leasehold';

  it.each([
    ['leasehold', {}, BIN],
    ['npx leasehold', { npm_command: 'exec' }, BIN],
    ['leasehold', { npm_command: 'exec' }, '/app/cli.js'],
    ['npm run leasehold --', { npm_command: 'exec', LEASEHOLD_CALLED_AS: 'npm run leasehold --' }, BIN],
  ])('are "%s" with %j and %s', (words, environment, program) => {
    expect(calledAs(environment, program)).toBe(words);
  });
});
