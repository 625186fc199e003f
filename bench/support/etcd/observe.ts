/**
 * What a real etcd of three members does when something happens to it, as far as a fenced log depends on it.
 * Nothing is compared and nothing has a goal: whatever is seen here is what a simulated etcd must be at
 * least as unkind as. `docs/decisions/0013-what-etcd-does.md` has the figures.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { PromiseClient, done, put, Watched } from '../../../leasehold/src/etcd/testing/promise-client.ts';
import { EtcdCluster, type EtcdMember, endOf } from '../../../leasehold/src/etcd/testing/etcd-cluster.ts';
import { realClient } from '../../../leasehold/src/etcd/testing/real-client.ts';
import { percentile } from '../processes/statistics.ts';

const PREFIX = 'observed/';
const END = endOf(PREFIX);

type Say = (line: string) => void;

function spread(values: readonly number[]): string {
  const at = (share: number): string => percentile(values, share).toFixed(0);
  return `least ${at(0)}, median ${at(0.5)}, 90 % ${at(0.9)}, most ${at(1)} ms (${values.length} samples)`;
}

const now = (): number => performance.now();

/** When each key was seen to be deleted, by a watch that nothing else can end. */
class Deletions implements Disposable {
  readonly at = new Map<string, number>();
  readonly #watch: Disposable;

  constructor(cluster: EtcdCluster, endpoints: readonly string[], fromRevision: number) {
    this.#watch = realClient(cluster, { endpoints }).watch(PREFIX, END, fromRevision, {
      changed: (key, value) => {
        if (value === undefined) this.at.set(key, now());
      },
      ended: (why) => {
        throw new Error(`the watch ended: ${why}`);
      },
    });
  }

  async all(keys: readonly string[]): Promise<void> {
    while (!keys.every((key) => this.at.has(key))) await pause(5);
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }
}

interface Held {
  readonly key: string;
  /** Before the last sign of life was sent, and after it was answered. */
  readonly askedAt: number;
  readonly answeredAt: number;
}

/** A key under a lease whose holder is gone after one more sign of life. */
async function abandon(asking: PromiseClient, name: string, ttlSeconds: number): Promise<Held> {
  const key = `${PREFIX}${name}`;
  const { lease } = done(await asking.grant(ttlSeconds));
  done(await asking.put(key, 'x', lease));
  const askedAt = now();
  done(await asking.keepAlive(lease));
  return { key, askedAt, answeredAt: now() };
}

/** How long is a key kept after its holder's last sign of life, when nothing else happens? */
export async function expiry(
  cluster: EtcdCluster,
  ttlSeconds: number,
  samples: number,
  say: Say,
): Promise<void> {
  const asking = new PromiseClient(realClient(cluster));
  const { revision } = done(await asking.range({ key: PREFIX }));
  using deletions = new Deletions(cluster, cluster.endpoints, revision + 1);
  const held: Held[] = [];
  for (let sample = 0; sample < samples; sample += 1) {
    held.push(await abandon(asking, `expiry-${ttlSeconds}-${sample}`, ttlSeconds));
    await pause(137);
  }
  await deletions.all(held.map(({ key }) => key));
  const past = (from: 'askedAt' | 'answeredAt'): number[] =>
    held.map((each) => (deletions.at.get(each.key) as number) - each[from] - ttlSeconds * 1_000);
  say(
    `TTL ${ttlSeconds} s: the key is gone, later than the TTL after the last keep-alive was sent: ${spread(past('askedAt'))}`,
  );
}

