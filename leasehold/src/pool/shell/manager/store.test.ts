import { describe, expect, it } from 'vitest';
import { storePlace } from './etcd-connection.ts';
import { startManager } from './start-manager.ts';
import type { EtcdStore } from './etcd-options.ts';
import { type AnyStore, planStore } from './store.ts';
import { silent } from '../../../runtime/logger.ts';

const PLAIN = { tls: false, logger: silent } as const;

const SECRET = 's3cret';
const ADDRESS = `etcds://me:${SECRET}@etcd-1,10.0.0.2:2380/prod/managers`;

describe('where a Manager is told to keep its log', () => {
  it('is memory, a directory or an etcd', () => {
    expect(planStore('memory', PLAIN)).toEqual({ kind: 'memory' });
    const directory = { directory: 'data', allowNetworkDirectory: true };
    expect(planStore(directory, PLAIN)).toEqual({ kind: 'file', options: directory });
    expect(planStore(ADDRESS, PLAIN)).toEqual({ kind: 'etcd', options: { etcd: ADDRESS } });
    const options = { etcd: { url: ADDRESS, ca: 'ca.pem' }, cluster: 'c' };
    expect(planStore(options, PLAIN)).toEqual({ kind: 'etcd', options });
  });

  it.each([
    [{ directory: 'data', etcd: 'etcd://h' } as AnyStore, 'option store.etcd'],
    [{ directory: 7 } as unknown as AnyStore, 'option store.directory is 7'],
    ['http://h', 'it must begin with etcd://'],
    [{ etcd: { url: 'etcd://h', ca: 'ca.pem' } }, 'write etcds:// instead'],
    [{ etcd: 'etcd://h', cluster: '' }, 'option store.cluster is'],
    [{ etcd: 7 as unknown as string }, 'option store.etcd is number'],
    [7 as unknown as string, 'option store is number'],
    [null as unknown as string, 'option store is object'],
  ])('makes sense: not %j', (store, complaint) => {
    expect(() => planStore(store, PLAIN)).toThrow(complaint);
  });

  it('is refused without a word of what may be a password in the wrong place', () => {
    const misspelt = { etcd: 'etcd://h', password: SECRET } as EtcdStore;
    expect(() => planStore(misspelt, PLAIN)).toThrow(
      /option store\.password is given.*there are etcd, cluster/,
    );
    for (const wrong of [misspelt, `etcd:/me:${SECRET}@h`, `etcd://me:${SECRET}`, `etcd://${SECRET}@h`]) {
      expect(() => planStore(wrong, PLAIN)).not.toThrow(SECRET);
      expect(() => planStore(wrong, PLAIN)).toThrow('option store');
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
    const starting = startManager({ store: 'etcd://h', listen: '0.0.0.0:7400', insecure: true });
    await expect(starting).rejects.toThrow('option advertise is not given');
  });

  it('is not started for somebody who has given up already', async () => {
    const why = new Error('no time');
    const starting = startManager({
      store: 'etcd://h',
      listen: '127.0.0.1:0',
      signal: AbortSignal.abort(why),
    });
    await expect(starting).rejects.toBe(why);
  });
});
