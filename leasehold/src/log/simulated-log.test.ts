import { describe, expect, it } from 'vitest';
import { AssertionError } from '../runtime/assert.ts';
import { bytes, led, SimulatedBench } from './simulated-bench.ts';
import { ENGINE } from './simulated-messages.ts';

describe('an election', () => {
  it('has one winner; another waits until the winner resigns', () => {
    const bench = led();
    bench.campaign('m2');
    bench.run(900);
    expect(bench.told).toEqual([]);
    bench.leadership('m1').resign();
    bench.untilTold('m2 elected', 100);
    expect(bench.told).toEqual(['m2 elected']);
    expect(bench.engine.leader).toBe('m2.1');
  });

  it('gives a later term than every one before it', () => {
    const bench = led();
    bench.campaign('m2');
    bench.leadership('m1').resign();
    bench.untilTold('m2 elected');
    expect(bench.leadership('m2').term).toBeGreaterThan(bench.leadership('m1').term);
  });

  it('is won by another when the leader is not heard for as long as the engine keeps it', () => {
    const bench = led();
    bench.campaign('m2');
    bench.network.cutBoth('m1', ENGINE);
    const afterMs = bench.untilTold('m2 elected');
    expect(afterMs).toBeGreaterThan(400); // Of the 500, some had passed.
    expect(afterMs).toBeLessThan(600);
    expect(bench.told).toEqual(['m2 elected']);
  });

  it('begins as soon as the leader goes, also if the candidate hears so before an older answer', () => {
    const bench = led({ pollMs: 5_000 });
    bench.network.setFaults({ delayMs: [50, 50] }, ENGINE, 'm2');
    bench.campaign('m2');
    bench.run(2); // The engine has answered that m1 leads.
    bench.network.setFaults({ delayMs: [1, 1] }, ENGINE, 'm2');
    bench.engine.dropLeader();
    expect(bench.untilTold('m2 elected')).toBeLessThan(100);
  });

  it('gives what every earlier leader has written', () => {
    const bench = led();
    bench.write('m1', 1, 'a');
    bench.write('m1', 5, 'b');
    bench.campaign('m2');
    bench.leadership('m1').resign();
    bench.untilTold('m2 elected');
    expect(bench.told.at(-1)).toBe('m2 elected 1 a 5 b');
  });

  it('is not won by one that has withdrawn', () => {
    const bench = new SimulatedBench();
    bench.campaign('m1')[Symbol.dispose]();
    bench.run(1_000);
    expect(bench.told).toEqual([]);
    expect(bench.engine.leader).toBeUndefined();
  });

  it('is not won by one that withdraws while it is under way, whatever of it has been answered', () => {
    for (let afterMs = 0; afterMs < 8; afterMs += 1) {
      const bench = new SimulatedBench();
      const campaign = bench.campaign('m1');
      bench.run(afterMs);
      campaign[Symbol.dispose]();
      bench.run(200);
      expect(bench.engine.leader).toBeUndefined();
      expect(bench.told).toEqual([]);
    }
  });

  it('is lost again by disposing of it, without being told so', () => {
    const bench = new SimulatedBench();
    const campaign = bench.campaign('m1');
    bench.untilTold('m1 elected');
    campaign[Symbol.dispose]();
    bench.until('nobody leads', () => bench.engine.leader === undefined, 100);
    bench.run(1_000);
    expect(bench.told).toEqual(['m1 elected']);
  });

  it('that is lost before it was told counts for nothing: the candidate stands again', () => {
    const bench = new SimulatedBench();
    bench.campaign('m1');
    bench.until('it is elected, and reads', () => bench.engine.leader !== undefined);
    bench.engine.dropLeader();
    bench.untilTold('m1 elected');
    bench.run(1_000);
    expect(bench.told).toEqual(['m1 elected']);
    expect(bench.leadership('m1').term).toBe(bench.engine.term);
  });
});

