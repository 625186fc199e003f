import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { silent } from '../../runtime/logger.ts';
import { nodeRuntime } from '../runtime.ts';
import type { Signal } from './signals.ts';
import { type Stoppable, stopInOrder } from './stop-on-signals.ts';
import { HandMovedRuntime, listeningLogger } from '../tcp/socket-script.ts';

/** A process that can be sent signals, and the exit code. */
function bench(stoppables: readonly Stoppable[], runtime = new HandMovedRuntime()) {
  const ends: string[] = [];
  const logger = listeningLogger();
  let handle: ((signal: Signal) => void) | undefined;
  const stopping = stopInOrder(stoppables, {
    ...{ runtime, logger },
    onSignals: (_, use) => {
      handle = use;
      return { [Symbol.dispose]: () => (handle = undefined) };
    },
    endSoon: (code) => ends.push(`soon ${code}`),
    endNow: (code) => ends.push(`now ${code}`),
  });
  return { stopping, ends, logger, runtime, send: (signal: Signal) => handle?.(signal) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Something that stops only on command. */
function slow(story: string[], name: string) {
  let finish = (): void => {};
  const end = new Promise<void>((resolve) => (finish = resolve));
  const stop = async (): Promise<void> => {
    story.push(`${name} stops`);
    await end;
    story.push(`${name} has stopped`);
  };
  return { stop, finish };
}

describe('a process that is told to end', () => {
  it('stops what it was given one after the other, then ends with code 0', async () => {
    const story: string[] = [];
    const [owner, database] = [slow(story, 'owner'), slow(story, 'database')];
    const { send, ends, stopping } = bench([{ [Symbol.asyncDispose]: owner.stop }, database.stop]);
    send('SIGTERM');
    await turn();
    expect(stopping.signal.aborted).toBe(true);
    expect(story).toEqual(['owner stops']);
    owner.finish();
    await turn();
    expect(story).toEqual(['owner stops', 'owner has stopped', 'database stops']);
    expect(ends).toEqual([]);
    database.finish();
    await turn();
    expect(ends).toEqual(['soon 0']);
  });

  it('takes a copy of the signal for a copy, and the next one for an order to end at once', async () => {
    const owner = slow([], 'owner');
    const { send, ends, runtime } = bench([owner.stop]);
    send('SIGTERM');
    send('SIGTERM');
    runtime.pass(999);
    send('SIGTERM');
    expect(ends).toEqual([]);
    runtime.pass(1);
    send('SIGTERM');
    expect(ends).toEqual(['now 143']);
  });

  it('ends at once with a second signal of another kind', () => {
    const { send, ends } = bench([slow([], 'owner').stop]);
    send('SIGTERM');
    send('SIGINT');
    expect(ends).toEqual(['now 130']);
  });

  it('stops the others when one cannot be stopped, says why and ends with code 1', async () => {
    const stopped: string[] = [];
    const failing = (): never => {
      throw new Error('the disk is full');
    };
    const { send, ends, logger } = bench([failing, () => stopped.push('database')]);
    send('SIGINT');
    await turn();
    expect([stopped, ends]).toEqual([['database'], ['soon 1']]);
    expect(logger.lines).toMatchObject([{ level: 'error', why: 'Error: the disk is full' }]);
  });

  it('is not stopped by signals any more once stopping was disposed of', () => {
    const { send, ends, stopping } = bench([]);
    stopping[Symbol.dispose]();
    send('SIGTERM');
    expect([stopping.signal.aborted, ends]).toEqual([false, []]);
  });
});

describe('what cannot be stopped', () => {
  it.each([
    [Promise.resolve(), 'stopOnSignals[1] is [object Promise], but it is a promise: await it first'],
    [undefined, 'stopOnSignals[1] is undefined, but it must be an owner'],
    [null, 'stopOnSignals[1] is null'],
    [{ port: 1 }, 'it must be an owner'],
    [{ listening: true }, 'it must be an owner'],
    ['owner', 'stopOnSignals[1] is owner'],
  ])('is refused at the call, before any signal is heard: %s', (given, words) => {
    expect(() => bench([() => {}, given as unknown as Stoppable])).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(words) }),
    );
  });
});

describe('a server that is closed with its process', () => {
  it('answers the request under way, and does not wait for connections that are kept alive', async () => {
    let answer = (): void => {};
    const server = createServer((request, response) => {
      if (request.url === '/at-once') response.end();
      else answer = () => response.end('late');
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    await Promise.all(
      [1, 2].map(() => fetch(`http://127.0.0.1:${port}/at-once`).then((done) => done.text())),
    );
    const asked = once(server, 'request');
    const fetched = fetch(`http://127.0.0.1:${port}/`);
    await asked;

    const ends: number[] = [];
    let send = (_: Signal): void => {};
    stopInOrder([server], {
      ...{ runtime: nodeRuntime(), logger: silent, endNow: () => {} },
      onSignals: (_, use) => ((send = use), { [Symbol.dispose]: () => {} }),
      endSoon: (code) => ends.push(code),
    });
    send('SIGTERM');
    await vi.waitUntil(() => !server.listening, { timeout: 30_000 });
    expect(ends).toEqual([]);
    answer();
    expect(await (await fetched).text()).toBe('late');
    await vi.waitUntil(() => ends.length > 0, { timeout: 30_000 });
    expect(ends).toEqual([0]);
  });

  it('is left alone if it does not listen', async () => {
    const { send, ends } = bench([createServer()]);
    send('SIGTERM');
    await turn();
    expect(ends).toEqual(['soon 0']);
  });
});
