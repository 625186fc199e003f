import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { nodeRuntime } from '../../node/runtime.ts';
import { HandMovedRuntime } from '../../node/tcp/socket-script.ts';
import { InvalidArgumentError } from '../../runtime/errors.ts';
import { silent } from '../../runtime/logger.ts';
import type { Result } from '../core/result.ts';
import { VALUE_BYTES_MAX } from '../wire/bounds.ts';
import type { Call, Reply } from '../wire/calls.ts';
import type { CallWire, WireEvents } from './call-wire.ts';
import { connectQuorum } from './connect-quorum.ts';
import { QuorumClient } from './quorum-client.ts';
import { TestCell } from './testing/cells.ts';

const text = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);

const OMITTED = { kind: 'omitted', of: 'done', revision: 8, bytes: 5_000_000 } as const;

const SETTINGS = { cell: 'default', timeoutMs: 10_000, id: 'c' };

describe('a client', () => {
  it('writes under conditions, and is told what was found if they do not hold', async () => {
    await using cell = await TestCell.started('a');
    const client = await cell.connect('a');
    expect(await client.compareAndSet('k', 'absent', '1')).toMatchObject({ isDone: true });
    const refused = await client.compareAndSet('k', 'absent', '2');
    expect(refused).toMatchObject({ isDone: false });
    const [found] = refused.found;
    expect(text(found?.value)).toBe('1');
    expect(await client.compareAndSet('k', { revision: found?.revision ?? 0 }, '2')).toMatchObject({
      isDone: true,
    });
    expect(await client.compareAndSet('k', { value: '2' }, '3')).toMatchObject({ isDone: true });
    expect(text((await client.get('k')).value)).toBe('3');
  });

  it('does several things at one instant, or none of them', async () => {
    await using cell = await TestCell.started('a');
    const client = await cell.connect('a');
    await client.put('a', '1');
    const done = await client.transaction(
      [{ key: 'b', is: 'absent' }],
      [
        { do: 'get', key: 'a' },
        { do: 'delete', key: 'a' },
        { do: 'put', key: 'b', value: Uint8Array.of(7) },
      ],
    );
    expect(done.found.map(({ value }) => text(value))).toEqual(['1']);
    const { entries } = await client.snapshot(['a', 'b']);
    expect(entries.map(({ value }) => value && [...value])).toEqual([undefined, [7]]);
  });

  it('counts every increment once, although servers come and go', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const client = await cell.connect();
    await client.put('n', '0');
    let done = 0;
    let areAllBack = false;
    const count = async (): Promise<void> => {
      // Not up to a number: a quick client would be there before the first server is back, and nothing would be counted after.
      while (!areAllBack) {
        const { value, revision } = await client.get('n', { timeoutMs: 60_000 });
        const next = String(Number(text(value)) + 1);
        const outcome = await client.compareAndSet('n', { revision }, next, { timeoutMs: 60_000 });
        if (outcome.isDone) done += 1;
      }
    };
    const restart = async (): Promise<void> => {
      try {
        for (const name of ['a', 'b', 'c', 'a']) {
          await cell.stop(name);
          await cell.serves(name);
          const before = done;
          await vi.waitFor(() => expect(done).toBeGreaterThanOrEqual(before + 5), { timeout: 30_000 });
        }
      } finally {
        areAllBack = true;
      }
    };
    await Promise.all([count(), restart()]);
    expect(text((await client.get('n')).value)).toBe(String(done));
  }, 120_000);

  it('reads and writes many keys with one promise', async () => {
    await using cell = await TestCell.started('a');
    const client = await cell.connect('a');
    const keys = Array.from({ length: 3_000 }, (_, at) => `k${at}`);
    await client.putMany(keys.map((key) => [key, key]));
    const entries = await client.getMany(keys);
    expect(entries.map(({ value }) => text(value))).toEqual(keys);
    expect(await client.getMany([])).toEqual([]);
  });

  it('refuses what is too large before it is sent', async () => {
    await using cell = await TestCell.started('a');
    const client = await cell.connect('a');
    await expect(client.put('k', new Uint8Array(VALUE_BYTES_MAX + 1))).rejects.toMatchObject({
      code: 'TOO_LARGE',
    });
    await client.put('k', new Uint8Array(VALUE_BYTES_MAX));
    expect((await client.get('k')).value?.length).toBe(VALUE_BYTES_MAX);
    await expect(client.get('k'.repeat(5_000))).rejects.toMatchObject({ code: 'INVALID_KEY' });
  });

  it('says that nobody answered, and whether a write may have taken effect', async () => {
    await using client = await connectQuorum({ servers: ['127.0.0.1:1'], logger: silent });
    await expect(client.get('k', { timeoutMs: 200 })).rejects.toMatchObject({
      code: 'TIMEOUT',
      retryable: true,
      message: expect.stringMatching(
        /^no answer within 200 ms; 127\.0\.0\.1:1: .* port right\? A majority .* all replicas of its list once: ask leasehold quorum status$/,
      ),
    });
    await expect(client.put('k', 'v', { timeoutMs: 200 })).rejects.toMatchObject({
      isOutcomeKnown: true,
      message: expect.stringContaining('; the write was not sent'),
    });
  });

  it('keeps the process alive while a call or a watch waits for a server', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
    await using client = await connectQuorum({ servers: ['127.0.0.1:1'], logger: silent });
    const before = timers();
    const watch = client.watch({ key: 'k' });
    expect(timers()).toBe(before + 1);
    void watch.return();
    expect(timers()).toBe(before);
    const asked = client.get('k', { timeoutMs: 100 });
    expect(timers()).toBe(before + 1);
    await expect(asked).rejects.toMatchObject({ code: 'TIMEOUT' });
  });

  it('is closed by close(), as the replica is', async () => {
    await using cell = await TestCell.started('a');
    const replica = cell.replicas.get('a') ?? expect.unreachable();
    const client = await cell.connect('a');
    await client.close();
    await expect(client.get('k')).rejects.toMatchObject({ code: 'CLOSED' });
    await replica.close();
    await expect(replica.ready()).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('pauses between attempts to reach a server that hangs up', async () => {
    let attempts = 0;
    const server = createServer((socket) => {
      attempts += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await using client = await connectQuorum({ servers: [`127.0.0.1:${port}`], logger: silent });
    await expect(client.get('k', { timeoutMs: 1_000 })).rejects.toMatchObject({ code: 'TIMEOUT' });
    server.close();
    expect(attempts).toBeGreaterThan(1);
    expect(attempts).toBeLessThan(15);
  });

  it('goes to another server once, however many calls are refused together', async () => {
    const events: Reply[][] = [];
    let moves = 0;
    let wireEvents: WireEvents | undefined;
    const wire: CallWire = {
      ...{
        sessionMs: 1_000,
        isOpen: true,
        server: 'here',
        open: () => {},
        redirect: () => {},
        problems: () => '',
        refusal: () => undefined,
      },
      send: (calls) => {
        events.push(
          calls.map(({ id }) => ({ kind: 'answer', id, answer: { kind: 'refused', why: 'not-ready' } })),
        );
      },
      next: () => {
        moves += 1;
        wireEvents?.renewed();
      },
      [Symbol.asyncDispose]: async () => {},
    };
    const client = new QuorumClient(nodeRuntime(), SETTINGS, (given) => {
      wireEvents = given;
      return wire;
    });
    const asked = Array.from({ length: 100 }, () => client.get('k').catch(() => {}));
    await vi.waitFor(() => expect(events).toHaveLength(1), { timeout: 60_000 });
    wireEvents?.replies(events[0] ?? []);
    await vi.waitFor(() => expect(events.length).toBeGreaterThan(1), { timeout: 60_000 });
    // A slow test run may see further packets: what is not answered is sent again after a while.
    expect(events.slice(0, 2).map((packet) => packet.length)).toEqual([100, 100]);
    expect(moves).toBe(1);
    await client[Symbol.asyncDispose]();
    await Promise.all(asked);
  });

  it('waits for its session as long as each write may wait, and no longer', async () => {
    const runtime = new HandMovedRuntime();
    let sent: readonly Call[] = [];
    let wireEvents: WireEvents | undefined;
    const wire: CallWire = {
      ...{
        sessionMs: 60_000,
        isOpen: true,
        server: 'here',
        open: () => {},
        next: () => {},
        redirect: () => {},
      },
      ...{ problems: () => '', refusal: () => undefined, [Symbol.asyncDispose]: async () => {} },
      send: (calls) => {
        sent = calls;
      },
    };
    await using client = new QuorumClient(runtime, SETTINGS, (given) => {
      wireEvents = given;
      return wire;
    });
    const outcomes: string[] = [];
    const put = (timeoutMs: number): Promise<void> =>
      client.put('k', 'v', { timeoutMs }).then(
        ({ revision }) => void outcomes.push(`written as ${revision}`),
        (error: Error) => void outcomes.push(error.message),
      );
    const puts = [put(60_000), put(5_000)];
    runtime.pass(30_000);
    await puts[1];
    expect(outcomes).toEqual([expect.stringContaining('5000 ms')]);
    const answer = async (kind: string, result: Result): Promise<void> => {
      const asked = await vi.waitUntil(
        () => sent.findLast((call) => call.kind === 'submit' && call.command.kind === kind),
        { timeout: 60_000 },
      );
      wireEvents?.replies([
        { kind: 'answer', id: asked.id, answer: { kind: 'result', result, position: 1 } },
      ]);
    };
    await answer('open-session', { kind: 'opened', session: 7 });
    await answer('transaction', { kind: 'done', revision: 8, found: [] });
    await puts[0];
    expect(outcomes[1]).toBe('written as 8');
  });

  describe('a client whose answer was lost, and not kept by the cell', () => {
    /** Answers each transaction with the next of these results. */
    const connected = (...results: Result[]): { client: QuorumClient; numbers: number[] } => {
      let copy: Reply | undefined;
      const numbers: number[] = [];
      const wire = (events: WireEvents): CallWire => ({
        ...{
          sessionMs: 60_000,
          isOpen: true,
          server: 'here',
          open: () => {},
          next: () => {},
          redirect: () => {},
        },
        ...{ problems: () => '', refusal: () => undefined, [Symbol.asyncDispose]: async () => {} },
        send: (calls) => {
          for (const call of calls) {
            if (call.kind !== 'submit') continue;
            const isOpening = call.command.kind === 'open-session';
            const result = isOpening ? ({ kind: 'opened', session: 7 } as const) : results.shift();
            if (!isOpening && call.command.kind === 'transaction') numbers.push(call.number);
            if (result === undefined) continue;
            const reply: Reply = {
              ...{ kind: 'answer', id: call.id, answer: { kind: 'result', result, position: 1 } },
            };
            // A call that was sent twice is answered twice: at once, or when the next call is under way.
            events.replies([...(copy === undefined ? [] : [copy]), reply, reply]);
            copy = isOpening ? undefined : reply;
          }
        },
      });
      return { client: new QuorumClient(nodeRuntime(), SETTINGS, wire), numbers };
    };

    it('tries a condition again, under a number of its own, if the condition did not hold', async () => {
      const unmet: Result = { kind: 'unmet', revision: 9, found: [] };
      const { client, numbers } = connected({ ...OMITTED, of: 'unmet' }, unmet);
      await using _ = client;
      expect(await client.compareAndSet('k', 'absent', 'v')).toMatchObject({ isDone: false });
      expect(numbers).toEqual([1, 2]);
    });

    it('takes no copy of the first answer for the answer to the second attempt', async () => {
      const { client, numbers } = connected(
        { ...OMITTED, of: 'unmet' },
        { kind: 'done', revision: 9, found: [] },
      );
      await using _ = client;
      expect(await client.compareAndSet('k', 'absent', 'v')).toMatchObject({ isDone: true, revision: 9 });
      expect(numbers).toEqual([1, 2]);
    });

    it('says that a transaction was carried out and its answer is not known', async () => {
      const { client, numbers } = connected(OMITTED);
      await using _ = client;
      const asked = client.transaction([], [{ do: 'get', key: 'k' }]);
      await expect(asked).rejects.toMatchObject({ code: 'ANSWER_LOST', retryable: false });
      expect(numbers).toEqual([1]);
    });

    it('says that the answer is too large, and whether the transaction was carried out', async () => {
      const tooLarge = { ...OMITTED, bytes: 2 ** 30 };
      const { client, numbers } = connected(tooLarge, { ...tooLarge, of: 'unmet' });
      await using _ = client;
      const gets = [{ do: 'get', key: 'k' }] as const;
      for (const [code, message] of [
        ['ANSWER_LOST', / was carried out/],
        ['TOO_LARGE', / was not carried out/],
      ] as const)
        await expect(client.transaction([], gets)).rejects.toMatchObject({
          code,
          message: expect.stringMatching(message),
        });
      expect(numbers).toEqual([1, 2]);
    });
  });

  it('begins a watch again, and elsewhere, after a server that does not serve yet', async () => {
    let servers = 0;
    let asks = 0;
    const wire = (events: WireEvents): CallWire => ({
      ...{
        sessionMs: 1_000,
        isOpen: true,
        server: 'here',
        open: () => {},
        redirect: () => {},
        problems: () => '',
        refusal: () => undefined,
      },
      send: (calls) => {
        for (const { id, kind } of calls) {
          if (kind !== 'watch') continue;
          asks += 1;
          const refused: Reply = { kind: 'answer', id, answer: { kind: 'refused', why: 'not-ready' } };
          const whole: Reply = { kind: 'changes', id, position: 7, isWhole: true, found: [] };
          events.replies([asks > 2 ? whole : refused]);
        }
      },
      next: () => {
        servers += 1;
      },
      [Symbol.asyncDispose]: async () => {},
    });
    await using client = new QuorumClient(nodeRuntime(), SETTINGS, wire);
    expect(await client.watch({ key: 'k' }).next()).toMatchObject({ value: { position: 7, isWhole: true } });
    expect([asks, servers > 0]).toEqual([3, true]);
  });

  it.each([
    ['a server that is a number', { servers: [5] }],
    ['no server', { servers: [] }],
    ['a logger without methods', { servers: ['127.0.0.1:1'], logger: {} }],
    ['a text for inOrder', { servers: ['127.0.0.1:1'], inOrder: 'yes' }],
  ])('is not made with %s', async (_, options) => {
    await expect(connectQuorum(options as never)).rejects.toThrow(InvalidArgumentError);
  });

  it('stops waiting when its signal says so', async () => {
    await using client = await connectQuorum({ servers: ['127.0.0.1:1'], logger: silent });
    const ending = new AbortController();
    const asked = client.get('k', { signal: ending.signal });
    ending.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    await expect(client.put('k', 'v', { signal: ending.signal })).rejects.toThrow('enough');
  });

  it('waits for a cell that has no majority, and goes on when there is one', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const client = await cell.connect('a');
    await client.put('k', '1');
    await cell.stop('b');
    await cell.stop('c');
    await expect(client.put('k', '2', { timeoutMs: 300 })).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      isOutcomeKnown: false,
      message: expect.stringContaining('; whether the write took effect is unknown'),
    });
    const waiting = client.put('k', '3', { timeoutMs: 60_000 });
    await cell.start('b');
    await waiting;
    expect(text((await client.get('k')).value)).toBe('3');
  });
});
