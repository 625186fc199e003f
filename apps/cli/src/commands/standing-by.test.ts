import { describe, expect, it } from 'vitest';
import { keepingNothing, standby } from '../../../../leasehold/src/pool/shell/service/source-script.ts';
import { ManagerState } from '../../../../leasehold/src/pool/core/state.ts';
import { served } from '../testing/served-manager.ts';

describe('a Manager that stands by and keeps nothing', () => {
  const COMMANDS = [
    ['pool', 'list'],
    ['pool', 'status', 'quotas'],
    ['pool', 'find', 'quotas', 'a'],
    ['pool', 'explain', 'quotas', 'a'],
  ];

  it.each(COMMANDS)(
    'cannot say what only the one that leads knows, and how to ask that: %s',
    async (...words) => {
      await using manager = await served(keepingNothing());
      const { url } = manager;
      const { code, printed, complained } = await manager.run(...words);
      expect([code, printed]).toEqual([75, '']);
      expect(complained).toBe(
        `leasehold: the Manager at ${url} stands by, and knows neither pools nor owners; m2 leads, as far as it knows: ask that one, with --at (NOT_LEADING)\n`,
      );
    },
  );

  it('says to programs who leads, and where it can be asked if that is known', async () => {
    const manager = keepingNothing();
    manager.others = standby().others;
    await using server = await served(manager);
    const { complained } = await server.run('pool', 'list', '--json');
    expect(JSON.parse(complained)).toMatchObject({
      error: {
        code: 'NOT_LEADING',
        message: expect.stringMatching(/ask that one, with --at http:\/\/10\.0\.0\.2:7401$/),
        leader: { id: 'm2', address: null, http: 'http://10.0.0.2:7401' },
      },
    });
  });

  it('says that it does not know who leads', async () => {
    const manager = keepingNothing();
    manager.elected = undefined;
    await using server = await served(manager);
    const { complained } = await server.run('pool', 'list');
    expect(complained).toMatch(
      /stands by, and knows neither pools nor owners, nor who leads \(NOT_LEADING\)$/m,
    );
  });
});

describe('a Manager that stands by and has read all of a log that is empty', () => {
  it('says that there are no pools', async () => {
    const manager = standby();
    manager.state = ManagerState.empty;
    await using server = await served(manager);
    expect(await server.run('pool', 'list')).toMatchObject({
      code: 0,
      printed: 'There are no pools yet. A pool begins when its first owner joins.\n',
    });
    expect(await server.run('pool', 'find', 'presence', 'a')).toMatchObject({
      code: 4,
      complained: expect.stringContaining('UNKNOWN_POOL'),
    });
  });
});
