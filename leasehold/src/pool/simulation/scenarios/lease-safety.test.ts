/**
 * One owner at a time, whatever clocks, pauses and messages do: scenarios 1 to 11. The checker
 * watches every world here, so a scenario also fails if any promise breaks that it does not name.
 */

import { describe, expect, it } from 'vitest';
import { SimClock } from '../../../sim/clock.ts';
import { clockRateBound, PAPER_DURATIONS, resolveDurations } from '../../core/options.ts';
import type { OwnerNode } from '../nodes.ts';
import { PoolWorld } from '../pool-world.ts';
import { FencedRegister } from './fenced-register.ts';
import { Journal } from './journal.ts';
import {
  actors,
  brokenBy,
  cutOff,
  keyOf,
  leaderOf,
  nextActor,
  numberOf,
  quietPool,
  sampleKeys,
  settle,
} from './quiet-pool.ts';
import { leaseEndMs, Tenures } from './tenures.ts';

const papers = resolveDurations(PAPER_DURATIONS);

describe('an owner that is cut off while its clock is slow', () => {
  /** The first owner's clock runs at `rate` of all others', and it is cut off after so long. */
  function slowAndCutOff(rate: number, afterMs: number): { pool: PoolWorld; slow: OwnerNode } {
    const pool = quietPool({ durations: papers, owners: 2 });
    const slow = pool.owner('owner-1');
    slow.process.setRate(rate);
    pool.run(papers.leaseMs);
    pool.run(afterMs);
    cutOff(pool, slow);
    return { pool, slow };
  }

  it('1: an owner whose clock runs at 0.93 never overlaps with the next', () => {
    const gapsMs: number[] = [];
    for (let step = 0; step < 10; step += 1) {
      const { pool, slow } = slowAndCutOff(0.93, (step / 10) * papers.renewEveryMs);
      const key = keyOf(slow);
      const tenures = new Tenures(pool, [key, ...sampleKeys(16)]);
      const next = nextActor(pool, key, slow, papers.holdMs + 1_000);
      expect(next.name).toBe('owner-2');
      pool.run(5_000);
      expect(tenures.overlaps()).toEqual([]);
      const [mine, theirs] = tenures.of(key);
      gapsMs.push((theirs?.fromMs ?? 0) - (mine?.toMs ?? Number.POSITIVE_INFINITY));
    }
    // 65 s less 60 s on a clock that needs 1 / 0.93 for each.
    for (const gapMs of gapsMs) expect(gapMs).toBeCloseTo(65_000 - 60_000 / 0.93, -2);
  });

  it('2: at 0.91, beyond the bound, the checker sees two owners', () => {
    expect(1 / 0.91).toBeGreaterThan(clockRateBound(papers));
    const { pool } = slowAndCutOff(0.91, 1_000);
    const broken = brokenBy(() => pool.run(papers.holdMs + 1_000));
    expect(broken?.promise).toBe('one-owner');
    expect(broken?.detail).toContain('was freed while owner-1 still passes its check');
  });

  it('2: at 0.91 the resource refuses the stale write', () => {
    const { pool, slow } = slowAndCutOff(0.91, 1_000);
    pool.checker.owners = []; // Or it would stop the world at the overlap, where this begins.
    const key = keyOf(slow);
    const register = new FencedRegister<string>();
    expect(register.write(numberOf(slow, key), 'early')).toBe(true);

    const next = nextActor(pool, key, slow, papers.holdMs + 1_000);
    const stale = numberOf(slow, key); // Both pass now.
    expect(numberOf(next, key)).toBeGreaterThan(stale);
    expect(register.write(numberOf(next, key), 'newer')).toBe(true);
    expect(register.write(stale, 'stale')).toBe(false);
    expect(register.value).toBe('newer');
  });
});

