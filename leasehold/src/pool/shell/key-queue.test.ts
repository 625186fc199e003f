import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { keyPosition } from '../../runtime/keys/hash.ts';
import { RangeSet } from '../../runtime/keys/range-set.ts';
import { KeyQueue } from './key-queue.ts';

/** Work that ends when it is told to. */
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
    const queue = new KeyQueue();
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
    const queue = new KeyQueue();
    const [one, two] = [job(story, 'one'), job(story, 'two')];
    const results = [queue.run('alice', one.work), queue.run('bob', two.work)];
    await turn();
    expect(story).toEqual(['one begins', 'two begins']);
    one.finish();
    two.finish();
    await Promise.all(results);
  });

  it('goes on with the next when one fails', async () => {
    const queue = new KeyQueue();
    const failing = queue.run('alice', async () => {
      throw new Error('no');
    });
    const next = queue.run('alice', async () => 'yes');
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('yes');
  });

  it('gives up the place of one that is aborted, and lets those behind it wait on', async () => {
    const story: string[] = [];
    const queue = new KeyQueue();
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
    const queue = new KeyQueue();
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
    const queue = new KeyQueue();
    const [one, three] = [job(story, 'one'), job(story, 'three')];
    const stop = new AbortController();
    const first = queue.run('alice', one.work);
    const second = queue.run('alice', job(story, 'two').work, stop.signal);
    stop.abort(new Error('too late'));
    await expect(second).rejects.toThrow('too late');
    const third = queue.run('alice', three.work);
    const settled = queue.settled(RangeSet.everything).then(() => story.push('settled'));
    await turn();
    expect(story).toEqual(['one begins']);
    one.finish();
    three.finish();
    await Promise.all([first, third, settled]);
    expect(story).toEqual(['one begins', 'one ends', 'three begins', 'three ends', 'settled']);
  });

  it('still knows of the one at work when everybody behind it has given up', async () => {
    const story: string[] = [];
    const queue = new KeyQueue();
    const one = job(story, 'one');
    const stop = new AbortController();
    const first = queue.run('alice', one.work);
    const second = queue.run('alice', job(story, 'two').work, stop.signal);
    stop.abort(new Error('too late'));
    await expect(second).rejects.toThrow('too late');
    const settled = queue.settled(RangeSet.everything).then(() => story.push('settled'));
    await turn();
    expect(story).toEqual(['one begins']);
    one.finish();
    await Promise.all([first, settled]);
    expect(story).toEqual(['one begins', 'one ends', 'settled']);
  });

  it('turns away those who wait for some keys, and nobody who is at work or waits for another', async () => {
    const story: string[] = [];
    const queue = new KeyQueue();
    const [alice, bob] = [job(story, 'alice'), job(story, 'bob')];
    const running = [queue.run('alice', alice.work), queue.run('bob', bob.work)];
    const turnedAway = [1, 2].map(() => queue.run('alice', async () => 'never'));
    const waiting = queue.run('bob', async () => 'later');
    const position = keyPosition('alice');
    const ranges = RangeSet.of([{ start: position, end: position + 1n }]);
    queue.turnAway(ranges, (key) => new Error(`${key} is gone`));
    for (const rejected of turnedAway) await expect(rejected).rejects.toThrow('alice is gone');
    alice.finish();
    bob.finish();
    expect(await Promise.all([...running, waiting])).toEqual(['alice', 'bob', 'later']);
  });

  it('does not begin what was aborted before', async () => {
    const queue = new KeyQueue();
    const aborted = queue.run('alice', async () => 'done', AbortSignal.abort(new Error('never mind')));
    await expect(aborted).rejects.toThrow('never mind');
  });

  it('says when all that was asked for on some keys is over', async () => {
    const story: string[] = [];
    const queue = new KeyQueue();
    const [alice, bob] = [job(story, 'alice'), job(story, 'bob')];
    const running = [queue.run('alice', alice.work), queue.run('bob', bob.work)];
    const position = keyPosition('alice');
    const settled = queue.settled(RangeSet.of([{ start: position, end: position + 1n }]));
    void settled.then(() => story.push('settled'));
    await turn();
    expect(story).not.toContain('settled');
    alice.finish();
    await settled;
    bob.finish();
    await Promise.all(running);
  });
});

describe('work that queues for more', () => {
  it('is refused its own key, however deep it asks, and is at work as before', async () => {
    const queue = new KeyQueue();
    const asked: unknown[] = [];
    const again = (): Promise<unknown> =>
      queue.run('alice', async () => 'never').catch((error: unknown) => asked.push(error));
    await queue.run('alice', async () => {
      await again();
      await turn();
      await queue.run('bob', async () => {
        await turn();
        await again();
      });
    });
    expect(asked).toMatchObject([
      { code: 'GUARD_WITHIN_GUARD', retryable: false, key: 'alice' },
      { code: 'GUARD_WITHIN_GUARD', retryable: false, key: 'alice' },
    ]);
    expect(await queue.run('alice', async () => 'free')).toBe('free');
  });

  it('gets another key, and the same key of another queue', async () => {
    const [one, other] = [new KeyQueue(), new KeyQueue()];
    const nested = one.run('alice', () => one.run('bob', () => other.run('alice', async () => 'done')));
    expect(await nested).toBe('done');
  });

  it('may leave something behind that asks when the work is over', async () => {
    const queue = new KeyQueue();
    const story: string[] = [];
    const ask = (): Promise<void> => queue.run('alice', async () => void story.push('again'));
    let after: Promise<void> | undefined;
    await queue.run('alice', async () => {
      after = turn().then(ask);
    });
    // Somebody else is at work by then: it waits for that one, which is not what set it going.
    const { work, finish } = job(story, 'other');
    const other = queue.run('alice', work);
    await turn();
    finish();
    await Promise.all([other, after]);
    expect(story).toEqual(['other begins', 'other ends', 'again']);
  });
});
