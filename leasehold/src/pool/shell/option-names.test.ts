import { describe, expect, it } from 'vitest';
import { joinPool } from './join-pool.ts';
import { openLookup } from './open-lookup.ts';
import { startManager } from './start-manager.ts';
import { superviseCommand } from './supervise-command.ts';

/** As somebody would who has no compiler. */
const call = (start: (options: never) => Promise<unknown>, options: object): Promise<unknown> =>
  start(options as never);

describe('an option that does not exist', () => {
  it.each([
    ['joinPool', joinPool, { pool: 'p', name: 'a', url: 'http://a', onGranted: 1 }, 'onGranted'],
    ['openLookup', openLookup, { pool: 'p', onLost: 1 }, 'onLost'],
    ['startManager', startManager, { dir: 1 }, 'dir'],
    ['superviseCommand', superviseCommand, { command: 'true', arguments: 1 }, 'arguments'],
  ] as const)('is refused by %s before anything has started', async (_, start, options, option) => {
    await expect(call(start, options)).rejects.toMatchObject({ code: 'INVALID_OPTION', option });
    await expect(call(start, options)).rejects.toThrow('there is no such option; there are');
  });

  it.each([
    ['joinPool', joinPool, { pool: 'p', name: 'a', url: 'http://a' }],
    ['openLookup', openLookup, { pool: 'p' }],
    ['superviseCommand', superviseCommand, { command: 'true' }],
  ] as const)('is not the only mistake that %s finds: managers is no text', async (_, start, options) => {
    const called = call(start, { ...options, managers: '127.0.0.1:7400' });
    await expect(called).rejects.toMatchObject({ code: 'INVALID_OPTION', option: 'managers' });
  });
});
