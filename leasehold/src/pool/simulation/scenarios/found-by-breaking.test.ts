/**
 * Schedules that somebody found who set out to break the pool, and did. Most need a coincidence that
 * chance would bring about once in a very long while, so each is played here as it was found. The
 * checker watches all worlds; what it cannot see is asked at the end.
 *
 * Where the coincidence is one of inputs to a single core, it is a script: `owner/owner-script.ts` and
 * `manager/manager-script.ts` say how they are read.
 */

import { describe, expect, it } from 'vitest';
import { MalformedMessageError } from '../../../runtime/errors.ts';
import { playManager } from '../../core/manager/manager-script.ts';
import { clockRateBound, lossBoundMs, resolveDurations } from '../../core/options.ts';
import { playOwner } from '../../core/owner/owner-script.ts';
import { consistentHashing } from '../../core/policy/consistent-hashing.ts';
import { letGo } from '../../core/script.ts';
import { managerCodec } from '../../wire/codec.ts';
import { encodeMessage } from '../../wire/messages.ts';
import { type LookupNode, ManagerNode, type OwnerNode } from '../nodes.ts';
import type { PoolWorld } from '../pool-world.ts';
import { Journal } from './journal.ts';
import {
  cutOff,
  emptyPool,
  keyOf,
  leaderOf,
  nextActor,
  quietPool,
  reconnect,
  sampleKeys,
  settle,
  when,
} from './quiet-pool.ts';
import { leaseEndMs } from './tenures.ts';

const FEW_KEYS = sampleKeys(200);

const serves = (node: OwnerNode): boolean => FEW_KEYS.some((key) => node.check(key) !== undefined);

/** What the log says of an owner. */
const rowsOf = (pool: PoolWorld, { incarnation }: OwnerNode) =>
  pool.checker.replayed.pool('pool').rowsOf(incarnation);
const isMember = (pool: PoolWorld, { incarnation }: OwnerNode): boolean =>
  pool.checker.replayed.pool('pool').members.has(incarnation);

const otherManagers = (pool: PoolWorld, not: ManagerNode): ManagerNode[] =>
  pool.managers.filter((manager) => manager !== not);

/** Between this node and all Managers but one nothing passes. */
function tieTo(pool: PoolWorld, node: OwnerNode | LookupNode, manager: ManagerNode): void {
  for (const other of otherManagers(pool, manager)) pool.network.cutBoth(node.name, other.name);
}

describe('an owner that was removed, when its Manager goes on leading', () => {
  it('is heard and hears when it comes back: what it is told is not taken for older than what it heard before', () => {
    const pool = quietPool({ owners: 2, managers: 1 });
    const node = pool.owner('owner-1');
    pool.run(100_000); // It has heard many updates of this term.
    cutOff(pool, node);
    pool.run(2 * pool.durations.holdMs);
    expect(isMember(pool, node)).toBe(false);
    reconnect(pool, node);
    pool.until('it serves again', () => serves(node), 4 * pool.durations.retryMs);
    settle(pool);
  });

  it('hears that it has left, although the word of that was lost', () => {
    const pool = quietPool({ owners: 2, managers: 1 });
    const node = pool.owner('owner-1');
    pool.run(20_000);
    pool.network.cut('manager-1', node.name);
    node.leave();
    pool.run(300);
    expect(isMember(pool, node)).toBe(false);
    expect(node.left).toBe(false);
    pool.network.heal();
    pool.until('it has left', () => node.left, 4 * pool.durations.retryMs);
  });
});

