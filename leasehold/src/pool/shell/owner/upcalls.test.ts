import { describe, expect, it } from 'vitest';
import { HandMovedRuntime } from '../../../node/tcp/socket-script.ts';
import { silent } from '../../../runtime/logger.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import type { NumberedSpan } from '../../core/messages.ts';
import { type Upcall, Upcalls } from './upcalls.ts';

const span = (start: bigint, end: bigint): NumberedSpan => ({ start, end, number: 1 });
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function bench() {
  const story: string[] = [];
  const runtime = new HandMovedRuntime();
  const upcalls = new Upcalls(runtime, {
    ...silent,
    error: (message, facts) => story.push(`${message}: ${facts?.['why']}`),
    warn: (message) => story.push(message),
  });
  /** An upcall that ends when it is told to, well or badly. */
  const slow = (name: string) => {
    const ends: ((error?: Error) => void)[] = [];
    const asked: RangeSet[] = [];
    const upcall: Upcall = (ranges, { signal }) => {
      asked.push(ranges);
      story.push(`${name} begins`);
      signal.addEventListener('abort', () => story.push(`${name} is told to stop`));
      return new Promise<void>((resolve, reject) =>
        ends.push((error) => (error === undefined ? resolve() : reject(error))),
      );
    };
    return { upcall, asked, end: (error?: Error) => ends.shift()?.(error) };
  };
  return { story, runtime, upcalls, slow };
}

describe('keys that are granted', () => {
  it('are served once they are loaded', async () => {
    const { story, upcalls, slow } = bench();
    const load = slow('load');
    upcalls.load('onGrant', [span(0n, 8n)], load.upcall, () => story.push('served'));
    await turn();
    expect(story).toEqual(['load begins']);
    load.end();
    await turn();
    expect(story).toEqual(['load begins', 'served']);
  });

  it('are loaded again, a little later each time, until it works', async () => {
    const { story, runtime, upcalls, slow } = bench();
    const load = slow('load');
    upcalls.load('onGrant', [span(0n, 8n)], load.upcall, () => story.push('served'));
    await turn();
    load.end(new Error('no database'));
    await turn();
    runtime.pass(99);
    await turn();
    expect(story).toEqual(['load begins', 'onGrant failed: Error: no database']);
    runtime.pass(1);
    await turn();
    load.end(new Error('no database'));
    await turn();
    runtime.pass(199);
    await turn();
    expect(story.filter((line) => line === 'load begins')).toHaveLength(2);
    runtime.pass(1);
    await turn();
    load.end();
    await turn();
    expect(story.slice(-2)).toEqual(['onGrant succeeded at last', 'served']);
  });

  it('are told without those that were lost while loading', async () => {
    const { upcalls, slow } = bench();
    const load = slow('load');
    const loaded: unknown[] = [];
    upcalls.load('onArrive', [span(0n, 8n)], load.upcall, (ranges) => loaded.push(ranges.spans()));
    await turn();
    upcalls.lost(RangeSet.of([{ start: 2n, end: 4n }]));
    load.end();
    await turn();
    expect(loaded).toEqual([
      [
        { start: 0n, end: 2n },
        { start: 4n, end: 8n },
      ],
    ]);
  });

  it('are not served if they are lost while loading', async () => {
    const { story, upcalls, slow } = bench();
    const load = slow('load');
    upcalls.load('onGrant', [span(0n, 8n)], load.upcall, () => story.push('served'));
    await turn();
    upcalls.lost(RangeSet.of([span(0n, 8n)]));
    load.end();
    await turn();
    expect(story).toEqual(['load begins', 'load is told to stop']);
  });

  it('go on loading if only some of them are lost', async () => {
    const { story, upcalls, slow } = bench();
    const load = slow('load');
    upcalls.load('onGrant', [span(0n, 8n)], load.upcall, () => story.push('served'));
    await turn();
    upcalls.lost(RangeSet.of([span(0n, 4n)]));
    load.end();
    await turn();
    expect(story).toEqual(['load begins', 'served']);
  });

  it('are loaded again without those that were lost or have to be given back meanwhile', async () => {
    const { runtime, upcalls, slow } = bench();
    const load = slow('load');
    upcalls.load('onGrant', [span(0n, 8n)], load.upcall, () => {});
    await turn();
    upcalls.lost(RangeSet.of([span(0n, 2n)]));
    load.end(new Error('no database'));
    await turn();
    upcalls.flush([span(6n, 8n)], Promise.resolve(), undefined, () => {});
    runtime.pass(100);
    await turn();
    expect(load.asked.map((ranges) => ranges.spans())).toEqual([
      [{ start: 0n, end: 8n }],
      [{ start: 2n, end: 6n }],
    ]);
  });
});

