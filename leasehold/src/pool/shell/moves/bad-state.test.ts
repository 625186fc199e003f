/** What a move does with state of an application that throws, hangs, or cannot travel. Keys then stay at the source, and a line says why. */

import { describe, expect, it } from 'vitest';
import { newSigner, nodeVerifier } from '../../../node/signer.ts';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import {
  CarrierBench,
  type CarrierBenchOptions,
  type Entry,
  MapState,
  TICKET,
  WHOLE,
} from '../../simulation/moves/carrier-bench.ts';
import { ITEM_BYTES_MAX } from '../../wire/transfer.ts';

const signers = [newSigner(), newSigner()] as const;
const bench = (options: Partial<CarrierBenchOptions> = {}): CarrierBench =>
  new CarrierBench({ signers, verifier: nodeVerifier, ...options });

const whyFailed = async (world: CarrierBench): Promise<string> => {
  const failed = await world.untilSaid(world.source, 'failed');
  return failed.is === 'failed' ? failed.why : '';
};

/** The move is over at the source, with one line, nothing noted, and nothing left at the target. */
async function expectStaying(world: CarrierBench): Promise<void> {
  const { source, target } = world;
  await world.run(100);
  expect(source.state.open).toBe(0);
  expect(source.state.ends.every((moved) => !moved)).toBe(true);
  expect(source.lines).toHaveLength(1);
  expect(target.state.staged).toBe(0);
  expect(target.state.committed).toEqual([]);
}

describe('a snapshot', () => {
  it('that throws ends the move, and the line names the state', async () => {
    const world = bench();
    world.source.state.read = async function* (): AsyncIterable<readonly Entry[]> {
      yield [['a', 1]];
      throw new Error('the shelf is gone');
    };
    world.begin();
    expect(await whyFailed(world)).toBe('the snapshot of rooms failed: the shelf is gone; mend snapshot');
    await expectStaying(world);
  });

  it('that throws before its first item ends the move', async () => {
    const world = bench();
    world.source.state.read = () => {
      throw new Error('not now');
    };
    world.begin();
    expect(await whyFailed(world)).toContain('not now');
    await expectStaying(world);
  });

  it('that gives something else than items ends the move', async () => {
    const world = bench();
    world.source.state.read = async function* () {
      yield 'text' as unknown as readonly Entry[];
    };
    world.begin();
    expect(await whyFailed(world)).toContain('no array');
    await expectStaying(world);
  });

  it('that never goes on ends the move after the time limit, and is told to stop', async () => {
    const world = bench();
    let isAborted = false;
    const { state } = world.source;
    state.snapshot = (_, signal) => {
      state.open += 1;
      signal.addEventListener('abort', () => (isAborted = true));
      return { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) };
    };
    world.begin();
    expect(await whyFailed(world)).toBe('the snapshot of rooms made no progress for 10000 ms');
    expect(isAborted).toBe(true);
    await expectStaying(world);
  });

  it('that gives empty batches for ever leaves time for others, and ends the move after the time limit', async () => {
    const world = bench({ given: { stallTimeoutMs: 400 } });
    let ticks = 0;
    const tick = (): void => {
      ticks += 1;
      world.world.after(10, tick);
    };
    tick();
    world.source.state.read = async function* () {
      for (;;) {
        await new Promise<void>((resolve) => void world.world.after(0.5, resolve));
        yield [];
      }
    };
    world.begin();
    expect(await whyFailed(world)).toContain('the snapshot of rooms made no progress');
    expect(ticks).toBeGreaterThan(30);
    await expectStaying(world);
  });

  it('that never runs out of items waits for the target, and ends when the core abandons the ticket', async () => {
    const world = bench();
    let [read, isEnded] = [0, false];
    world.source.state.read = async function* () {
      try {
        for (;;) {
          read += 1;
          yield [[`k${read}`, 'x'.repeat(10_000)]];
        }
      } finally {
        isEnded = true;
      }
    };
    world.target.state.stageDelay = () => new Promise((resolve) => void world.world.after(1_000, resolve));
    world.begin();
    await world.run(5_000);
    expect(read).toBeLessThan(3_000);
    world.source.carrier.execute({ do: 'abandon', ticket: TICKET, why: 'withdrawn' });
    const before = read;
    await world.run(5_000);
    expect([read, isEnded]).toEqual([before, true]);
    expect(world.source.state.ends).toEqual([false]);
    expect(world.target.state.staged).toBe(0);
  });
});

