import { describe, expect, it } from 'vitest';
import { AssertionError } from '../runtime/assert.ts';
import { Network } from '../sim/network.ts';
import { SimProcess } from '../sim/process.ts';
import { World } from '../sim/world.ts';
import type { Following, Leadership, LogStart } from './log.ts';
import { ENGINE, type LogMessage, SimulatedEngine } from './simulated-engine.ts';
import { SimulatedLog } from './simulated-log.ts';

// Messages take 1 ms each way. A leader lease lasts 400 ms by the leader and 500 by the engine; a
// client asks again after 100 ms; a follower asks every 1000.
const OPTIONS = { leaderLeaseMs: 400, retryMs: 100, pollMs: 1_000 };

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (of: Uint8Array): string => new TextDecoder().decode(of);

class Bench {
  readonly world: World = new World({ seed: 1 });
  readonly network: Network<LogMessage> = new Network<LogMessage>(this.world, {
    faults: { delayMs: [1, 1] },
  });
  readonly engine: SimulatedEngine;
  /** `12 m1 elected 1` for everything that anybody was told, and `12 log 1 x` for every commit. */
  readonly told: string[] = [];
  /** By client. */
  readonly leaderships = new Map<string, Leadership>();
  readonly #logs = new Map<string, SimulatedLog>();

  constructor() {
    this.engine = new SimulatedEngine(this.world, this.network, {
      history: 'h',
      leaderKeyMs: 500,
      refuseChance: 0,
    });
    this.engine.onCommit = (batch) => this.note('log', `${batch.position} ${text(batch.bytes)}`);
    for (const name of ['m1', 'm2', 'f']) {
      new SimProcess(this.world, {
        name,
        start: (runtime) => {
          this.#logs.set(name, new SimulatedLog(runtime, runtime.transport(this.network), OPTIONS));
        },
      }).start();
    }
    this.run(0);
  }

  note(who: string, what: string): void {
    this.told.push(`${Math.round(this.world.trueMs)} ${who} ${what}`);
  }

  run(untilMs: number): void {
    this.world.run({ untilMs });
  }

  log(name: string): SimulatedLog {
    const log = this.#logs.get(name);
    if (log === undefined) throw new Error(`no client ${name}`);
    return log;
  }

  /** Extensions are not noted; they are many. */
  campaign(name: string, candidate = `${name}.1`): Disposable {
    return this.log(name).campaign(candidate, {
      elected: (leadership) => {
        this.leaderships.set(name, leadership);
        this.note(name, `elected ${leadership.term} ${contents(leadership.start)}`.trimEnd());
      },
      extended: () => {},
      deposed: (reason) => this.note(name, `deposed ${reason}`),
    });
  }

  append(name: string, position: number, what: string): void {
    this.leaderships
      .get(name)
      ?.append({ position, bytes: bytes(what) }, (outcome) => this.note(name, `${outcome} ${position}`));
  }

  follow(name = 'f'): Following {
    return this.log(name).follow({
      reset: (start) => this.note(name, `reset ${contents(start)}`.trimEnd()),
      batch: ({ position, bytes: of }) => this.note(name, `batch ${position} ${text(of)}`),
      head: (position) => this.note(name, `head ${position}`),
    });
  }
}

/** `[2 snapshot] 3 c 4 d` */
function contents({ snapshot, batches }: LogStart): string {
  const written = batches.map(({ position, bytes: of }) => `${position} ${text(of)}`);
  return [...(snapshot ? [`[${snapshot.position} ${text(snapshot.bytes)}]`] : []), ...written].join(' ');
}

/** A bench on which m1 was elected at 2 ms. */
function led(): Bench {
  const bench = new Bench();
  bench.campaign('m1');
  bench.run(10);
  expect(bench.told.splice(0)).toEqual(['2 m1 elected 1']);
  return bench;
}

