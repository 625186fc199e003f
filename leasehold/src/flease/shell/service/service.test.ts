import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silent } from '../../../runtime/logger.ts';
import { freePeers, join, LEASE_MS, SKEW_MS, TestGroup } from '../testing/groups.ts';
import { metricsText } from '../../../node/service/merged-metrics.ts';
import { serveStatus, type StatusServer } from '../../../node/service/serve-status.ts';
import { METRICS } from './metrics.ts';
import { complaintsAbout } from '../../../node/testing/exposition.ts';

const LONG_MS = 30_000;

const ask = async (server: StatusServer, path: string): Promise<{ status: number; body: unknown }> => {
  const answer = await fetch(`${server.url}${path}`);
  return { status: answer.status, body: await answer.json() };
};

/** Server-sent events, one after the other. */
class EventReader implements Disposable {
  readonly #leaving: AbortController;
  readonly #pieces: AsyncIterator<string>;
  #text = '';

  private constructor(leaving: AbortController, pieces: AsyncIterator<string>) {
    this.#leaving = leaving;
    this.#pieces = pieces;
  }

  static async open(url: string): Promise<EventReader> {
    const leaving = new AbortController();
    const { body } = await fetch(url, { signal: leaving.signal });
    if (body === null) throw new Error('there is no stream');
    return new EventReader(leaving, body.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]());
  }

  async next(): Promise<{ event: string; data: unknown }> {
    for (;;) {
      const [whole, event = '', data = ''] = /^event: (.*)\ndata: (.*)\n\n/m.exec(this.#text) ?? [];
      if (whole !== undefined) {
        this.#text = this.#text.slice(this.#text.indexOf(whole) + whole.length);
        return { event, data: JSON.parse(data) };
      }
      const { done, value } = await this.#pieces.next();
      if (done === true) throw new Error('the stream has ended');
      this.#text += value;
    }
  }

  [Symbol.dispose](): void {
    this.#leaving.abort();
  }
}

const resource = (path: string, name: string): string => `${path}?resource=${encodeURIComponent(name)}`;

describe('a member that is asked over HTTP', { timeout: LONG_MS }, () => {
  let group: TestGroup;
  let server: StatusServer;

  beforeAll(async () => {
    group = await TestGroup.start();
    server = await serveStatus(group.of('a'), { listen: '127.0.0.1:0', logger: silent });
  }, LONG_MS);
  afterAll(async () => {
    await server.close();
    await group[Symbol.asyncDispose]();
  });

  it('tells how it is, and how it finds the others, with null for what is not known', async () => {
    const { status, body } = await ask(server, '/v1/status');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...{ isReady: true, whyNotReady: null },
      handles: [
        {
          ...{ module: 'flease', instance: 'default', name: 'a', isReady: true, waitsFor: null },
          ...{ peersVersion: 1, isSettled: true, recovery: null },
          ...{ leaseMs: LEASE_MS, clockSkewMs: SKEW_MS },
          peers: [
            { name: 'b', connected: true, trouble: null, otherDurations: null },
            { name: 'c', connected: true, trouble: null, otherDurations: null },
          ],
        },
      ],
    });
  });

  it('tells who has a resource, whatever is in its name', async () => {
    const name = 'a name/with ?&% and {more}';
    expect((await ask(server, resource('/v1/flease/default/holder', name))).body).toEqual({
      resource: name,
      holder: null,
    });
    await using lease = await group.of('b').acquire(name);
    expect((await ask(server, resource('/v1/flease/default/holder', name))).body).toMatchObject({
      resource: name,
      holder: { holder: 'b', number: lease.number },
    });
  });

  it('refuses a resource that is none, and says what it must be', async () => {
    for (const path of [
      '/v1/flease/default/holder',
      '/v1/flease/default/watch?resource=',
      resource('/v1/flease/default/holder', 'x'.repeat(2_000)),
    ]) {
      const { status, body } = await ask(server, path);
      expect([status, body]).toMatchObject([400, { error: { code: 'INVALID_PARAMETER' } }]);
    }
  });

  it('streams who has it, at first and whenever that changes', async () => {
    const leaving = new AbortController();
    const answer = await fetch(`${server.url}${resource('/v1/flease/default/watch', 'streamed')}`, {
      signal: leaving.signal,
    });
    const seen: unknown[] = [];
    let text = '';
    const lease = await group.of('c').acquire('streamed');
    const pieces = answer.body?.pipeThrough(new TextDecoderStream()) ?? [];
    for await (const piece of pieces) {
      text += piece;
      for (const [, data = ''] of text.matchAll(/^data: (.*)\n\n/gm)) seen.push(JSON.parse(data));
      text = text.slice(text.lastIndexOf('\n\n') + 2);
      if (seen.some((each) => JSON.stringify(each).includes(String(lease.number)))) break;
    }
    expect(seen.at(-1)).toMatchObject({
      resource: 'streamed',
      holder: { holder: 'c', number: lease.number },
    });
    leaving.abort();
    await lease.release();
  });

  it('tells Prometheus', async () => {
    const answer = await fetch(`${server.url}/metrics`);
    expect(answer.headers.get('content-type')).toContain('version=0.0.4');
    const text = await answer.text();
    expect(complaintsAbout(text)).toEqual([]);
    for (const { name, type } of METRICS) expect(text).toContain(`# TYPE ${name} ${type}\n`);
    expect(text).toContain('leasehold_flease_peer_connected{cell="default",peer="b"} 1\n');
    expect(text).toMatch(/^leasehold_flease_attempts_total\{cell="default"\} [1-9]/m);
    expect(text).toMatch(/^process_resident_memory_bytes \d/m);
  });

  it('can be told of together with members of other cells', () => {
    const other = { ...group.of('b').toService(), instance: 'other' };
    const text = metricsText([group.of('a'), { toService: () => other }]);
    expect(text.match(/# TYPE leasehold_flease_held gauge/g)).toHaveLength(1);
    expect(text).toContain(
      'leasehold_flease_held{cell="default"} 0\nleasehold_flease_held{cell="other"} 0\n',
    );
  });

  it('cannot be told of together with another of the same cell, whose figures would look like its own', () => {
    expect(() => metricsText([group.of('a'), group.of('b')])).toThrow(
      'option handles is flease default, but each instance of a module may be there once',
    );
  });
});