describe('a machine that sleeps', () => {
  it('between its candidacy and the answer: it does not lead on a lease that ran out while it slept', () => {
    const pool = quietPool({ owners: 2, managers: 2 });
    const journal = new Journal(pool);
    const [node, first] = [pool.owner('owner-1'), leaderOf(pool)];
    const [candidate] = otherManagers(pool, first) as [ManagerNode];
    const key = keyOf(node);
    pool.log.delayAnswers(candidate.name, [100, 100]);
    first.process.crash();
    pool.until(
      'it is elected',
      () => pool.log.leader?.startsWith(candidate.name) ?? false,
      2 * pool.durations.leaderLeaseMs,
    );
    candidate.process.suspend(0.6 * pool.durations.leaseMs); // The answer is on its way.
    pool.log.cut(candidate.name);
    first.process.start();
    tieTo(pool, node, candidate);

    nextActor(pool, key, node, 4 * pool.durations.leaseMs);
    expect(journal.updates().filter(({ from }) => from === candidate.name)).toEqual([]);
  });

  it('many times, each too short to be noticed, while the wall clock is set: together they are noticed', () => {
    const pool = quietPool({ owners: 2, managers: 1 });
    const { leaseMs, suspensionToleranceMs } = pool.durations;
    const node = pool.owner('owner-1');
    const key = keyOf(node);
    pool.network.cut(node.name, 'manager-1');
    for (let naps = 0; naps < 14; naps += 1) {
      node.process.suspend(0.95 * suspensionToleranceMs);
      pool.run(300);
      node.process.stepWall(500);
      node.check(key); // It looks at the clocks, and must not forget what it saw.
      pool.run(300);
    }
    nextActor(pool, key, node, 2 * leaseMs);
  });

  // Clocks as far apart as is allowed, and suspensions that are only just not noticed.
  const thin = resolveDurations({ suspensionToleranceMs: 500, renewEveryMs: 150, retryMs: 50 });
  const [slowest, fastest] = [1 / Math.sqrt(clockRateBound(thin)), Math.sqrt(clockRateBound(thin))];
  const quick = {
    durations: thin,
    links: { delayMs: [0.1, 0.2] },
    logLinks: { delayMs: [0.1, 0.2] },
  } as const;
  const unnoticedMs = (thin.suspensionToleranceMs - 1) / slowest;

  it("unnoticed, with the slowest clock, is not outlived by the hold on the Manager's fastest", () => {
    const pool = quietPool({ ...quick, owners: 2, managers: 1 });
    const [node, manager] = [pool.owner('owner-1'), leaderOf(pool)];
    node.process.setRate(slowest);
    manager.process.setRate(fastest);
    const journal = new Journal(pool);
    pool.run(5_000);
    const key = keyOf(node);
    const renewals = () => journal.updates().filter(({ to }) => to === node.name).length;
    const before = renewals();
    pool.until('it is renewed', () => renewals() > before, 1_000);
    pool.network.cut(node.name, manager.name);
    pool.run(1_000);
    node.process.suspend(unnoticedMs);
    nextActor(pool, key, node, 2 * thin.leaseMs);
  });

  it('unnoticed, the old leader and then an owner: the successor waits for both', () => {
    const pool = quietPool({ ...quick, owners: 2, managers: 2 });
    const [node, old] = [pool.owner('owner-1'), leaderOf(pool)];
    const [next] = otherManagers(pool, old) as [ManagerNode];
    node.process.setRate(slowest);
    old.process.setRate(slowest);
    next.process.setRate(fastest);
    const journal = new Journal(pool);
    pool.run(5_000);
    const key = keyOf(node);
    tieTo(pool, node, old);
    const kept = () =>
      journal.askedOfLog.filter(({ from, asked }) => from === old.name && asked.ask === 'confirm').length;
    const before = kept();
    pool.until('the old leader is kept', () => kept() > before, 1_000);
    pool.run(1);
    pool.log.dropLeader();
    pool.log.cut(old.name);
    pool.run(600);
    old.process.suspend(unnoticedMs); // It leads that much longer.
    pool.run(thin.leaderLeaseMs / slowest - 200);
    pool.network.cut(node.name, old.name);
    pool.run(2_000);
    node.process.suspend(unnoticedMs); // And its last lease lasts that much longer.
    nextActor(pool, key, node, 2 * thin.leaseMs);
    expect(next.core?.role).toBe('leading');
  });
});

