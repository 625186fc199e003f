import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { invalidKey } from '../../runtime/errors.ts';
import { silent } from '../../runtime/logger.ts';
import { closed, guardWithinGuard, leaseLost, notOwner, notServed } from './errors.ts';
import { httpAnswer, isMisdirected } from './http-answer.ts';
import { joinPool } from './owner/join-pool.ts';
import type { PoolOwner } from './owner/pool-owner.ts';
import { startManager } from './manager/start-manager.ts';

/** A server on loopback that answers what the work throws. */
async function serve(work: () => Promise<unknown>) {
  const listener: RequestListener = async (request, response) => {
    request.resume();
    try {
      await work();
      response.writeHead(204).end();
    } catch (error) {
      const { status, headers, body } = httpAnswer(error) ?? { status: 500, headers: {}, body: '' };
      response.writeHead(status, headers).end(body);
    }
  };
  const server = createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
}

const post = (url: string): Promise<Response> => fetch(url, { method: 'POST', body: 'charge the card' });

/** An owner, and the Manager that it depends on. */
async function ownerOf(key: string, leaseMs?: number) {
  const manager = await startManager({
    listen: '127.0.0.1:0',
    firstStart: true,
    defaults: { leaseMs },
    logger: silent,
  });
  const owner = await joinPool({
    managers: [manager.address],
    pool: 'p',
    name: 'a',
    url: 'http://a',
    logger: silent,
  });
  await owner.whenOwned(key);
  return {
    manager,
    owner,
    [Symbol.asyncDispose]: async () => {
      await owner.close();
      await manager.close();
    },
  };
}

describe('the answer of a server', () => {
  it.each([
    ['503', 'to repeat elsewhere', notOwner('alice')],
    ['503', 'to repeat elsewhere', closed('the owner')],
    ['503', 'to repeat', notServed('alice', false, undefined)],
    ['409', 'not to repeat', leaseLost('alice', 5)],
    ['400', 'that it is wrong', invalidKey(5)],
    ['nothing', 'of ours', guardWithinGuard('alice')],
    ['nothing', 'of ours', closed('the look-up')],
    ['nothing', 'of ours', new Error('out of stock')],
    ['nothing', 'of ours', Object.assign(new Error('reset'), { code: 'ECONNRESET' })],
    ['nothing', 'of ours', undefined],
  ])('is %s, %s: %s', (status, _, error) => {
    const answer = httpAnswer(error);
    expect(String(answer?.status ?? 'nothing')).toBe(status);
    expect(answer?.headers['retry-after']).toBe(status === '503' ? '1' : undefined);
    if (answer === undefined || error === undefined || !('code' in error)) return;
    expect(answer.headers['leasehold-error']).toBe(error.code);
    expect(JSON.parse(answer.body)).toEqual({ error: { code: error.code, message: error.message } });
  });

  it('is understood by a caller that uses fetch, and by one that uses node:http', async () => {
    await using server = await serve(async () => {
      throw notOwner('alice');
    });
    expect(isMisdirected(await post(server.url))).toBe(true);
    const message = await new Promise<IncomingMessage>((resolve) => get(server.url, resolve));
    message.resume();
    expect(isMisdirected(message)).toBe(true);
    expect([new Response('', { status: 503 }), new Response(), undefined, 'x'].some(isMisdirected)).toBe(
      false,
    );
  });
});

describe('a request whose work has run', () => {
  it('is not sent again by fetch when the lease was lost meanwhile', async () => {
    await using pool = await ownerOf('alice', 2_000);
    let runs = 0;
    await using server = await serve(() =>
      pool.owner.guard('alice', async ({ signal }) => {
        runs += 1;
        await pool.manager.close(); // nobody renews the lease from here on
        if (!signal.aborted) await once(signal, 'abort');
        while (pool.owner.check('alice') !== undefined) await new Promise(setImmediate);
      }),
    );
    let answer = await post(server.url);
    while (runs === 0) answer = await post(server.url); // on a busy machine the lease may lapse before the work begins
    expect([answer.status, answer.headers.get('leasehold-error')]).toEqual([409, 'LEASE_LOST']);
    expect(runs).toBe(1);
  });

  it('is not answered as misdirected when its work needs a key that is elsewhere', async () => {
    await using pool = await ownerOf('alice');
    const elsewhere = { guard: () => Promise.reject(notOwner('bob')) } as unknown as PoolOwner;
    let runs = 0;
    await using server = await serve(() =>
      pool.owner.guard('alice', async () => {
        runs += 1;
        await elsewhere.guard('bob', () => {});
      }),
    );
    const answer = await post(server.url);
    expect([answer.status, answer.headers.get('retry-after'), runs]).toEqual([409, null, 1]);
    expect(isMisdirected(answer)).toBe(false);
  });
});
