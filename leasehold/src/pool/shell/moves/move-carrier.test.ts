import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newSigner, nodeVerifier } from '../../../node/signer.ts';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import {
  CarrierBench,
  type CarrierBenchOptions,
  type MapState,
  TICKET,
  WHOLE,
} from '../../simulation/moves/carrier-bench.ts';
import {
  CHUNK_BYTES_MAX,
  decodeFromSource,
  decodeFromTarget,
  ITEM_BYTES_MAX,
  WINDOW_BYTES,
} from '../../wire/transfer.ts';

const signers = [newSigner(), newSigner()] as const;
const bench = (options: Partial<CarrierBenchOptions> = {}): CarrierBench =>
  new CarrierBench({ signers, verifier: nodeVerifier, ...options });

const fill = (state: MapState, count: number): void => {
  for (let index = 0; index < count; index += 1) state.entries.set(`k${index}`, index);
};

const whyFailed = (told: CarrierBench): string => {
  const failed = told.says(told.source, 'failed')[0];
  return failed?.is === 'failed' ? failed.why : '';
};

describe('a move of state', () => {
  it('brings every item, in the order snapshot, changes, freeze, and forgets them at the source', async () => {
    const world = bench();
    const { source, target } = world;
    fill(source.state, 1_000);
    const expected = new Map(source.state.entries);
    world.begin();
    await world.finish();
    expect(target.state.entries).toEqual(expected);
    expect(source.state.entries.size).toBe(0);
    expect(source.state.ends).toEqual([true]);
    expect(target.state.committed).toEqual([{ keys: RangeSet.everything, number: 8 }]);
    const answers = (inputs: readonly { readonly is: string }[]): readonly string[] =>
      inputs.map(({ is }) => is).filter((is) => is !== 'sent');
    expect(answers(source.inputs)).toEqual(['caughtUp', 'sealed', 'acknowledged']);
    expect(answers(target.inputs)).toEqual(['staged']);
    const [sealed] = world.says(source, 'sealed');
    const [staged] = world.says(target, 'staged');
    expect(sealed).toMatchObject({ digest: staged?.is === 'staged' ? staged.digest : '' });
    expect(source.carrier.sent).toEqual(target.carrier.received);
    expect(source.carrier.sent.items).toBe(1_000);
  });

  it('has no items and no states where an owner keeps nothing here', async () => {
    const world = bench();
    world.begin();
    await world.finish();
    expect(world.target.state.entries.size).toBe(0);
    expect(world.says(world.target, 'staged')).toEqual([
      { is: 'staged', ticket: TICKET, digest: expect.stringMatching(/^0-0-/) },
    ]);
  });

  it('has the writes up to the turn of the freeze, deletions too', async () => {
    const world = bench();
    const { source, target } = world;
    fill(source.state, 300);
    world.begin();
    await world.untilSaid(source, 'caughtUp');
    source.state.set('k5', 'changed');
    source.state.set('k6', undefined);
    source.state.set('new', 'here');
    const expected = new Map(source.state.entries);
    await world.finish();
    expect(target.state.entries).toEqual(expected);
  });

  it('says sealed in the turn of the freeze, and everything else in a later turn', async () => {
    const world = bench();
    const { source } = world;
    world.begin();
    expect(source.inputs).toEqual([]);
    await world.untilSaid(source, 'caughtUp');
    const before = source.inputs.length;
    source.carrier.execute({ do: 'freeze', ticket: TICKET });
    expect(source.inputs.slice(before).map(({ is }) => is)).toEqual(['sealed']);
  });

  it('moves only the keys of its span, and leaves the others alone', async () => {
    const world = bench();
    const { source, target } = world;
    fill(source.state, 200);
    const lower = { start: 0n, end: RING_SIZE / 2n };
    const keys = RangeSet.of([lower]);
    const moving = [...source.state.entries].filter(([key]) => keys.has(key));
    world.begin(lower);
    await world.finish(lower);
    expect(target.state.entries).toEqual(new Map(moving));
    expect(source.state.entries.size).toBe(200 - moving.length);
  });

  it('goes on with what changes when a stop took too long, and says again that little is left', async () => {
    const world = bench();
    const { source, target } = world;
    fill(source.state, 100);
    world.begin();
    await world.untilSaid(source, 'caughtUp');
    source.state.set('k1', 'during the stop');
    source.carrier.execute({ do: 'resume', ticket: TICKET });
    await world.until(() => world.says(source, 'caughtUp').length === 2, 'caughtUp again');
    source.state.set('k2', 'after it');
    const expected = new Map(source.state.entries);
    await world.finish();
    expect(target.state.entries).toEqual(expected);
  });

  it('follows changes while the stop has not begun, so that little is left for it', async () => {
    const world = bench();
    const { source } = world;
    fill(source.state, 10);
    world.begin();
    await world.untilSaid(source, 'caughtUp');
    for (let index = 0; index < 500; index += 1) source.state.set(`k${index}`, 'late');
    const before = source.carrier.sent.items;
    await world.run(100);
    expect(source.carrier.sent.items - before).toBe(500);
  });

  it('goes back to the source where the table says so, for parts of the keys too', async () => {
    const world = bench();
    const { source } = world;
    fill(source.state, 100);
    world.begin();
    await world.untilSaid(source, 'caughtUp');
    source.carrier.execute({ do: 'freeze', ticket: TICKET });
    await world.untilSaid(source, 'acknowledged');
    source.carrier.execute({ do: 'handed', ticket: TICKET });
    expect(source.state.ends).toEqual([]);
    const [lower, upper] = [
      { start: 0n, end: RING_SIZE / 2n },
      { start: RING_SIZE / 2n, end: RING_SIZE },
    ];
    source.carrier.execute({ do: 'returned', spans: [{ ...lower, number: 9 }] });
    expect(source.state.ends).toEqual([false]);
    expect(source.state.entries.size).toBe(100);
    source.carrier.execute({ do: 'departed', spans: [{ ...upper, number: 7 }] });
    source.carrier.execute({ do: 'departed', spans: [{ ...upper, number: 7 }] });
    expect(source.state.ends).toEqual([false, true]);
    const left = RangeSet.of([lower]);
    expect([...source.state.entries.keys()].every((key) => left.has(key))).toBe(true);
  });

  it('keeps two tickets apart', async () => {
    const world = bench();
    const { source, target } = world;
    fill(source.state, 400);
    const expected = new Map(source.state.entries);
    const [lower, upper] = [
      { start: 0n, end: RING_SIZE / 2n },
      { start: RING_SIZE / 2n, end: RING_SIZE },
    ];
    world.begin(lower, 'c4.2.1');
    world.begin(upper, 'c4.2.2');
    await world.until(() => world.says(source, 'caughtUp').length === 2, 'both caught up');
    for (const ticket of ['c4.2.1', 'c4.2.2']) source.carrier.execute({ do: 'freeze', ticket });
    await world.until(() => world.says(source, 'acknowledged').length === 2, 'both acknowledged');
    target.carrier.execute({ do: 'commit', ticket: 'c4.2.1', spans: [{ ...lower, number: 8 }] });
    expect(target.state.entries.size).toBeLessThan(400);
    target.carrier.execute({ do: 'commit', ticket: 'c4.2.2', spans: [{ ...upper, number: 9 }] });
    expect(target.state.entries).toEqual(expected);
  });

  it('ends with the state of the source at the freeze, whatever is written and whenever lines are cut', async () => {
    const step = fc.record({
      key: fc.nat(40),
      value: fc.option(fc.nat(1_000), { nil: undefined }),
      ms: fc.nat(12),
      isCut: fc.integer({ min: 0, max: 15 }).map((chance) => chance === 0),
    });
    let moved = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.nat(60), async (steps, size) => {
        const world = bench();
        const { source, target } = world;
        source.state.batch = 3;
        fill(source.state, size);
        world.begin();
        for (const { key, value, ms, isCut } of steps) {
          source.state.set(`k${key}`, value);
          if (isCut) world.lines.cut();
          await world.run(ms);
        }
        const isOver = (): boolean =>
          ['caughtUp', 'failed'].some((is) => world.says(source, is as 'failed').length > 0);
        await world.until(isOver, 'an end');
        if (whyFailed(world) !== '') return;
        const expected = new Map(source.state.entries);
        await world.finish();
        moved += 1;
        expect(target.state.entries).toEqual(expected);
      }),
      { numRuns: 60 },
    );
    expect(moved).toBeGreaterThan(20);
  });

  it('that is cut at any instant after the freeze is acknowledged with the state of the freeze, or fails', async () => {
    const ends = { acknowledged: 0, failed: 0, staged: 0 };
    for (let cutMs = 0; cutMs < 14; cutMs += 1) {
      const world = bench({ bytesPerMs: 2_000 });
      const { source, target } = world;
      fill(source.state, 100);
      world.begin();
      await world.untilSaid(source, 'caughtUp');
      for (let index = 0; index < 700; index += 1) source.state.set(`k${index}`, 'late');
      const expected = new Map(source.state.entries);
      source.carrier.execute({ do: 'freeze', ticket: TICKET });
      await world.run(cutMs);
      world.lines.cut();
      await world.run(60_000);
      const [acknowledged] = world.says(source, 'acknowledged');
      const [staged] = world.says(target, 'staged');
      const [sealed] = world.says(source, 'sealed');
      expect(world.says(source, 'failed').length).toBe(acknowledged === undefined ? 1 : 0);
      ends[acknowledged === undefined ? 'failed' : 'acknowledged'] += 1;
      if (staged === undefined) {
        expect(acknowledged).toBeUndefined();
        expect(target.state.staged).toBe(0);
        continue;
      }
      ends.staged += 1;
      const digest = sealed?.is === 'sealed' ? sealed.digest : '';
      expect(staged).toMatchObject({ digest });
      if (acknowledged !== undefined) expect(acknowledged).toMatchObject({ digest });
      target.carrier.execute({ do: 'commit', ticket: TICKET, spans: [{ ...WHOLE, number: 8 }] });
      expect(target.state.entries).toEqual(expected);
    }
    expect(Math.min(...Object.values(ends))).toBeGreaterThan(0);
    expect(ends.staged).toBeGreaterThan(ends.acknowledged);
  });
});

