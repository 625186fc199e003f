import { describe, expect, expectTypeOf, it } from 'vitest';
import { InvalidArgumentError, OutcomeUnknownError, UnavailableError } from '../../runtime/errors.ts';
import { defineObject } from '../core/define-object.ts';
import { ManualRuntime, settled } from '../testing/manual-runtime.ts';
import { type LocalObjectsOptions, localObjects } from './local-objects.ts';

interface Line {
  readonly from: string;
  readonly line: string;
}

const Room = defineObject({
  name: 'room',
  version: 1,
  state: () => ({ lines: [] as Line[] }),
  calls: {
    say(room, from: string, line: string) {
      room.state.lines.push({ from, line });
      return room.state.lines.length;
    },
    close: (room) => room.delete(),
    async fail(room, error: unknown) {
      room.state.lines.push({ from: 'nobody', line: 'failed' });
      throw error === 'error'
        ? Object.assign(new TypeError('no'), { code: 'NO', retryable: true, at: 3, stackless: () => {} })
        : error;
    },
  },
  reads: { history: (room, last: number) => room.state.lines.slice(-last) },
});

/** Handlers that go on when the test says so. */
const gates = new Map<string, () => void>();
const begun: string[] = [];
const signals = new Map<string, AbortSignal>();

const Slow = defineObject({
  name: 'slow',
  version: 1,
  state: () => ({ done: [] as string[] }),
  calls: {
    async work(slow, id: string) {
      begun.push(id);
      signals.set(id, slow.held.signal);
      await new Promise<void>((resolve) => gates.set(id, resolve));
      slow.state.done.push(id);
      return id;
    },
  },
  reads: { done: (slow) => slow.state.done },
});

const Chain = defineObject({
  name: 'chain',
  version: 1,
  state: () => ({ reached: 0 }),
  calls: {
    async through(link, [next, ...rest]: readonly string[]): Promise<number> {
      link.state.reached += 1;
      return next === undefined
        ? 1
        : 1 +
            (await link
              .objects(Chain as typeof Chain)
              .get(next)
              .through(rest));
    },
    async intoRoom(link, key: string): Promise<number> {
      return link.objects(Room).get(key).say('chain', 'hello');
    },
    async slowly(link, key: string, id: string): Promise<string> {
      return link.objects(Slow).get(key, { timeoutMs: 60_000 }).work(id);
    },
  },
});

const open = (options: Partial<LocalObjectsOptions> = {}) => {
  const runtime = new ManualRuntime();
  const local = localObjects({ kinds: [Room, Slow, Chain], runtime, ...options });
  begun.length = 0;
  gates.clear();
  return { runtime, local, objects: local.objects.bind(local) as typeof local.objects };
};

const errorOf = (promise: Promise<unknown>): Promise<Error & { readonly code?: string }> =>
  promise.then(
    (value) => {
      throw new Error(`it was answered: ${JSON.stringify(value)}`);
    },
    (error: Error) => error,
  );

describe('an object', () => {
  it('keeps its state between calls, and has one for each key and kind', async () => {
    const { objects } = open();
    const rooms = objects(Room);
    expect(await rooms.get('a').say('ada', 'hello')).toBe(1);
    expect(await rooms.get('a').say('bob', 'hi')).toBe(2);
    expect(await rooms.get('b').say('ada', 'hello')).toBe(1);
    expect(await rooms.get('a').history(1)).toEqual([{ from: 'bob', line: 'hi' }]);
    expect(rooms.size).toBe(2);
  });

  it('has calls whose types follow from its functions', () => {
    const { objects } = open();
    const room = objects(Room).get('a');
    expectTypeOf(room.say).toEqualTypeOf<(from: string, line: string) => Promise<number>>();
    expectTypeOf(room.history).toEqualTypeOf<(last: number) => Promise<Line[]>>();
    expectTypeOf<'onLoad' extends keyof typeof room ? true : false>().toEqualTypeOf<false>();
  });

  it('is copied in and out: callers share nothing with it', async () => {
    const { objects } = open();
    const rooms = objects(Room);
    await rooms.get('a').say('ada', 'hello');
    const lines = await rooms.get('a').history(1);
    lines.pop();
    expect(await rooms.get('a').history(1)).toHaveLength(1);
  });

  it('begins anew after it was deleted', async () => {
    const { objects } = open();
    const rooms = objects(Room);
    await rooms.get('a').say('ada', 'hello');
    await rooms.get('a').close();
    expect(rooms.size).toBe(0);
    expect(await rooms.get('a').history(9)).toEqual([]);
    expect(await rooms.get('a').say('ada', 'again')).toBe(1);
  });

  it('does not begin by being read', async () => {
    const { objects } = open();
    expect(await objects(Room).get('a').history(9)).toEqual([]);
    expect(objects(Room).size).toBe(0);
  });

  it('may call objects of other kinds', async () => {
    const { objects } = open();
    expect(await objects(Chain).get('x').intoRoom('a')).toBe(1);
    expect(await objects(Room).get('a').history(1)).toEqual([{ from: 'chain', line: 'hello' }]);
  });
});