/** The same when etcd's leader is killed in between, so many ms after the sign of life. */
export async function expiryAcrossKill(
  cluster: EtcdCluster,
  ttlSeconds: number,
  afterMs: readonly number[],
  say: Say,
): Promise<void> {
  const sinceSign: number[] = [];
  const sinceKill: number[] = [];
  for (const [round, waitMs] of afterMs.entries()) {
    const leader = await cluster.whenLed();
    const others = cluster.members.filter((member) => member !== leader).map(({ endpoint }) => endpoint);
    const asking = new PromiseClient(realClient(cluster, { endpoints: others }), 10_000);
    const { revision } = done(await asking.range({ key: PREFIX }));
    using deletions = new Deletions(cluster, survivors(cluster, leader), revision + 1);
    const held: Held[] = [];
    for (let each = 0; each < 4; each += 1)
      held.push(await abandon(asking, `kill-${round}-${each}`, ttlSeconds));
    await pause(waitMs);
    await leader.kill();
    const killedAt = now();
    await deletions.all(held.map(({ key }) => key));
    for (const { key, askedAt } of held) {
      const goneAt = deletions.at.get(key) as number;
      sinceSign.push(goneAt - askedAt);
      sinceKill.push(goneAt - killedAt);
    }
    await cluster.heal();
  }
  say(`TTL ${ttlSeconds} s, etcd's leader killed ${afterMs.join(', ')} ms after the last keep-alive:`);
  say(`  the key is gone after that keep-alive: ${spread(sinceSign)}`);
  say(`  the key is gone after the kill: ${spread(sinceKill)}`);
}

/** How long until there is another leader, and until something is committed again? */
export async function election(
  cluster: EtcdCluster,
  how: 'kill' | 'pause',
  rounds: number,
  say: Say,
): Promise<void> {
  const elected: number[] = [];
  const committed: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const leader = await cluster.whenLed();
    const others = cluster.members.filter((member) => member !== leader).map(({ endpoint }) => endpoint);
    const asking = new PromiseClient(realClient(cluster, { endpoints: others }), 100);
    if (how === 'kill') await leader.kill();
    else leader.pause();
    const from = now();
    const commit = (async () => {
      for (;;) {
        if ((await asking.put(`${PREFIX}election`, String(round))).kind === 'done') break;
        await pause(5);
      }
      committed.push(now() - from);
    })();
    for (
      let next = await cluster.leader();
      next === undefined || next === leader;
      next = await cluster.leader()
    ) {
      await pause(5);
    }
    elected.push(now() - from);
    await commit;
    await cluster.heal();
  }
  say(
    `etcd's leader ${how === 'kill' ? 'killed' : 'paused'}: another one is known to most: ${spread(elected)}`,
  );
  say(`  a transaction at one of the others is done: ${spread(committed)}`);
}

interface Fate {
  readonly key: string;
  readonly outcome: 'done' | 'refused' | 'unknown';
}

/** What becomes of transactions that are under way when etcd's leader is killed? */
export async function inFlight(cluster: EtcdCluster, rounds: number, each: number, say: Say): Promise<void> {
  const counts = new Map<string, Map<string, number>>();
  const whys = new Map<string, number[]>();
  let [lost, kept, late] = [0, 0, 0];
  for (let round = 0; round < rounds; round += 1) {
    const leader = await cluster.whenLed();
    const killed = { is: false };
    const fates = cluster.members.flatMap((member) =>
      Array.from({ length: each }, (_, index) =>
        underWay(
          cluster,
          member,
          `${PREFIX}flight-${round}-${member.name}-${index}`,
          killed,
          (why, afterMs) => whys.set(why, [...(whys.get(why) ?? []), afterMs]),
        ).then((fate) => ({ ...fate, at: member === leader ? 'the killed leader' : 'a follower' })),
      ),
    );
    await pause(300);
    const killing = leader.kill();
    killed.is = true;
    await killing;
    const all = await Promise.all(fates);
    await cluster.whenLed();
    const asking = new PromiseClient(
      realClient(cluster, { endpoints: [...survivors(cluster, leader)] }),
      10_000,
    );
    const present = new Set<string>();
    const look = async (): Promise<void> => {
      const { keyValues } = done(await asking.range({ key: PREFIX, end: END }));
      for (const { key } of keyValues) present.add(key);
    };
    await look();
    const before = new Set(present);
    await cluster.heal();
    await pause(1_000);
    await look();
    for (const { key, outcome, at } of all) {
      const effect = present.has(key)
        ? before.has(key)
          ? 'took effect'
          : 'took effect later'
        : 'had no effect';
      const row = counts.get(`sent to ${at}, ${outcome}`) ?? new Map<string, number>();
      row.set(effect, (row.get(effect) ?? 0) + 1);
      counts.set(`sent to ${at}, ${outcome}`, row);
      if (outcome === 'done' && !present.has(key)) lost += 1;
      if (outcome === 'refused' && present.has(key)) kept += 1;
      if (effect === 'took effect later') late += 1;
    }
  }
  say(`etcd's leader killed ${rounds} times with ${each} transactions under way at each member:`);
  for (const [what, row] of [...counts].sort()) {
    say(`  ${what}: ${[...row].map(([effect, count]) => `${count} ${effect}`).join(', ')}`);
  }
  say(
    `  done and not there: ${lost}; refused and there: ${kept}; only seen after the member was back: ${late}`,
  );
  for (const [why, afterMs] of whys) say(`  not done, ${why}: ${spread(afterMs)} after it was asked`);
}