describe('a look-up', () => {
  it('is not told that it knows everything by a leader that does not know whether it has written a loss', () => {
    const pool = quietPool({ owners: 2, lookups: 1 });
    const journal = new Journal(pool);
    const [node, leader] = [pool.lookup('lookup-1'), leaderOf(pool)];
    tieTo(pool, node, leader);
    pool.run(pool.durations.staleAfterMs);
    expect(journal.told).toEqual([]);
    pool.log.withholdOutcomes(pool.settleMs);
    pool.owner('owner-1').leave();
    pool.run(lossBoundMs(pool.durations));
    expect(leaderOf(pool)).toBe(leader); // etcd keeps it, so nobody else will tell.
    expect(leader.core?.state.position).toBeLessThan(pool.log.head);
    expect(journal.told.map(({ why }) => why)).toEqual(['cut-off']);
  });

  it('is answered by a standby whose reading of the log takes longer than the look-up waits to ask again', () => {
    const pool = quietPool({ owners: 1 });
    const journal = new Journal(pool);
    const { retryMs, staleAfterMs } = pool.durations;
    const [standby] = otherManagers(pool, leaderOf(pool)) as [ManagerNode];
    pool.log.delayAnswers(standby.name, [1.6 * retryMs, 1.6 * retryMs]);
    for (const other of otherManagers(pool, standby)) pool.network.cutBoth('patient', other.name);
    const node = pool.addLookup('patient');
    pool.until('it has an answer', () => node.core?.ageMs(node.process.now()) !== Infinity, 10 * retryMs);
    pool.run(3 * staleAfterMs);
    expect(journal.told).toEqual([]);
  });

  it('that was restarted does not take an answer to its earlier incarnation for one to itself', () => {
    const pool = quietPool({ owners: 1, managers: 1 });
    const journal = new Journal(pool);
    const node = pool.addLookup('restarted');
    const answers = () =>
      journal.said.flatMap(({ message }) =>
        message.kind === 'changes' && message.answers !== undefined ? [message] : [],
      );
    pool.until('it is answered', () => answers().length > 0, 1_000);
    const [old] = answers();
    pool.run(pool.durations.syncEveryMs);

    pool.network.cut(node.name, 'manager-1'); // The new incarnation is never heard,
    node.process.restart();
    pool.run(100);
    if (old !== undefined) pool.network.send('manager-1', node.name, old); // but an answer comes, long delayed.
    pool.run(100);
    expect(node.core?.hasTable).toBe(true); // What it says is true,
    expect(node.core?.ageMs(node.process.now())).toBe(Infinity); // but nobody knows of when.
  });
});