describe('the leader lease', () => {
  /** Instants by the clock of the leader: of the notice, and of the start of the lease. */
  function leases(bench: SimulatedBench): { readonly toldAt: number; readonly from: number }[] {
    const all: { toldAt: number; from: number }[] = [];
    const hear = (until: number): void => {
      all.push({ toldAt: bench.log('m1').now(), from: until - bench.client.leaderLeaseMs });
    };
    bench.log('m1').campaign('m1.1', {
      elected: (_, until) => hear(until),
      extended: hear,
      deposed: () => {},
    });
    return all;
  }

  it('is counted from before it was asked for: for the election, from before the engine granted it', () => {
    const bench = new SimulatedBench();
    let grantedMs = 0;
    bench.engine.onAsk = (_, { ask }) => {
      if (ask === 'grant') grantedMs = bench.world.trueMs;
    };
    const [beganMs, beganAt] = [bench.world.trueMs, bench.log('m1').now()];
    const all = leases(bench);
    bench.until('it is elected', () => all.length > 0);
    expect(all[0]?.from).toBeLessThan(beganAt + grantedMs - beganMs);
    expect(all[0]?.from).toBeGreaterThan(beganAt);
  });

  it('is extended four times in its length, and each time counted from the asking', () => {
    const bench = new SimulatedBench();
    const all = leases(bench);
    bench.until('it is elected', () => all.length > 0);
    bench.run(bench.client.leaderLeaseMs);
    expect(all).toHaveLength(5);
    const origin = all[0]?.from ?? 0;
    all.forEach(({ toldAt, from }, index) => {
      expect(from - origin).toBeCloseTo(100 * index, 0);
      if (index > 0) expect(toldAt - from).toBeCloseTo(4, 0); // Two trips: is the lease alive, and is the key still ours?
    });
  });

  it('may be ended early by the engine, and the leader hears of it at its next word', () => {
    const bench = led();
    bench.engine.dropLeader();
    expect(bench.untilTold('m1 deposed lease-ended')).toBeLessThanOrEqual(110);
  });

  it('is not extended by a member that was replaced and calls every lease alive', () => {
    const bench = new SimulatedBench();
    const all = leases(bench);
    bench.until('it is extended', () => all.length > 1);
    let keptAlive = 0;
    const { send } = bench.network;
    bench.network.send = (from, to, message) => {
      if ('answer' in message.body && message.body.answer === 'alive') keptAlive += 1;
      send.call(bench.network, from, to, message);
    };
    bench.engine.strand('m1', 1_000);
    const before = all.length;
    bench.run(1_000);
    expect(keptAlive).toBeGreaterThan(3);
    expect(all).toHaveLength(before);
  });
});

describe('an append', () => {
  it('is written once and answered', () => {
    const bench = led();
    bench.append('m1', 1, 'a');
    bench.run(500);
    expect(bench.told).toEqual(['log 1 a', 'm1 appended 1']);
  });

  it('of a deposed leader is not written: the log is fenced', () => {
    const bench = led();
    bench.engine.dropLeader();
    bench.campaign('m2');
    bench.untilTold('m2 elected', 90); // Before the first hears so.
    bench.append('m1', 1, 'stale');
    bench.untilTold('m1 deposed');
    bench.write('m2', 1, 'fresh');
    expect(bench.told).toEqual(['m2 elected', 'm1 deposed superseded', 'log 1 fresh', 'm2 appended 1']);
  });

  it('whose answer is lost is tried again at the same position, and is not written twice', () => {
    const bench = led();
    bench.network.cut(ENGINE, 'm1');
    bench.append('m1', 1, 'a');
    bench.run(250);
    expect(bench.told).toEqual(['log 1 a']);
    bench.network.heal();
    bench.untilTold('m1 appended 1', 200);
    bench.run(500);
    expect(bench.told).toEqual(['log 1 a', 'm1 appended 1']);
  });

  it('that is lost itself is tried again until it is written', () => {
    const bench = led();
    bench.network.cut('m1', ENGINE);
    bench.append('m1', 1, 'a');
    bench.run(150);
    expect(bench.told).toEqual([]);
    bench.network.heal();
    bench.untilTold('m1 appended 1', 200);
    expect(bench.told).toEqual(['log 1 a', 'm1 appended 1']);
  });

  it('of unknown outcome is never called refused, only known or deposed', () => {
    const bench = led();
    bench.network.cut(ENGINE, 'm1');
    bench.append('m1', 1, 'a');
    bench.untilTold('log 1 a');
    bench.network.cut('m1', ENGINE);
    bench.campaign('m2');
    bench.untilTold('m2 elected');
    bench.network.heal();
    bench.run(2_000);
    expect(bench.told).toEqual(['log 1 a', 'm2 elected 1 a', expect.stringMatching(/^m1 deposed/)]);
  });

  it('is refused if the engine says so at the first try', () => {
    const bench = led();
    bench.engine.refuseChance = 1;
    bench.append('m1', 1, 'a');
    bench.untilTold('m1 refused 1');
    bench.engine.refuseChance = 0;
    bench.write('m1', 1, 'b');
    expect(bench.told).toEqual(['m1 refused 1', 'log 1 b', 'm1 appended 1']);
  });

  it('is not refused by a later try, for an earlier one may yet be written', () => {
    const bench = led();
    bench.network.cut('m1', ENGINE);
    bench.append('m1', 1, 'a');
    bench.run(50);
    bench.network.heal();
    bench.engine.refuseChance = 1;
    bench.run(300);
    expect(bench.told).toEqual([]);
    bench.engine.refuseChance = 0;
    bench.untilTold('m1 appended 1', 200);
    expect(bench.told).toEqual(['log 1 a', 'm1 appended 1']);
  });

  it('is one at a time', () => {
    const bench = led();
    bench.append('m1', 1, 'a');
    expect(() => bench.append('m1', 2, 'b')).toThrow(AssertionError);
  });

  it('is not answered after its leader has resigned', () => {
    const bench = led();
    bench.append('m1', 1, 'a');
    bench.leadership('m1').resign();
    bench.run(500);
    expect(bench.told).toEqual(['log 1 a']);
  });

  it('waits while the engine is down', () => {
    const bench = led();
    bench.engine.down = true;
    bench.append('m1', 1, 'a');
    bench.run(250);
    expect(bench.told).toEqual([]);
    bench.engine.down = false;
    bench.untilTold('m1 appended 1', 200);
    expect(bench.told).toEqual(['log 1 a', 'm1 appended 1']);
  });
});

