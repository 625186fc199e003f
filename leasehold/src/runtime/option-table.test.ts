import { describe, expect, it } from 'vitest';
import { silent } from './logger.ts';
import * as is from './option-kinds.ts';
import { type OptionTable, optional, or, required, resolveOptions, LOGGER_WORDS } from './option-table.ts';

interface Options {
  name: string;
  port?: number | undefined;
  count?: number | undefined;
  leaseMs?: number | undefined;
  withinMs?: number | undefined;
  part?: number | undefined;
  mode?: 'all' | 'leader' | undefined;
  insecure?: boolean | undefined;
  onView?: (() => void) | undefined;
  file?: string | undefined;
  tls?: object | undefined;
  signal?: AbortSignal | undefined;
  logger?: typeof silent | undefined;
}

const TABLE: OptionTable<Options, 'port' | 'leaseMs' | 'withinMs' | 'mode' | 'insecure' | 'logger'> = {
  name: required(is.name(8)),
  port: or(7_000, is.port),
  count: optional(is.whole(1)),
  leaseMs: or(9_000, is.duration),
  withinMs: or(30_000, is.timeLimit),
  part: optional(is.from(0, 1)),
  mode: or('all', is.oneOf('all', 'leader')),
  insecure: or(false, is.flag),
  onView: optional(is.callback()),
  file: optional(is.string),
  tls: optional(is.anything(), 'plain TCP'),
  signal: optional(is.signal),
  logger: or(silent, is.logger, LOGGER_WORDS),
};

const resolve = (options: object): unknown => resolveOptions('', options as Options, TABLE);

describe('a table of options', () => {
  it('fills in the defaults, and leaves what has none undefined', () => {
    expect(resolve({ name: 'ada', count: 3, leaseMs: undefined })).toEqual({
      ...{
        name: 'ada',
        port: 7_000,
        count: 3,
        leaseMs: 9_000,
        withinMs: 30_000,
        mode: 'all',
        insecure: false,
      },
      logger: silent,
    });
  });

  it.each([
    [{}, 'option name is undefined, but it must be a text of 1 to 8 characters'],
    [{ name: 'far too long' }, 'option name is far too long… (12 characters), but'],
    [{ name: 'a', leasMs: 1 }, 'option leasMs is 1, but there is no such option; there are name, port,'],
    [{ name: 'a', port: 65_536 }, 'option port is 65536, but it must be a whole number from 0 to 65,535'],
    [{ name: 'a', count: 1.5 }, 'option count is 1.5, but it must be a whole number of at least 1'],
    [{ name: 'a', leaseMs: Number.POSITIVE_INFINITY }, 'it must be a positive number of milliseconds'],
    [{ name: 'a', leaseMs: '9s' }, 'option leaseMs is 9s, but it must be a positive number of milliseconds'],
    [
      { name: 'a', leaseMs: null },
      'option leaseMs is null, but it must be a positive number of milliseconds',
    ],
    [{ name: 'a', withinMs: 0 }, 'option withinMs is 0, but it must be a positive number of milliseconds'],
    [{ name: 'a', part: 1.1 }, 'option part is 1.1, but it must be from 0 to 1'],
    [{ name: 'a', part: 'half' }, 'option part is half, but it must be a number from 0 to 1'],
    [{ name: 'a', mode: 'some' }, "option mode is some, but it must be 'all' or 'leader'"],
    [{ name: 'a', insecure: 'yes' }, 'option insecure is yes, but it must be true or false'],
    [{ name: 'a', onView: {} }, 'but it must be a function'],
    [{ name: 'a', file: '' }, 'option file is empty, but it must be a text that is not empty'],
    [{ name: 'a', signal: {} }, 'but it must be an AbortSignal'],
    [
      { name: 'a', logger: { warn() {} } },
      'it must be an object with the functions debug, info, warn and error',
    ],
    [[], 'option options is empty, but it must be an object'],
  ])('refuses %j', (options, message) => {
    expect(() => resolve(options)).toThrow(message);
  });

  it('takes a time limit without an end', () => {
    expect(resolve({ name: 'a', withinMs: Number.POSITIVE_INFINITY })).toMatchObject({
      withinMs: Number.POSITIVE_INFINITY,
    });
  });

  it('says each default as the documents print it', () => {
    const words = Object.values<{ presence: string; words?: string }>(TABLE).map((row) => row.words);
    expect(words).toEqual([
      ...[
        undefined,
        '7,000',
        'none',
        '9,000',
        '30,000',
        'none',
        "`'all'`",
        'false',
        'none',
        'none',
        'plain TCP',
      ],
      ...['none', 'warnings and errors, on the standard error'],
    ]);
  });
});
