import { describe, expect, it } from 'vitest';
import { keyHash } from '../../runtime/keys/hash.ts';
import { instant } from '../../runtime/time.ts';
import type { Answer, CallFrame } from './messages.ts';
import { type Turn, Turns, type TurnsEffect, type TurnsOptions } from './turns.ts';

interface Slot {
  value: number;
}

const at = instant;
const answerOf = (value: number): Answer => ({ isError: false, bytes: Uint8Array.of(value) });

/** An owner that holds everything under number 5, since 3, unless the test says otherwise. */
class Bench {
  isFrozen = false;
  number = 5;
  since = 3;
  readonly turns: Turns<Slot>;
  readonly #begun: Turn<Slot>[] = [];

  constructor(limits: { maxObjects?: number; ttlMs?: number; idleAfterMs?: number } = {}, floor = 0) {
    const rules = {
      ...{ calls: new Set(['add', 'delete']), reads: new Set(['look']) },
      ...{
        maxObjects: 10,
        ttlMs: Number.POSITIVE_INFINITY,
        idleAfterMs: Number.POSITIVE_INFINITY,
        ...limits,
      },
    };
    const options: TurnsOptions<Slot> = {
      tenure: {
        numberOf: () => (this.isFrozen ? undefined : this.number),
        isContinuous: (_, number) => !this.isFrozen && number >= this.since && number <= this.number,
      },
      kinds: new Map([
        ['counter', rules],
        ['other', rules],
      ]),
      newSlot: () => ({ value: 0 }),
      copySlot: (slot) => ({ ...slot }),
    };
    this.turns = new Turns(options);
    this.take(this.turns.arrive(at(0), [], floor));
    this.take(this.turns.greet(at(0), 'link', 'ann', 1));
  }

  /** What is said, in short; turns that begin are kept. */
  take(effects: readonly TurnsEffect<Slot>[]): readonly string[] {
    return effects.map((effect) => {
      if (effect.do === 'run') {
        this.#begun.push(effect.turn);
        return `run ${effect.turn.name}`;
      }
      if (effect.do === 'abort') return `abort ${effect.why}`;
      if (effect.do === 'evict') return `evict ${effect.name.key}`;
      if (effect.do === 'welcome') return `welcome ${effect.link}`;
      const { message } = effect;
      if (message.do === 'reply') return `reply ${message.counter}: ${message.answer.bytes[0]}`;
      return `${message.do} ${message.counter}${'why' in message ? ` ${message.why}` : ''}`;
    });
  }

  call(counter: number, frame: Partial<CallFrame> & { readonly now?: number; readonly link?: string } = {}) {
    const { now = 0, link = 'link', ...rest } = frame;
    const key = rest.key ?? 'a';
    const usual: CallFrame = {
      ...{
        do: 'call',
        counter,
        kind: 'counter',
        key,
        position: keyHash(key),
        name: 'add',
        args: new Uint8Array(),
      },
      ...{
        number: 5,
        first: 5,
        isRepeated: false,
        hasLost: false,
        isIdempotent: false,
        through: [],
        leftMs: 1_000,
      },
    };
    return this.take(this.turns.receive(at(now), link, { ...usual, ...rest }));
  }

  /** Ends the oldest turn under way. */
  end(value: number, now = 0, change: 'kept' | 'deleted' | 'none' = 'kept') {
    const turn = this.#begun.shift();
    if (turn === undefined) throw new Error('no turn is under way');
    turn.slot.value = value;
    return this.take(this.turns.finished(at(now), turn, { answer: answerOf(value), change }));
  }

  confirm(counter: number, key = 'a') {
    const results = [{ kind: 'counter', key, position: keyHash(key), counter }];
    return this.take(this.turns.receive(at(0), 'link', { do: 'confirm', results }));
  }
}