const survivors = (cluster: EtcdCluster, gone: EtcdMember): readonly string[] =>
  cluster.members.filter((member) => member !== gone).map(({ endpoint }) => endpoint);

/** One transaction after the other at one member; the fate of the one that was under way at the kill. */
async function underWay(
  cluster: EtcdCluster,
  member: EtcdMember,
  name: string,
  killed: { readonly is: boolean },
  onWhy: (why: string, afterMs: number) => void,
): Promise<Fate> {
  const asking = new PromiseClient(realClient(cluster, { endpoints: [member.endpoint] }), 10_000);
  for (let count = 0; ; count += 1) {
    const key = `${name}-${count}`;
    const askedAt = now();
    const answer = await asking.transact({ compare: [{ key, createRevision: 0 }], success: [put(key, 'x')] });
    const why =
      answer.kind === 'unknown' ? answer.why : answer.kind === 'refused' ? answer.refusal.message : '';
    if (why !== '') onWhy(why.replace(/^http\S+: /, ''), now() - askedAt);
    if (killed.is || answer.kind !== 'done') return { key, outcome: answer.kind };
  }
}

/** What does a watch notice of its member's end, and of another's? */
export async function watches(start: () => Promise<EtcdCluster>, rounds: number, say: Say): Promise<void> {
  await using cluster = await start();
  await watchAtKilled(cluster, rounds, say);
  await watchAtOther(cluster, rounds, say);
  await watchAtPaused(cluster, say);
  await watchAtCutOff(cluster, Math.min(rounds, 5), say);
}

const watching = (cluster: EtcdCluster, member: EtcdMember): Watched =>
  new Watched(realClient(cluster, { endpoints: [member.endpoint] }), PREFIX, END, 1);

async function follower(cluster: EtcdCluster): Promise<EtcdMember> {
  const leader = await cluster.whenLed();
  return cluster.members.find((member) => member !== leader) as EtcdMember;
}

/** Until the watch has seen this key put. */
async function written(cluster: EtcdCluster, at: EtcdMember, key: string): Promise<void> {
  const asking = new PromiseClient(realClient(cluster, { endpoints: survivors(cluster, at) }), 500);
  while ((await asking.put(key, 'x')).kind !== 'done') await pause(5);
}

async function watchAtKilled(cluster: EtcdCluster, rounds: number, say: Say): Promise<void> {
  const noticed: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const member = await follower(cluster);
    using watch = watching(cluster, member);
    await written(cluster, member, `${PREFIX}watch-killed-${round}`);
    await watch.until((word) => word.includes(`watch-killed-${round}`));
    const from = now();
    const killing = member.kill();
    await watch.until((word) => word.startsWith('ended'));
    noticed.push(now() - from);
    await killing;
    await cluster.heal();
  }
  say(`a watch at a member that is killed ends: ${spread(noticed)}`);
}

