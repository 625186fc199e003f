/**
 * The reactions of the simulated engine to faults. That a real one does so too is in
 * `docs/decisions/0013-what-etcd-does.md`.
 */

import { describe, expect, it } from 'vitest';
import { led, type SimulatedBench } from './simulated-bench.ts';
import { type Ask, ENGINE } from './simulated-messages.ts';

const SEEDS = Array.from({ length: 24 }, (_, index) => index + 1);

/** A poll that never comes: only a watch can bring anything. */
const WATCH_ONLY = { pollMs: 1e9 };

/** The requests of a client that the engine carries out from here on. */
function carriedOut(bench: SimulatedBench, client: string, ask: Ask['ask']): { readonly times: number[] } {
  const times: number[] = [];
  bench.engine.onAsk = (asker, body) => {
    if (asker === client && body.ask === ask) times.push(bench.world.trueMs);
  };
  return { times };
}

/** Runs until there is no key any more; returns the time since the lease was last kept alive. */
function outlives(bench: SimulatedBench): number {
  const { times } = carriedOut(bench, 'm1', 'keep-alive');
  bench.until('it is kept alive', () => times.length > 0);
  bench.network.cutBoth('m1', ENGINE);
  bench.until('the key is gone', () => bench.engine.leader === undefined);
  return bench.world.trueMs - (times.at(-1) ?? 0);
}

describe('the key of a leader', () => {
  it('is there for as long as its lease is kept alive', () => {
    const bench = led({ sweepMs: 125 });
    bench.run(10_000);
    expect(bench.engine.leader).toBe('m1.1');
  });

  it('outlives its lease until the engine looks, and is never gone before', () => {
    const outlived = SEEDS.map((seed) => outlives(led({ seed, sweepMs: 60 + seed })));
    expect(Math.min(...outlived)).toBeGreaterThanOrEqual(500);
    expect(Math.max(...outlived)).toBeGreaterThan(530);
    SEEDS.forEach((seed, index) => expect(outlived[index]).toBeLessThanOrEqual(500 + 60 + seed + 1));
  });

  it('stays for a whole lease after the engine has another leader of its own', () => {
    const bench = led();
    bench.network.cutBoth('m1', ENGINE, { dropInFlight: true });
    bench.run(400);
    bench.engine.changeLeader(300);
    expect(bench.until('the key is gone', () => bench.engine.leader === undefined)).toBeCloseTo(800, 0);
  });

  it('can go although its lease was just kept alive', () => {
    const bench = led();
    const { times } = carriedOut(bench, 'm1', 'keep-alive');
    bench.until('it is kept alive', () => times.length > 0);
    bench.engine.dropLeader();
    expect(bench.engine.leader).toBeUndefined();
    bench.untilTold('m1 deposed');
  });
});

describe('an engine whose own leader is killed', () => {
  it('carries out nothing until it has another', () => {
    const bench = led();
    bench.campaign('m2');
    bench.engine.changeLeader(300);
    bench.append('m1', 1, 'a');
    bench.run(299);
    expect(bench.told).toEqual([]);
    bench.untilTold('m1 appended 1', 300);
    bench.run(1_000);
    expect(bench.told).toEqual(['log 1 a', 'm1 appended 1']); // Once, and the leader still leads.
  });

  /** m1 appends once and asks nobody else until the engine has a leader again. */
  function killedDuringAppend(seed: number, whose: 'its' | 'another'): SimulatedBench {
    const bench = led({ seed });
    const member = bench.engine.memberOf('m1');
    bench.engine.changeLeader(300, whose === 'its' ? member : (member + 1) % 3);
    bench.append('m1', 1, 'a');
    bench.run(2);
    bench.network.cut('m1', ENGINE);
    bench.run(400);
    return bench;
  }

  it('has carried out some of what was asked of the killed one, and answers none of it', () => {
    const benches = SEEDS.map((seed) => killedDuringAppend(seed, 'its'));
    const written = benches.filter(({ told }) => told.includes('log 1 a'));
    expect(written.length).toBeGreaterThan(0);
    expect(written.length).toBeLessThan(SEEDS.length);
    for (const { told } of benches) expect(told).not.toContain('m1 appended 1');
  });

  it('answers late what it carries out of what was asked of another', () => {
    const benches = SEEDS.map((seed) => killedDuringAppend(seed, 'another'));
    const written = benches.filter(({ told }) => told.includes('log 1 a'));
    expect(written.length).toBeGreaterThan(0);
    for (const { told } of written) expect(told).toEqual(['log 1 a', 'm1 appended 1']);
  });

  it.each(['its', 'another'] as const)(
    'has everything written once when it was asked again (%s)',
    (whose) => {
      for (const seed of SEEDS) {
        const bench = killedDuringAppend(seed, whose);
        bench.network.heal();
        bench.until('it is known', () => bench.told.includes('m1 appended 1'));
        bench.run(1_000);
        expect(bench.told).toEqual(['log 1 a', 'm1 appended 1']);
      }
    },
  );
});

