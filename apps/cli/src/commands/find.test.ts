import { describe, expect, it } from 'vitest';
import { threeOwners } from '../../../../leasehold/src/pool/shell/service/source-script.ts';
import { served } from '../testing/served-manager.ts';

describe('pool find', () => {
  it('tells who owns the empty key, as explain does', async () => {
    await using manager = await served(threeOwners());
    const looked = await manager.run('pool', 'find', 'presence', '', 'alice', '--json');
    const explained = await manager.run('pool', 'explain', 'presence', '', '--json');
    expect(looked).toMatchObject({ code: 0, complained: '' });
    const { keys } = JSON.parse(looked.printed) as { keys: { key: string; owner: unknown }[] };
    expect(keys.map(({ key }) => key)).toEqual(['', 'alice']);
    expect(keys[0]?.owner).toEqual((JSON.parse(explained.printed) as { owner: unknown }).owner);
  });

  it.each(['find', 'explain'])('refuses a key that is too long, as the library does: %s', async (command) => {
    await using manager = await served(threeOwners());
    const { code, complained } = await manager.run('pool', command, 'presence', 'a'.repeat(4_097), '--json');
    expect([code, (JSON.parse(complained) as { error: { code: string } }).error.code]).toEqual([
      2,
      'INVALID_KEY',
    ]);
  });
});