async function watchAtOther(cluster: EtcdCluster, rounds: number, say: Say): Promise<void> {
  const gaps: number[] = [];
  let ended = 0;
  for (let round = 0; round < rounds; round += 1) {
    const leader = await cluster.whenLed();
    const member = await follower(cluster);
    using watch = watching(cluster, member);
    await written(cluster, leader, `${PREFIX}watch-other-${round}`);
    await watch.until((word) => word.includes(`watch-other-${round}`));
    const from = now();
    await leader.kill();
    await written(cluster, leader, `${PREFIX}watch-after-${round}`);
    await watch.until((word) => word.includes(`watch-after-${round}`) || word.startsWith('ended'));
    gaps.push(now() - from);
    if (watch.told.some((word) => word.startsWith('ended'))) ended += 1;
    await cluster.heal();
  }
  say(
    `a watch at a follower, etcd's leader killed: goes on ${rounds - ended} of ${rounds} times, with the next event after ${spread(gaps)}`,
  );
}

const PATIENCE_MS = 30_000;

async function watchAtPaused(cluster: EtcdCluster, say: Say): Promise<void> {
  const member = await follower(cluster);
  using watch = watching(cluster, member);
  await written(cluster, member, `${PREFIX}watch-paused`);
  await watch.until((word) => word.includes('watch-paused'));
  member.pause();
  await written(cluster, member, `${PREFIX}watch-while-paused`);
  const from = now();
  await Promise.race([watch.until((word) => word.startsWith('ended')), pause(PATIENCE_MS)]);
  const noticedMs = now() - from;
  const isNoticed = watch.told.some((word) => word.startsWith('ended'));
  say(
    isNoticed
      ? `a watch at a member that is paused ended by itself after ${Math.round(noticedMs)} ms`
      : `a watch at a member that is paused says nothing at all for ${PATIENCE_MS / 1_000} s, neither an event nor an end`,
  );
  const resumedAt = now();
  member.resume();
  const word = await watch.until((each) => each.includes('watch-while-paused') || each.startsWith('ended'));
  say(`  when the member is resumed: "${word}" after ${Math.round(now() - resumedAt)} ms`);
  await cluster.heal();

  const gateway = realClient(cluster, { endpoints: cluster.endpoints });
  const first = cluster.members[0] as EtcdMember;
  using polled = new Watched(gateway, PREFIX, END, 1);
  await polled.until((each) => each.includes('watch-paused'));
  first.pause();
  const pausedAt = now();
  const asking = new PromiseClient(gateway, 1_000);
  let polls = 0;
  while (!polled.told.some((each) => each.startsWith('ended'))) {
    await asking.range({ key: PREFIX });
    polls += 1;
    await pause(100);
  }
  say(
    `  with a read of the head every 100 ms, given 1 s, our client ends such a watch after ${Math.round(now() - pausedAt)} ms (${polls} reads)`,
  );
  await cluster.heal();
}

async function watchAtCutOff(cluster: EtcdCluster, rounds: number, say: Say): Promise<void> {
  const noticed: number[] = [];
  const refused: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const member = await follower(cluster);
    using watch = watching(cluster, member);
    await written(cluster, member, `${PREFIX}watch-cut-${round}`);
    await watch.until((word) => word.includes(`watch-cut-${round}`));
    await cluster.cutOff(member);
    const from = now();
    const ended = watch.until((word) => word.startsWith('ended')).then(() => noticed.push(now() - from));
    const asking = new PromiseClient(realClient(cluster, { endpoints: [member.endpoint] }), 200);
    for (;;) {
      const answer = await asking.range({ key: PREFIX });
      if (answer.kind === 'refused' && /no leader/.test(answer.refusal.message)) break;
      await pause(5);
    }
    refused.push(now() - from);
    await ended;
    await cluster.heal();
  }
  say(`a member cut off from the others: it refuses requests (no leader) after ${spread(refused)}`);
  say(`  and ends a watch after ${spread(noticed)}`);
}