describe('a Manager', () => {
  it('that is elected and cannot read, while a later term is served, stands by and does not halt', () => {
    const pool = quietPool({ owners: 2 });
    const [node, first] = [pool.owner('owner-1'), leaderOf(pool)];
    const { leaderLeaseMs, renewEveryMs, retryMs } = pool.durations;
    first.process.crash();
    const [late, third] = otherManagers(pool, first) as [ManagerNode, ManagerNode];
    pool.log.cut(third.name);
    let isElected = false;
    pool.log.onAsk = (manager, { ask }) => {
      if (manager !== late.name || ask !== 'read') return;
      isElected = true;
      pool.log.cut(late.name);
    };
    pool.until('it is elected', () => isElected, 2 * leaderLeaseMs);
    pool.log.restore(third.name);
    pool.until('the third leads', () => third.core?.role === 'leading', 3 * leaderLeaseMs);
    const term = third.core?.term;
    pool.until('an owner has heard it', () => node.core?.seen?.term === term, 2 * renewEveryMs);
    pool.network.cut(third.name, node.name);
    pool.run(renewEveryMs + 2 * retryMs); // The owner asks all Managers, also the late one.
    pool.network.heal();
    pool.log.restore(late.name);
    pool.run(2 * leaderLeaseMs);
    expect(late.halted).toBeUndefined();
    expect(late.core?.role).toBe('standby');
    expect(pool.leader).toBe(third);
    settle(pool);
  });

  it('with short leases that takes over from one with long leases waits for the long ones', () => {
    const pool = emptyPool({ managers: 2 });
    const { world, network, log, checker, channels } = pool;
    const [, second] = pool.managers as [ManagerNode, ManagerNode];
    const long = resolveDurations({ leaseMs: 60_000, leaderLeaseMs: pool.durations.leaderLeaseMs });
    // In place of the first, which never starts.
    const first: ManagerNode = new ManagerNode(
      { world, network, observer: checker, durations: long, managers: ['manager-1', 'manager-2'], channels },
      {
        name: 'manager-1',
        clock: pool.clock(),
        lateMs: 0,
        settings: {
          policy: consistentHashing({ virtualNodes: 4 }),
          maxSpansPerBatch: 4_096,
          compactEveryBatches: 64,
        },
        openLog: (runtime, strayed) =>
          log.open(first.process, runtime, { leaderLeaseMs: long.leaderLeaseMs, retryMs: 500, strayed }),
      },
    );
    first.process.start();
    const [node, other] = [pool.addOwner('owner-1'), pool.addOwner('owner-2')];
    pool.until('both serve', () => serves(node) && serves(other), 5_000);
    pool.run(5_000);
    const key = keyOf(node);
    cutOff(pool, node);
    const endMs = leaseEndMs(node, key);
    expect(endMs).toBeGreaterThan(world.trueMs + 50_000);

    first.process.crash();
    second.process.start();
    nextActor(pool, key, node, 2 * long.holdMs);
    expect(world.trueMs).toBeGreaterThan(endMs);
  });

  it('writes no more changes at once than fit into a batch, also of keys that were let go of in many pieces', () => {
    const most = 3;
    const pool = emptyPool({ maxSpansPerBatch: most, policy: consistentHashing({ virtualNodes: 16 }) });
    const journal = new Journal(pool);
    pool.start();
    for (const name of ['owner-1', 'owner-2', 'owner-3']) pool.addOwner(name);
    settle(pool);
    const node = pool.owner('owner-1');
    expect(rowsOf(pool, node).length).toBeGreaterThan(2 * most);
    node.process.suspend(5 * pool.durations.suspensionToleranceMs); // All of it lapses,
    pool.run(1_000);
    node.leave(); // and then all of it is released.
    pool.until('it has left', () => node.left, pool.settleMs);
    settle(pool);
    for (const kind of ['grant', 'free', 'renumber'] as const) {
      const sizes = journal.records(kind).map(({ spans }) => spans.length);
      expect(Math.max(...sizes), kind).toBe(most);
    }
  });

  it('is not reached by a report that contradicts itself', () => {
    const lettingGo = (...pieces: readonly string[]) =>
      managerCodec.decode(
        encodeMessage({
          kind: 'report',
          pool: 'p',
          incarnation: 'a.1',
          name: 'a',
          url: 'http://a',
          proof: undefined,
          sequence: 3,
          wantsAnswer: true,
          heard: undefined,
          seen: undefined,
          held: [],
          letGo: pieces.map(letGo),
          leaving: false,
          load: 0,
        }),
      );
    const [one, overlapping, backward] = ['released:0-4#2', 'released:2-8#2', 'released:4-2#2'] as const;
    expect(lettingGo(one)).toMatchObject({ kind: 'report', letGo: [letGo(one)] });
    expect(() => lettingGo(one, overlapping)).toThrow(MalformedMessageError);
    expect(() => lettingGo(overlapping, one)).toThrow(MalformedMessageError);
    expect(() => lettingGo(backward)).toThrow(MalformedMessageError);
  });
});