describe('calls on one position', () => {
  it('are one turn after another, whatever their key and kind', () => {
    const bench = new Bench();
    expect(bench.call(1)).toEqual(['run add']);
    expect(bench.call(2, { kind: 'other' })).toEqual([]);
    expect(bench.call(3, { key: 'x{a}' })).toEqual([]);
    expect(bench.call(4, { key: 'elsewhere' })).toEqual(['run add']);
    expect(bench.end(10)).toEqual(['reply 1: 10', 'run add']);
  });

  it('are refused if the position is not held, or was not since the number of the frame', () => {
    const bench = new Bench();
    expect(bench.call(1, { number: 2 })).toEqual(['refused 1 not-held']);
    expect(bench.call(2, { number: 6 })).toEqual(['refused 2 not-held']);
    bench.isFrozen = true;
    expect(bench.call(3)).toEqual(['refused 3 not-held']);
    bench.isFrozen = false;
    expect(bench.call(4, { number: 3 })).toEqual(['run add']);
  });

  it('are refused in the queue when their time is over, and asked to stop in their turn', () => {
    const bench = new Bench();
    bench.call(1, { leftMs: 100 });
    bench.call(2, { leftMs: 50 });
    expect(bench.turns.wakeAt).toBe(50);
    expect(bench.take(bench.turns.wake(at(50)))).toEqual(['refused 2 over']);
    expect(bench.take(bench.turns.wake(at(100)))).toEqual(['abort over']);
    expect(bench.end(1, 120)).toEqual(['reply 1: 1']);
  });

  it('of an unknown kind or name are refused', () => {
    const bench = new Bench();
    expect(bench.call(1, { kind: 'unknown' })).toEqual(['refused 1 no-such-call']);
    expect(bench.call(2, { name: 'toString' })).toEqual(['refused 2 no-such-call']);
  });

  it('are refused if a turn of the position waits for them, or sixteen turns of others', () => {
    const bench = new Bench();
    expect(bench.call(1, { through: [keyHash('b'), keyHash('y{a}')] })).toEqual(['refused 1 cycle']);
    const through = Array.from({ length: 16 }, (_, index) => keyHash(`k${index}`));
    expect(bench.call(2, { through })).toEqual(['refused 2 too-far']);
    expect(bench.call(3, { through: through.slice(1) })).toEqual(['run add']);
  });

  it('do not begin one object too many, but go on with those that exist', () => {
    const bench = new Bench({ maxObjects: 1 });
    bench.call(1);
    bench.end(1);
    expect(bench.call(2, { key: 'b' })).toEqual(['refused 2 full']);
    expect(bench.call(3)).toEqual(['run add']);
    expect(bench.call(4, { key: 'b', name: 'look' })).toEqual(['run look']);
  });
});

describe('a repeated call', () => {
  it('is answered with the result of its run until the caller confirms the result', () => {
    const bench = new Bench();
    bench.call(1);
    bench.end(7);
    expect(bench.call(1, { isRepeated: true })).toEqual(['reply 1: 7']);
    bench.confirm(1);
    expect(bench.call(1, { isRepeated: true })).toEqual(['run add']);
  });

  it('that arrives during its first run is answered with that result, and does not run', () => {
    const bench = new Bench();
    bench.call(1);
    expect(bench.call(1, { isRepeated: true })).toEqual([]);
    expect(bench.end(7)).toEqual(['reply 1: 7', 'reply 1: 7']);
  });

  it('of a deleted object is answered with the kept result', () => {
    const bench = new Bench();
    bench.call(1);
    bench.end(7, 0, 'deleted');
    expect(bench.turns.sizeOf('counter')).toBe(0);
    expect(bench.call(1, { isRepeated: true })).toEqual(['reply 1: 7']);
  });

  it('of a deleted object whose results are dropped is unknown if it was first sent before that, and runs otherwise', () => {
    const bench = new Bench();
    bench.call(1);
    bench.end(7, 0, 'deleted');
    bench.take(bench.turns.wake(at(60_000)));
    expect(bench.call(1, { isRepeated: true, first: 5, now: 60_001 })).toEqual(['unknown 1 forgotten']);
    bench.number = 6;
    expect(bench.call(9, { isRepeated: true, first: 6, now: 60_002 })).toEqual(['run add']);
  });

  it('after a loss that its caller knows of is unknown, unless it is idempotent', () => {
    const bench = new Bench();
    expect(bench.call(1, { isRepeated: true, hasLost: true })).toEqual(['unknown 1 lost']);
    expect(bench.call(2, { isRepeated: true, hasLost: true, isIdempotent: true })).toEqual(['run add']);
  });

  it('of a read runs again, whatever was lost or forgotten', () => {
    const bench = new Bench({}, 100);
    expect(bench.call(1, { name: 'look', isRepeated: true, hasLost: true })).toEqual(['run look']);
    bench.end(1);
    expect(bench.call(1, { name: 'look', isRepeated: true })).toEqual(['run look']);
    expect(bench.turns.sizeOf('counter')).toBe(0);
  });
});

describe('a turn whose lease lapses', () => {
  it('is uncertain, and its result is there when the lease comes back with the memory', () => {
    const bench = new Bench();
    bench.call(1);
    bench.isFrozen = true;
    expect(bench.end(7)).toEqual(['uncertain 1']);
    expect(bench.call(1, { isRepeated: true })).toEqual(['refused 1 not-held']);
    bench.isFrozen = false;
    bench.number = 6;
    expect(bench.call(1, { isRepeated: true, number: 6 })).toEqual(['reply 1: 7']);
  });

  it('changes nothing if its memory was dropped meanwhile', () => {
    const bench = new Bench();
    bench.call(1);
    bench.call(2);
    expect(bench.take(bench.turns.drop(() => true))).toEqual(['refused 2 not-held', 'abort lost']);
    expect(bench.end(7)).toEqual(['uncertain 1']);
    expect(bench.turns.sizeOf('counter')).toBe(0);
    expect(bench.call(1, { isRepeated: true })).toEqual(['run add']);
  });
});