describe('a follower', () => {
  it('starts from what there is and is told of every batch as it is written', () => {
    const bench = led();
    bench.write('m1', 1, 'a');
    bench.follow();
    bench.untilTold('f reset');
    bench.append('m1', 2, 'b');
    expect(bench.untilTold('f batch 2 b')).toBeLessThan(10);
    expect(bench.toldTo('f')).toEqual(['reset 1 a', 'batch 2 b']);
  });

  it('catches up in order when it was cut off, without being told anything twice', () => {
    const bench = led();
    bench.follow();
    bench.untilTold('f reset');
    bench.network.cutBoth('f', ENGINE);
    for (const position of [1, 2, 3]) bench.write('m1', position, 'x');
    bench.network.heal();
    bench.untilTold('f batch 3 x');
    bench.run(2_000);
    expect(bench.toldTo('f')).toEqual(['reset', 'batch 1 x', 'batch 2 x', 'batch 3 x']);
  });

  it('is reset when what it lacks was replaced by a snapshot', () => {
    const bench = led();
    bench.follow();
    bench.untilTold('f reset');
    bench.network.cutBoth('f', ENGINE);
    for (const position of [1, 2, 3]) bench.write('m1', position, 'x');
    bench.leadership('m1').compact(bytes('snapshot'), 2);
    bench.run(100);
    bench.network.heal();
    bench.untilTold('f reset');
    expect(bench.told.at(-1)).toBe('f reset [2 snapshot] 3 x');
  });

  it('is not reset by a snapshot of what it has', () => {
    const bench = led();
    bench.follow();
    bench.append('m1', 1, 'a');
    bench.untilTold('f batch 1 a');
    bench.leadership('m1').compact(bytes('snapshot'), 1);
    bench.run(2_500);
    expect(bench.toldTo('f')).toEqual(['reset', 'batch 1 a']);
  });

  it('reads the head when it asks, also if the first question is lost', () => {
    const bench = led();
    bench.write('m1', 4, 'a');
    const following = bench.follow();
    bench.untilTold('f reset');
    bench.network.cut('f', ENGINE);
    following.askHead();
    bench.run(70);
    bench.network.heal();
    bench.untilTold('f head 4', 100);
  });

  it('is told nothing once it has ended', () => {
    const bench = led();
    bench.follow()[Symbol.dispose]();
    bench.write('m1', 1, 'a');
    bench.run(2_000);
    expect(bench.toldTo('f')).toEqual([]);
  });
});

describe('a snapshot', () => {
  it('of a deposed leader does not take effect: it is fenced too', () => {
    const bench = led();
    bench.write('m1', 1, 'a');
    bench.engine.dropLeader();
    bench.leadership('m1').compact(bytes('stale'), 1);
    bench.campaign('m2');
    bench.untilTold('m2 elected');
    expect(bench.told.at(-1)).toBe('m2 elected 1 a');
  });
});
