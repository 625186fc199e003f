import { describe, expect, it } from 'vitest';
import { openExistingDirectory } from '../../node/storage.ts';
import { readIdentity, writeIdentity } from '../disk/identity.ts';
import { TestGroup } from './testing/groups.ts';

describe('a group that was founded', () => {
  it('stays founded in every directory, although replicas restart and are written down meanwhile', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    const before = group.replicas
      .get('a')
      ?.status()
      .members.map(({ storage }) => storage);
    for (const name of ['b', 'c', 'b']) {
      await group.stop(name);
      await group.serves(name);
    }
    for (const name of ['a', 'b', 'c']) {
      await group.stop(name);
      const identity = await readIdentity(await openExistingDirectory(group.directory(name)), name);
      expect(identity?.origin).toMatchObject({ kind: 'founding' });
      const founded = identity?.origin.kind === 'founding' ? identity.origin.members : [];
      expect(founded.map(({ storage }) => storage)).toEqual(before);
    }
  });

  it('is not started from an identity that is damaged', async () => {
    await using group = await TestGroup.started('a');
    await group.stop('a');
    const storage = await openExistingDirectory(group.directory('a'));
    const identity = await readIdentity(storage, 'a');
    if (identity === undefined) expect.unreachable();
    const file = await storage.open('identity');
    await file.write(20, new TextEncoder().encode('?'));
    await file.close();
    await expect(group.start('a')).rejects.toThrow('its file "identity" is damaged');
    await writeIdentity(storage, identity);
    await group.serves('a');
  });
});