describe('an owner that leaves', () => {
  const slowLog = { logLinks: { delayMs: [20, 20] } } as const;

  /** It has gone, and was no member any more when it went. */
  function leavesInOrder(pool: PoolWorld, node: OwnerNode): void {
    let wasMember: boolean | undefined;
    when(
      pool,
      () => node.left,
      () => (wasMember = isMember(pool, node)),
    );
    pool.until('it has left', () => node.left, pool.settleMs);
    expect(wasMember).toBe(false);
    expect(rowsOf(pool, node)).toEqual([]);
    expect(serves(node)).toBe(false);
    pool.run(5_000);
    expect(isMember(pool, node)).toBe(false); // Nor did it become one afterwards.
  }

  it('while it is being made a member is told so only when it has been one and is none any more', () => {
    const pool = quietPool({ ...slowLog, owners: 1 });
    const journal = new Journal(pool);
    const node = pool.addOwner('brief');
    pool.until('its joining is being written', () => leaderOf(pool).isWriting, 5_000);
    expect(isMember(pool, node)).toBe(false);
    node.leave();
    leavesInOrder(pool, node);
    expect(journal.records('leave').map(({ why }) => why)).toEqual(['left']);
  });

  it('when everything was granted to it and it has not heard of that yet', () => {
    const pool = quietPool(slowLog);
    const node = pool.addOwner('sole');
    when(
      pool,
      () => rowsOf(pool, node).length > 0,
      () => node.leave(),
    );
    pool.until('it leaves', () => node.leaving, 5_000);
    leavesInOrder(pool, node);
  });

  it('when its first grant is on its way', () => {
    const pool = quietPool({ ...slowLog, managers: 1 });
    const journal = new Journal(pool);
    const node = pool.addOwner('sole');
    when(
      pool,
      () => journal.updates().some(({ message }) => message.spans.length > 0),
      () => node.leave(),
    );
    pool.until('it leaves', () => node.leaving, 5_000);
    leavesInOrder(pool, node);
    expect(journal.turnsOf('granted', node.name)).toEqual([]); // It is given back unused.
  });

  it('when the leader dies after the release is written and before anybody is told', () => {
    const pool = quietPool({ ...slowLog, owners: 1, managers: 2 });
    const [node, first] = [pool.owner('owner-1'), leaderOf(pool)];
    node.leave();
    when(
      pool,
      () => rowsOf(pool, node).length === 0,
      () => first.process.crash(),
    );
    leavesInOrder(pool, node);
    expect(leaderOf(pool)).not.toBe(first);
  });

  it('with all others of its pool, whether at the same instant or a little apart', () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const chancy = { links: { delayMs: [1, 5] }, logLinks: { delayMs: [1, 5] } } as const;
      const pool = quietPool({ ...chancy, seed, owners: 3, managers: 1 });
      for (const node of pool.owners) {
        node.leave();
        pool.run((seed % 5) * 3);
      }
      pool.until(`all have left (${seed})`, () => pool.owners.every(({ left }) => left), pool.settleMs);
      expect(pool.checker.replayed.pool('pool').members.size).toBe(0);
    }
  });
});

describe('a death certificate', () => {
  function plays(script: string): void {
    const { went, written } = playManager(script);
    expect(went).toBe(written);
  }

  it('for somebody who was about to join is confirmed only when it cannot join any more', () =>
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      1     report a 0? proof=secret
              > a: update ack=0 candidate
      2     report a 1? heard proof=secret
      3     certificate secret
      4     appended
              > supervisor: certified
      5     report a 2? heard proof=secret
    `));

  it('for somebody whose joining is being written is confirmed only when it has been removed', () =>
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      1     appended
      10    report a 0? proof=secret
              > a: update ack=0 candidate
      11    report a 1? heard proof=secret
              > append 2 term 1 join:a grant:a:0-16
      12    certificate secret
      20    appended
              > append 3 term 1 leave:a:certified
      30    appended
              > supervisor: certified
    `));

  it('is not confirmed by a leader whose lease is over: its successor may have let the dead join', () =>
    plays(`
      0     elected 1 1000
              > append 1 term 1
      1     appended
      5000  certificate secret
      6000  extended 8000
      6500  certificate secret
              > supervisor: certified
    `));
});

describe('a store that was replaced by another', () => {
  it('gives an owner nothing back: neither late words of the old one grant anything, nor its Managers that still run', () => {
    const { went, written } = playOwner(`
      0     wake
              > m1: report 1?
              > m2: report 1?
      10    update 1.1 ack=1 history=old 0-16#5
              > admitted
              > granted 0-16#5
              > m1: report 2, held 0-16#5
      20    update 1.1 ack=2 history=new
              > dropped 0-16#5
      30    update 1.1 ack=1 history=old 0-16#5
      31    check 0
              > not held
      31    since 0 5
              > broken
      1500  wake
              > m1: report 3?
      1510  update 1.2 ack=3 history=old 0-16#5
      1511  check 0
              > not held
    `);
    expect(went).toBe(written);
  });
});