describe('an election', () => {
  it('has one winner; another waits until the winner resigns', () => {
    const bench = led();
    bench.campaign('m2');
    bench.run(900);
    expect(bench.told).toEqual([]);
    bench.leaderships.get('m1')?.resign();
    bench.run(1_100);
    expect(bench.told).toEqual(['912 m2 elected 2']);
    expect(bench.engine.leader).toBe('m2.1');
  });

  it('is won by another when the leader is not heard for as long as the engine keeps it', () => {
    const bench = led();
    bench.campaign('m2');
    bench.network.cutBoth('m1', ENGINE);
    bench.run(1_000);
    expect(bench.told).toHaveLength(1);
    expect(bench.told[0]).toMatch(/^[56]\d\d m2 elected 2$/);
  });

  it('gives what every earlier leader has written', () => {
    const bench = led();
    bench.append('m1', 1, 'a');
    bench.run(20);
    bench.append('m1', 5, 'b');
    bench.run(30);
    bench.campaign('m2');
    bench.leaderships.get('m1')?.resign();
    bench.run(200);
    expect(bench.told.at(-1)).toMatch(/m2 elected 2 1 a 5 b$/);
  });

  it('is not won by one that has withdrawn', () => {
    const bench = new Bench();
    bench.campaign('m1')[Symbol.dispose]();
    bench.run(1_000);
    expect(bench.told).toEqual([]);
  });

  it('is lost again by disposing of it, without being told so', () => {
    const bench = new Bench();
    const campaign = bench.campaign('m1');
    bench.run(10);
    campaign[Symbol.dispose]();
    bench.run(20);
    expect(bench.engine.leader).toBeUndefined();
    expect(bench.told).toEqual(['2 m1 elected 1']);
  });
});

describe('the leader lease', () => {
  it('is counted from before it was asked for, and extended four times in its length', () => {
    const bench = new Bench();
    const untils: [number, number][] = [];
    // The true time of being told, and the instant by its own clock from which the lease runs.
    const hear = (until: number): void => {
      untils.push([bench.world.trueMs, until - OPTIONS.leaderLeaseMs]);
    };
    bench.log('m1').campaign('m1.1', {
      elected: (_, until) => hear(until),
      extended: hear,
      deposed: () => {},
    });
    bench.run(210);
    const [, origin = 0] = untils[0] ?? [];
    expect(untils.map(([toldMs, from]) => [Math.round(toldMs), Math.round(from - origin)])).toEqual([
      [2, 0],
      [4, 2],
      [104, 102],
      [204, 202],
    ]);
  });

  it('may be ended early by the engine, and the leader hears of it at its next word', () => {
    const bench = led();
    bench.engine.dropLeader();
    bench.run(300);
    expect(bench.told).toEqual(['104 m1 deposed lease-ended']);
  });
});

