import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssertionError } from '../runtime/assert.ts';
import { InvalidArgumentError } from '../runtime/errors.ts';
import { Network, type LinkFaults, type NetworkOptions } from './network.ts';
import { World } from './world.ts';

interface Bench {
  readonly world: World;
  readonly network: Network<number>;
  /** `a→b 3 @12` for every message that arrived. */
  readonly arrived: string[];
  readonly numbers: number[];
}

/** Three nodes a, b and c. */
function bench(faults: Partial<LinkFaults> = {}, seed = 1, options: NetworkOptions<number> = {}): Bench {
  const world = new World({ seed });
  const network = new Network<number>(world, { faults, ...options });
  const arrived: string[] = [];
  const numbers: number[] = [];
  for (const name of ['a', 'b', 'c']) {
    network.attach(name, (from, message) => {
      arrived.push(`${from}→${name} ${message} @${Math.round(world.trueMs)}`);
      numbers.push(message);
    });
  }
  return { world, network, arrived, numbers };
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('a link', () => {
  it('delivers every message once after its delay, if it has no faults', () => {
    const { world, network, arrived } = bench({ delayMs: [5, 5] });
    network.send('a', 'b', 1);
    network.send('b', 'a', 2);
    network.send('a', 'a', 3);
    world.run({ untilMs: 100 });
    expect(arrived).toEqual(['a→b 1 @5', 'b→a 2 @5', 'a→a 3 @5']);
  });

  it('loses, repeats and slows as many as it was told to', () => {
    const { world, network, numbers } = bench({ lossChance: 0.3, duplicateChance: 0.2, slowChance: 0.1 });
    const n = 100_000;
    for (const i of upTo(n)) network.send('a', 'b', i);
    world.run({ untilMs: 50 });
    const { counts } = network;
    expect(counts.lost / n).toBeCloseTo(0.3, 1);
    expect(counts.duplicated / n).toBeCloseTo(0.2, 1);
    const slow = n + counts.duplicated - counts.lost - counts.delivered;
    expect(slow / (n + counts.duplicated - counts.lost)).toBeCloseTo(0.1, 1);
    world.run({ untilMs: 2_000 });
    expect(counts.delivered).toBe(numbers.length);
    expect(counts.sent + counts.duplicated).toBe(counts.delivered + counts.lost);
  });

  it('lets a quick message overtake a slow one', () => {
    const { world, network, numbers } = bench({ delayMs: [1, 100] });
    for (const i of upTo(100)) network.send('a', 'b', i);
    world.run({ untilMs: 1_000 });
    expect(numbers).not.toEqual(upTo(100));
    expect(numbers.toSorted((a, b) => a - b)).toEqual(upTo(100));
  });

  it('can have faults of its own, in one direction', () => {
    const { world, network, arrived } = bench({ delayMs: [5, 5] });
    network.setFaults({ delayMs: [20, 20] }, 'a', 'b');
    network.setFaults({ delayMs: [7, 7] });
    network.send('a', 'b', 1);
    network.send('b', 'a', 2);
    network.send('a', 'c', 3);
    world.run({ untilMs: 100 });
    expect(arrived).toEqual(['b→a 2 @7', 'a→c 3 @7', 'a→b 1 @20']);
  });

  it('has the faults of the network again once its own are reset', () => {
    const { world, network, arrived } = bench({ delayMs: [5, 5] });
    network.setFaults({ delayMs: [20, 20] }, 'a', 'b');
    network.resetFaults('a', 'b');
    network.send('a', 'b', 1);
    network.setFaults({ delayMs: [7, 7] });
    network.send('a', 'b', 2);
    world.run({ untilMs: 100 });
    expect(arrived).toEqual(['a→b 1 @5', 'a→b 2 @7']);
    expect(network.faults.delayMs).toEqual([7, 7]);
  });

  it('is not disturbed by what goes on on other links', () => {
    const alone = bench({ lossChance: 0.5, delayMs: [1, 100] });
    const busy = bench({ lossChance: 0.5, delayMs: [1, 100] });
    for (const i of upTo(50)) {
      alone.network.send('a', 'b', i);
      busy.network.send('a', 'c', i);
      busy.network.send('a', 'b', i);
    }
    alone.world.run({ untilMs: 1_000 });
    busy.world.run({ untilMs: 1_000 });
    expect(busy.arrived.filter((line) => line.startsWith('a→b'))).toEqual(alone.arrived);
  });

  it('refuses faults that make no sense', () => {
    expect(() => bench({ lossChance: 1.5 })).toThrow(InvalidArgumentError);
    expect(() => bench({ delayMs: [10, 5] })).toThrow(InvalidArgumentError);
    expect(() => bench({ slowMs: [-1, 5] })).toThrow(InvalidArgumentError);
  });
});

describe('a link in order', () => {
  it('delivers once and in order, however the delays fall', () =>
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const { world, network, numbers } = bench(
          { inOrder: true, delayMs: [1, 100], slowChance: 0.2, lossChance: 0.5, duplicateChance: 0.5 },
          seed,
        );
        for (const i of upTo(50)) world.at(i * 3, () => network.send('a', 'b', i));
        world.run({ untilMs: 5_000 });
        expect(numbers).toEqual(upTo(50));
      }),
      { numRuns: 20 },
    ));

  it('delivers a beginning of each connection when connections break', () =>
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const { world, network, numbers } = bench(
          { inOrder: true, delayMs: [1, 50], breakChance: 0.1 },
          seed,
        );
        for (const i of upTo(200)) world.at(i * 3, () => network.send('a', 'b', i));
        world.run({ untilMs: 5_000 });
        expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
        expect(new Set(numbers).size).toBe(numbers.length);
        expect(network.counts.lost + numbers.length).toBe(200);
        expect(network.counts.lost).toBeGreaterThan(0);
      }),
      { numRuns: 20 },
    ));

  it('tells both ends when the connection breaks, and loses what was in flight both ways', () => {
    const world = new World({ seed: 1 });
    const network = new Network<number>(world, { faults: { inOrder: true, delayMs: [10, 10] } });
    const seen: string[] = [];
    for (const name of ['a', 'b']) {
      network.attach(name, (from, message) => seen.push(`${name} got ${message} from ${from}`), {
        onBreak: (peer) => seen.push(`${name} lost ${peer}`),
      });
    }
    network.send('a', 'b', 1);
    network.send('b', 'a', 2);
    world.at(5, () => {
      network.breakConnection('a', 'b');
      network.send('a', 'b', 3);
    });
    world.run({ untilMs: 100 });
    expect(seen).toEqual(['b lost a', 'a lost b', 'b got 3 from a']);
  });

  it('lets nothing new pass either way while one way is cut', () => {
    const { world, network, numbers } = bench({ inOrder: true });
    network.send('a', 'b', 1);
    network.cut('a', 'b');
    network.send('a', 'b', 2);
    network.send('b', 'a', 3);
    world.run({ untilMs: 100 });
    network.heal('b', 'a');
    network.send('b', 'a', 4);
    world.run({ untilMs: 200 });
    expect(numbers).toEqual([1, 4]);
  });

  it('breaks when one end goes away', () => {
    const { world, network, numbers } = bench({ inOrder: true });
    network.send('b', 'a', 1);
    network.send('a', 'b', 2);
    network.send('b', 'c', 3);
    network.detach('a');
    network.attach('a', (_, message) => numbers.push(message));
    world.run({ untilMs: 100 });
    expect(numbers).toEqual([3]);
  });

  it('breaks when one end goes away, also if only the other has spoken', () => {
    const { world, network, numbers } = bench({ inOrder: true });
    network.send('b', 'a', 1);
    network.detach('a');
    network.attach('a', (_, message) => numbers.push(message));
    world.run({ untilMs: 100 });
    expect(numbers).toEqual([]);
  });

  it('tells nobody of a break who has come only since', () => {
    const { world, network } = bench({ inOrder: true });
    network.detach('a');
    const first = network.attach('a', () => undefined, { onBreak: () => expect.fail() });
    network.send('a', 'b', 1);
    network.breakConnection('a', 'b');
    first[Symbol.dispose]();
    network.attach('a', () => undefined, { onBreak: () => expect.fail() });
    world.run({ untilMs: 100 });
  });
});

