import { serveStatus } from 'leasehold';
import { describe, expect, it } from 'vitest';
import { startManager } from 'leasehold/manager';
import { silent } from '../../../leasehold/src/runtime/logger.ts';
import { separateLogs, separateLogsLines } from './separate-logs.ts';
import { runCli } from './cli.ts';
import { recordedContext } from './testing/recorded-context.ts';

const leads = (id: string, history: string, term: number, role: 'leading' | 'standby' = 'leading') => ({
  ...{ id, address: `${id}:7400`, role, history, term },
});

describe('Managers that were asked', () => {
  it.each([
    [[leads('a', 'x', 1)], undefined],
    [[leads('a', 'x', 1), leads('b', 'x', 1, 'standby')], undefined],
    [[leads('a', 'x', 1), leads('b', 'y', 1)], 'separate-logs'],
    [[leads('a', 'x', 2), leads('b', 'x', 2)], 'copies-of-one-log'],
    [[leads('a', 'x', 2), leads('b', 'x', 3)], 'copies-or-a-change-of-leaders'],
  ] as const)('lead one log or not: %j', (managers, found) => {
    expect(separateLogs(managers)).toBe(found);
    expect(separateLogsLines(managers).length > 0).toBe(found !== undefined);
  });
});

const AT = { listen: '127.0.0.1:0', logger: silent };

describe('status of several addresses', () => {
  const options = { listen: '127.0.0.1:0', firstStart: true, logger: silent } as const;

  it('says that two Managers lead separate logs, with both histories', async () => {
    await using one = await startManager({ ...options, name: 'one' });
    await using two = await startManager({ ...options, name: 'two' });
    await using first = await serveStatus(one, AT);
    await using second = await serveStatus(two, AT);
    const args = ['status', '--at', `${first.url},${second.url},http://127.0.0.1:1`];
    const context = recordedContext();
    expect(await runCli(args, context)).toBe(1);
    const lines = context.printed();
    expect(lines).toContain('SEPARATE LOGS');
    for (const manager of [one, two]) {
      expect(lines).toContain(`at ${manager.address}: history ${manager.observe().history}, term 1`);
    }
    expect(lines).toContain('nothing listens there');
    const programs = recordedContext();
    await runCli([...args, '--json'], programs);
    expect(JSON.parse(programs.printed())).toMatchObject({ separateLogs: 'separate-logs' });
  });

  it('says nothing of it, and ends well, if one Manager is named twice', async () => {
    await using one = await startManager(options);
    await using at = await serveStatus(one, AT);
    const context = recordedContext();
    expect(await runCli(['status', '--at', `${at.url},${at.url}`], context)).toBe(0);
    expect(context.printed()).not.toContain('LOG.');
  });
});