describe('an append', () => {
  it('is written once and answered', () => {
    const bench = led();
    bench.append('m1', 1, 'a');
    bench.run(500);
    expect(bench.told).toEqual(['11 log 1 a', '12 m1 appended 1']);
  });

  it('of a deposed leader is not written: the log is fenced', () => {
    const bench = led();
    bench.engine.dropLeader();
    bench.campaign('m2');
    bench.run(20);
    bench.append('m1', 1, 'stale');
    bench.run(30);
    bench.append('m2', 1, 'fresh');
    bench.run(60);
    expect(bench.told).toEqual([
      '12 m2 elected 2',
      '22 m1 deposed superseded',
      '31 log 1 fresh',
      '32 m2 appended 1',
    ]);
  });

  it('whose answer is lost is tried again at the same position, and is not written twice', () => {
    const bench = led();
    bench.network.cut(ENGINE, 'm1');
    bench.append('m1', 1, 'a');
    bench.run(250);
    expect(bench.told).toEqual(['11 log 1 a']);
    bench.network.heal();
    bench.run(500);
    expect(bench.told).toEqual(['11 log 1 a', '312 m1 appended 1']);
  });

  it('that is lost itself is tried again until it is written', () => {
    const bench = led();
    bench.network.cut('m1', ENGINE);
    bench.append('m1', 1, 'a');
    bench.run(150);
    bench.network.heal();
    bench.run(500);
    expect(bench.told).toEqual(['211 log 1 a', '212 m1 appended 1']);
  });

  it('of unknown outcome is never called refused, only known or deposed', () => {
    const bench = led();
    bench.network.cut(ENGINE, 'm1');
    bench.append('m1', 1, 'a');
    bench.run(50);
    bench.network.cut('m1', ENGINE);
    bench.campaign('m2');
    bench.run(1_050);
    bench.network.heal();
    bench.run(3_000);
    expect(bench.told.map((line) => line.replace(/^\d+ /, ''))).toEqual([
      'log 1 a',
      'm2 elected 2 1 a',
      'm1 deposed lease-ended',
    ]);
  });

  it('is refused if the engine says so at the first try', () => {
    const bench = led();
    bench.engine.refuseChance = 1;
    bench.append('m1', 1, 'a');
    bench.run(50);
    expect(bench.told).toEqual(['12 m1 refused 1']);
    bench.engine.refuseChance = 0;
    bench.append('m1', 1, 'b');
    bench.run(100);
    expect(bench.told.slice(1)).toEqual(['51 log 1 b', '52 m1 appended 1']);
  });

  it('is not refused by a later try, for an earlier one may yet be written', () => {
    const bench = led();
    bench.network.cut('m1', ENGINE);
    bench.append('m1', 1, 'a');
    bench.run(50);
    bench.network.heal();
    bench.engine.refuseChance = 1;
    bench.run(350);
    expect(bench.told).toEqual([]);
    bench.engine.refuseChance = 0;
    bench.run(450);
    expect(bench.told).toEqual(['411 log 1 a', '412 m1 appended 1']);
  });

  it('is one at a time', () => {
    const bench = led();
    bench.append('m1', 1, 'a');
    expect(() => bench.append('m1', 2, 'b')).toThrow(AssertionError);
  });

  it('is not answered after its leader has resigned', () => {
    const bench = led();
    bench.append('m1', 1, 'a');
    bench.leaderships.get('m1')?.resign();
    bench.run(100);
    expect(bench.told).toEqual(['11 log 1 a']);
  });

  it('waits while the engine is down', () => {
    const bench = led();
    bench.engine.down = true;
    bench.append('m1', 1, 'a');
    bench.run(250);
    bench.engine.down = false;
    bench.run(400);
    expect(bench.told).toEqual(['311 log 1 a', '312 m1 appended 1']);
  });
});

describe('a follower', () => {
  it('starts from what there is and is told of every batch as it is written', () => {
    const bench = led();
    bench.append('m1', 1, 'a');
    bench.run(20);
    bench.follow();
    bench.run(30);
    bench.append('m1', 2, 'b');
    bench.run(50);
    expect(bench.told.filter((line) => line.includes(' f '))).toEqual(['22 f reset 1 a', '34 f batch 2 b']);
  });

  it('catches up in order when it was cut off, without being told anything twice', () => {
    const bench = led();
    bench.follow();
    bench.run(20);
    bench.network.cutBoth('f', ENGINE);
    for (const position of [1, 2, 3]) {
      bench.append('m1', position, 'x');
      bench.run(20 + position * 10);
    }
    bench.network.heal();
    bench.run(3_000);
    expect(
      bench.told.filter((line) => line.includes(' f ')).map((line) => line.replace(/^\d+ /, '')),
    ).toEqual(['f reset', 'f batch 1 x', 'f batch 2 x', 'f batch 3 x']);
  });

  it('is reset when what it lacks was replaced by a snapshot', () => {
    const bench = led();
    bench.follow();
    bench.run(20);
    bench.network.cutBoth('f', ENGINE);
    for (const position of [1, 2, 3]) {
      bench.append('m1', position, 'x');
      bench.run(20 + position * 10);
    }
    bench.leaderships.get('m1')?.compact(bytes('snapshot'), 2);
    bench.run(100);
    bench.network.heal();
    bench.run(3_000);
    expect(bench.told.at(-1)).toMatch(/f reset \[2 snapshot\] 3 x$/);
  });

  it('is not reset by a snapshot of what it has', () => {
    const bench = led();
    bench.follow();
    bench.append('m1', 1, 'a');
    bench.run(20);
    bench.leaderships.get('m1')?.compact(bytes('snapshot'), 1);
    bench.run(2_500);
    expect(bench.told.filter((line) => line.includes('reset'))).toHaveLength(1);
  });

  it('reads the head when it asks, also if the first question is lost', () => {
    const bench = led();
    bench.append('m1', 4, 'a');
    const following = bench.follow();
    bench.run(20);
    bench.network.cut('f', ENGINE);
    following.askHead();
    bench.run(90);
    bench.network.heal();
    bench.run(200);
    expect(bench.told.at(-1)).toBe('122 f head 4');
  });

  it('is told nothing once it has ended', () => {
    const bench = led();
    bench.follow()[Symbol.dispose]();
    bench.append('m1', 1, 'a');
    bench.run(3_000);
    expect(bench.told.filter((line) => line.includes(' f '))).toEqual([]);
  });
});

