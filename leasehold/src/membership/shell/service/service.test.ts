import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it, vi } from 'vitest';
import { complaints } from '../../../node/service/schema-checker-script.ts';
import { object, type Schema } from '../../../node/service/schema.ts';
import { lastingAddresses } from '../../../node/testing/lasting-port.ts';
import { silent } from '../../../runtime/logger.ts';
import { connectGroup } from '../connect-group.ts';
import { joinGroup } from '../join-group.ts';
import { MEMBER_METRICS } from './metrics.ts';
import { serveStatus } from '../../../node/service/serve-status.ts';
import { complaintsAbout } from '../../../node/testing/exposition.ts';

const LONG_MS = 60_000;
const until = (isSo: () => boolean | Promise<boolean>) =>
  vi.waitUntil(isSo, { timeout: LONG_MS, interval: 20 });

// biome-ignore lint/suspicious/noExplicitAny: answers of any shape
const json = (answer: Response): Promise<any> => answer.json() as Promise<any>;

describe('a server of a group over HTTP', { timeout: LONG_MS }, () => {
  it('is shown at one port with a client of another group, and the document has both statuses', async () => {
    const { a, b } = await lastingAddresses('a', 'b');
    const common = { leaseMs: 3_000, logger: silent };
    await using one = await joinGroup({ ...common, group: 'one', name: 'a', listen: a, peers: {} });
    await using _ = await joinGroup({ ...common, group: 'two', name: 'b', listen: b, peers: {} });
    await using client = await connectGroup({ group: 'two', name: 'c', servers: [b], logger: silent });
    await using server = await serveStatus([one, client], { listen: '127.0.0.1:0', logger: silent });
    const get = async (path: string) => json(await fetch(`${server.url}${path}`));
    const document = await get('/openapi.json');
    const { schemas } = document.components;
    expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true });
    const status = await get('/v1/status');
    expect(status.handles).toMatchObject([{ role: 'member' }, { role: 'client' }]);
    expect(complaints(schemas, schemas.Status, status)).toEqual([]);
  });

  it('shows its view, sends messages, tells events, and is ready once it acts', async () => {
    const { a, b } = await lastingAddresses('a', 'b');
    const heard: string[] = [];
    const common = { leaseMs: 3_000, logger: silent };
    await using one = await joinGroup({ ...common, name: 'a', listen: a, peers: { b } });
    await using _ = await joinGroup({
      ...{ ...common, name: 'b', listen: b, peers: { a } },
      onMessage: (from, bytes) => void heard.push(`${from}: ${Buffer.from(bytes)}`),
    });
    await using server = await serveStatus(one, { listen: '127.0.0.1:0', logger: silent });
    const get = async (path: string) => json(await fetch(`${server.url}${path}`));
    await until(() => one.view?.members.length === 2);
    const [status] = (await get('/v1/status')).handles;
    expect(status).toMatchObject({
      module: 'membership',
      instance: 'default',
      name: 'a',
      view: { members: ['a', 'b'], lost: [] },
      maxServers: null,
    });
    const { statusSchema } = one.toService();
    const { module: _m, instance: _i, isReady: _r, whyNotReady: _w, ...fields } = status;
    expect(complaints({}, object(statusSchema as Record<string, Schema>), fields)).toEqual([]);

    const post = (query: string) =>
      fetch(`${server.url}/v1/membership/default/send?${query}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
      });
    expect(await json(await post('to=b&text=hello'))).toEqual({ delivered: ['b'] });
    expect(await json(await post('text=all'))).toEqual({ delivered: ['b'] });
    await until(() => heard.length === 2);
    const refused = await post('to=nobody&text=x');
    expect([refused.status, (await json(refused)).error.code]).toEqual([503, 'NOT_A_MEMBER']);
    expect(
      (await fetch(`${server.url}/v1/membership/default/send?to=b&text=x`, { method: 'POST' })).status,
    ).toBe(415);

    const { events } = await get('/v1/events/recent');
    expect(events.map(({ kind }: { kind: string }) => kind)).toContain('membership.view');
    await one.acting();
    expect(await get('/readyz')).toMatchObject({ isReady: true });
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(complaintsAbout(metrics)).toEqual([]);
    expect(metrics).toContain('leasehold_membership_standing{group="default",standing="acts"} 1');
    expect(metrics).toContain('leasehold_membership_peer_reach{group="default",peer="b"} 2');
  });
});

describe('the metrics of a group', () => {
  it('are listed in docs/membership.md, and nothing else is', () => {
    const text = readFileSync(new URL('../../../../../docs/membership.md', import.meta.url), 'utf8');
    const rows = [...text.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$/gm)];
    const documented = rows.map(([, name, type, labels, help]) => [
      name,
      type,
      labels?.replaceAll('`', '').trim(),
      help,
    ]);
    expect(documented).toEqual(
      MEMBER_METRICS.map(({ name, type, labels, help }) => [name, type, labels.join(', '), help]),
    );
  });
});
