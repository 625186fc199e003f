import { describe, expect, it } from 'vitest';
import { threeOwners } from '../../../../leasehold/src/pool/shell/service/source-script.ts';
import { poolInUse } from '../../../../leasehold/src/pool/shell/errors.ts';
import { served } from '../testing/served-manager.ts';

describe('pools remove', () => {
  it('has a pool removed, and says so', async () => {
    const manager = threeOwners();
    const asked: string[] = [];
    manager.removePool = async (pool) => asked.push(pool) > 0;
    await using server = await served(manager);
    const ran = await server.run('pool', 'remove', 'presence');
    expect(ran).toEqual({ code: 0, printed: 'The pool presence is removed.\n', complained: '' });
    expect(asked).toEqual(['presence']);
  });

  it('fails while owners are in it, and says which', async () => {
    const manager = threeOwners();
    manager.removePool = async (pool) => {
      throw poolInUse(pool, ['presence-1', 'presence-2']);
    };
    await using server = await served(manager);
    const { code, complained } = await server.run('pool', 'remove', 'presence');
    expect(code).toBe(1);
    expect(complained).toContain('presence-1, presence-2 may hold keys of it');
    expect(complained).toContain('(POOL_IN_USE)');
  });

  it('ends with 4 if there is no such pool', async () => {
    await using server = await served(threeOwners());
    expect((await server.run('pool', 'remove', 'presents')).code).toBe(4);
  });
});

describe('pool list', () => {
  it('marks the numbers of commits, which look like times otherwise', async () => {
    await using server = await served(threeOwners());
    const { printed } = await server.run('pool', 'list');
    expect(printed).toMatch(/LAST CHANGE +LAST LOSS\n/);
    expect(printed).toMatch(/ #\d+ +(#\d+|-)\n/);
  });
});