describe('a cut', () => {
  it('goes one way', () => {
    const { world, network, arrived } = bench({ delayMs: [5, 5] });
    network.cut('a', 'b');
    network.send('a', 'b', 1);
    network.send('b', 'a', 2);
    world.run({ untilMs: 100 });
    expect(arrived).toEqual(['b→a 2 @5']);
    expect([network.isCut('a', 'b'), network.isCut('b', 'a')]).toEqual([true, false]);
  });

  it('lets no copy pass either', () => {
    const { world, network, numbers } = bench({ duplicateChance: 1 });
    network.cut('a', 'b');
    network.send('a', 'b', 1);
    world.run({ untilMs: 100 });
    expect(numbers).toEqual([]);
    expect(network.counts).toMatchObject({ sent: 1, duplicated: 1, lost: 2 });
  });

  it('lets arrive what was in flight, unless told otherwise', () => {
    const { world, network, numbers } = bench();
    network.send('a', 'b', 1);
    network.send('a', 'c', 2);
    network.cut('a', 'b');
    network.cut('a', 'c', { dropInFlight: true });
    world.run({ untilMs: 100 });
    expect(numbers).toEqual([1]);
    expect(network.counts.lost).toBe(1);
  });

  it('is healed for two or for all', () => {
    const { world, network, arrived } = bench({ delayMs: [5, 5] });
    const everyWay = (): void => {
      for (const from of ['a', 'b', 'c'])
        for (const to of ['a', 'b', 'c']) if (from !== to) network.send(from, to, 0);
    };
    network.cutBoth('a', 'b');
    network.cutBoth('a', 'c');
    network.heal('a', 'b');
    everyWay();
    world.run({ untilMs: 10 });
    expect(arrived.map((line) => line.slice(0, 3))).toEqual(['a→b', 'b→a', 'b→c', 'c→b']);
    network.heal();
    everyWay();
    world.run({ untilMs: 20 });
    expect(arrived.length).toBe(10);
  });

  it('ends in one direction alone when that is restored', () => {
    const { network } = bench();
    network.cutBoth('a', 'b');
    network.restore('a', 'b');
    expect([network.isCut('a', 'b'), network.isCut('b', 'a')]).toEqual([false, true]);
  });

  it('between groups leaves each group whole', () => {
    const { network } = bench();
    network.partition([['a', 'b'], ['c']]);
    const open = ['ab', 'ba', 'ac', 'ca', 'bc', 'cb'].filter(
      ([from = '', to = '']) => !network.isCut(from, to),
    );
    expect(open).toEqual(['ab', 'ba']);
  });
});

