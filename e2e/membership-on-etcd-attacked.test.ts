/** Servers of a group registered in a real etcd that loses all data, goes back, stands still, or has keys changed by hand. At most one view acts, and all act again. */

import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EtcdCluster } from '../leasehold/src/etcd/testing/etcd-cluster.ts';
import { GroupServers } from './harness/group-servers.ts';
import { onScene, type Scene, type SceneOptions } from './harness/scene.ts';
import { until } from './harness/time.ts';

const NAMES = ['a', 'b', 'c'] as const;
type Name = (typeof NAMES)[number];
const LEASE_MS = 1_500;
const KEYS = 'e2e/groups/default/';
const ETCD: SceneOptions = { needs: ['etcd'] };

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** One member, so that the data can be taken away and put back. */
class Attacked {
  readonly group: GroupServers<Name>;
  readonly #cluster: EtcdCluster;
  readonly #member: EtcdCluster['members'][number];

  private constructor(cluster: EtcdCluster, group: GroupServers<Name>) {
    this.#cluster = cluster;
    this.#member = cluster.member('m0');
    this.group = group;
  }

  static async open(scene: Scene): Promise<Attacked> {
    const cluster = await EtcdCluster.start({ members: 1 });
    scene.defer(() => cluster[Symbol.asyncDispose]());
    const etcd = `etcd://${new URL(cluster.member('m0').endpoint).host}/e2e`;
    return new Attacked(cluster, await GroupServers.open(scene, NAMES, { leaseMs: LEASE_MS, etcd }));
  }

  get data(): string {
    return join(this.#cluster.directory, 'm0');
  }

  async whileDown(act: () => Promise<void>): Promise<void> {
    await this.#member.kill();
    await act();
    await this.#member.start();
    await this.#cluster.whenWell();
  }

  pause(): void {
    this.#member.pause();
  }

  resume(): void {
    this.#member.resume();
  }

  async entryOf(name: Name): Promise<{ readonly value: string; readonly lease: string }> {
    const { kvs } = await this.ask('/v3/kv/range', { key: base64(KEYS + name) });
    const [found] = kvs as readonly { value: string; lease: string }[];
    if (found === undefined) throw new Error(`${name} is not registered`);
    return found;
  }

  async ask(path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
    const { status, text } = await this.#cluster.ask(this.#member, path, body);
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  }

  /** Resolves when this server has been without a view more than so often. */
  async withoutView(name: Name, before: number): Promise<void> {
    await until(`${name} has no view`, () => (this.#timesWithoutViewOf(name) > before ? true : undefined));
  }

  #timesWithoutViewOf(name: Name): number {
    return this.group.at(name).events.filter(({ event }) => event === 'no-view').length;
  }

  /** Changes a registration by hand, and waits until that server has noticed and all act again. */
  async attack(name: Name, act: () => Promise<unknown>): Promise<void> {
    const before = this.#timesWithoutViewOf(name);
    await act();
    await this.withoutView(name, before);
    await this.group.act(NAMES);
  }
}

describe('servers registered in an etcd', () => {
  it(
    'that loses its data, and is put back from an older copy: at most one view acts',
    onScene(async (scene) => {
      const etcd = await Attacked.open(scene);
      const { group } = etcd;
      const copy = scene.path('copy');
      await etcd.whileDown(() => cp(etcd.data, copy, { recursive: true }));
      await etcd.whileDown(() => rm(join(etcd.data, 'member'), { recursive: true }));
      await etcd.withoutView('a', 0);
      await group.act(NAMES);
      await etcd.whileDown(async () => {
        await rm(etcd.data, { recursive: true });
        await cp(copy, etcd.data, { recursive: true });
      });
      await etcd.withoutView('a', 1);
      await group.act(NAMES);
      expect(await group.overlaps()).toEqual([]);
    }, ETCD),
  );

  it(
    'in which entries are deleted, revoked and copied by hand: at most one view acts',
    onScene(async (scene) => {
      const etcd = await Attacked.open(scene);
      const { group } = etcd;
      const key = base64(`${KEYS}a`);
      await etcd.attack('a', () => etcd.ask('/v3/kv/deleterange', { key }));
      const { lease } = await etcd.entryOf('b');
      await etcd.attack('b', () => etcd.ask('/v3/lease/revoke', { ID: lease }));
      const everything = { key: base64(KEYS), range_end: base64(`${KEYS.slice(0, -1)}0`) };
      await etcd.attack('c', () => etcd.ask('/v3/kv/deleterange', everything));
      // A copy under no lease stands for nobody, also under a name that no server has.
      const { value } = await etcd.entryOf('a');
      await etcd.ask('/v3/kv/put', { key: base64(`${KEYS}z`), value });
      await etcd.ask('/v3/kv/put', { key, value });
      await group.act(['b', 'c']);
      await etcd.ask('/v3/kv/deleterange', { key });
      await group.act(NAMES);
      expect(await group.overlaps()).toEqual([]);
    }, ETCD),
  );

  it(
    'that stands still for longer than registrations last, and one of which stood still while its entry was deleted: at most one view acts',
    onScene(async (scene) => {
      const etcd = await Attacked.open(scene);
      const { group } = etcd;
      etcd.pause();
      await Promise.all(NAMES.map((name) => etcd.withoutView(name, 0)));
      etcd.resume();
      await group.act(NAMES);
      group.at('a').signal('SIGSTOP');
      await etcd.ask('/v3/kv/deleterange', { key: base64(`${KEYS}a`) });
      await group.act(['b', 'c']);
      group.at('a').signal('SIGCONT');
      await group.act(NAMES);
      expect(await group.overlaps()).toEqual([]);
    }, ETCD),
  );
});