describe('turns', () => {
  it('are one at a time for each key, in the order of the calls, and side by side for different keys', async () => {
    const { objects } = open();
    const slow = objects(Slow);
    const all = [slow.get('a').work('1'), slow.get('a').work('2'), slow.get('b').work('3')];
    await settled();
    expect(begun).toEqual(['1', '3']);
    gates.get('1')?.();
    await settled();
    expect(begun).toEqual(['1', '3', '2']);
    gates.get('2')?.();
    gates.get('3')?.();
    expect(await Promise.all(all)).toEqual(['1', '2', '3']);
  });

  it('of keys with one tag are one at a time too', async () => {
    const { objects } = open();
    const slow = objects(Slow);
    const all = [slow.get('{t}:1').work('1'), slow.get('{t}:2').work('2')];
    await settled();
    expect(begun).toEqual(['1']);
    gates.get('1')?.();
    await settled();
    gates.get('2')?.();
    expect(await Promise.all(all)).toEqual(['1', '2']);
  });

  it('begin after the call has returned, never within it', async () => {
    const { objects } = open();
    const answer = objects(Slow).get('a').work('1');
    expect(begun).toEqual([]);
    await settled();
    gates.get('1')?.();
    await answer;
  });

  it('end for their context: what a handler still does later is refused', async () => {
    let late: () => unknown = () => {};
    const Late = defineObject({
      name: 'late',
      version: 1,
      state: () => ({ count: 0 }),
      calls: {
        start(object) {
          late = () => object.state.count++;
        },
      },
    });
    const local = localObjects({ kinds: [Late], runtime: new ManualRuntime() });
    await local.objects(Late).get('a').start();
    expect(late).toThrow("the turn of late 'a' is over: await all work within the handler");
  });
});

describe('a call that would wait for itself is refused at once', () => {
  it.each([
    ['a handler that calls its own object', ['a']],
    ['a handler that calls a key with the same tag', ['x{a}']],
    ['a chain that comes back', ['b', 'c', 'a']],
  ])('%s', async (_, path) => {
    const { objects } = open();
    const error = await errorOf(objects(Chain).get('a').through(path));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ code: 'CALL_CYCLE', retryable: false });
    expect(error.message).toContain('would wait for itself');
  });

  it('also a call to another kind under the same key, which is the same position', async () => {
    const { objects } = open();
    expect(await errorOf(objects(Chain).get('a').intoRoom('a'))).toMatchObject({ code: 'CALL_CYCLE' });
    expect(await objects(Chain).get('a').intoRoom('room-a')).toBe(1);
  });

  it('and a chain of more than 16 objects is refused', async () => {
    const { objects } = open();
    const keys = Array.from({ length: 20 }, (_, index) => `k${index}`);
    expect(await objects(Chain).get('start').through(keys.slice(0, 15))).toBe(16);
    const error = await errorOf(objects(Chain).get('start').through(keys));
    expect(error.message).toContain('called through 16 objects');
  });
});