describe('an engine that was down', () => {
  /** Down from 20 ms for a second, which is longer than it keeps a leader. */
  function wasDown(): Bench {
    const bench = led();
    bench.campaign('m2');
    bench.run(20);
    bench.engine.down = true;
    bench.run(1_020);
    expect([bench.engine.down, bench.told]).toEqual([true, []]);
    return bench;
  }

  it('has lost its leader when it comes back: time has passed for it', () => {
    const bench = wasDown();
    bench.engine.down = false;
    bench.run(2_000);
    expect(bench.engine.down).toBe(false);
    expect(bench.told.join()).toMatch(/m2 elected 2/);
  });

  it('has kept its leader when it thaws: no time has passed for it', () => {
    const bench = wasDown();
    bench.engine.thaw();
    bench.run(2_000);
    expect(bench.engine.down).toBe(false);
    expect(bench.told).toEqual([]);
  });

  it('keeps it for no longer than was left when it froze', () => {
    const bench = wasDown();
    bench.network.cutBoth('m1', ENGINE);
    bench.engine.thaw();
    bench.run(1_500); // Of 500 ms, at most 18 had passed.
    expect(bench.told).toEqual([]);
    bench.run(1_700);
    expect(bench.told).toHaveLength(1);
    expect(bench.told[0]).toMatch(/^1[56]\d\d m2 elected 2$/);
  });

  it('counts the time from when it went down, however often it is said', () => {
    const bench = led();
    bench.campaign('m2');
    bench.run(20);
    bench.engine.down = true;
    bench.run(900);
    bench.engine.down = true;
    bench.run(1_020);
    bench.engine.thaw();
    bench.run(1_400);
    expect(bench.told).toEqual([]);
  });

  it('is not given time by a thaw when it was not down', () => {
    const bench = led();
    bench.campaign('m2');
    bench.engine.down = true;
    bench.run(110);
    bench.engine.down = false;
    bench.network.cutBoth('m1', ENGINE);
    bench.run(400);
    bench.engine.thaw();
    bench.run(1_000);
    expect(bench.told).toHaveLength(1);
    expect(bench.told[0]).toMatch(/^[56]\d\d m2 elected 2$/);
  });
});

describe('a snapshot', () => {
  it('of a deposed leader does not take effect: it is fenced too', () => {
    const bench = led();
    bench.append('m1', 1, 'a');
    bench.run(20);
    bench.engine.dropLeader();
    bench.leaderships.get('m1')?.compact(bytes('stale'), 1);
    bench.campaign('m2');
    bench.run(200);
    expect(bench.told.find((line) => line.includes('m2 elected'))).toMatch(/m2 elected 2 1 a$/);
  });
});

describe('a store that was restored from a backup', () => {
  it('goes back in positions and terms, until an operator makes them jump', () => {
    const bench = led();
    const restore = bench.engine.backup();
    bench.append('m1', 1, 'a');
    bench.run(20);
    restore();
    expect(bench.engine.head).toBe(0);
    bench.engine.jump(7, 100);
    bench.campaign('m2');
    bench.run(200);
    const { term, start } = bench.leaderships.get('m2') ?? {};
    expect([term, start?.floor, start?.batches]).toEqual([8, 100, []]);
  });

  it('has the same history, until the jump begins another', () => {
    const bench = led();
    const restore = bench.engine.backup();
    restore();
    expect(bench.engine.history).toBe('h');
    bench.engine.jump(7, 100);
    bench.campaign('m2');
    bench.run(200);
    expect(bench.leaderships.get('m2')?.start.history).toBe(bench.engine.history);
    expect(bench.engine.history).not.toBe('h');
    const before = bench.engine.history;
    bench.engine.jump(7, 100);
    expect(['h', before]).not.toContain(bench.engine.history);
  });
});