describe('an owner that stops for a while', () => {
  it('3: after a SIGSTOP longer than the lease the first check is false', () => {
    const pool = quietPool({ owners: 2 });
    const stopped = pool.owner('owner-1');
    const key = keyOf(stopped);
    const journal = new Journal(pool);
    stopped.process.pause();
    nextActor(pool, key, stopped, pool.durations.holdMs + 1_000);

    stopped.process.resume();
    expect(journal.turnsOf('lapsed', 'owner-1')).toEqual([]); // No timer has fired yet,
    expect(stopped.check(key)).toBeUndefined(); // and the check knows.
    settle(pool);
    expect(journal.turnsOf('lapsed', 'owner-1')).toHaveLength(1);
  });

  it('3: also when nobody else is there to take the keys', () => {
    const pool = quietPool({ owners: 1 });
    const stopped = pool.owner('owner-1');
    const key = keyOf(stopped);
    stopped.process.pause();
    pool.run(pool.durations.leaseMs + 1);
    stopped.process.resume();
    expect(stopped.check(key)).toBeUndefined();
    settle(pool);
    expect(stopped.check(key)).toBeDefined();
  });

  it('4: a pause between check and act is caught by the resource', () => {
    const pool = quietPool({ owners: 2 });
    const paused = pool.owner('owner-1');
    const key = keyOf(paused);
    const register = new FencedRegister<string>();

    const checked = numberOf(paused, key);
    paused.process.pause();
    const next = nextActor(pool, key, paused, pool.durations.holdMs + 1_000);
    expect(register.write(numberOf(next, key), 'newer')).toBe(true);

    paused.process.resume();
    expect(register.write(checked, 'stale')).toBe(false);
    expect(register.value).toBe('newer');
  });

  /**
   * The event loop is blocked for 500 ms, so many ms before the lease ends, and two requests queue
   * up; the first keeps the loop for another 100 ms.
   */
  function stalled(leftMs: number): string[] {
    const pool = quietPool({ owners: 2 });
    const owner = pool.owner('owner-1');
    const key = keyOf(owner);
    cutOff(pool, owner);
    const endMs = leaseEndMs(owner, key);
    pool.run(endMs - leftMs - pool.world.trueMs);
    const log: string[] = [];
    const { ownerChanged } = pool.checker;
    pool.checker.ownerChanged = (node, effect) => {
      if (node === owner) log.push(effect.do);
      ownerChanged.call(pool.checker, node, effect);
    };
    const request = (name: string, act: () => void): void => {
      owner.process.perform(() => {
        log.push(`${name} ${owner.check(key) === undefined ? 'refused' : 'served'}`);
        act();
      });
    };
    owner.process.pause(500);
    request('first', () => owner.process.pause(100));
    request('second', () => {});
    pool.run(700);
    return log;
  }

  it.each([
    [900, ['first served', 'second served']],
    [550, ['first served', 'second refused', 'lapsed']],
    [250, ['first refused', 'second refused', 'lapsed']],
  ])(
    '5: of two requests queued in a 500 ms stall, those after the end of the lease are refused (%i ms left)',
    (leftMs, log) => {
      // Refused before the timer fires that would say so.
      expect(stalled(leftMs)).toEqual(log);
    },
  );

  it('a machine that was suspended drops its leases at the first look', () => {
    const pool = quietPool({ owners: 2 });
    const owner = pool.owner('owner-1');
    const key = keyOf(owner);
    const journal = new Journal(pool);
    owner.process.suspend(pool.durations.leaseMs / 2);
    pool.run(pool.durations.leaseMs / 2);
    expect(leaseEndMs(owner, key)).toBeGreaterThan(pool.world.trueMs); // By its own clock it is not over,
    expect(owner.check(key)).toBeUndefined();
    expect(journal.turnsOf('lapsed', 'owner-1')).toHaveLength(1);
    settle(pool);
    expect(journal.turnsOf('resumed', 'owner-1')).toHaveLength(1); // and nobody had it meanwhile.
  });

  it('a pause that freezes the uptime too cannot be seen, and the resource refuses', () => {
    const pool = quietPool({ owners: 2 });
    const frozen = pool.owner('owner-1');
    const key = keyOf(frozen);
    const register = new FencedRegister<string>();
    frozen.process.suspend(60_000, { freezeUptime: true });
    const next = nextActor(pool, key, frozen, pool.durations.holdMs + 1_000);
    expect(register.write(numberOf(next, key), 'newer')).toBe(true);

    frozen.process.clock.resume(pool.world.trueMs);
    expect(actors(pool, key)).toEqual([frozen, next]); // It has no way to know.
    const stale = numberOf(frozen, key);
    expect(register.write(stale, 'stale')).toBe(false);
    expect(register.value).toBe('newer');
  });
});