describe('keys that have to be given back', () => {
  it('are given back when they are flushed and no work is under way', async () => {
    const { story, upcalls, slow } = bench();
    const flush = slow('flush');
    let endWork = (): void => {};
    const work = new Promise<void>((resolve) => (endWork = resolve));
    upcalls.flush([span(0n, 8n)], work, flush.upcall, () => story.push('given back'));
    await turn();
    flush.end();
    await turn();
    expect(story).toEqual(['flush begins']);
    endWork();
    await turn();
    expect(story).toEqual(['flush begins', 'given back']);
  });

  it('are given back although flushing fails', async () => {
    const { story, upcalls, slow } = bench();
    const flush = slow('flush');
    upcalls.flush([span(0n, 8n)], Promise.resolve(), flush.upcall, () => story.push('given back'));
    await turn();
    flush.end(new Error('no disk'));
    await turn();
    expect(story).toEqual(['flush begins', 'onRevoke failed: Error: no disk', 'given back']);
  });

  it('are not given back twice when the deadline has come first', async () => {
    const { story, upcalls, slow } = bench();
    const flush = slow('flush');
    upcalls.flush([span(0n, 8n)], Promise.resolve(), flush.upcall, () => story.push('given back'));
    await turn();
    upcalls.lost(RangeSet.of([span(0n, 8n)]));
    flush.end();
    await turn();
    expect(story).toEqual(['flush begins', 'flush is told to stop']);
  });

  it('are not flushed before loading them has come to an end', async () => {
    const { story, upcalls, slow } = bench();
    const [load, flush] = [slow('load'), slow('flush')];
    upcalls.load('onGrant', [span(0n, 8n)], load.upcall, () => story.push('served'));
    await turn();
    upcalls.flush([span(0n, 8n)], Promise.resolve(), flush.upcall, () => story.push('given back'));
    await turn();
    expect(story).toEqual(['load begins', 'load is told to stop']);
    load.end();
    await turn();
    flush.end();
    await turn();
    expect(story.slice(2)).toEqual(['flush begins', 'given back']);
  });

  it('wait for the loading that is under way, and not until it works for other keys', async () => {
    const { story, upcalls, slow } = bench();
    const [load, flush] = [slow('load'), slow('flush')];
    upcalls.load('onGrant', [span(0n, 8n)], load.upcall, () => story.push('served'));
    await turn();
    upcalls.flush([span(0n, 4n)], Promise.resolve(), flush.upcall, () => story.push('given back'));
    await turn();
    expect(story).toEqual(['load begins']);
    load.end(new Error('no database'));
    await turn();
    flush.end();
    await turn();
    expect(story.slice(2)).toEqual(['flush begins', 'given back']);
  });

  it('wait for no loading at all between one attempt and the next, or before the first', async () => {
    const { story, upcalls, slow } = bench();
    const [load, flush] = [slow('load'), slow('flush')];
    upcalls.load('onGrant', [span(0n, 8n)], load.upcall, () => story.push('served'));
    upcalls.flush([span(0n, 2n)], Promise.resolve(), flush.upcall, () => story.push('early ones given back'));
    await turn();
    flush.end();
    await turn();
    expect(story).toContain('early ones given back');
    expect(load.asked.map((ranges) => ranges.spans())).toEqual([[{ start: 2n, end: 8n }]]);
    load.end(new Error('no database'));
    await turn();
    upcalls.flush([span(2n, 4n)], Promise.resolve(), flush.upcall, () => story.push('others given back'));
    await turn();
    flush.end();
    await turn();
    expect(story).toContain('others given back');
  });

  it('are not flushed if they are lost before it begins', async () => {
    const { upcalls, slow } = bench();
    const [load, flush] = [slow('load'), slow('flush')];
    upcalls.load('onGrant', [span(0n, 8n)], load.upcall, () => {});
    await turn();
    upcalls.flush([span(0n, 8n)], Promise.resolve(), flush.upcall, () => {});
    upcalls.lost(RangeSet.of([span(0n, 4n)]));
    load.end();
    await turn();
    expect(flush.asked.map((ranges) => ranges.spans())).toEqual([[{ start: 4n, end: 8n }]]);
  });
});