describe('a member that is not ready, or alone', { timeout: LONG_MS }, () => {
  it('says so, with reasons, until it takes part', async () => {
    const peers = await freePeers('a', 'b');
    await using alone = await join('a', peers);
    await using server = await serveStatus(alone, { listen: '127.0.0.1:0', logger: silent });
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
    expect((await ask(server, '/v1/status')).body).toMatchObject({
      handles: [{ recovery: { why: 'began' } }],
    });
    await alone.ready();
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    const { status, body } = await ask(server, resource('/v1/flease/default/holder', 'r'));
    expect([status, body]).toMatchObject([
      503,
      { error: { code: 'NO_MAJORITY', reasons: { b: expect.stringContaining('not connected') } } },
    ]);
  });

  it('is not ready while a lease waits for a majority that is not heard, and is once it is', async () => {
    const peers = await freePeers('a', 'b');
    await using alone = await join('a', peers);
    await using server = await serveStatus(alone, { listen: '127.0.0.1:0', logger: silent });
    await alone.ready();
    const acquired = alone.acquire('r');
    const red = await fetch(`${server.url}/readyz`);
    expect([red.status, await red.json()]).toMatchObject([
      503,
      {
        why: expect.stringMatching(/^it hears too few members to renew a lease: 2 of 2 .* b \(/),
        stalls: [{ check: 'majority' }],
      },
    ]);
    await using _ = await join('b', peers);
    await using lease = await acquired;
    expect(lease.isHeld()).toBe(true);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  });

  it('says that it was closed, to each request after that', async () => {
    await using group = await TestGroup.start(['a']);
    await using server = await serveStatus(group.of('a'), { listen: '127.0.0.1:0', logger: silent });
    await group.of('a').close();
    const ready = await fetch(`${server.url}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([
      503,
      { isReady: false, why: 'it was closed, and takes no part any more' },
    ]);
    expect((await ask(server, '/v1/status')).body).toMatchObject({
      handles: [{ closed: { code: 'CLOSED' } }],
    });
    const { status, body } = await ask(server, resource('/v1/flease/default/holder', 'r'));
    expect([status, body]).toMatchObject([503, { error: { code: 'CLOSED' } }]);
  });
});

describe('a member that is watched', { timeout: LONG_MS }, () => {
  it('tells that nobody knows when there is no majority, and who has it when there is one again', async () => {
    await using group = await TestGroup.start(['a', 'b'], {}, 2);
    await using server = await serveStatus(group.of('a'), { listen: '127.0.0.1:0', logger: silent });
    using events = await EventReader.open(`${server.url}${resource('/v1/flease/default/watch', 'r')}`);
    expect(await events.next()).toEqual({ event: 'holder', data: { resource: 'r', holder: null } });
    await group.of('b').close();
    expect(await events.next()).toMatchObject({
      event: 'no-majority',
      data: { resource: 'r', error: { code: 'NO_MAJORITY', reasons: { b: expect.any(String) } } },
    });
    await using _ = await join('b', group.peers);
    expect(await events.next()).toEqual({ event: 'holder', data: { resource: 'r', holder: null } });
  });

  it('tells why nobody knows yet while it recovers', async () => {
    await using alone = await join('a', await freePeers('a'));
    await using server = await serveStatus(alone, { listen: '127.0.0.1:0', logger: silent });
    using events = await EventReader.open(`${server.url}${resource('/v1/flease/default/watch', 'r')}`);
    expect(await events.next()).toMatchObject({
      event: 'no-majority',
      data: { error: { reasons: { a: expect.stringContaining('recovers for') } } },
    });
    expect(await events.next()).toMatchObject({ event: 'holder' });
  });
});

describe('the metrics of a member', () => {
  it('are listed in docs/metrics.md, and nothing else is', () => {
    const text = readFileSync(new URL('../../../../../docs/metrics.md', import.meta.url), 'utf8');
    const [section = ''] = text.split('\n## A member of a cell\n')[1]?.split('\n## ') ?? [];
    const documented = [...section.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$/gm)].map(
      ([, name, type, labels, help]) => [name, type, labels?.replaceAll('`', ''), help],
    );
    expect(documented).toEqual(
      METRICS.map(({ name, type, labels, help }) => [name, type, labels.join(', '), help]),
    );
  });
});
