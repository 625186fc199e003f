import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { silent } from '../../../runtime/logger.ts';
import { TestCell } from '../testing/cells.ts';
import { CLIENT_METRICS } from './client-service.ts';
import { METRICS } from './service.ts';
import { serveStatus } from '../../../node/service/serve-status.ts';
import { complaintsAbout } from '../../../node/testing/exposition.ts';

const ask = async (url: string): Promise<{ status: number; text: string }> => {
  const answer = await fetch(url);
  return { status: answer.status, text: await answer.text() };
};

describe('the port of a replica', () => {
  it('shows status, health and metrics', async () => {
    await using cell = await TestCell.started('a');
    const replica = cell.replicas.get('a') ?? expect.unreachable();
    await using server = await serveStatus(replica, { listen: '127.0.0.1:0', logger: silent });
    await replica.client.put('k', 'v');
    expect(JSON.parse((await ask(`${server.url}/v1/status`)).text)).toMatchObject({
      handles: [{ module: 'quorum', name: 'a', role: 'leader', leader: 'a', keys: 1, isReady: true }],
    });
    expect((await ask(`${server.url}/readyz`)).status).toBe(200);
    const metrics = (await ask(`${server.url}/metrics`)).text;
    expect(complaintsAbout(metrics)).toEqual([]);
    expect(metrics).toMatch(/^leasehold_quorum_role\{cell="[^"]+",role="leader"\} 1$/m);
  });

  it('says why a replica is not ready', async () => {
    await using cell = await TestCell.of('a', 'b', 'c');
    const replica = await cell.start('a');
    await using server = await serveStatus(replica, { listen: '127.0.0.1:0', logger: silent });
    const { status, text } = await ask(`${server.url}/readyz`);
    expect(status).toBe(503);
    expect(text).toContain('the cell is not founded: b, c have not been heard');
  });

  it('turns red when the majority is gone', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const replica = cell.replicas.get('a') ?? expect.unreachable();
    await using server = await serveStatus(replica, { listen: '127.0.0.1:0', logger: silent });
    await cell.stop('b');
    await cell.stop('c');
    await vi.waitFor(async () => expect((await ask(`${server.url}/readyz`)).status).toBe(503), {
      timeout: 20_000,
    });
    expect((await ask(`${server.url}/readyz`)).text).toContain('no leader is known');
  });

  it('has the metrics that docs/metrics.md lists, and no other', () => {
    const text = readFileSync(new URL('../../../../../docs/metrics.md', import.meta.url), 'utf8');
    const listed = [...text.matchAll(/^\| `(leasehold_quorum_\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$/gm)];
    expect(
      listed.map(([, name, type, labels, help]) => [name, type, labels?.replaceAll('`', ''), help]),
    ).toEqual(
      [...METRICS, ...CLIENT_METRICS].map(({ name, type, labels, help }) => [
        name,
        type,
        labels.join(', '),
        help,
      ]),
    );
  });
});