describe('a member that is stopped', () => {
  it('answers nothing, while another carries out what is asked again', () => {
    const bench = led();
    const member = bench.engine.memberOf('m1');
    bench.engine.stopMember(member, 1_000);
    bench.append('m1', 1, 'a');
    bench.run(50);
    expect(bench.told).toEqual([]);
    bench.untilTold('m1 appended 1', 300);
    expect(bench.engine.memberOf('m1')).not.toBe(member);
  });

  it('carries out copies when it goes on that nobody waits for, and nothing is written twice', () => {
    let copies = 0;
    for (const seed of SEEDS) {
      const bench = led({ seed });
      bench.engine.stopMember(bench.engine.memberOf('m1'), 1_000);
      bench.write('m1', 1, 'a');
      bench.write('m1', 2, 'b');
      const { times } = carriedOut(bench, 'm1', 'append');
      bench.run(1_500);
      copies += times.length;
      expect(bench.told).toEqual(['log 1 a', 'm1 appended 1', 'log 2 b', 'm1 appended 2']);
    }
    expect(copies).toBeGreaterThan(0);
  });

  it('carries out a copy whose leader was deposed meanwhile, and the fence holds', () => {
    let copies = 0;
    for (const seed of SEEDS) {
      const bench = led({ seed });
      bench.engine.stopMember(bench.engine.memberOf('m1'), 3_000);
      bench.append('m1', 1, 'stale');
      bench.run(2);
      bench.network.cutBoth('m1', ENGINE);
      bench.campaign('m2');
      bench.untilTold('m2 elected', 2_900);
      const { times } = carriedOut(bench, 'm1', 'append');
      bench.write('m2', 1, 'fresh');
      bench.run(4_000);
      copies += times.length;
      expect(bench.toldTo('log')).toEqual(['1 fresh']);
    }
    expect(copies).toBeGreaterThan(0);
  });
});

describe('a watch', () => {
  function watching(): SimulatedBench {
    const bench = led(WATCH_ONLY);
    bench.follow();
    bench.untilTold('f reset');
    return bench;
  }

  it('at a member that is killed ends, and goes on at another', () => {
    const bench = watching();
    const member = bench.engine.memberOf('f');
    bench.engine.changeLeader(200, member);
    bench.run(50);
    expect(bench.engine.memberOf('f')).not.toBe(member);
    bench.write('m1', 1, 'a');
    bench.write('m1', 2, 'b');
    bench.until('it is told', () => bench.told.includes('f batch 2 b'), 100);
    expect(bench.toldTo('f')).toEqual(['reset', 'batch 1 a', 'batch 2 b']);
  });

  it('at another member goes on; the next event comes when there is a leader again', () => {
    const bench = watching();
    const member = bench.engine.memberOf('f');
    bench.engine.changeLeader(200, (member + 1) % 3);
    bench.append('m1', 1, 'a');
    bench.run(199);
    expect(bench.told).toEqual(['f reset']);
    bench.untilTold('f batch 1 a', 300);
    expect(bench.engine.memberOf('f')).toBe(member);
  });

  it('at a member that is stopped brings neither an event nor an end; when it goes on, what was missed', () => {
    const bench = watching();
    bench.engine.stopMember(bench.engine.memberOf('f'), 3_000);
    bench.write('m1', 1, 'a');
    bench.write('m1', 2, 'b');
    bench.run(2_000);
    expect(bench.toldTo('f')).toEqual(['reset']);
    bench.untilTold('f batch 2 b', 1_500);
    expect(bench.toldTo('f')).toEqual(['reset', 'batch 1 a', 'batch 2 b']);
  });

  it('that is deaf brings nothing, also afterwards; who asks from time to time hears of it all the same', () => {
    const bench = led();
    bench.follow();
    bench.untilTold('f reset');
    bench.engine.deafen('f', 1_500);
    bench.write('m1', 1, 'a');
    bench.run(1_400);
    expect(bench.toldTo('f')).toEqual(['reset']);
    bench.untilTold('f batch 1 a', 1_200);
  });
});