describe('effects that come too early, too late, or twice', () => {
  it('do no harm', async () => {
    const world = bench();
    const { source, target } = world;
    fill(source.state, 10);
    const spans = [{ ...WHOLE, number: 7 }];
    for (const carrier of [source.carrier, target.carrier]) {
      for (const what of ['resume', 'freeze', 'handed', 'discard'] as const)
        carrier.execute({ do: what, ticket: 'c4.9.9' });
      carrier.execute({ do: 'abandon', ticket: 'c4.9.9', why: 'withdrawn' });
      carrier.execute({ do: 'commit', ticket: 'c4.9.9', spans });
      carrier.execute({ do: 'departed', spans });
      carrier.execute({ do: 'returned', spans });
    }
    world.begin();
    world.begin();
    source.carrier.execute({ do: 'resume', ticket: TICKET });
    const expected = new Map(source.state.entries);
    await world.finish();
    await world.finish();
    source.carrier.execute({ do: 'abandon', ticket: TICKET, why: 'withdrawn' });
    target.carrier.execute({ do: 'discard', ticket: TICKET });
    expect(target.state.entries).toEqual(expected);
    expect([source.state.ends, target.state.committed.length, target.state.discarded]).toEqual([
      [true],
      1,
      0,
    ]);
    expect([...source.lines, ...target.lines]).toEqual([]);
  });

  it('seal nothing in the middle of a snapshot', async () => {
    const world = bench({ bytesPerMs: 10 });
    const { source } = world;
    fill(source.state, 2_000);
    world.begin();
    await world.until(() => world.target.state.staged > 0, 'something staged');
    source.carrier.execute({ do: 'freeze', ticket: TICKET });
    expect(world.says(source, 'sealed')).toEqual([]);
    await world.untilSaid(source, 'failed');
    expect(whyFailed(world)).toContain('the snapshot is not sent yet');
  });

  it('abandon a stop that is under way, and the target hears of it by the end of the line', async () => {
    const world = bench();
    const { source, target } = world;
    fill(source.state, 10);
    world.begin();
    await world.untilSaid(source, 'caughtUp');
    source.carrier.execute({ do: 'freeze', ticket: TICKET });
    source.carrier.execute({ do: 'abandon', ticket: TICKET, why: 'the keys are not held any more' });
    await world.run(60_000);
    expect(source.state.ends).toEqual([false]);
    expect(world.says(source, 'acknowledged')).toEqual([]);
    expect(world.lines.open.size).toBe(0);
    target.carrier.execute({ do: 'discard', ticket: TICKET });
    expect(target.state.staged).toBe(0);
    expect(source.state.entries.size).toBe(10);
  });
});