describe('changes', () => {
  it('that throw in a round end the move', async () => {
    const world = bench();
    world.source.state.changes = () => {
      throw new Error('no more');
    };
    world.begin();
    expect(await whyFailed(world)).toBe('changes of rooms failed: no more; mend changes');
    await expectStaying(world);
  });

  it('that throw in the freeze end the move, and nothing is sealed', async () => {
    const world = bench();
    world.begin();
    await world.untilSaid(world.source, 'caughtUp');
    world.source.state.changes = () => {
      throw new Error('no more');
    };
    world.source.carrier.execute({ do: 'freeze', ticket: TICKET });
    expect(await whyFailed(world)).toContain('no more');
    expect(world.says(world.source, 'sealed')).toEqual([]);
    await expectStaying(world);
  });

  it('that are faster than the line end the move after eight rounds', async () => {
    const world = bench({ bytesPerMs: 50 });
    const { state } = world.source;
    for (let index = 0; index < 3_000; index += 1) state.entries.set(`k${index}`, 0);
    const write = (): void => {
      for (let index = 0; index < 3_000; index += 1) state.set(`k${index}`, world.world.trueMs);
      world.world.after(20, write);
    };
    write();
    world.begin();
    expect(await whyFailed(world)).toContain('too busy: after 8 rounds');
    await world.until(() => state.open === 0, 'the end');
    expect(world.says(world.source, 'caughtUp')).toEqual([]);
  });
});

describe('an item', () => {
  it('that would not arrive as it left ends the move, and the line names its key and the cure', async () => {
    const world = bench();
    world.source.state.entries.set('lobby', new Date(0));
    world.begin();
    const why = await whyFailed(world);
    expect(why).toContain('the item of key "lobby" in rooms cannot travel: it has an instance of a class');
    expect(why).toContain('store plain values in rooms, or give it a codec that writes them');
    expect(world.source.lines[0]).toContain('lobby');
    await expectStaying(world);
  });

  it('that would not arrive as it left and is set during the stop ends the move, too', async () => {
    const world = bench();
    world.begin();
    await world.untilSaid(world.source, 'caughtUp');
    world.source.state.set('lobby', new Date(0));
    world.source.carrier.execute({ do: 'freeze', ticket: TICKET });
    expect(await whyFailed(world)).toContain('lobby');
    expect(world.says(world.source, 'sealed')).toEqual([]);
    await expectStaying(world);
  });

  it('above 16 MiB ends the move, and the line says how large it is', async () => {
    const world = bench();
    world.source.state.entries.set('lobby', 'x'.repeat(ITEM_BYTES_MAX));
    world.begin();
    const why = await whyFailed(world);
    expect(why).toContain(`the item of key "lobby" in rooms has ${ITEM_BYTES_MAX + 12} bytes`);
    expect(why).toContain('divide it');
    await expectStaying(world);
  });

  it('for which a codec gives no bytes ends the move', async () => {
    const world = bench({
      prepare: (_, state) => {
        state.codec = { encode: () => 'text' as unknown as Uint8Array, decode: () => ['a', 1] };
      },
    });
    world.source.state.entries.set('a', 1);
    world.begin();
    expect(await whyFailed(world)).toContain('its codec gave no bytes');
  });
});

describe('a stage', () => {
  const filled = (options: Partial<CarrierBenchOptions> = {}): CarrierBench => {
    const world = bench(options);
    for (let index = 0; index < 50; index += 1) world.source.state.entries.set(`k${index}`, index);
    return world;
  };

  it('that throws is told to the source, and to the core of the target', async () => {
    const world = filled();
    world.target.state.stageDelay = async () => {
      throw new Error('no room');
    };
    world.begin();
    expect(await whyFailed(world)).toBe(
      'target:1 refuses (STAGE_FAILED): items of rooms cannot be staged: no room',
    );
    await world.untilSaid(world.target, 'unstaged');
    expect(world.target.lines).toHaveLength(1);
    await expectStaying(world);
  });

  it('that cannot be made is told to the source', async () => {
    const world = filled();
    world.target.state.stage = () => {
      throw new Error('out of memory');
    };
    world.begin();
    expect(await whyFailed(world)).toContain('out of memory');
    await expectStaying(world);
  });

  it('that hangs ends the move after the time limit', async () => {
    const world = filled();
    world.target.state.stageDelay = () => new Promise(() => {});
    world.begin();
    expect(await whyFailed(world)).toMatch(/STALLED|made no progress/);
    await world.run(5_000);
    await expectStaying(world);
  });

  it('is refused where the target lacks the name of a state, or reads other versions of it', async () => {
    const lacking = filled();
    lacking.source.carrier.movable('users', new MapState());
    lacking.begin();
    expect(await whyFailed(lacking)).toBe(
      'target:1 refuses (UNKNOWN_NAME): this owner has no state of the name users',
    );
    await expectStaying(lacking);

    const older = filled({
      prepare: (address, state) => {
        state.version = address === 'source:1' ? 1 : 3;
        state.reads = [2];
      },
    });
    older.begin();
    expect(await whyFailed(older)).toContain('does not read version 1 of rooms, but 3, 2');
    await expectStaying(older);
  });

  it('takes an older version that it reads', async () => {
    const world = filled({
      prepare: (address, state) => {
        state.version = address === 'source:1' ? 2 : 3;
        state.reads = [2];
      },
    });
    world.begin();
    await world.finish();
    expect(world.target.state.entries.size).toBe(50);
  });

  it('whose commit throws does not keep other states from arriving, and is told', async () => {
    const world = filled();
    const others = [new MapState(), new MapState()] as const;
    others[0].entries.set('a', 1);
    world.source.carrier.movable('users', others[0]);
    world.target.carrier.movable('users', others[1]);
    const { state } = world.target;
    const stage = state.stage.bind(state);
    state.stage = (keys) => ({
      ...stage(keys),
      commit: () => {
        throw new Error('it is full');
      },
    });
    world.begin();
    await world.finish();
    expect(others[1].entries).toEqual(new Map([['a', 1]]));
    expect(world.target.lines.join()).toContain('it is full');
  });
});