describe('an engine that withholds outcomes', () => {
  it('writes what it is asked and does not say so, until it does again', () => {
    const bench = led();
    bench.engine.withholdOutcomes(1_000);
    bench.append('m1', 1, 'a');
    bench.run(900);
    expect(bench.told).toEqual(['log 1 a']);
    bench.untilTold('m1 appended 1', 300);
    expect(bench.toldTo('log')).toEqual(['1 a']);
  });
});

describe('an engine that was down', () => {
  /** For a second, which is longer than the engine keeps a leader. */
  function wasDown(): SimulatedBench {
    const bench = led();
    bench.campaign('m2');
    bench.run(10);
    bench.engine.down = true;
    bench.run(1_000);
    expect([bench.engine.down, bench.told]).toEqual([true, []]);
    return bench;
  }

  it('has lost its leader when it comes back: time has passed for it', () => {
    const bench = wasDown();
    bench.engine.down = false;
    expect(bench.engine.down).toBe(false);
    bench.untilTold('m2 elected', 1_000);
  });

  it('has kept its leader when it thaws: no time has passed for it', () => {
    const bench = wasDown();
    bench.engine.thaw();
    bench.run(1_000);
    expect(bench.engine.down).toBe(false);
    expect(bench.told).toEqual([]);
  });

  it('keeps it for no longer than was left when it froze', () => {
    const bench = wasDown();
    bench.network.cutBoth('m1', ENGINE);
    bench.engine.thaw();
    const afterMs = bench.untilTold('m2 elected');
    expect(afterMs).toBeGreaterThan(400); // Of 500 ms, hardly any had passed.
    expect(afterMs).toBeLessThan(600);
  });

  it('keeps it for a whole lease when it is restarted with another leader of its own', () => {
    const bench = led();
    bench.network.cutBoth('m1', ENGINE, { dropInFlight: true });
    bench.run(400);
    bench.engine.down = true;
    bench.run(1_000);
    bench.engine.restart();
    expect(bench.until('the key is gone', () => bench.engine.leader === undefined)).toBeCloseTo(500, 0);
  });

  it('counts the time from when it went down, however often it is said', () => {
    const bench = led();
    bench.campaign('m2');
    bench.engine.down = true;
    bench.run(900);
    bench.engine.down = true;
    bench.run(100);
    bench.engine.thaw();
    bench.run(400);
    expect(bench.told).toEqual([]);
  });

  it('is not given time by a thaw when it was not down', () => {
    const bench = led();
    bench.campaign('m2');
    bench.engine.down = true;
    bench.run(100);
    bench.engine.down = false;
    bench.network.cutBoth('m1', ENGINE);
    bench.run(300);
    bench.engine.thaw();
    expect(bench.untilTold('m2 elected')).toBeLessThan(300);
  });
});

