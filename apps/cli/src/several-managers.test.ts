import { serveStatus, type StatusServer } from 'leasehold';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinPool } from 'leasehold/pool';
import { type PoolManager, silent, startManager } from 'leasehold/manager';
import { keepingNothing, standby } from '../../../leasehold/src/pool/shell/service/source-script.ts';
import { lastingAddresses } from '../../../leasehold/src/node/testing/lasting-port.ts';
import { runCli } from './cli.ts';
import { recordedContext } from './testing/recorded-context.ts';
import { served } from './testing/served-manager.ts';

let leader: PoolManager;
let server: StatusServer;
let url: string;
/** Nothing listens there. */
let dead: readonly string[];

beforeAll(async () => {
  leader = await startManager({ listen: '127.0.0.1:0', firstStart: true, logger: silent });
  server = await serveStatus(leader, { listen: '127.0.0.1:0', logger: silent });
  url = server.url;
  dead = Object.values(await lastingAddresses('one', 'two'));
});
afterAll(async () => {
  await server.close();
  await leader.close();
});

async function run(words: readonly string[], ...urls: readonly (string | undefined)[]) {
  const context = recordedContext();
  const code = await runCli([...words, '--at', urls.join(',')], context);
  return { code, printed: context.printed(), complained: context.complained() };
}

describe('a command with the addresses of several Managers', () => {
  it.each([
    ['after one at which nothing listens', () => [dead[0], url]],
    ['before one at which nothing listens', () => [url, dead[0]]],
  ])('asks the Manager that leads: %s', async (_, urls) => {
    const { code, printed } = await run(['status', '--json'], ...urls());
    expect(code).toBe(0);
    expect(JSON.parse(printed)).toMatchObject({ role: 'leading', id: leader.observe().id });
  });

  it('asks the Manager that leads although a standby answers too', async () => {
    await using other = await served(keepingNothing());
    const { code, printed } = await run(['pool', 'list', '--json'], other.url, url);
    expect([code, JSON.parse(printed)]).toMatchObject([0, { pools: [] }]);
  });

  it('asks the Manager that a standby calls the leader, if the list does not have it', async () => {
    const manager = standby();
    manager.others = manager.others.map((other) => ({ ...other, http: url }));
    await using other = await served(manager);
    const { code, printed } = await run(['status', '--json'], dead[0], other.url);
    expect(code).toBe(0);
    expect(JSON.parse(printed)).toMatchObject({ role: 'leading', id: leader.observe().id });
  });

  it('names every address if no Manager answers', async () => {
    const { code, complained } = await run(['status'], ...dead);
    expect(code).toBe(3);
    expect(complained).toContain(
      `no Manager answers at http://${dead[0]}, http://${dead[1]}: nothing listens there`,
    );
  });
});

describe('watch with the addresses of several Managers', () => {
  it('goes on with another Manager when the one that it watched is gone', async () => {
    const first = await startManager({ listen: '127.0.0.1:0', firstStart: true, logger: silent });
    const at = await serveStatus(first, { listen: '127.0.0.1:0', logger: silent });
    const context = recordedContext();
    const watching = runCli(['watch', '--json', '--at', `${at.url},${url}`], context);
    const joined = async (manager: PoolManager, pool: string): Promise<void> => {
      await using owner = await joinPool({
        ...{ managers: [manager.address], pool, name: 'a', url: 'http://a', logger: silent },
      });
      await owner.whenOwned('alice');
    };
    await expect
      .poll(
        async () => {
          await joined(first, 'before');
          return context.printed();
        },
        { timeout: 30_000 },
      )
      .toContain('"pool":"before"');
    await at.close();
    await first.close();
    await expect
      .poll(
        async () => {
          await joined(leader, 'after');
          return context.printed();
        },
        { timeout: 60_000 },
      )
      .toContain('"pool":"after"');
    process.emit('SIGINT');
    expect(await watching).toBe(0);
  }, 120_000);
});