describe('a link', () => {
  it('silences the earlier one of its caller, with the frames that wait', () => {
    const bench = new Bench();
    bench.call(1);
    bench.call(2);
    expect(bench.take(bench.turns.greet(at(0), 'second', 'ann', 2))).toEqual(['welcome second']);
    expect(bench.call(3)).toEqual([]);
    expect(bench.end(7)).toEqual([]);
    expect(bench.call(1, { link: 'second', isRepeated: true })).toEqual(['reply 1: 7']);
  });

  it('whose greeting is late is not answered, and silences no later link', () => {
    const bench = new Bench();
    expect(bench.take(bench.turns.greet(at(0), 'third', 'ann', 3))).toEqual(['welcome third']);
    expect(bench.take(bench.turns.greet(at(0), 'second', 'ann', 2))).toEqual([]);
    expect(bench.call(1, { link: 'second' })).toEqual([]);
    expect(bench.call(1, { link: 'third' })).toEqual(['run add']);
  });

  it('that breaks takes its waiting frames with it', () => {
    const bench = new Bench();
    bench.call(1);
    bench.call(2);
    bench.take(bench.turns.linkBroken(at(0), 'link'));
    expect(bench.end(7)).toEqual([]);
  });
});

describe('a move', () => {
  const all = (): boolean => true;

  it('takes state and results along, as they are between two turns', () => {
    const [source, target] = [new Bench(), new Bench()];
    source.call(1);
    source.end(7);
    const copy = source.turns.envelopes(at(0), all);
    target.take(target.turns.arrive(at(0), copy?.objects ?? [], copy?.floor ?? 0));
    expect(target.turns.sizeOf('counter')).toBe(1);
    expect(target.call(1, { isRepeated: true })).toEqual(['reply 1: 7']);
  });

  it('that cuts a turn off hands over what was there before that turn', () => {
    const bench = new Bench();
    bench.call(1);
    bench.end(7);
    bench.turns.beginMove(all);
    bench.call(2);
    expect(bench.turns.envelopes(at(0), all)?.objects).toMatchObject([{ key: 'a', slot: { value: 7 } }]);
    bench.end(8);
    expect(bench.turns.envelopes(at(0), all)?.objects).toMatchObject([{ slot: { value: 8 } }]);
  });

  it('has nothing to hand over of a turn that began before it', () => {
    const bench = new Bench();
    bench.call(1);
    bench.turns.beginMove(all);
    expect(bench.turns.envelopes(at(0), all)).toBeUndefined();
    bench.end(7);
    expect(bench.turns.envelopes(at(0), all)?.objects).toHaveLength(1);
  });

  it('takes the floor of deleted objects along', () => {
    const [source, target] = [new Bench(), new Bench()];
    source.call(1);
    source.end(7, 0, 'deleted');
    source.take(source.turns.wake(at(60_000)));
    const copy = source.turns.envelopes(at(60_000), all);
    expect(copy).toEqual({ objects: [], floor: 5 });
    target.take(target.turns.arrive(at(0), [], copy?.floor ?? 0));
    expect(target.call(1, { isRepeated: true, first: 5 })).toEqual(['unknown 1 forgotten']);
  });
});

describe('an object that nobody calls', () => {
  it('ends after ttlMs, and keeps its results', () => {
    const bench = new Bench({ ttlMs: 1_000 });
    bench.call(1);
    bench.end(7);
    expect(bench.turns.wakeAt).toBe(1_000);
    bench.take(bench.turns.wake(at(1_000)));
    expect(bench.turns.sizeOf('counter')).toBe(0);
    expect(bench.call(1, { isRepeated: true, now: 1_001 })).toEqual(['reply 1: 7']);
  });

  it('is evicted once after idleAfterMs, and exists on', () => {
    const bench = new Bench({ idleAfterMs: 1_000 });
    bench.call(1);
    bench.end(7);
    bench.confirm(1);
    expect(bench.take(bench.turns.wake(at(1_000)))).toEqual(['evict a']);
    expect(bench.turns.wakeAt).toBeUndefined();
    expect(bench.turns.sizeOf('counter')).toBe(1);
  });

  it('leaves nothing behind when it was deleted and its results are confirmed', () => {
    const bench = new Bench();
    bench.call(1);
    bench.end(7, 0, 'deleted');
    bench.confirm(1);
    expect(bench.turns.wakeAt).toBeUndefined();
    expect(bench.turns.envelopes(at(0), () => true)).toEqual({ objects: [], floor: 0 });
  });
});
