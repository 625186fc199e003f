import { afterEach, describe, expect, it } from 'vitest';
import { serveHttp } from '../../../../leasehold/src/node/http/server.ts';
import { apiRoutes } from '../../../../leasehold/src/pool/http/routes.ts';
import {
  keepingNothing,
  type ManagerToLookAt,
  standby,
} from '../../../../leasehold/src/pool/http/source-script.ts';
import { ManagerState } from '../../../../leasehold/src/pool/state.ts';
import { silent } from '../../../../leasehold/src/runtime/logger.ts';
import { runCli } from '../cli.ts';
import { recordedContext } from '../testing/recorded-context.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each[Symbol.asyncDispose]();
});

/** Its HTTP API. */
async function serve(manager: ManagerToLookAt): Promise<string> {
  const routes = apiRoutes(manager.source());
  const server = await serveHttp({ host: '127.0.0.1', port: 0, routes, logger: silent });
  open.push({ [Symbol.asyncDispose]: () => server.close(0) });
  return server.url;
}

async function run(url: string, ...argv: readonly string[]) {
  const context = recordedContext();
  const code = await runCli([...argv, '--api', url], context);
  return { code, printed: context.printed(), complained: context.complained() };
}

describe('a Manager that stands by and keeps nothing', () => {
  const COMMANDS = [['pools'], ['status', 'quotas'], ['lookup', 'quotas', 'a'], ['explain', 'quotas', 'a']];

  it.each(COMMANDS)(
    'cannot say what only the one that leads knows, and how to ask that: %s',
    async (...words) => {
      const url = await serve(keepingNothing());
      const { code, printed, complained } = await run(url, ...words);
      expect([code, printed]).toEqual([1, '']);
      expect(complained).toBe(
        `leasehold: the Manager at ${url} stands by, and knows neither pools nor owners; m2 leads, as far as it knows: ask that one, with --api (STANDS_BY)\n`,
      );
    },
  );

  it('says to programs who leads, and where it can be asked if that is known', async () => {
    const manager = keepingNothing();
    manager.others = standby().others;
    const { complained } = await run(await serve(manager), 'pools', '--json');
    expect(JSON.parse(complained)).toMatchObject({
      error: {
        code: 'STANDS_BY',
        message: expect.stringMatching(/ask that one, with --api http:\/\/10\.0\.0\.2:7401$/),
        leader: { id: 'm2', address: null, http: 'http://10.0.0.2:7401' },
      },
    });
  });

  it('says that it does not know who leads', async () => {
    const manager = keepingNothing();
    manager.elected = undefined;
    const { complained } = await run(await serve(manager), 'pools');
    expect(complained).toMatch(
      /stands by, and knows neither pools nor owners, nor who leads \(STANDS_BY\)$/m,
    );
  });
});

describe('a Manager that stands by and has read all of a log that is empty', () => {
  it('says that there are no pools', async () => {
    const manager = standby();
    manager.state = ManagerState.empty;
    const url = await serve(manager);
    expect(await run(url, 'pools')).toMatchObject({
      code: 0,
      printed: 'There are no pools yet. A pool begins with whoever first joins it.\n',
    });
    expect(await run(url, 'lookup', 'presence', 'a')).toMatchObject({
      code: 4,
      complained: expect.stringContaining('UNKNOWN_POOL'),
    });
  });
});
