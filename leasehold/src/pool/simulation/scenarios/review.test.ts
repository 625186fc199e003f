/**
 * Stories that reviewers of the design told: each was, in some earlier version, the way to two
 * owners, a silent loss, or a pool that never comes to rest.
 */

import { describe, expect, it } from 'vitest';
import type { Hash } from '../../../runtime/keys/position.ts';
import type { Span } from '../../../runtime/keys/range.ts';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import { resolveDurations, takeoverHoldMs } from '../../core/options.ts';
import type { ManagerNode, OwnerNode } from '../nodes.ts';
import type { PoolWorld } from '../pool-world.ts';
import { backup } from './backup.ts';
import { Journal, type Said } from './journal.ts';
import {
  cutOff,
  emptyPool,
  isSettled,
  keyOf,
  leaderOf,
  numberOf,
  quietPool,
  reconnect,
  sampleKeys,
  settle,
  truthOf,
  when,
} from './quiet-pool.ts';
import { joins, Scribe } from './scribe.ts';
import { leaseEndMs, Tenures } from './tenures.ts';

const otherManagers = (pool: PoolWorld, not: ManagerNode): ManagerNode[] =>
  pool.managers.filter((manager) => manager !== not);

/** Between this owner and all Managers but one nothing passes. */
function tieTo(pool: PoolWorld, owner: OwnerNode, manager: ManagerNode): void {
  for (const other of otherManagers(pool, manager)) pool.network.cutBoth(owner.name, other.name);
}

describe('losses', () => {
  it('a loss, then a migration of the lost keys, then a snapshot: a look-up that missed it all is told', () => {
    const pool = emptyPool();
    const scribe = new Scribe(pool);
    pool.start();
    const journal = new Journal(pool);
    const node = pool.addLookup('away');
    const [range, half]: [Span, Span] = [
      { start: RING_SIZE / 4n, end: RING_SIZE / 2n },
      { start: RING_SIZE / 4n, end: (RING_SIZE * 3n) / 8n },
    ];
    const everything: Span = { start: 0n, end: RING_SIZE };
    scribe.write(joins('a'), joins('b'), joins('c'), {
      kind: 'grant',
      incarnation: 'a',
      spans: [everything],
    });
    pool.until('it knows', () => node.core?.seen?.position === 1, 2_000);

    cutOff(pool, node);
    scribe.write({ kind: 'free', spans: [range] }, { kind: 'grant', incarnation: 'b', spans: [range] });
    const position = scribe.write({ kind: 'move', incarnation: 'c', spans: [half], ticket: 't' });
    scribe.compact();
    for (const manager of pool.managers) manager.process.restart(); // They have read the snapshot and nothing else.
    reconnect(pool, node);
    pool.until('it knows', () => node.core?.seen?.position === position, 2 * pool.durations.syncEveryMs);
    const [told, ...more] = journal.toldTo('away');
    expect(told?.why).toBe('reported');
    expect(told?.ranges.spans()).toEqual([range]);
    expect(more).toEqual([]);
  });

  it('the only owner dies: all is lost although nobody is there to take it, and that is told once', () => {
    const pool = quietPool({ owners: 1, lookups: 2 });
    const journal = new Journal(pool);
    const key = keyOf(pool.owner('owner-1'));
    const number = numberOf(pool.owner('owner-1'), key);
    pool.owner('owner-1').process.crash();
    pool.until('it is told', () => journal.told.length === 2, pool.durations.holdMs + 100);
    expect(truthOf(pool, key).owner).toBeUndefined();
    for (const { ranges } of journal.told) expect(ranges.spans()).toEqual(RangeSet.everything.spans());

    const next = pool.addOwner('owner-2');
    settle(pool);
    expect(numberOf(next, key)).toBeGreaterThan(number);
    expect(journal.told).toHaveLength(2); // To be granted again is no second loss.
  });

  it('a sync that a standby answers does not count as fresh if the standby is cut off from the log', () => {
    const pool = quietPool({ owners: 2, lookups: 1 });
    const journal = new Journal(pool);
    const node = pool.lookup('lookup-1');
    const { staleAfterMs, syncEveryMs } = pool.durations;
    const [standby] = otherManagers(pool, leaderOf(pool)) as [ManagerNode];
    for (const other of otherManagers(pool, standby)) pool.network.cutBoth(node.name, other.name);
    const answers = () =>
      journal.said.flatMap(({ atMs, from, message }) =>
        from === standby.name && message.kind === 'changes' && message.answers !== undefined ? [atMs] : [],
      );
    pool.until('the standby vouches', () => answers().length > 1, 3 * syncEveryMs);

    pool.log.cut(standby.name);
    const cutMs = pool.world.trueMs;
    pool.owner('owner-1').process.crash();
    pool.run(staleAfterMs - 1_000);
    expect(journal.records('leave')).toHaveLength(1); // There was a loss, and the standby knows nothing of it.
    expect(answers().filter((atMs) => atMs > cutMs)).toEqual([]);
    expect(node.core?.ageMs(node.process.now())).toBeGreaterThan(staleAfterMs - 1_000);
    pool.run(1_000);
    expect(journal.told.map(({ why }) => why)).toEqual(['cut-off']);
  });

  it('a sync that came after a standby asked for the head of the log does not count as fresh by its answer', () => {
    const pool = quietPool({ lookups: 1 });
    for (const name of ['owner-1', 'owner-2']) pool.addOwner(name, { supervised: true });
    settle(pool);
    const journal = new Journal(pool);
    const node = pool.lookup('lookup-1');
    const [standby] = otherManagers(pool, leaderOf(pool)) as [ManagerNode];
    for (const other of otherManagers(pool, standby)) pool.network.cutBoth(node.name, other.name);
    pool.log.delayAnswers(standby.name, [1_000, 1_000]);
    pool.log.deafen(standby.name, 30_000);
    const headsAsked = () =>
      journal.askedOfLog.filter(({ from, asked }) => from === standby.name && asked.ask === 'head').length;
    const asked = headsAsked();
    pool.until('the standby asks for the head', () => headsAsked() > asked, 2 * pool.durations.syncEveryMs);
    pool.crashOwner(pool.owner('owner-1')); // The loss comes after the head was read, the next sync after the loss.
    pool.until('there is a loss', () => journal.records('leave').length > 0, 2_000);
    const lostMs = pool.world.trueMs;

    let looks = 0;
    pool.world.afterEach(() => {
      if (journal.toldTo('lookup-1').length > 0) return;
      looks += 1;
      const freshAsOfMs = pool.world.trueMs - (node.core?.ageMs(node.process.now()) ?? 0);
      expect(freshAsOfMs).toBeLessThan(lostMs); // Or it would have to know of it.
    });
    pool.until('it is told', () => journal.toldTo('lookup-1').length > 0, pool.durations.staleAfterMs);
    expect(pool.world.trueMs).toBeGreaterThan(lostMs + 2_000);
    expect(looks).toBeGreaterThan(10);
  });
});

