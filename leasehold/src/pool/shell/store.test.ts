import { describe, expect, it } from 'vitest';
import { storePlace } from './etcd-connection.ts';
import { startManager } from './start-manager.ts';
import { type EtcdStore, planStore } from './store.ts';

const SECRET = 's3cret';
const ADDRESS = `etcds://me:${SECRET}@etcd-1,10.0.0.2:2380/prod/managers`;

describe('where a Manager is told to keep its log', () => {
  it('is memory, a directory or an etcd', () => {
    expect(planStore(undefined, undefined)).toEqual({ kind: 'memory' });
    expect(planStore('data', undefined)).toEqual({ kind: 'file', directory: 'data' });
    expect(planStore(undefined, ADDRESS)).toEqual({ kind: 'etcd', options: { etcd: ADDRESS } });
    const options = { etcd: ADDRESS, cluster: 'c', ca: 'ca.pem', openWithinMs: 1_000 };
    expect(planStore(undefined, options)).toEqual({ kind: 'etcd', options });
  });

  it.each([
    ['data', 'etcd://h', 'a directory is given too'],
    [undefined, 'http://h', 'it must begin with etcd://'],
    [undefined, { etcd: 'etcd://h', ca: 'ca.pem' }, 'write etcds:// instead'],
    [undefined, { etcd: 'etcd://h', cluster: '' }, 'option cluster is'],
    [
      undefined,
      { etcd: 'etcd://h', openWithinMs: 0 },
      'option openWithinMs is 0, but it must be a positive number of milliseconds',
    ],
    [undefined, 7 as unknown as string, 'option store is number'],
    [undefined, null as unknown as string, 'option store is object'],
  ])('makes sense: not %j with %j', (directory, store, complaint) => {
    expect(() => planStore(directory, store)).toThrow(complaint);
  });

  it('is refused without a word of what may be a password in the wrong place', () => {
    const misspelt = { etcd: 'etcd://h', password: SECRET } as EtcdStore;
    expect(() => planStore(undefined, misspelt)).toThrow(/option store\.password is given.*there are etcd, /);
    for (const wrong of [misspelt, `etcd:/me:${SECRET}@h`, `etcd://me:${SECRET}`, `etcd://${SECRET}@h`]) {
      expect(() => planStore(undefined, wrong)).not.toThrow(SECRET);
      expect(() => planStore(undefined, wrong)).toThrow('option store');
    }
  });

  it('can be shown to people but for what is secret', () => {
    const place = { members: ['etcd-1:2379', '10.0.0.2:2380'], prefix: 'prod/managers/' };
    expect(storePlace(ADDRESS)).toEqual({ ...place, cluster: 'leasehold' });
    expect(storePlace({ etcd: ADDRESS, cluster: 'c' })).toEqual({ ...place, cluster: 'c' });
  });
});

describe('a Manager that shares its log', () => {
  it('must say where it can be reached if that does not follow from where it listens', async () => {
    const starting = startManager({ store: 'etcd://h', host: '0.0.0.0', insecure: true });
    await expect(starting).rejects.toThrow('option advertise is not given');
  });

  it('is not started for somebody who has given up already', async () => {
    const why = new Error('no time');
    const starting = startManager({ store: 'etcd://h', port: 0, signal: AbortSignal.abort(why) });
    await expect(starting).rejects.toBe(why);
  });
});
