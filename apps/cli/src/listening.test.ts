import { type AddressInfo, createServer } from 'node:net';
import { AddressUnavailableError, PortInUseError } from 'leasehold/internal';
import { describe, expect, it } from 'vitest';
import { inOptions, type Listening } from './listening.ts';
import { run } from './testing/started.ts';

const PLACES: readonly Listening[] = [
  { address: '192.0.2.1:7400', option: '--listen' },
  { address: '[2001:db8::1]:7401', option: '--http' },
];

const saidOf = async (error: Error): Promise<unknown> =>
  inOptions(Promise.reject(error), PLACES).catch((thrown: unknown) => thrown);

describe('an address that this machine does not have', () => {
  it.each([
    ['192.0.2.1', 7400, '--listen'],
    ['2001:db8::1', 7401, '--http'],
  ])('is said with the option that chooses another: %s', async (host, port, option) => {
    const error = new AddressUnavailableError(host, port, 'EADDRNOTAVAIL', { cause: 'of the system' });
    expect(await saidOf(error)).toMatchObject({
      ...{ code: error.code, host, port, cause: 'of the system' },
      message: `cannot listen on ${host}, port ${port}: EADDRNOTAVAIL; choose an address of this machine with ${option}`,
    });
  });

  it('is said as it is if nobody knows who chose it, and so is everything else', async () => {
    const elsewhere = new AddressUnavailableError('192.0.2.1', 7402, 'EADDRNOTAVAIL');
    expect(await saidOf(elsewhere)).toBe(elsewhere);
    const taken = new PortInUseError('192.0.2.1', 7400);
    expect(await saidOf(taken)).toBe(taken);
    expect(await inOptions(Promise.resolve(1), PLACES)).toBe(1);
  });

  it.each([
    [['--listen', '192.0.2.1:0'], '--listen'],
    [['--http', '192.0.2.1:0'], '--http'],
    [['--store', 'flease', '--name', 'a', '--peers', 'a=192.0.2.1:7500,b=192.0.2.2:7500'], '--cell-listen'],
  ])(
    'is what a Manager was told to listen on: %s',
    async (words, option) => {
      const memory = words.includes('--store') ? [] : ['--memory'];
      const { code, stderr } = await run([
        ...['manager', 'start', ...memory, '--listen', '127.0.0.1:0', '--http', '0', '--insecure'],
        ...words,
      ]);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(`choose an address of this machine with ${option}`),
      ]);
    },
    60_000,
  );
});

describe('a place where another process listens', () => {
  it('is said with what can be done about it there', async () => {
    const places = [{ address: '127.0.0.1:7500', option: '--cell-listen', whenTaken: 'wait' }];
    const error = new PortInUseError('127.0.0.1', 7500, { cause: 'of the system' });
    await expect(inOptions(Promise.reject(error), places)).rejects.toMatchObject({
      ...{ code: error.code, port: 7500, cause: 'of the system' },
      message: 'port 7500 on 127.0.0.1 is in use; wait',
    });
  });

  it.each([
    [[], ', at every Manager (PORT_IN_USE)'],
    [['--cell-listen'], ', at every Manager, or another --cell-listen (PORT_IN_USE)'],
  ])(
    'is where a Manager listens for those that elect with it: %j',
    async (listen, advice) => {
      const taken = createServer();
      await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
      const address = `127.0.0.1:${(taken.address() as AddressInfo).port}`;
      const { code, stderr } = await run([
        ...['manager', 'start', '--store', 'flease', '--name', 'a'],
        ...['--listen', '127.0.0.1:0', '--http', '0'],
        ...['--peers', `a=${address},b=127.0.0.1:1`, ...listen.flatMap((flag) => [flag, address])],
      ]);
      await new Promise((resolve) => taken.close(resolve));
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(
          `another process may be a already, and no two may be one member at a time: wait until it has ended, or give this one a name and an address of its own in --peers${advice}`,
        ),
      ]);
    },
    60_000,
  );
});

describe('a Manager that was told what makes no sense', () => {
  it.each([
    [['--memory', '--listen', '0.0.0.0:0'], '--listen is 0.0.0.0, but'],
    [
      ['--store', 'flease', '--name', 'a', '--peers', 'a=127.0.0.1:1,b=127.0.0.1:2', '--clock-skew', '600ms'],
      '--clock-skew is 600 ms, but',
    ],
  ])(
    'does not say first that it starts: %j',
    async (words, complaint) => {
      const { code, stdout, stderr } = await run([
        'manager',
        'start',
        '--listen',
        '127.0.0.1:0',
        '--http',
        '0',
        ...words,
      ]);
      expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(complaint)]);
    },
    60_000,
  );
});
