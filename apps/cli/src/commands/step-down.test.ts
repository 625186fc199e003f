import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { StepDownAnswer } from '../answers.ts';
import { runCli } from '../cli.ts';
import { recordedContext } from '../testing/recorded-context.ts';

const servers: Server[] = [];
const asked: string[] = [];
afterEach(async () => {
  asked.length = 0;
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

type Leader = NonNullable<StepDownAnswer['leader']>;

/** A Manager's HTTP API that answers so. */
async function serve(id: string, status: number, answer: () => unknown): Promise<string> {
  const server = createServer(({ method, url, headers }, response) => {
    asked.push(`${id} ${method} ${url} ${headers['content-type']}`);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer()));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const leads = (id: string, http: string | null): Leader => ({ id, address: `${id}:7400`, http });
const steppedDown = (leader: Leader | null) => () => ({ hasSteppedDown: true, term: 8, leader });
const standsBy = (leader: Leader | null) => () => ({ hasSteppedDown: false, term: 7, leader });
const alone = () => ({ error: { code: 'ALONE', message: 'this Manager cannot step down' } });

async function stepDown(api: string, ...argv: string[]) {
  const context = recordedContext();
  const code = await runCli(['manager', 'step-down', '--at', api, ...argv], context);
  return { code, printed: context.printed(), complained: context.complained() };
}

describe('leasehold manager step-down', () => {
  it('has the leader step down, and says who leads then', async () => {
    const m1 = await serve('m1', 200, steppedDown(leads('m2', null)));
    const { code, printed } = await stepDown(m1);
    expect([code, printed]).toEqual([
      0,
      `The Manager at ${m1} has stepped down; m2 at m2:7400 leads, in term 8.\n`,
    ]);
    expect(asked).toEqual(['m1 POST /v1/manager/step-down application/json']);
  });

  it('goes on to the one that leads, and tells programs whom it asked in the end', async () => {
    const m2 = await serve('m2', 200, steppedDown(leads('m1', null)));
    const m1 = await serve('m1', 200, standsBy(leads('m2', m2)));
    const { code, printed } = await stepDown(m1, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(printed)).toEqual({
      ...{ asked: m2, hasSteppedDown: true, term: 8, leader: leads('m1', null) },
    });
    expect(asked.map((each) => each.slice(0, 2))).toEqual(['m1', 'm2']);
  });

  it('does not go on if it was told not to; that nothing had to be done is no failure then', async () => {
    const m1 = await serve('m1', 200, standsBy(leads('m2', 'http://127.0.0.1:2')));
    const { code, printed } = await stepDown(m1, '--no-follow');
    expect([code, printed]).toEqual([
      0,
      `Nothing was done: the Manager at ${m1} does not lead; m2 at m2:7400 does, as far as it knows.\n`,
    ]);
  });

  it('says what to do if it does not know where to go', async () => {
    const m1 = await serve('m1', 200, standsBy(leads('m2', null)));
    expect(await stepDown(m1)).toMatchObject({
      ...{ code: 1, printed: expect.stringContaining('Ask it itself, with --at.') },
    });
    const m3 = await serve('m3', 200, standsBy(null));
    expect(await stepDown(m3)).toMatchObject({
      code: 1,
      printed: expect.stringContaining('no Manager does'),
    });
  });

  it('does not run in a circle', async () => {
    const urls: string[] = [];
    for (const id of ['m1', 'm2'])
      urls.push(await serve(id, 200, () => standsBy(leads('other', urls[id === 'm1' ? 1 : 0] ?? null))()));
    expect((await stepDown(urls[0] ?? '')).code).toBe(1);
    expect(asked).toHaveLength(2);
  });

  it('fails if there is no other Manager, and says so in JSON with --json', async () => {
    const m1 = await serve('m1', 409, alone);
    expect(await stepDown(m1)).toMatchObject({
      ...{ code: 75, complained: 'leasehold: this Manager cannot step down (ALONE)\n' },
    });
    const { code, complained } = await stepDown(m1, '--json');
    expect([code, JSON.parse(complained)]).toMatchObject([75, alone()]);
  });
});