describe('a name in the network', () => {
  it('belongs to one at a time', () => {
    const { network } = bench();
    expect(() => network.attach('a', () => undefined)).toThrow(AssertionError);
  });

  it('gets what was meant for an earlier bearer, if it is there when that arrives', () => {
    const { world, network, numbers } = bench({ delayMs: [5, 5] });
    network.send('b', 'a', 1);
    network.detach('a');
    world.at(3, () => void network.attach('a', (_, message) => numbers.push(message + 100)));
    world.at(4, () => network.detach('b'));
    world.at(4, () => network.send('a', 'b', 2));
    world.run({ untilMs: 100 });
    expect(numbers).toEqual([101]);
    expect(network.counts.unclaimed).toBe(1);
  });

  it('is let go of by disposing, but not if another has taken it since', () => {
    const { world, network, numbers } = bench();
    network.detach('a');
    const first = network.attach('a', () => expect.fail());
    first[Symbol.dispose]();
    network.attach('a', (_, message) => numbers.push(message));
    first[Symbol.dispose]();
    network.send('b', 'a', 1);
    world.run({ untilMs: 100 });
    expect(numbers).toEqual([1]);
  });
});

describe('messages', () => {
  it('are the very objects that were sent', () => {
    const world = new World({ seed: 1 });
    const network = new Network<{ list: number[] }>(world);
    const message = { list: [1] };
    let got: unknown;
    network.attach('b', (_, received) => (got = received));
    network.send('a', 'b', message);
    message.list.push(2);
    world.run({ untilMs: 100 });
    expect(got).toBe(message);
  });

  it('cannot be changed when frozen, all the way down', () => {
    const world = new World({ seed: 1 });
    const network = new Network<{
      map: Map<string, { n: number }>;
      bytes: Uint8Array;
      list: { n: number }[];
    }>(world, {
      frozen: true,
    });
    const message = { map: new Map([['k', { n: 1 }]]), bytes: new Uint8Array(3), list: [{ n: 1 }] };
    network.send('a', 'b', message);
    expect(() => message.list.push({ n: 2 })).toThrow(TypeError);
    for (const inner of [message.list[0], message.map.get('k')]) {
      expect(() => {
        if (inner !== undefined) inner.n = 2;
      }).toThrow(TypeError);
    }
  });

  it('are measured if one says how', () => {
    const { network } = bench({}, 1, { sizeOf: (message) => message });
    network.send('a', 'b', 30);
    network.send('a', 'b', 12);
    expect(network.counts.bytes).toBe(42);
  });

  it('are in the story if one says how they read', () => {
    const world = new World({ seed: 1, trace: true });
    const network = new Network<number>(world, {
      faults: { delayMs: [5, 5] },
      describe: (message) => `number-${message}`,
    });
    network.attach('b', () => undefined);
    network.send('a', 'b', 1);
    network.cut('a', 'b');
    network.send('a', 'b', 2);
    world.run({ untilMs: 100 });
    expect(world.story()).toEqual([
      '    0.000 s  a              sends              to=b message=number-1',
      '    0.000 s  a              sends              to=b message=number-2',
      '    0.000 s  a              lost               to=b message=number-2',
      '    0.005 s  b              receives           from=a message=number-1',
    ]);
  });
});
