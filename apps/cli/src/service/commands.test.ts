import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EventLog } from '../../../../leasehold/src/node/service/event-log.ts';
import { serveStatus, type StatusServer } from '../../../../leasehold/src/node/service/serve-status.ts';
import type { Service } from '../../../../leasehold/src/node/service/service.ts';
import { VERSION } from '../../../../leasehold/src/runtime/version.ts';
import { silent } from '../../../../leasehold/src/runtime/logger.ts';
import { MEMBER } from '../respondents.ts';
import { recordedContext } from '../testing/recorded-context.ts';
import { serviceStatusCommand, serviceWatchCommand } from './commands.ts';

/** A service that answers as a member of a group does. */
const events = new EventLog({ epoch: 'e1' });
let why: string | undefined;
let server: StatusServer;

beforeEach(async () => {
  why = undefined;
  const service: Service = {
    ...{ module: 'flease', instance: 'g', kind: 'cell', title: 'Test', description: 'For tests.' },
    usualPort: 0,
    status: () => ({
      ...{ group: 'g', waitedMs: 2_500, isSettled: true, trouble: undefined },
      peers: [
        { id: 'b', heardAgoMs: 12 },
        { id: 'c\u001b[2J', heardAgoMs: undefined },
      ],
    }),
    metrics: () => [],
    events: { log: events, schema: { type: 'object' } },
    checks: () => [{ name: 'test', afterMs: 0, standsStill: () => why }],
  };
  server = await serveStatus({ toService: () => service }, { listen: '127.0.0.1:0', logger: silent });
});
afterEach(() => server.close());

const WORDS = { respondent: MEMBER, group: 'test' };

async function status(...flags: readonly string[]): Promise<string> {
  const context = recordedContext();
  const argv = ['--at', server.url, ...flags];
  await serviceStatusCommand(context, WORDS).parseAsync(argv, { from: 'user' });
  return context.printed();
}

describe('status of a service', () => {
  it('is a line for each field and a table for each list, fit for a terminal', async () => {
    expect(await status()).toBe(
      [
        `flease g, ${VERSION}, ready`,
        '  group      g',
        '  waitedMs   2.5 s',
        '  isSettled  yes',
        '  trouble    -',
        '',
        'peers:',
        'ID        HEARDAGOMS',
        'b              12 ms',
        'c\\x1b[2J           -',
        '',
      ].join('\n'),
    );
  });

  it('says first that the service is not ready, and why', async () => {
    why = 'the log does not advance';
    expect(await status()).toMatch(/^flease g, \d+\.\d+\.\d+, not ready: the log does not advance\n/);
  });

  it('is the whole answer as JSON for programs', async () => {
    expect(JSON.parse(await status('--json'))).toMatchObject({ module: 'flease', trouble: null });
  });
});

describe('watch of a service', () => {
  it('prints events as they happen, until it is interrupted', async () => {
    const context = recordedContext();
    const watching = serviceWatchCommand(context, WORDS).parseAsync(['--at', server.url], { from: 'user' });
    await vi.waitUntil(() => events.readers > 0, { timeout: 60_000 });
    events.append([{ kind: 'left', peer: 'b' } as { kind: string }], 0);
    await vi.waitUntil(() => context.printed() !== '', { timeout: 60_000 });
    expect(context.printed()).toMatch(/^\d\d:\d\d:\d\d left, peer b\n$/);
    process.emit('SIGINT');
    await watching;
    expect(context.complained()).toContain('Ctrl-C ends it');
  });
});