describe('messages that come late, twice or in the wrong order', () => {
  it('6: a release that crosses a renewal of the same number is permanent, and the new grant has another', () => {
    const pool = quietPool({ owners: 1, lookups: 1 });
    const owner = pool.owner('owner-1');
    const leader = leaderOf(pool);
    const before = new Map(sampleKeys(200).map((key) => [key, numberOf(owner, key)]));
    const journal = new Journal(pool);
    pool.network.setFaults({ delayMs: [1_200, 1_200] }, owner.name, leader.name);

    const guest = pool.addOwner('owner-2');
    pool.until('owner-1 was recalled', () => journal.turnsOf('dropped', 'owner-1').length > 0, 3_000);
    const key = [...before.keys()].find((position) => owner.check(position) === undefined) as bigint;
    const number = before.get(key) as number;
    guest.leave(); // Before it was given anything: the Manager wants the keys back where they were,
    const left = journal.said.length;
    pool.until('the release arrived', () => journal.records('free').length > 0, 3_000);
    const crossing = journal
      .updates()
      .filter((said) => journal.said.indexOf(said) >= left && said.to === owner.name)
      .flatMap(({ message }) => message.spans)
      .filter((span) => span.start <= key && key < span.end && span.number === number && !span.recalled);
    expect(crossing.length).toBeGreaterThan(0); // says so while the release is under way,
    expect(owner.check(key)).toBeUndefined(); // and the owner does not go back on its word.

    pool.until('it is granted again', () => owner.check(key) !== undefined, 3_000);
    expect(numberOf(owner, key)).toBeGreaterThan(number);
    expect(owner.checkContinuous(key, number)).toBe(false);

    // The release arrives a second time: it names the old number, and so it frees nothing.
    const release = journal.reports().find(({ message }) => message.letGo.length > 0);
    expect(release).toBeDefined();
    settle(pool);
    const commits = journal.commits.length;
    if (release !== undefined) pool.network.send(release.from, release.to, release.message);
    pool.run(3_000);
    expect(journal.commits).toHaveLength(commits);
    expect(owner.check(key)).toBeDefined();
  });

  it('7: renewals sent again extend nothing, neither the lease nor the hold', () => {
    const pool = quietPool({ owners: 2 });
    const journal = new Journal(pool);
    const owner = pool.owner('owner-1');
    const key = keyOf(owner);
    pool.run(3 * pool.durations.renewEveryMs);
    cutOff(pool, owner);
    pool.run(10);
    const endMs = leaseEndMs(owner, key);
    const renewals = journal.updates().filter(({ to }) => to === owner.name);
    const reports = journal.reports().filter(({ from }) => from === owner.name);
    expect(renewals.length).toBeGreaterThan(2);
    const lastReportMs = reports.at(-1)?.atMs ?? 0;

    pool.network.heal();
    pool.network.setFaults({ lossChance: 1 }, owner.name, leaderOf(pool).name);
    const tenures = new Tenures(pool, [key]);
    for (let ms = 0; ms < pool.durations.holdMs; ms += 250) {
      pool.world.after(ms, () => {
        pool.network.setFaults({ lossChance: 0 }, owner.name, leaderOf(pool).name);
        for (const { from, to, message } of [...renewals, ...reports]) pool.network.send(from, to, message);
        pool.network.setFaults({ lossChance: 1 }, owner.name, leaderOf(pool).name);
      });
    }
    pool.until('it is freed', () => journal.records('leave').length > 0, 2 * pool.durations.holdMs);
    expect(tenures.of(key)[0]?.toMs).toBe(endMs);
    expect(journal.records('leave')[0]?.atMs).toBeLessThan(lastReportMs + pool.durations.holdMs + 20);
  });

  it('7: in a network that repeats and reorders everything, a lease rests on the newest report answered', () => {
    const pool = quietPool({ owners: 3 });
    const journal = new Journal(pool);
    pool.network.setFaults({ duplicateChance: 0.5, delayMs: [1, 2_500] });
    let looks = 0;
    pool.world.afterEach(() => {
      for (const owner of pool.owners) {
        const answered = journal.updates().filter(({ to }) => to === owner.name);
        const newest = Math.max(0, ...answered.map(({ message }) => message.acknowledges));
        const sent = journal
          .reports()
          .find(({ from, message }) => from === owner.name && message.sequence === newest);
        if (sent === undefined) continue;
        for (const piece of owner.core?.pieces ?? []) {
          looks += 1;
          expect(owner.process.trueMsOf(piece.until)).toBeLessThanOrEqual(
            sent.atMs + pool.durations.leaseMs + 1e-3,
          );
        }
      }
    });
    pool.run(20_000);
    expect(looks).toBeGreaterThan(1_000);
    expect(pool.network.counts.duplicated).toBeGreaterThan(100);
  });

  it('8: what was meant for an earlier incarnation of an owner gives the next one nothing', () => {
    const pool = quietPool({ owners: 2, lookups: 1 });
    const owner = pool.owner('owner-1');
    const key = keyOf(owner);
    const number = numberOf(owner, key);
    const journal = new Journal(pool);
    pool.run(2 * pool.durations.renewEveryMs);
    const old = journal.said.filter(({ from, to }) => from === owner.name || to === owner.name);
    expect(old.length).toBeGreaterThan(3);

    owner.process.restart();
    const againMs = pool.durations.holdMs * 0.8;
    for (let ms = 0; ms < againMs; ms += 200) {
      pool.world.after(ms, () => {
        for (const { from, to, message } of old) pool.network.send(from, to, message);
      });
    }
    pool.run(againMs);
    expect(owner.process.incarnation).toBe(2);
    expect(owner.core?.pieces).toEqual([]); // Its own lease of before is not its own any more.

    pool.until('it has its keys again', () => owner.check(key) !== undefined, pool.durations.holdMs);
    expect(numberOf(owner, key)).toBeGreaterThan(number);
    expect(owner.checkContinuous(key, number)).toBe(false);
    settle(pool);
    expect(journal.toldTo('lookup-1').some(({ ranges }) => ranges.has(key))).toBe(true);
  });

  it('8: also when nothing else reaches it: only the incarnation tells its own from another’s', () => {
    const pool = quietPool({ owners: 2 });
    const owner = pool.owner('owner-1');
    const journal = new Journal(pool);
    pool.run(2 * pool.durations.renewEveryMs);
    const old = journal.updates().filter(({ to }) => to === owner.name);
    expect(old.some(({ message }) => message.spans.length > 0)).toBe(true);
    const last = Math.max(...old.map(({ message }) => message.acknowledges));

    owner.process.restart();
    for (const manager of pool.managers) pool.network.cut(manager.name, owner.name, { dropInFlight: true });
    const hasSaidAsMuch = () =>
      journal.reports().some(({ message }) => message.incarnation === 'owner-1.2' && message.sequence > last);
    pool.until('it has sent as many reports', hasSaidAsMuch, pool.durations.leaseMs);
    for (const { from, to, message } of old) {
      pool.network.heal(from, to);
      pool.network.send(from, to, message);
      pool.network.cut(from, to);
      pool.run(10);
    }
    expect(owner.core?.seen).toBeUndefined();
    expect(owner.core?.pieces).toEqual([]);
  });

  it('11: replies lost, the owner stops at the end of its lease and nobody has the keys before the hold is over', () => {
    const pool = quietPool({ durations: papers, owners: 2 });
    const journal = new Journal(pool);
    const deaf = pool.owner('owner-1');
    const key = keyOf(deaf);
    pool.run(papers.renewEveryMs);
    const tenures = new Tenures(pool, [key]);
    for (const manager of pool.managers) pool.network.cut(manager.name, deaf.name);
    const heardMs = journal.reports().findLast(({ from }) => from === deaf.name)?.atMs ?? 0;
    const endMs = leaseEndMs(deaf, key);
    pool.run(papers.leaseMs + papers.holdMs);
    const [mine, theirs] = tenures.of(key);
    expect(mine?.toMs).toBe(endMs);
    expect(endMs).toBeLessThanOrEqual(heardMs + papers.leaseMs);
    expect(theirs?.fromMs ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(heardMs + papers.holdMs);
    expect(tenures.overlaps()).toEqual([]);
  });
});

describe('clocks that show different times', () => {
  /** Something of everything: a join, a crash, a leave, a change of leader. */
  function busy(pool: PoolWorld, now: (step: number) => void): PoolWorld {
    const { leaseMs } = pool.durations;
    const steps = [
      () => pool.addOwner('owner-4'),
      () => pool.owner('owner-1').process.crash(),
      () => pool.owner('owner-2').leave(),
      () => leaderOf(pool).process.restart(),
      () => {},
    ];
    for (const [index, step] of steps.entries()) {
      now(index);
      step();
      pool.run(leaseMs);
    }
    settle(pool);
    return pool;
  }

  const nothing = (): void => {};

  it('9: a wall clock set by 30 s, ahead or back, changes nothing at all', () => {
    const control = busy(quietPool({ owners: 3, lookups: 2 }), nothing);
    expect(control.world.counts.get('losses')).toBeGreaterThan(2);
    const pool = quietPool({ owners: 3, lookups: 2 });
    const stepped = busy(pool, (step) => {
      for (const [index, node] of [...pool.owners, ...pool.managers, ...pool.lookups].entries())
        node.process.stepWall((index + step) % 2 === 0 ? 30_000 : -30_000);
    });
    expect(stepped.world.story()).toEqual(control.world.story());
    expect(stepped.world.counts).toEqual(control.world.counts);
  });

  it('10: machines whose clocks began at different times do as machines that all began at once', () => {
    /** Machine k booted `apartMs` before machine k + 1. */
    const epochs = (apartMs: number): PoolWorld => {
      let machines = 0;
      class Epochs extends PoolWorld {
        override clock(): SimClock {
          machines += 1;
          return new SimClock({ originMs: machines * apartMs });
        }
      }
      return busy(quietPool({ owners: 3, lookups: 2 }, Epochs), nothing);
    };
    const control = epochs(0);
    const apart = epochs(2 ** 30);
    expect(apart.world.counts).toEqual(control.world.counts);
    expect(apart.checker.replayed.pool('pool').rows).toEqual(control.checker.replayed.pool('pool').rows);
  });
});