describe('a time limit', () => {
  it('that is over before the turn began says that nothing was done', async () => {
    const { objects, runtime } = open();
    const slow = objects(Slow);
    const first = slow.get('a').work('1');
    const second = errorOf(slow.get('a', { timeoutMs: 500 }).work('2'));
    await runtime.advance(500);
    const error = await second;
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error).toMatchObject({ code: 'TIMEOUT', retryable: true, isOutcomeKnown: true });
    expect(error.message).toBe("work of slow 'a' was not run: its turn had not begun within 500 ms");
    gates.get('1')?.();
    await first;
    expect(await slow.get('a').done()).toEqual(['1']);
  });

  it('that is over within the turn aborts the signal, and the outcome is unknown', async () => {
    const { objects, runtime } = open();
    const pending = errorOf(objects(Slow).get('a', { timeoutMs: 500 }).work('1'));
    await runtime.advance(499);
    expect(signals.get('1')?.aborted).toBe(false);
    await runtime.advance(1);
    const error = await pending;
    expect(signals.get('1')?.aborted).toBe(true);
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: false });
    expect(error.message).toContain(
      "work of slow 'a' may have run: its time was over when its turn had begun",
    );
  });

  it('is ten seconds unless the call says otherwise, also for a handler that never ends', async () => {
    const { objects, runtime } = open();
    const pending = errorOf(objects(Slow).get('a').work('1'));
    const behind = errorOf(objects(Slow).get('a').work('2'));
    await runtime.advance(10_000);
    expect(await pending).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(await behind).toMatchObject({ code: 'TIMEOUT' });
    expect(begun).toEqual(['1']);
  });

  it('of a turn is the most that calls from within have', async () => {
    const { objects, runtime } = open();
    const pending = errorOf(objects(Chain).get('x', { timeoutMs: 500 }).slowly('a', '1'));
    await runtime.advance(500);
    expect(signals.get('1')?.aborted).toBe(true);
    expect(await pending).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  });
});

describe('a call that is given up', () => {
  it('before its turn is not run, and rejects with the reason of the signal', async () => {
    const { objects } = open();
    const slow = objects(Slow);
    const first = slow.get('a').work('1');
    const stop = new AbortController();
    const second = errorOf(slow.get('a', { signal: stop.signal }).work('2'));
    await settled();
    const reason = new Error('enough');
    stop.abort(reason);
    expect(await second).toBe(reason);
    gates.get('1')?.();
    await first;
    await settled();
    expect(begun).toEqual(['1']);
  });

  it('within its turn aborts the signal there, and its outcome is unknown', async () => {
    const { objects, runtime } = open();
    const stop = new AbortController();
    const pending = errorOf(objects(Slow).get('a', { signal: stop.signal }).work('1'));
    await settled();
    stop.abort();
    await runtime.advance(0);
    expect(await pending).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(signals.get('1')?.aborted).toBe(true);
  });

  it('before it is made is not made', async () => {
    const { objects } = open();
    expect(
      await errorOf(
        objects(Slow)
          .get('a', { signal: AbortSignal.abort(new Error('early')) })
          .work('1'),
      ),
    ).toMatchObject({ message: 'early' });
    await settled();
    expect(begun).toEqual([]);
  });
});

describe('an error of a handler', () => {
  it('crosses with its name, code and plain fields, without its stack; what the handler changed stays', async () => {
    const { objects } = open();
    const rooms = objects(Room);
    const error = await errorOf(rooms.get('a').fail('error'));
    expect(error).toMatchObject({ name: 'TypeError', message: 'no', code: 'NO', retryable: true, at: 3 });
    expect(error).not.toHaveProperty('stackless');
    expect(error.stack).not.toContain('fail');
    expect(await rooms.get('a').history(1)).toEqual([{ from: 'nobody', line: 'failed' }]);
  });

  it('that is a text is told as such', async () => {
    const { objects } = open();
    const error = await errorOf(objects(Room).get('a').fail('just a text'));
    expect(error).toMatchObject({
      code: 'NOT_AN_ERROR',
      message: "a handler threw 'just a text', which is no Error",
    });
  });

  it('of a call from within is not retryable at the outer caller, because the handler has run', async () => {
    const { objects } = open({ maxObjects: 1 });
    await objects(Room).get('a').say('ada', 'x');
    expect(await errorOf(objects(Room).get('b').say('ada', 'x'))).toMatchObject({
      code: 'BUSY',
      retryable: true,
    });
    const error = await errorOf(objects(Chain).get('x').intoRoom('b'));
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error).toMatchObject({ code: 'BUSY', retryable: false });
  });
});

