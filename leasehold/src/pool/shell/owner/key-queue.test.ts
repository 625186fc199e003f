import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { nodeRuntime } from '../../../node/runtime.ts';
import { HandMovedRuntime } from '../../../node/tcp/socket-script.ts';
import { keyHash } from '../../../runtime/keys/hash.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import { KeyQueue } from './key-queue.ts';

/** Work that ends on command. */
function job(story: string[], name: string) {
  let finish = (): void => {};
  const end = new Promise<void>((resolve) => (finish = resolve));
  const work = async (): Promise<string> => {
    story.push(`${name} begins`);
    await end;
    story.push(`${name} ends`);
    return name;
  };
  return { work, finish };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a queue of work on keys', () => {
  it('does one thing at a time for a key, in order', async () => {
    const story: string[] = [];
    const queue = new KeyQueue(nodeRuntime());
    const [one, two] = [job(story, 'one'), job(story, 'two')];
    const results = [queue.run('alice', one.work), queue.run('alice', two.work)];
    two.finish();
    await turn();
    expect(story).toEqual(['one begins']);
    one.finish();
    expect(await Promise.all(results)).toEqual(['one', 'two']);
    expect(story).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
  });

  it('does things side by side for different keys', async () => {
    const story: string[] = [];
    const queue = new KeyQueue(nodeRuntime());
    const [one, two] = [job(story, 'one'), job(story, 'two')];
    const results = [queue.run('alice', one.work), queue.run('bob', two.work)];
    await turn();
    expect(story).toEqual(['one begins', 'two begins']);
    one.finish();
    two.finish();
    await Promise.all(results);
  });

  it('has one queue for a position: for the key as a string and as a bigint, and for keys with one tag', async () => {
    const story: string[] = [];
    const queue = new KeyQueue(nodeRuntime());
    const jobs = ['one', 'two', 'three'].map((name) => job(story, name));
    const keys = ['cart:{ana}', keyHash('ana'), 'orders:{ana}'] as const;
    const results = jobs.map(({ work }, index) => queue.run(keys[index] ?? '', work));
    for (const { finish } of jobs.toReversed()) {
      await turn();
      expect(story).toEqual(['one begins']);
      finish();
    }
    await Promise.all(results);
    expect(story).toEqual(['one', 'two', 'three'].flatMap((name) => [`${name} begins`, `${name} ends`]));
  });

  it('goes on with the next when one fails', async () => {
    const queue = new KeyQueue(nodeRuntime());
    const failing = queue.run('alice', async () => {
      throw new Error('no');
    });
    const next = queue.run('alice', async () => 'yes');
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('yes');
  });

  it('gives up the place of one that is aborted, and lets those behind it wait on', async () => {
    const story: string[] = [];
    const queue = new KeyQueue(nodeRuntime());
    const [one, three] = [job(story, 'one'), job(story, 'three')];
    const stop = new AbortController();
    const first = queue.run('alice', one.work);
    const second = queue.run('alice', job(story, 'two').work, stop.signal);
    const third = queue.run('alice', three.work);
    stop.abort(new Error('too late'));
    await expect(second).rejects.toThrow('too late');
    await turn();
    expect(story).toEqual(['one begins']);
    one.finish();
    three.finish();
    await Promise.all([first, third]);
    expect(story).toEqual(['one begins', 'one ends', 'three begins', 'three ends']);
  });

  it('has one listener of a signal, however many wait with it, and none when they have been at work', async () => {
    const queue = new KeyQueue(nodeRuntime());
    const jobs = Array.from({ length: 20 }, (_, index) => job([], String(index)));
    const { signal } = new AbortController();
    const runs = jobs.map(({ work }) => queue.run('alice', work, signal));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    for (const { finish } of jobs) finish();
    await Promise.all(runs);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('does not let one that comes after a waiter has given up run beside the one at work', async () => {
    const story: string[] = [];
    const queue = new KeyQueue(nodeRuntime());
    const [one, three] = [job(story, 'one'), job(story, 'three')];
    const stop = new AbortController();
    const first = queue.run('alice', one.work);
    const second = queue.run('alice', job(story, 'two').work, stop.signal);
    stop.abort(new Error('too late'));
    await expect(second).rejects.toThrow('too late');
    const third = queue.run('alice', three.work);
    const idle = queue.idle(RangeSet.everything).then(() => story.push('idle'));
    await turn();
    expect(story).toEqual(['one begins']);
    one.finish();
    three.finish();
    await Promise.all([first, third, idle]);
    expect(story).toEqual(['one begins', 'one ends', 'three begins', 'three ends', 'idle']);
  });

  it('still knows of the one at work when everybody behind it has given up', async () => {
    const story: string[] = [];
    const queue = new KeyQueue(nodeRuntime());
    const one = job(story, 'one');
    const stop = new AbortController();
    const first = queue.run('alice', one.work);
    const second = queue.run('alice', job(story, 'two').work, stop.signal);
    stop.abort(new Error('too late'));
    await expect(second).rejects.toThrow('too late');
    const idle = queue.idle(RangeSet.everything).then(() => story.push('idle'));
    await turn();
    expect(story).toEqual(['one begins']);
    one.finish();
    await Promise.all([first, idle]);
    expect(story).toEqual(['one begins', 'one ends', 'idle']);
  });

  it('turns away those who wait for some keys, and nobody who is at work or waits for another', async () => {
    const story: string[] = [];
    const queue = new KeyQueue(nodeRuntime());
    const [alice, bob] = [job(story, 'alice'), job(story, 'bob')];
    const running = [queue.run('alice', alice.work), queue.run('bob', bob.work)];
    const turnedAway = [1, 2].map(() => queue.run('alice', async () => 'never'));
    const waiting = queue.run('bob', async () => 'later');
    const position = keyHash('alice');
    const ranges = RangeSet.of([{ start: position, end: position + 1n }]);
    queue.turnAway(ranges, (key) => new Error(`${key} is gone`));
    for (const rejected of turnedAway) await expect(rejected).rejects.toThrow('alice is gone');
    alice.finish();
    bob.finish();
    expect(await Promise.all([...running, waiting])).toEqual(['alice', 'bob', 'later']);
  });

  it('does not begin what was aborted before', async () => {
    const queue = new KeyQueue(nodeRuntime());
    const aborted = queue.run('alice', async () => 'done', AbortSignal.abort(new Error('never mind')));
    await expect(aborted).rejects.toThrow('never mind');
  });

  it('forgets who waited for the end of work that does not come, once they wait no longer', async () => {
    const queue = new KeyQueue(nodeRuntime());
    const alice = job([], 'alice');
    const running = queue.run('alice', alice.work);
    const stop = new AbortController();
    const idle = queue.idle(RangeSet.everything, stop.signal);
    expect(queue.idling).toBe(1);
    stop.abort();
    await idle;
    await queue.idle(RangeSet.everything, stop.signal);
    expect(queue.idling).toBe(0);
    alice.finish();
    await running;
  });

  it('says when all that was asked for on some keys is over', async () => {
    const story: string[] = [];
    const queue = new KeyQueue(nodeRuntime());
    const [alice, bob] = [job(story, 'alice'), job(story, 'bob')];
    const running = [queue.run('alice', alice.work), queue.run('bob', bob.work)];
    const position = keyHash('alice');
    const idle = queue.idle(RangeSet.of([{ start: position, end: position + 1n }]));
    void idle.then(() => story.push('idle'));
    await turn();
    expect(story).not.toContain('idle');
    alice.finish();
    await idle;
    bob.finish();
    await Promise.all(running);
  });
});

/** Lets time pass until the end, for a minute at most. */
async function inTime<T>(runtime: HandMovedRuntime, running: Promise<T>): Promise<T> {
  let isOver = false;
  const end = (): void => void (isOver = true);
  running.then(end, end);
  for (let waitedMs = 0; !isOver && waitedMs < 60_000; waitedMs += 50) {
    runtime.pass(50);
    await turn();
  }
  if (!isOver) throw new Error('it waits for itself');
  return running;
}

const moved = () => {
  const runtime = new HandMovedRuntime();
  return { runtime, queue: new KeyQueue(runtime) };
};

describe('work that queues for more', () => {
  it('is refused its own key, however deep it asks, and is at work as before', async () => {
    const { runtime, queue } = moved();
    const asked: unknown[] = [];
    const again = (): Promise<unknown> =>
      queue.run('alice', async () => 'never').catch((error: unknown) => asked.push(error));
    const work = queue.run('alice', async () => {
      await again();
      await turn();
      await queue.run('bob', async () => {
        await turn();
        await again();
      });
    });
    await inTime(runtime, work);
    expect(asked).toMatchObject([
      { code: 'GUARD_WITHIN_GUARD', retryable: false, details: { key: 'alice' } },
      { code: 'GUARD_WITHIN_GUARD', retryable: false, details: { key: 'alice' } },
    ]);
    expect(await queue.run('alice', async () => 'free')).toBe('free');
    runtime.pass(100);
    expect(runtime.timers).toBe(0);
  });

  it.each([
    ['an await', async (again: () => Promise<unknown>) => (await turn(), await again())],
    [
      'a promise that is returned',
      (again: () => Promise<unknown>) =>
        turn()
          .then(again)
          .finally(() => {}),
    ],
    ['Promise.all', (again: () => Promise<unknown>) => Promise.all([turn().then(again), turn()])],
    ['a race', (again: () => Promise<unknown>) => Promise.race([again(), new Promise(() => {})])],
  ])('is refused its own key by way of %s', async (_, work) => {
    const { runtime, queue } = moved();
    const again = (): Promise<unknown> => queue.run('alice', async () => 'never');
    const nested = inTime(
      runtime,
      queue.run<unknown>('alice', () => work(again)),
    );
    await expect(nested).rejects.toMatchObject({ code: 'GUARD_WITHIN_GUARD' });
  });

  it('is refused its own position', async () => {
    const { runtime, queue } = moved();
    const nested = queue.run('alice', () => queue.run(keyHash('alice'), async () => 'never'));
    await expect(inTime(runtime, nested)).rejects.toMatchObject({
      ...{ code: 'GUARD_WITHIN_GUARD', details: { key: keyHash('alice') } },
    });
  });

  it('is refused its own key when it comes to await it long after it has asked', async () => {
    const { runtime, queue } = moved();
    const { work: other, finish } = job([], 'other');
    const nested = queue.run('alice', async () => {
      const asked = queue.run('alice', async () => 'never');
      await other();
      await asked;
    });
    for (let step = 0; step < 100; step += 1) {
      runtime.pass(50);
      await turn();
    }
    finish();
    await expect(inTime(runtime, nested)).rejects.toMatchObject({ code: 'GUARD_WITHIN_GUARD' });
  });

  it('may ask for its own key without awaiting it: that gets its turn when the work is over', async () => {
    const { runtime, queue } = moved();
    const story: string[] = [];
    let after: Promise<void> | undefined;
    const { work, finish } = job(story, 'first');
    const first = queue.run('alice', () => {
      after = queue.run('alice', async () => void story.push('after'));
      return work();
    });
    for (let step = 0; step < 100; step += 1) {
      runtime.pass(50);
      await turn();
    }
    finish();
    await Promise.all([first, after]);
    expect(story).toEqual(['first begins', 'first ends', 'after']);
  });

  it('gets another key, and the same key of another queue', async () => {
    const { runtime, queue: one } = moved();
    const other = new KeyQueue(runtime);
    const nested = one.run('alice', () => one.run('bob', () => other.run('alice', async () => 'done')));
    expect(await nested).toBe('done');
  });

  it('does not make those wait in vain who wait for somebody else', async () => {
    const { runtime, queue } = moved();
    const { work, finish } = job([], 'slow');
    const slow = queue.run('alice', work);
    const patient = queue.run('bob', () => queue.run('alice', async () => 'at last'));
    for (let step = 0; step < 200; step += 1) {
      runtime.pass(50);
      await turn();
    }
    finish();
    expect(await Promise.all([slow, patient])).toEqual(['slow', 'at last']);
  });
});

describe('whatever NODE_ENV says', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.resetModules();
  });

  it.each(['production', 'development'])('work is refused its own key: %s', async (environment) => {
    vi.stubEnv('NODE_ENV', environment);
    vi.resetModules();
    const { KeyQueue: Fresh } = await import('./key-queue.ts');
    const runtime = new HandMovedRuntime();
    const queue = new Fresh(runtime);
    const nested = queue.run('alice', () => queue.run('alice', async () => 'never'));
    await expect(inTime(runtime, nested)).rejects.toMatchObject({ code: 'GUARD_WITHIN_GUARD' });
  });
});

