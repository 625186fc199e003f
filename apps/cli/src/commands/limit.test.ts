import { describe, expect, it } from 'vitest';
import { serveService } from '../../../../leasehold/src/node/service/serve-service.ts';
import { jsonAnswer } from '../../../../leasehold/src/node/service/route.ts';
import { silent } from '../../../../leasehold/src/runtime/logger.ts';
import { recordedContext } from '../testing/recorded-context.ts';
import { limitCommand } from './limit.ts';

const LEVEL = {
  ...{ allowed: false, remaining: 0, retryAfterMs: 80, resetMs: 900, limit: 10, perMs: 1_000, burst: 8 },
  by: 'owner',
};

async function run(...words: readonly string[]): Promise<string> {
  await using server = await serveService(
    {
      ...{ name: 'ratelimit', title: 'Test', description: 'For tests.', version: '1.2.3' },
      status: () => ({ name: 'ada', limiters: [{ name: 'api', keys: 3 }] }),
      metrics: () => [],
      routes: [{ path: '/v1/key', summary: 'A key.', answer: () => jsonAnswer(LEVEL) }],
    },
    { port: 0, logger: silent },
    0,
  );
  const context = recordedContext();
  await limitCommand(context).parseAsync([...words, '--http', server.url], { from: 'user' });
  return context.printed();
}

describe('leasehold limit', () => {
  it('status shows the limits of a process', async () => {
    expect(await run('status')).toMatch(/ratelimit 1\.2\.3, ready.*limiters:.*api +3/s);
  });

  it('says how a program opens the port if nobody answers', async () => {
    const asking = limitCommand(recordedContext()).parseAsync(['status', '--http', '127.0.0.1:1'], {
      from: 'user',
    });
    await expect(asking).rejects.toThrow(
      /Call serveLimits\(sharing\) of leasehold\/ratelimit in the process, or/,
    );
  });

  it('test says whether a request for a key would be allowed', async () => {
    expect(await run('test', 'api', 'ann')).toContain('ann of api: denied; try again in');
    expect(JSON.parse(await run('test', 'api', 'ann', '--json'))).toEqual(LEVEL);
  });
});