describe('a line that is lost', () => {
  it('begins another attempt with another snapshot, and the target drops what it had', async () => {
    const world = bench({ bytesPerMs: 100 });
    const { source, target } = world;
    fill(source.state, 2_000);
    world.begin();
    await world.until(() => target.state.staged > 0, 'something staged');
    expect(world.says(source, 'caughtUp')).toEqual([]);
    world.lines.cut();
    expect(target.state.staged).toBe(0);
    expect(source.state.ends).toEqual([false]);
    source.state.set('k3', 'between the attempts');
    const expected = new Map(source.state.entries);
    await world.finish();
    expect(target.state.entries).toEqual(expected);
    expect(source.state.ends).toEqual([false, true]);
  });

  it('ends the ticket at the third attempt, and every snapshot has been told its end', async () => {
    const world = bench({ bytesPerMs: 100 });
    const { source, target } = world;
    fill(source.state, 2_000);
    world.begin();
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await world.until(() => target.state.staged > 0, `attempt ${attempt}`);
      world.lines.cut();
    }
    await world.untilSaid(source, 'failed');
    expect(whyFailed(world)).toContain('3 attempts failed');
    expect(source.state.ends).toEqual([false, false, false]);
    expect(source.state.open).toBe(0);
    expect(source.lines).toHaveLength(1);
    await world.run(60_000);
    expect(world.lines.open.size).toBe(0);
  });

  it('ends the ticket after caughtUp, because the stop may begin at any time', async () => {
    const world = bench();
    const { source } = world;
    fill(source.state, 10);
    world.begin();
    await world.untilSaid(source, 'caughtUp');
    world.lines.cut();
    await world.untilSaid(source, 'failed');
    source.carrier.execute({ do: 'freeze', ticket: TICKET });
    expect(world.says(source, 'sealed')).toEqual([]);
    expect(source.state.ends).toEqual([false]);
  });

  it('leaves a complete import where it is, until it is committed', async () => {
    const world = bench();
    const { source, target } = world;
    fill(source.state, 50);
    const expected = new Map(source.state.entries);
    world.begin();
    await world.untilSaid(source, 'caughtUp');
    source.carrier.execute({ do: 'freeze', ticket: TICKET });
    await world.untilSaid(target, 'staged');
    world.lines.cut();
    await world.run(60_000);
    expect(target.state.staged).toBe(50);
    expect(world.says(target, 'unstaged')).toEqual([]);
    target.carrier.execute({ do: 'commit', ticket: TICKET, spans: [{ ...WHOLE, number: 8 }] });
    expect(target.state.entries).toEqual(expected);
  });
});