describe('held keys', () => {
  const rangeOf = (key: string): RangeSet => {
    const position = keyHash(key);
    return RangeSet.of([{ start: position, end: position + 1n }]);
  };
  const notOwner = { code: 'NOT_OWNER' };

  function bench() {
    const runtime = new HandMovedRuntime();
    return { runtime, queue: new KeyQueue(runtime), story: [] as string[] };
  }

  it('pass on no turn until they are released, and other keys are worked on meanwhile', async () => {
    const { queue, story } = bench();
    const [one, two, other] = [job(story, 'one'), job(story, 'two'), job(story, 'other')];
    const first = queue.run('alice', one.work);
    const second = queue.run('alice', two.work);
    queue.hold(rangeOf('alice'));
    one.finish();
    two.finish();
    other.finish();
    await first;
    await queue.run('bob', other.work);
    expect(story).toEqual(['one begins', 'one ends', 'other begins', 'other ends']);
    expect([queue.isHeld('alice'), queue.isHeld('bob')]).toEqual([true, false]);
    queue.release(rangeOf('alice'));
    expect(await second).toBe('two');
    expect(queue.isHeld('alice')).toBe(false);
  });

  it('let a call wait that comes while no work is under way, in order, and one at a time', async () => {
    const { queue, story } = bench();
    queue.hold(RangeSet.everything);
    const [one, two] = [job(story, 'one'), job(story, 'two')];
    const results = [queue.run('alice', one.work), queue.run('alice', two.work)];
    await turn();
    expect(story).toEqual([]);
    queue.release(RangeSet.everything);
    two.finish();
    await turn();
    expect(story).toEqual(['one begins']);
    one.finish();
    await Promise.all(results);
  });

  it('are idle once the work under way has ended, whoever waits', async () => {
    const { queue, story } = bench();
    const one = job(story, 'one');
    const first = queue.run('alice', one.work);
    const second = queue.run('alice', async () => 'second');
    queue.hold(rangeOf('alice'));
    const idle = queue.idle(rangeOf('alice')).then(() => story.push('idle'));
    await turn();
    expect(story).toEqual(['one begins']);
    one.finish();
    await Promise.all([first, idle]);
    expect(story).toEqual(['one begins', 'one ends', 'idle']);
    await queue.idle(rangeOf('alice'));
    queue.release(rangeOf('alice'));
    await second;
  });

  it('turn a caller away who has waited for a second, and do not forget the others', async () => {
    const { runtime, queue } = bench();
    queue.hold(RangeSet.everything);
    const early = expect(queue.run('alice', async () => 'early')).rejects.toMatchObject(notOwner);
    runtime.pass(500);
    const late = queue.run('alice', async () => 'late');
    runtime.pass(500);
    await early;
    queue.release(RangeSet.everything);
    expect(await late).toBe('late');
  });

  it('count the wait of a caller behind work from the hold', async () => {
    const { runtime, queue, story } = bench();
    const one = job(story, 'one');
    const first = queue.run('alice', one.work);
    const second = queue.run('alice', async () => 'second');
    runtime.pass(5_000);
    queue.hold(RangeSet.everything);
    runtime.pass(900);
    queue.release(RangeSet.everything);
    one.finish();
    expect(await Promise.all([first, second])).toEqual(['one', 'second']);
  });

  it('turn the ten thousand and first waiter away', async () => {
    const { queue } = bench();
    queue.hold(RangeSet.everything);
    const waiting = Array.from({ length: 10_000 }, (_, index) =>
      queue.run(`key-${index}`, async () => index),
    );
    await expect(queue.run('one more', async () => 0)).rejects.toMatchObject(notOwner);
    queue.release(RangeSet.everything);
    expect((await Promise.all(waiting)).length).toBe(10_000);
  });

  it('let through what work under way on them awaits, or neither would end', async () => {
    const { queue } = bench();
    let go = (): void => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    const outer = queue.run('alice', async () => {
      await gate;
      return await queue.run('bob', async () => 'inner');
    });
    queue.hold(RangeSet.everything);
    go();
    expect(await outer).toBe('inner');
  });

  it('let through what already waits for its turn when the range is held', async () => {
    const { queue, story } = bench();
    const one = job(story, 'one');
    const first = queue.run('bob', one.work);
    const outer = queue.run('alice', async () => await queue.run('bob', async () => 'inner'));
    const stranger = queue.run('bob', async () => 'stranger');
    await turn();
    queue.hold(RangeSet.everything);
    await turn();
    one.finish();
    expect(await Promise.all([first, outer])).toEqual(['one', 'inner']);
    await queue.idle(RangeSet.everything);
    queue.release(RangeSet.everything);
    expect(await stranger).toBe('stranger');
  });

  it('give up a place with the signal, and leave no queue behind', async () => {
    const { queue, story } = bench();
    queue.hold(RangeSet.everything);
    const stop = new AbortController();
    const waiting = queue.run('alice', job(story, 'one').work, stop.signal);
    stop.abort(new Error('too late'));
    await expect(waiting).rejects.toThrow('too late');
    queue.release(RangeSet.everything);
    expect(await queue.run('alice', async () => 'again')).toBe('again');
  });
});