describe('a store that was restored from a backup', () => {
  it('goes back in positions and terms, until an operator makes them jump', () => {
    const bench = led();
    const restore = bench.engine.backup();
    bench.write('m1', 1, 'a');
    restore();
    expect(bench.engine.head).toBe(0);
    bench.engine.jump(7, 100);
    bench.campaign('m2');
    bench.untilTold('m2 elected');
    const { term, start } = bench.leadership('m2');
    expect([term, start.floor, start.batches]).toEqual([8, 100, []]);
  });

  it('has the same history, until the jump begins another', () => {
    const bench = led();
    const restore = bench.engine.backup();
    restore();
    expect(bench.engine.history).toBe('h');
    bench.engine.jump(7, 100);
    bench.campaign('m2');
    bench.untilTold('m2 elected');
    expect(bench.leadership('m2').start.history).toBe(bench.engine.history);
    expect(bench.engine.history).not.toBe('h');
    const before = bench.engine.history;
    bench.engine.jump(7, 100);
    expect(['h', before]).not.toContain(bench.engine.history);
  });

  it('does not elect one who looked before the counters were raised', () => {
    const bench = led();
    bench.engine.backup()();
    bench.campaign('m2');
    bench.run(2); // The candidate has looked, and is about to ask for a lease.
    bench.engine.jump(7, 100);
    bench.untilTold('m2 elected');
    expect(bench.leadership('m2').start.history).toBe(bench.engine.history);
  });

  it('has no leader: the one before is told so, and can write nothing', () => {
    const bench = led();
    const restore = bench.engine.backup();
    bench.write('m1', 1, 'a');
    restore();
    bench.append('m1', 2, 'b');
    bench.untilTold('m1 deposed');
    expect(bench.toldTo('log')).toEqual(['1 a']);
  });

  it('with its leader’s key in it: that leader’s next append finds that the log is not where it left it', () => {
    const bench = led();
    bench.write('m1', 1, 'a');
    const restore = bench.engine.backup();
    bench.write('m1', 2, 'b');
    restore(true);
    expect(bench.engine.leader).toBe('m1.1');
    bench.append('m1', 3, 'c');
    bench.run(1_000);
    expect(bench.toldTo('m1').slice(2)).toEqual(['strayed']); // And nothing else is told.
    expect(bench.toldTo('log')).toEqual(['1 a', '2 b']);
  });

  it('may give a term again, and yet does not take the one who had it before for the leader', () => {
    const bench = led();
    const restore = bench.engine.backup();
    bench.leadership('m1').resign();
    bench.campaign('m2');
    bench.untilTold('m2 elected');
    restore();
    bench.campaign('m1', 'm1.2');
    bench.untilTold('m1 elected', 90); // Before m2 hears so.
    expect(bench.leadership('m1').term).toBe(bench.leadership('m2').term);
    bench.append('m2', 1, 'stale');
    bench.untilTold('m2 deposed superseded');
    expect(bench.toldTo('log')).toEqual([]);
  });

  it('resets a follower that has more than there is', () => {
    const bench = led();
    bench.follow();
    const restore = bench.engine.backup();
    bench.write('m1', 1, 'a');
    bench.until('it is told', () => bench.told.includes('f batch 1 a'));
    restore();
    bench.untilTold('f reset');
  });

  it('resets a follower whose last batch is another one than is there', () => {
    const bench = led();
    bench.follow();
    bench.write('m1', 1, 'a');
    const restore = bench.engine.backup();
    bench.write('m1', 2, 'b');
    bench.until('it is told', () => bench.told.includes('f batch 2 b'));
    bench.network.cutBoth('f', ENGINE);
    restore();
    bench.campaign('m2');
    bench.untilTold('m2 elected');
    bench.write('m2', 2, 'x');
    bench.network.heal();
    bench.untilTold('f reset 1 a 2 x');
  });

  it('has forgotten what its members were asked', () => {
    for (const seed of SEEDS) {
      const bench = led({ seed });
      const restore = bench.engine.backup();
      bench.engine.stopMember(bench.engine.memberOf('m1'), 200);
      bench.append('m1', 1, 'a');
      bench.run(2);
      bench.network.cut('m1', ENGINE);
      restore(true);
      bench.run(400);
      expect(bench.told).toEqual([]);
    }
  });
});