describe('the limits of a stream', () => {
  it('leave at most the window unacknowledged, and a stage that is slow holds the source back', async () => {
    const world = bench();
    const { source, target } = world;
    const value = 'x'.repeat(100 * 1024);
    for (let index = 0; index < 200; index += 1) source.state.entries.set(`k${index}`, value);
    let [sent, acknowledged, most] = [0, 0, 0];
    const sizes = new Map<number, number>();
    world.lines.onFrame = (from, frame) => {
      if (from === 'source') {
        const message = decodeFromSource(frame);
        if (message.kind !== 'chunk') return;
        expect(frame.length).toBeLessThan(CHUNK_BYTES_MAX + 4_096);
        sizes.set(message.sequence, frame.length);
        sent += frame.length;
      } else {
        const message = decodeFromTarget(frame);
        if (message.kind === 'acknowledged') acknowledged += sizes.get(message.sequence) ?? 0;
      }
      most = Math.max(most, sent - acknowledged);
    };
    target.state.stageDelay = () => new Promise((resolve) => void world.world.after(50, resolve));
    world.begin();
    await world.finish();
    expect(target.state.entries.size).toBe(200);
    expect(most).toBeLessThanOrEqual(WINDOW_BYTES + 4_096);
    expect(most).toBeGreaterThan(WINDOW_BYTES / 2);
  });

  it('keep all streams of an owner within 16 MiB, and none of them waits for ever', async () => {
    const world = bench({ delayMs: 20 });
    const { source, target } = world;
    const value = 'x'.repeat(200 * 1024);
    for (let index = 0; index < 300; index += 1) source.state.entries.set(`k${index}`, value);
    let [sent, acknowledged, most] = [0, 0, 0];
    world.lines.onFrame = (from, frame) => {
      if (from === 'source') sent += frame.length;
      else if (decodeFromTarget(frame).kind === 'acknowledged') acknowledged += 200 * 1024;
      most = Math.max(most, sent - acknowledged);
    };
    const part = RING_SIZE / 8n;
    for (let index = 0n; index < 8n; index += 1n)
      world.begin({ start: index * part, end: (index + 1n) * part }, `c4.2.${index}`);
    await world.until(() => world.says(source, 'caughtUp').length === 8, 'all caught up');
    expect(most).toBeGreaterThan(12 * 1024 * 1024);
    expect(most).toBeLessThan(17 * 1024 * 1024);
    expect(target.state.staged).toBe(300);
  });

  it('slow the items down to bytesPerSecond, but not the frames of the stop', async () => {
    const world = bench({ given: { bytesPerSecond: 100_000 } });
    const { source } = world;
    const value = 'x'.repeat(10_000);
    for (let index = 0; index < 100; index += 1) source.state.entries.set(`k${index}`, value);
    const beganMs = world.world.trueMs;
    world.begin();
    await world.untilSaid(source, 'caughtUp');
    expect(world.world.trueMs - beganMs).toBeGreaterThan(7_000);
    expect(world.world.trueMs - beganMs).toBeLessThan(14_000);
    for (let index = 0; index < 100; index += 1) source.state.set(`k${index}`, `${value}2`);
    const stoppedMs = world.world.trueMs;
    source.carrier.execute({ do: 'freeze', ticket: TICKET });
    await world.untilSaid(source, 'acknowledged');
    expect(world.world.trueMs - stoppedMs).toBeLessThan(20);
  });

  it('let a slow stream live that sends less than a chunk in the time limit of a stall', async () => {
    const world = bench({ given: { bytesPerSecond: 10_000, stallTimeoutMs: 2_000 } });
    const { source, target } = world;
    const value = 'x'.repeat(60_000);
    for (let index = 0; index < 10; index += 1) source.state.entries.set(`k${index}`, value);
    world.begin();
    await world.untilSaid(source, 'caughtUp');
    expect(target.state.staged).toBe(10);
  });

  it('wait without a stall while nothing changes and nobody begins the stop', async () => {
    const world = bench();
    const { source, target } = world;
    fill(source.state, 10);
    world.begin();
    await world.untilSaid(source, 'caughtUp');
    await world.run(120_000);
    expect(world.says(source, 'failed')).toEqual([]);
    expect(world.says(target, 'unstaged')).toEqual([]);
    await world.finish();
    expect(target.state.entries.size).toBe(10);
  });

  it('take an item of 16 MiB, and one beside it', async () => {
    const world = bench({
      prepare: (_, state) => {
        state.codec = {
          encode: ([key, value]) => Buffer.concat([Buffer.from(key.padEnd(8)), value as Uint8Array]),
          decode: (bytes) => [Buffer.from(bytes.subarray(0, 8)).toString().trim(), bytes.subarray(8)],
        };
      },
    });
    const { source, target } = world;
    source.state.entries.set('small', new Uint8Array(10));
    source.state.entries.set('big', new Uint8Array(ITEM_BYTES_MAX - 8).fill(7));
    source.state.entries.set('after', new Uint8Array(CHUNK_BYTES_MAX));
    const sizes = (state: MapState): readonly (readonly [string, number])[] =>
      [...state.entries].map(([key, value]) => [key, (value as Uint8Array).length]);
    const expected = sizes(source.state);
    world.begin();
    await world.finish();
    expect(sizes(target.state)).toEqual(expected);
  });
});
