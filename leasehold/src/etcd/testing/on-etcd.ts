/**
 * Tests on a real etcd. Where etcd is not installed these tests are left out, loudly; in CI that is a failure.
 *
 * Starting three members takes a second, so tests of one file share a cluster; the effects of a test on the members
 * are undone afterwards, and each test has a prefix of its own for keys.
 */

import { afterAll, type TestContext } from 'vitest';
import { EtcdCluster, type EtcdClusterOptions, endOf, installed } from './etcd-cluster.ts';

export const LONG_MS = 60_000;

export interface Scene {
  readonly cluster: EtcdCluster;
  /** All keys of this test. */
  readonly prefix: string;
  /** After the last of them. */
  readonly end: string;
}

export interface SharedEtcd {
  /** The body of a test. */
  (play: (scene: Scene) => Promise<void>): (context: TestContext) => Promise<void>;
  /** For tests that leave the members alone. */
  scene(): Promise<Scene>;
}

/** A cluster for all tests that are made with the result, started when the first test needs the cluster. */
export function sharedEtcd(
  options: EtcdClusterOptions = {},
  prepare: (cluster: EtcdCluster) => Promise<void> = async () => {},
): SharedEtcd {
  let starting: Promise<EtcdCluster> | undefined;
  let scenes = 0;
  afterAll(async () => {
    await (await starting)?.[Symbol.asyncDispose]();
  });
  const start = async (): Promise<EtcdCluster> => {
    const cluster = await EtcdCluster.start(options);
    await prepare(cluster);
    return cluster;
  };
  const scene = async (): Promise<Scene> => {
    const cluster = await (starting ??= start());
    scenes += 1;
    const prefix = `test-${scenes}/`;
    return { cluster, prefix, end: endOf(prefix) };
  };
  const onEtcd = (play: (scene: Scene) => Promise<void>) => async (context: TestContext) => {
    leaveOutWithoutEtcd(context);
    const set = await scene();
    try {
      await play(set);
    } finally {
      await set.cluster.heal();
    }
  };
  return Object.assign(onEtcd, { scene });
}

export function leaveOutWithoutEtcd(context: TestContext): void {
  const missing = ['etcd', 'openssl'].filter((program) => installed(program) === undefined);
  if (missing.length === 0) return;
  const advice = `not installed: ${missing.join(', ')}. As root, node scripts/setup-tools.mjs installs what is missing.`;
  if (process.env['CI'] === 'true') throw new Error(advice);
  console.warn(`LEFT OUT: ${context.task.name}: ${advice}`);
  context.skip(advice);
}