describe('changes of leader', () => {
  it('two takeovers in a row after the log dropped a leader early: the first one’s last renewal is honoured', () => {
    const durations = resolveDurations({ renewEveryMs: 500 });
    const pool = quietPool({ durations, owners: 2 });
    const journal = new Journal(pool);
    const owner = pool.owner('owner-1');
    const key = keyOf(owner);
    const tenures = new Tenures(pool, [key, ...sampleKeys(16)]);
    /** The log drops the leader, who cannot hear of it. */
    const dropped = (): ManagerNode => {
      const leader = leaderOf(pool);
      pool.log.cut(leader.name);
      pool.log.dropLeader();
      const next = () => pool.leader !== leader;
      pool.until('there is another leader', next, 1_000);
      return leader;
    };
    const first = leaderOf(pool);
    tieTo(pool, owner, first);
    dropped();
    const second = dropped();
    const takeoverMs = pool.world.trueMs;
    expect(new Set([first, second, leaderOf(pool)]).size).toBe(3);

    pool.until(
      'its keys are freed',
      () => journal.records('leave').length > 0,
      2 * takeoverHoldMs(durations),
    );
    const renewals = journal.updates().filter(({ from, to }) => from === first.name && to === owner.name);
    expect(renewals.at(-1)?.atMs).toBeGreaterThan(takeoverMs + 500); // By a leader two terms back,
    const endMs = tenures.of(key)[0]?.toMs ?? 0;
    expect(endMs).toBeGreaterThan(takeoverMs + durations.leaseMs + 500); // and it was good for a whole lease.
    expect(journal.records('leave')[0]?.atMs).toBeGreaterThan(endMs);
    pool.run(1_000);
    expect(tenures.overlaps()).toEqual([]);
  });

  /** The leader says something to an owner, slowly, and dies when it has. */
  function lastWords(
    pool: PoolWorld,
    journal: Journal,
    owner: OwnerNode,
    delayMs: number,
    isIt: (said: Said<ReturnType<Journal['updates']>[number]['message']>) => boolean,
  ): number {
    const leader = leaderOf(pool);
    pool.network.setFaults({ delayMs: [delayMs, delayMs] }, leader.name, owner.name);
    const words = () =>
      journal.updates().filter((said) => said.to === owner.name && said.from === leader.name && isIt(said));
    when(
      pool,
      () => words().length > 0,
      () => leader.process.crash(),
    );
    pool.until('it has spoken', () => words().length > 0, 5_000);
    return (words()[0]?.atMs ?? 0) + delayMs;
  }

  const mute = (pool: PoolWorld, owner: OwnerNode): void => {
    for (const manager of pool.managers) pool.network.cut(manager.name, owner.name);
  };

  it('a grant of the old leader in flight at the takeover gives what the new one gives, or nothing', () => {
    const pool = quietPool({ owners: 1, lookups: 1 });
    const journal = new Journal(pool);
    const newcomer = pool.addOwner('newcomer');
    pool.until('it was heard and asked to confirm', () => newcomer.core?.seen !== undefined, 1_000);
    const arrivesMs = lastWords(pool, journal, newcomer, 7_000, ({ message }) => message.spans.length > 0);
    const grant = journal
      .records('grant')
      .findLast(({ incarnation }) => incarnation === newcomer.incarnation);
    const key = grant?.spans[0]?.start as Hash;
    pool.until('it has its keys', () => newcomer.check(key) !== undefined, 6_500);
    expect(numberOf(newcomer, key)).toBe(grant?.position); // The successor found it in the log.

    pool.run(arrivesMs - 1 - pool.world.trueMs);
    const [endMs, version] = [leaseEndMs(newcomer, key), newcomer.core?.version];
    pool.run(2);
    expect(leaseEndMs(newcomer, key)).toBe(endMs);
    expect(newcomer.core?.version).toBe(version);
    settle(pool);
    expect(journal.records('free').length).toBe(1); // What the recall for the newcomer took, and no more.
  });

  it('a grant of the old leader that is heard before the new one is honoured for its time', () => {
    const pool = quietPool({ owners: 1, lookups: 1 });
    const journal = new Journal(pool);
    const old = leaderOf(pool);
    const newcomer = pool.addOwner('newcomer');
    pool.until('it was heard and asked to confirm', () => newcomer.core?.seen !== undefined, 1_000);
    const arrivesMs = lastWords(pool, journal, newcomer, 5_000, ({ message }) => message.spans.length > 0);
    mute(pool, newcomer); // But what is in flight.
    const grant = journal
      .records('grant')
      .findLast(({ incarnation }) => incarnation === newcomer.incarnation);
    const key = grant?.spans[0]?.start as Hash;
    const tenures = new Tenures(pool, [key]);
    pool.run(arrivesMs + 1 - pool.world.trueMs);
    expect(numberOf(newcomer, key)).toBe(grant?.position);
    expect(leaseEndMs(newcomer, key)).toBeLessThan(arrivesMs - 5_000 + pool.durations.leaseMs); // From its report.
    expect(leaderOf(pool)).not.toBe(old);

    for (const manager of pool.managers) pool.network.cut(newcomer.name, manager.name);
    pool.until('it is freed', () => journal.records('leave').length > 0, 2 * takeoverHoldMs(pool.durations));
    pool.run(100);
    const [first, second] = tenures.of(key);
    expect([first?.incarnation, second?.incarnation]).toEqual(['newcomer.1', 'owner-1.1']);
    expect(tenures.overlaps()).toEqual([]);
  });

  /** A recall is under way to owner-1 when the leader and the one it was for die. */
  function recalled(): {
    pool: PoolWorld;
    journal: Journal;
    owner: OwnerNode;
    key: Hash;
    arrivesMs: number;
  } {
    const pool = quietPool({ owners: 1, lookups: 1 });
    const journal = new Journal(pool);
    const owner = pool.owner('owner-1');
    const newcomer = pool.addOwner('newcomer', { supervised: true });
    const isRecall = ({ message }: ReturnType<Journal['updates']>[number]): boolean =>
      message.spans.some((span) => span.recalled);
    const arrivesMs = lastWords(pool, journal, owner, 6_000, isRecall);
    pool.crashOwner(newcomer);
    const recall = journal.updates().find(isRecall);
    const key = recall?.message.spans.find((span) => span.recalled)?.start as Hash;
    return { pool, journal, owner, key, arrivesMs };
  }

  it('a recall that a dead leader sent is ignored once its successor was heard', () => {
    const { pool, journal, owner, key, arrivesMs } = recalled();
    const number = numberOf(owner, key);
    const term = owner.core?.seen?.term ?? 0;
    cutOff(pool, owner); // Until the successor knows that the newcomer is dead, or it would recall for it too.
    pool.until('the newcomer is gone', () => journal.records('leave').length > 0, 4_000);
    reconnect(pool, owner);
    pool.until('the successor is heard', () => (owner.core?.seen?.term ?? 0) > term, 1_500);
    pool.run(arrivesMs + 100 - pool.world.trueMs);
    settle(pool);
    expect(owner.checkContinuous(key, number)).toBe(true);
    expect(journal.turnsOf('dropped', 'owner-1')).toEqual([]);
    expect(journal.told).toEqual([]);
  });

  it('a recall that a dead leader sent, heard first, is obeyed: the successor frees, tells and grants anew', () => {
    const { pool, journal, owner, key, arrivesMs } = recalled();
    const number = numberOf(owner, key);
    mute(pool, owner);
    pool.run(arrivesMs + 1 - pool.world.trueMs);
    expect(owner.check(key)).toBeUndefined();
    pool.network.heal();
    pool.until('it has the key again', () => owner.check(key) !== undefined, 5_000);
    settle(pool);
    expect(numberOf(owner, key)).toBeGreaterThan(number);
    expect(owner.checkContinuous(key, number)).toBe(false);
    expect(journal.toldTo('lookup-1').some(({ ranges }) => ranges.has(key))).toBe(true);
  });
});