describe('what is no plain data', () => {
  const Bad = defineObject({
    name: 'bad',
    version: 1,
    state: () => ({ deep: {} as Record<string, unknown> }),
    calls: {
      set(bad, what: string) {
        bad.state.deep['x'] = what === 'function' ? () => {} : what;
        return what;
      },
      give: () => ({ answer: [() => {}] }),
      take: (_, __: unknown) => 'taken',
    },
    reads: {
      peek: (bad) => bad.state.deep['x'] as string,
      spoil(bad) {
        bad.state.deep['x'] = 'spoilt';
      },
    },
  });
  const bad = () => localObjects({ kinds: [Bad], runtime: new ManualRuntime() }).objects(Bad);

  it('is refused as an argument, by its path, before anything is sent', async () => {
    class User {}
    const cycle: unknown[] = [];
    cycle.push(cycle);
    const { take } = bad().get('a');
    expect((await errorOf(take({ user: { avatar: () => {} } }))).message).toMatch(
      /^args\[0\].user.avatar is a function;/,
    );
    expect((await errorOf(take(cycle))).message).toMatch(/^args\[0\]\[0\] is a cycle/);
    expect((await errorOf(take(new User()))).message).toMatch(/^args\[0\] is an instance of User;/);
    const large = await errorOf(take('x'.repeat(2 * 1_048_576)));
    expect(large).toMatchObject({ code: 'TOO_LARGE' });
    expect(large.message).toBe('args is too large: at most 1,048,576 bytes, reached at args[0]');
  });

  it('is refused as a result, by its path', async () => {
    const error = await errorOf(bad().get('a').give());
    expect(error.message).toMatch(/^result.answer\[0\] is a function;/);
    expect(error).toMatchObject({ code: 'INVALID_DATA', retryable: false });
  });

  it('in a state is named at the turn that put it there, and at each until it is mended', async () => {
    const objects = bad();
    const error = await errorOf(objects.get('a').set('function'));
    expect(error.message).toMatch(/^state.deep.x is a function;/);
    expect((await errorOf(objects.get('a').take(1))).message).toMatch(/^state.deep.x is a function;/);
    expect(await objects.evict('a')).toBe(true); // It stays in memory: there is nothing to load it from.
    expect(await objects.get('a').set('text')).toBe('text');
    expect(await objects.get('a').peek()).toBe('text');
  });

  it('nor a change by a read: the change is undone', async () => {
    const objects = bad();
    await objects.get('a').set('good');
    const error = await errorOf(objects.get('a').spoil() as Promise<unknown>);
    expect(error).toMatchObject({ code: 'CHANGED_BY_READ' });
    expect(await objects.get('a').peek()).toBe('good');
  });
});