/** A leader that is paused for a while and resumed: does what was sent to it meanwhile still happen? */
export async function paused(cluster: EtcdCluster, rounds: number, each: number, say: Say): Promise<void> {
  let [unknown, effective] = [0, 0];
  for (let round = 0; round < rounds; round += 1) {
    const member = round % 2 === 0 ? await cluster.whenLed() : await follower(cluster);
    const asking = new PromiseClient(realClient(cluster, { endpoints: [member.endpoint] }), 500);
    done(await asking.put(`${PREFIX}paused`, 'x'));
    member.pause();
    const keys = Array.from({ length: each }, (_, index) => `${PREFIX}paused-${round}-${index}`);
    const answers = await Promise.all(
      keys.map((key) => asking.transact({ compare: [{ key, createRevision: 0 }], success: [put(key, 'x')] })),
    );
    unknown += answers.filter(({ kind }) => kind === 'unknown').length;
    await pause(1_500);
    await cluster.heal();
    await pause(1_000);
    const { keyValues } = done(
      await asking.range({ key: `${PREFIX}paused-`, end: endOf(`${PREFIX}paused-`) }),
    );
    effective += keyValues.filter(({ key }) => keys.includes(key)).length;
  }
  say(
    `sent to a member that is paused, ${rounds} times ${each} transactions, given up after 500 ms, the member resumed 1.5 s later:`,
  );
  say(`  unknown ${unknown}; carried out after the resumption ${effective}`);
}

/** A leader is paused for longer than a lease lasts, and resumed: do leases end that were kept alive meanwhile? */
export async function early(cluster: EtcdCluster, rounds: number, each: number, say: Say): Promise<void> {
  let ended = 0;
  const after: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const leader = await cluster.whenLed();
    const asking = new PromiseClient(realClient(cluster, { endpoints: survivors(cluster, leader) }), 2_000);
    const { revision } = done(await asking.range({ key: PREFIX }));
    using deletions = new Deletions(cluster, survivors(cluster, leader), revision + 1);
    const leases: string[] = [];
    for (let index = 0; index < each; index += 1) {
      const { lease } = done(await asking.grant(3));
      done(await asking.put(`${PREFIX}early-${round}-${index}`, 'x', lease));
      leases.push(lease);
    }
    const kept = { until: Number.POSITIVE_INFINITY };
    const renewing = leases.map(async (lease) => {
      while (now() < kept.until) {
        await asking.keepAlive(lease);
        await pause(300);
      }
    });
    leader.pause();
    await pause(8_000);
    const before = deletions.at.size;
    const resumedAt = now();
    leader.resume();
    await pause(2_000);
    ended += deletions.at.size - before;
    after.push(...[...deletions.at.values()].filter((at) => at >= resumedAt).map((at) => at - resumedAt));
    kept.until = now();
    await Promise.all(renewing);
    await cluster.heal();
  }
  say(
    `etcd's leader paused for 8 s and resumed, ${rounds} times, with ${each} leases of 3 s that were kept alive at the others:`,
  );
  say(`  ended within 2 s of the resumption, although kept alive: ${ended}, after it by ${spread(after)}`);
}

export async function observe(say: Say, only: string | undefined): Promise<void> {
  const on = async (name: string, what: (cluster: EtcdCluster) => Promise<void>): Promise<void> => {
    if (only !== undefined && only !== name) return;
    await using cluster = await EtcdCluster.start();
    await what(cluster);
  };
  await on('expiry', async (cluster) => {
    await expiry(cluster, 2, 60, say);
    await expiry(cluster, 3, 60, say);
  });
  await on('expiry-across-kill', (cluster) =>
    expiryAcrossKill(cluster, 3, [100, 500, 1_000, 1_500, 2_000, 2_500, 2_800, 100, 1_000, 2_500], say),
  );
  await on('election', async (cluster) => {
    await election(cluster, 'kill', 15, say);
    await election(cluster, 'pause', 10, say);
  });
  await on('in-flight', (cluster) => inFlight(cluster, 10, 32, say));
  await on('paused', (cluster) => paused(cluster, 6, 16, say));
  await on('early', (cluster) => early(cluster, 5, 10, say));
  if (only === undefined || only === 'watches') {
    await watches(() => EtcdCluster.start({ isRelayed: true }), 10, say);
  }
}
