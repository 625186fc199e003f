import { describe, expect, it } from 'vitest';
import { serveStatus } from '../../../../leasehold/src/node/service/serve-status.ts';
import type { Service } from '../../../../leasehold/src/node/service/service.ts';
import { jsonAnswer } from '../../../../leasehold/src/node/service/route.ts';
import { silent } from '../../../../leasehold/src/runtime/logger.ts';
import { recordedContext } from '../testing/recorded-context.ts';
import { ratelimitCommand } from './ratelimit.ts';

const LEVEL = {
  ...{ allowed: false, remaining: 0, retryAfterMs: 80, resetMs: 900, limit: 10, perMs: 1_000, burst: 8 },
  by: 'owner',
};

async function run(...words: readonly string[]): Promise<string> {
  const service: Service = {
    ...{ module: 'ratelimit', instance: 'p', kind: 'pool', title: 'Test', description: 'For tests.' },
    usualPort: 0,
    status: () => ({ name: 'ada', limiters: [{ name: 'api', keys: 3 }] }),
    metrics: () => [],
    routes: [{ path: '/key', summary: 'A key.', answer: () => jsonAnswer(LEVEL) }],
  };
  await using server = await serveStatus(
    { toService: () => service },
    { listen: '127.0.0.1:0', logger: silent },
  );
  const context = recordedContext();
  await ratelimitCommand(context).parseAsync([...words, '--at', server.url], { from: 'user' });
  return context.printed();
}

describe('leasehold ratelimit', () => {
  it('status shows the limits of a process', async () => {
    expect(await run('status')).toMatch(/ratelimit p, \d+\.\d+\.\d+, ready.*limiters:.*api +3/s);
  });

  it('says how a program opens the port if nobody answers', async () => {
    const asking = ratelimitCommand(recordedContext()).parseAsync(['status', '--at', '127.0.0.1:1'], {
      from: 'user',
    });
    await expect(asking).rejects.toThrow(/Call serveStatus\(limits\) of leasehold in the process, or/);
  });

  it('peek says whether a request for a key would be allowed', async () => {
    expect(await run('peek', 'api', 'ann')).toContain('ann of api: denied; try again in');
    expect(JSON.parse(await run('peek', 'api', 'ann', '--json'))).toEqual(LEVEL);
  });
});