describe('an idle object', () => {
  const loads: string[] = [];
  const Doc = defineObject({
    name: 'doc',
    version: 2,
    state: () => ({ words: new Set<string>() }),
    save: ({ words }) => [...words],
    load: (saved: string[], version) => {
      loads.push(`load ${version}`);
      if (saved.includes('poison')) throw new Error('cannot be read');
      return { words: new Set(saved) };
    },
    calls: { add: (doc, word: string) => doc.state.words.add(word).size },
    reads: { all: (doc) => [...doc.state.words] },
    onLoad: (doc, how) => {
      loads.push(`${how} ${doc.key}`);
    },
  });

  it('leaves the memory, and is loaded from what was saved by its next turn', async () => {
    const runtime = new ManualRuntime();
    const docs = localObjects({ kinds: [Doc], idleAfterMs: 5_000, runtime }).objects(Doc);
    await docs.get('a').add('one');
    await runtime.advance(4_999);
    await docs.get('a').add('two');
    expect(loads.splice(0)).toEqual(['new a']);
    await runtime.advance(5_000);
    expect(await docs.get('a').all()).toEqual(['one', 'two']);
    expect(loads.splice(0)).toEqual(['load 2', 'stored a']);
    expect(docs.size).toBe(1);
  });

  it('can be evicted by hand, if it exists and has no turn', async () => {
    const runtime = new ManualRuntime();
    const docs = localObjects({ kinds: [Doc], runtime }).objects(Doc);
    expect(await docs.evict('a')).toBe(false);
    await docs.get('a').add('one');
    expect(await docs.evict('a')).toBe(true);
    expect(await docs.get('a').add('two')).toBe(2);
  });

  it('whose load throws answers with that error, and is as it was', async () => {
    const runtime = new ManualRuntime();
    const docs = localObjects({ kinds: [Doc], runtime }).objects(Doc);
    await docs.get('a').add('poison');
    await docs.evict('a');
    for (let time = 0; time < 2; time += 1)
      expect((await errorOf(docs.get('a').add('more'))).message).toBe('cannot be read');
  });

  it('whose state function throws does not begin', async () => {
    const Broken = defineObject({
      name: 'broken',
      version: 1,
      state: (key): { n: number } => {
        throw new Error(`no ${key}`);
      },
      calls: { go: () => 1 },
    });
    const objects = localObjects({ kinds: [Broken], runtime: new ManualRuntime() }).objects(Broken);
    expect((await errorOf(objects.get('a').go())).message).toBe('no a');
    expect(objects.size).toBe(0);
  });

  it('ends after ttlMs without a call; reads do not count', async () => {
    const { objects, runtime } = open({ ttlMs: 10_000 });
    await objects(Room).get('a').say('ada', 'x');
    await runtime.advance(6_000);
    expect(await objects(Room).get('a').history(9)).toHaveLength(1);
    await runtime.advance(4_000);
    expect(objects(Room).size).toBe(0);
    expect(await objects(Room).get('a').history(9)).toEqual([]);
  });
});

describe('close', () => {
  it('refuses what has not begun, stops what runs, and ends by itself after a second', async () => {
    const { local, objects, runtime } = open();
    const running = errorOf(objects(Slow).get('a').work('1'));
    const waiting = errorOf(objects(Slow).get('a').work('2'));
    await settled();
    const closing = local.close();
    await settled();
    expect(await waiting).toMatchObject({ code: 'CLOSED', retryable: false, isOutcomeKnown: true });
    expect(signals.get('1')?.aborted).toBe(true);
    expect(await errorOf(objects(Room).get('a').say('ada', 'x'))).toMatchObject({ code: 'CLOSED' });
    await runtime.advance(1_000);
    await closing;
    expect(await running).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(await local.closed).toBeUndefined();
  });

  it('waits for a handler that stops when it is asked', async () => {
    const { local, objects } = open();
    const running = objects(Slow).get('a').work('1');
    await settled();
    const closing = local.close();
    gates.get('1')?.();
    expect(await running).toBe('1');
    await closing;
  });
});

describe('bad options', () => {
  it('are refused with a sentence', () => {
    const Twin = defineObject({ name: 'room', version: 1, state: () => 0 });
    expect(() => localObjects({ kinds: [Room, Twin] })).toThrow(
      'option kinds is room, but two kinds have that name; give each its own',
    );
    expect(() => localObjects({ kinds: [{ name: 'x', version: 1 }] })).toThrow(
      'that is no kind of objects: pass what defineObject returned',
    );
    expect(() => localObjects({ kinds: Room as never })).toThrow('it must be a list of kinds');
    const { objects } = open();
    expect(() => objects(Twin)).toThrow(
      'the kind room is not served here: give it to localObjects, in kinds',
    );
    expect(() => objects(Room).get(7 as never)).toThrow("pass String(id), here '7'");
    expect(() => objects(Room).get('a', { timeoutMs: 0 })).toThrow('option timeoutMs is 0');
    expect(() => objects(Room).get('a', { withinMs: 3 } as never)).toThrow('withinMs');
  });
});
