import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../runtime/errors.ts';
import { silent } from '../../../runtime/logger.ts';
import type { Flease } from '../flease.ts';
import { freePeers, join, LEASE_MS, SKEW_MS, TestGroup } from '../testing/groups.ts';
import { fleaseMetrics, METRICS } from './metrics.ts';
import { type FleaseServer, serveFlease } from './serve-member.ts';

const LONG_MS = 30_000;

const ask = async (server: FleaseServer, path: string): Promise<{ status: number; body: unknown }> => {
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
  let server: FleaseServer;

  beforeAll(async () => {
    group = await TestGroup.start();
    server = await serveFlease(group.of('a'), { port: 0, logger: silent });
  }, LONG_MS);
  afterAll(async () => {
    await server.close();
    await group[Symbol.asyncDispose]();
  });

  it('tells how it is, and how it finds the others, with null for what is not known', async () => {
    const { status, body } = await ask(server, '/v1/status');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...{ id: 'a', group: 'default', view: 1, isSettled: true, recovery: null },
      ...{ leaseMs: LEASE_MS, clockSkewMs: SKEW_MS },
      peers: [
        { id: 'b', connected: true, trouble: null, otherDurations: null },
        { id: 'c', connected: true, trouble: null, otherDurations: null },
      ],
    });
  });

  it('tells who has a resource, whatever is in its name', async () => {
    const name = 'a name/with ?&% and {more}';
    expect((await ask(server, resource('/v1/holder', name))).body).toEqual({ resource: name, holder: null });
    await using lease = await group.of('b').acquire(name);
    expect((await ask(server, resource('/v1/holder', name))).body).toMatchObject({
      resource: name,
      holder: { holder: 'b', number: lease.number },
    });
  });

  it('refuses a resource that is none, and says what it must be', async () => {
    for (const path of ['/v1/holder', '/v1/watch?resource=', resource('/v1/holder', 'x'.repeat(2_000))]) {
      const { status, body } = await ask(server, path);
      expect([status, body]).toMatchObject([400, { error: { code: 'INVALID_PARAMETER' } }]);
    }
  });

  it('streams who has it, at first and whenever that changes', async () => {
    const leaving = new AbortController();
    const answer = await fetch(`${server.url}${resource('/v1/watch', 'streamed')}`, {
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
    for (const { name, type } of METRICS) expect(text).toContain(`# TYPE ${name} ${type}\n`);
    expect(text).toContain('leasehold_flease_peer_connected{group="default",peer="b"} 1\n');
    expect(text).toMatch(/^leasehold_flease_attempts_total\{group="default"\} [1-9]/m);
    expect(text).toMatch(/^process_resident_memory_bytes \d/m);
  });

  it('can be told of together with other groups', () => {
    const text = fleaseMetrics([
      group.of('a'),
      { status: () => ({ ...group.of('b').status(), group: 'other' }) },
    ]);
    expect(text.match(/# TYPE leasehold_flease_held gauge/g)).toHaveLength(1);
    expect(text).toContain(
      'leasehold_flease_held{group="default"} 0\nleasehold_flease_held{group="other"} 0\n',
    );
  });

  it('cannot be told of together with another of the same group, whose figures would look like its own', () => {
    expect(() => fleaseMetrics([group.of('a'), group.of('b')])).toThrow(
      'option groups is default, but each group may be there once, and a and b are both of that one',
    );
  });
});

describe('a port that is none', () => {
  it.each([99_999, -1, 7.5])('is refused: %s', async (port) => {
    // It is refused before the group is looked at.
    await expect(serveFlease({} as Flease, { port })).rejects.toThrow(InvalidOptionError);
  });
});

describe('a member that is not ready, or alone', { timeout: LONG_MS }, () => {
  it('says so, with reasons, until it takes part', async () => {
    const peers = await freePeers('a', 'b');
    await using alone = await join('a', peers);
    await using server = await serveFlease(alone, { port: 0, logger: silent });
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
    expect((await ask(server, '/v1/status')).body).toMatchObject({ recovery: { why: 'began' } });
    await alone.ready();
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    const { status, body } = await ask(server, resource('/v1/holder', 'r'));
    expect([status, body]).toMatchObject([
      503,
      { error: { code: 'NO_MAJORITY', reasons: { b: expect.stringContaining('not connected') } } },
    ]);
  });

  it('is not ready while a lease waits for a majority that is not heard, and is once it is', async () => {
    const peers = await freePeers('a', 'b');
    await using alone = await join('a', peers);
    await using server = await serveFlease(alone, { port: 0, logger: silent });
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
    await using server = await serveFlease(group.of('a'), { port: 0, logger: silent });
    await group.of('a').close();
    const ready = await fetch(`${server.url}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([
      503,
      { isReady: false, why: 'it was closed, and takes no part any more' },
    ]);
    expect((await ask(server, '/v1/status')).body).toMatchObject({ gone: { why: 'closed' } });
    const { status, body } = await ask(server, resource('/v1/holder', 'r'));
    expect([status, body]).toMatchObject([503, { error: { code: 'CLOSED' } }]);
  });

  it('is told of to nobody beyond this machine, unless somebody says so', async () => {
    const peers = await freePeers('a');
    await using alone = await join('a', peers, { leaseMs: LEASE_MS, clockSkewMs: SKEW_MS });
    await expect(serveFlease(alone, { host: '0.0.0.0', port: 0 })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    });
    await expect(serveFlease(alone, { portt: 0 } as object)).rejects.toThrow('portt');
  });
});

describe('a member that is watched', { timeout: LONG_MS }, () => {
  it('tells that nobody knows when there is no majority, and who has it when there is one again', async () => {
    await using group = await TestGroup.start(['a', 'b'], {}, 2);
    await using server = await serveFlease(group.of('a'), { port: 0, logger: silent });
    using events = await EventReader.open(`${server.url}${resource('/v1/watch', 'r')}`);
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
    await using server = await serveFlease(alone, { port: 0, logger: silent });
    using events = await EventReader.open(`${server.url}${resource('/v1/watch', 'r')}`);
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
    const [section = ''] = text.split('\n## A member of a group\n')[1]?.split('\n## ') ?? [];
    const documented = [...section.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$/gm)].map(
      ([, name, type, labels, help]) => [name, type, labels?.replaceAll('`', ''), help],
    );
    expect(documented).toEqual(
      METRICS.map(({ name, type, labels, help }) => [name, type, labels.join(', '), help]),
    );
  });
});