describe('a state', () => {
  it('whose done throws does not keep the others from hearing theirs, and is told', async () => {
    const world = bench();
    const other = new MapState();
    world.source.carrier.movable('users', other);
    world.target.carrier.movable('users', new MapState());
    world.source.state.done = () => {
      throw new Error('not so');
    };
    world.begin();
    await world.finish();
    expect(other.ends).toEqual([true]);
    expect(world.source.lines.join()).toContain('not so');
  });

  it('that is registered while keys leave is not left behind: the move fails, and the next one has it', async () => {
    const world = bench();
    world.begin();
    await world.untilSaid(world.source, 'caughtUp');
    world.source.carrier.movable('users', new MapState());
    expect(await whyFailed(world)).toContain('users was added');
    world.target.carrier.movable('users', new MapState());
    world.source.inputs.length = 0;
    world.begin(WHOLE, 'c4.2.2');
    await world.finish(WHOLE, 'c4.2.2');
  });

  it('that is registered at any turn after the freeze leaves no memory behind that the table has given away', async () => {
    const ends: boolean[] = [];
    for (let after = 0; after < 60; after += 1) {
      const world = bench();
      const { source, target } = world;
      world.begin();
      await world.untilSaid(source, 'caughtUp');
      let turns = 0;
      const inTurns = world.world.after.bind(world.world);
      world.world.after = (ms, run) =>
        inTurns(ms, () => {
          turns += 1;
          if (turns === after) source.carrier.movable('users', new MapState());
          run();
        });
      source.carrier.execute({ do: 'freeze', ticket: TICKET });
      await world.until(
        () => source.inputs.some(({ is }) => is === 'acknowledged' || is === 'failed'),
        'end',
      );
      const isAcknowledged = world.says(source, 'acknowledged').length > 0;
      if (isAcknowledged) {
        source.carrier.execute({ do: 'handed', ticket: TICKET });
        target.carrier.execute({ do: 'commit', ticket: TICKET, spans: [{ ...WHOLE, number: 8 }] });
        source.carrier.execute({ do: 'departed', spans: [{ ...WHOLE, number: 7 }] });
      }
      await world.run(10);
      expect([after, source.state.ends]).toEqual([after, [isAcknowledged]]);
      ends.push(isAcknowledged);
    }
    expect(new Set(ends)).toEqual(new Set([true, false]));
  });

  it('has a name of its own, and there are at most 64', () => {
    const { carrier } = bench().source;
    expect(() => carrier.movable('rooms', new MapState())).toThrow(
      /option name is rooms, but this owner has state of that name/,
    );
    for (let index = 1; index < 64; index += 1) carrier.movable(`s${index}`, new MapState());
    expect(() => carrier.movable('last', new MapState())).toThrow(/64 states/);
  });
});

describe('a carrier that is closed', () => {
  it('ends what is under way at both ends, and says nothing more', async () => {
    const world = bench({ bytesPerMs: 10 });
    const { source, target } = world;
    for (let index = 0; index < 1_000; index += 1) source.state.entries.set(`k${index}`, index);
    world.begin();
    await world.until(() => target.state.staged > 0, 'something staged');
    const said = source.inputs.length;
    await source.carrier[Symbol.asyncDispose]();
    await source.carrier[Symbol.asyncDispose]();
    await target.carrier[Symbol.asyncDispose]();
    await world.run(30_000);
    expect(source.inputs).toHaveLength(said);
    expect(source.state.ends).toEqual([false]);
    expect(target.state.staged).toBe(0);
    expect(world.lines.open.size).toBe(0);
  });

  it('knows that keys that were handed and dropped may be held and moved again', async () => {
    const world = bench();
    const { source, target } = world;
    world.begin();
    await world.untilSaid(source, 'caughtUp');
    source.carrier.execute({ do: 'freeze', ticket: TICKET });
    await world.untilSaid(source, 'acknowledged');
    source.carrier.execute({ do: 'handed', ticket: TICKET });
    target.carrier.execute({ do: 'discard', ticket: TICKET });
    // Another history: the core drops what was handed, and later the keys are this owner's again.
    source.inputs.length = 0;
    target.inputs.length = 0;
    const half = { start: 0n, end: RING_SIZE / 2n };
    world.begin(half, 'c4.3.1');
    expect(source.state.ends).toEqual([false]);
    await world.finish(half, 'c4.3.1');
    expect(source.state.ends).toEqual([false, true]);
  });
});
