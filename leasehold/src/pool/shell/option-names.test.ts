import { describe, expect, it } from 'vitest';
import { joinPool } from './owner/join-pool.ts';
import { connectLookup } from './lookup/connect-lookup.ts';
import { startManager } from './manager/start-manager.ts';
import { supervise } from './supervise.ts';

/** As somebody would who has no compiler. */
const call = (start: (options: never) => Promise<unknown>, options: object): Promise<unknown> =>
  start(options as never);

describe('an option that does not exist', () => {
  it.each([
    ['joinPool', joinPool, { pool: 'p', name: 'a', url: 'http://a', onGranted: 1 }, 'onGranted'],
    ['connectLookup', connectLookup, { pool: 'p', onLost: 1 }, 'onLost'],
    ['startManager', startManager, { dir: 1 }, 'dir'],
    ['supervise', supervise, { command: 'true', arguments: 1 }, 'arguments'],
  ] as const)('is refused by %s before anything has started', async (_, start, options, option) => {
    await expect(call(start, options)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      details: expect.objectContaining({ option }),
    });
    await expect(call(start, options)).rejects.toThrow('there is no such option; there are');
  });

  it.each([
    ['joinPool', joinPool, { pool: 'p', name: 'a', url: 'http://a' }],
    ['connectLookup', connectLookup, { pool: 'p' }],
    ['supervise', supervise, { command: 'true' }],
  ] as const)('is not the only mistake that %s finds: managers is no text', async (_, start, options) => {
    const called = call(start, { ...options, managers: '127.0.0.1:7400' });
    await expect(called).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      details: expect.objectContaining({ option: 'managers' }),
    });
  });
});

describe('an option of a wrong kind', () => {
  const bare: object = Object.create(null);
  const place = { pool: 'p', managers: ['127.0.0.1:1'] };
  it.each([
    [
      'a place in a log without a position',
      connectLookup,
      { ...place, resumeFrom: { history: 'h' } },
      'resumeFrom',
    ],
    [
      'a position that is no number',
      connectLookup,
      { ...place, resumeFrom: { history: 'h', position: Number.NaN } },
      'resumeFrom',
    ],
    [
      'a position as a text',
      connectLookup,
      { ...place, resumeFrom: { history: 'h', position: '7' } },
      'resumeFrom',
    ],
    [
      'a place in a log that is a text',
      connectLookup,
      { ...place, resumeFrom: '{"history":"h"}' },
      'resumeFrom',
    ],
    ['an address that is a number', startManager, { listen: 7400 }, 'listen'],
    ['an address that is a list', startManager, { listen: ['127.0.0.1:0'] }, 'listen'],
    ['pools that are null', startManager, { pools: null }, 'pools'],
    ['pools that are a list', startManager, { pools: [] }, 'pools'],
    ['an object that is no text', startManager, { listen: bare }, 'listen'],
  ] as const)('is refused before anything has started: %s', async (_, start, options, option) => {
    await expect(call(start, options)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      details: expect.objectContaining({ option }),
    });
  });
});
