import { AddressUnavailableError, PortInUseError } from 'leasehold/manager';
import { describe, expect, it } from 'vitest';
import { inOptions, type Listening } from './listening.ts';
import { run } from './testing/started.ts';

const PLACES: readonly Listening[] = [
  { address: '192.0.2.1:7400', option: '--host' },
  { address: '[2001:db8::1]:7401', option: '--http-host' },
];

const saidOf = async (error: Error): Promise<unknown> =>
  inOptions(Promise.reject(error), PLACES).catch((thrown: unknown) => thrown);

describe('an address that this machine does not have', () => {
  it.each([
    ['192.0.2.1', 7400, '--host'],
    ['2001:db8::1', 7401, '--http-host'],
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
    [['--host', '192.0.2.1'], '--host'],
    [['--http-host', '192.0.2.1'], '--http-host'],
    [
      ['--store', 'flease', '--flease-id', 'a', '--flease-peers', 'a=192.0.2.1:7500,b=192.0.2.2:7500'],
      '--flease-listen',
    ],
  ])(
    'is what a Manager was told to listen on: %s',
    async (words, option) => {
      const memory = words.includes('--store') ? [] : ['--memory'];
      const { code, stderr } = await run([
        ...['manager', ...memory, '--port', '0', '--http-port', '0', '--insecure'],
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
