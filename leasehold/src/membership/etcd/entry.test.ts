import { describe, expect, it } from 'vitest';
import { encodeJson } from '../../etcd/values.ts';
import { decodeEntry, encodeEntry, keyOfEntry } from './entry.ts';

const PREFIX = 'shop/groups/default/';
const ENTRY = {
  ...{ incarnation: { startedMs: 1, nonce: 2 }, address: '127.0.0.1:1', process: 'p' },
  settings: { leaseMs: '1500' },
};
const keyValue = (name: string) => ({
  ...{ key: keyOfEntry(PREFIX, name), value: encodeEntry(ENTRY), lease: '7' },
  ...{ createRevision: 3, modRevision: 4 },
});

describe('an entry', () => {
  it.each(['a', 'a/b', '%', 'ü b'])('of a server called %s is read as written', (name) => {
    expect(decodeEntry(keyValue(name), PREFIX)).toEqual({ ...ENTRY, name, lease: '7', revision: 4 });
  });

  it('of another version is not left out', () => {
    const value = encodeJson({ kind: 'leasehold-membership', version: 2 });
    expect(decodeEntry({ ...keyValue('a'), value }, PREFIX)).toBe('unreadable');
  });

  it.each([
    ['holds something else', { value: encodeJson({ kind: 'other' }) }],
    ['is under no lease, and so would never end', { lease: '0' }],
    ['belongs to a group whose prefix begins with this one', { key: `${PREFIX}groups/default/b` }],
    ['has no name', { key: PREFIX }],
    ['has a name that is no text', { key: `${PREFIX}%FF` }],
  ])('that %s is no registration', (_, difference) => {
    expect(decodeEntry({ ...keyValue('a'), ...difference }, PREFIX)).toBeUndefined();
  });
});
