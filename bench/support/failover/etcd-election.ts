/**
 * The least that any leader on etcd can need: a key under a lease of two seconds, which is etcd's shortest; its
 * holder keeps the lease alive until it is killed, and a candidate that watches the key takes it when it is gone. Nothing is read and
 * nobody is told, so this is not a Manager; it is what a Manager cannot be quicker than.
 *
 * To etcd a holder that was killed is one that says nothing more, so holders need no processes of their own, and
 * many can be killed at once, each at another time after its last word.
 */

import { PromiseClient, done, put, Watched } from '../../../leasehold/src/etcd/testing/promise-client.ts';
import { type EtcdCluster, endOf } from '../../../leasehold/src/etcd/testing/etcd-cluster.ts';
import { realClient } from '../../../leasehold/src/etcd/testing/real-client.ts';
import { nowMs, pause } from '../processes/conversation.ts';

const LEASE_SECONDS = 2;
/** A candidate would keep its lease alive while it waits; a long one spares it that. */
const CANDIDATE_SECONDS = 60;
const KEEP_EVERY_MS = (LEASE_SECONDS * 1_000) / 3;

/** From the kill of each holder to its successor having the key. */
export async function etcdElection(cluster: EtcdCluster, times: number): Promise<readonly number[]> {
  const asking = new PromiseClient(realClient(cluster));
  return await Promise.all(
    Array.from({ length: times }, (_, index) => once(asking, `peer/${index}/`, index / times)),
  );
}

async function once(asking: PromiseClient, key: string, phase: number): Promise<number> {
  const { lease } = done(await asking.grant(LEASE_SECONDS));
  const { revision } = done(await asking.put(key, 'holder', lease));
  using watched = new Watched(asking.client, key, endOf(key), revision + 1);
  await pause(phase * KEEP_EVERY_MS);
  for (let kept = 0; kept < 2; kept += 1) {
    done(await asking.keepAlive(lease));
    await pause(KEEP_EVERY_MS * (kept === 0 ? 1 : phase));
  }
  const killedMs = nowMs();
  const mine = done(await asking.grant(CANDIDATE_SECONDS));
  await watched.until((word) => word === `delete ${key}`);
  const compare = [{ key, createRevision: 0 }];
  done(await asking.transact({ compare, success: [put(key, 'candidate', mine.lease)] }));
  return nowMs() - killedMs;
}