describe('a slow log', () => {
  it('a wave of 20 joins, 400 ms a write: changes coalesce, no lease lapses, and it comes to rest', () => {
    const pool = quietPool({ logLinks: { delayMs: [200, 200] }, lookups: 1 });
    const journal = new Journal(pool);
    pool.checker.calm = true; // From here on a lapse breaks a promise.
    const beganMs = pool.world.trueMs;
    for (let index = 1; index <= 20; index += 1)
      pool.world.after(index * 50, () => void pool.addOwner(`owner-${index}`));
    pool.run(1_000);
    settle(pool);
    expect(pool.owners).toHaveLength(20);
    expect(journal.records('join')).toHaveLength(20);
    expect(journal.commits.length).toBeLessThan(15);
    expect(pool.world.trueMs - beganMs).toBeLessThan(6_000);

    const commits = journal.commits.length;
    pool.run(3 * pool.durations.leaseMs);
    expect(isSettled(pool)).toBe(true);
    expect(journal.commits).toHaveLength(commits);
    expect(journal.turnsOf('lapsed')).toEqual([]);
  });
});

describe('a store restored from a backup', () => {
  it('halts the leader, which says why; after the operator’s command numbers start above all earlier ones', () => {
    const pool = quietPool({ owners: 3, lookups: 1, managers: 1 });
    const journal = new Journal(pool);
    const restore = backup(pool);
    for (let terms = 0; terms < 3; terms += 1) {
      leaderOf(pool).process.restart(); // Each begins with a batch of its own.
      pool.until('it leads again', () => pool.leader !== undefined, pool.durations.leaderChangeMs);
      pool.run(pool.durations.renewEveryMs); // Everybody has said how far it has seen.
    }
    const [manager] = pool.managers as readonly [ManagerNode];
    const highest = pool.log.head;

    restore();
    pool.until('it has halted', () => manager.halted !== undefined, pool.durations.leaderChangeMs);
    expect(manager.halted).toContain('the store went back in time');
    expect(manager.core?.role).toBe('halted');
    const commits = journal.commits.length;
    const updates = journal.updates().length;
    pool.run(pool.durations.holdMs);
    expect(journal.commits).toHaveLength(commits);
    expect(journal.updates()).toHaveLength(updates);
    for (const owner of pool.owners)
      for (const key of sampleKeys(64)) expect(owner.check(key)).toBeUndefined();

    pool.log.jump(100, 1_000);
    manager.process.restart();
    settle(pool);
    expect(manager.halted).toBeUndefined();
    expect(manager.core?.term).toBeGreaterThan(100);
    expect(highest).toBeLessThan(1_000);
    const fresh = journal.commits.slice(commits);
    expect(Math.min(...fresh.map(({ position }) => position))).toBe(1_001);
    for (const owner of pool.owners) expect(numberOf(owner, keyOf(owner))).toBeGreaterThan(1_000);
  });
});
