import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { listeningLogger } from '../../../node/tcp/socket-script.ts';
import { silent } from '../../../runtime/logger.ts';
import { joinPool } from '../owner/join-pool.ts';
import { LEAP, planRecovery, type PlanRecoveryOptions } from './recover.ts';
import { startManager } from './start-manager.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-recover-'));
afterAll(() => rmSync(folder, { recursive: true }));

const options = { listen: '127.0.0.1:0', logger: silent, defaults: { leaseMs: 900 } } as const;

/** A directory with a log of some commits; resolves with the last term and position. */
async function used(directory: string): Promise<{ term: number; position: number }> {
  await using manager = await startManager({ ...options, store: { directory }, firstStart: true });
  const managers = [manager.address];
  await using owner = await joinPool({ managers, pool: 'p', name: 'a', url: 'http://a', logger: silent });
  await owner.whenOwned('alice');
  const { term, state } = manager.observe();
  return { term, position: state.position };
}

describe('the recovery of a directory that was put back', () => {
  it('leaps far ahead if nobody says what was seen', async () => {
    const directory = join(folder, 'leap');
    const { position } = await used(directory);
    const recovery = await planRecovery({ store: { directory }, logger: silent });
    expect(recovery.found.position).toBeGreaterThanOrEqual(position);
    const above = { term: recovery.found.term + LEAP, position: recovery.found.position + LEAP };
    expect(recovery.above).toEqual(above);
    const raised = await recovery.carryOut();
    expect(raised).toMatchObject({ term: above.term, floor: above.position });
    expect(raised.history).not.toBe(recovery.found.history);

    const logger = listeningLogger();
    await using manager = await startManager({ ...options, store: { directory }, logger });
    expect(manager.observe().waitsUntil).toBeDefined();
    expect(logger.lines).toContainEqual(
      expect.objectContaining({
        message: expect.stringMatching(/^waiting \d+ s for leases of an earlier log/),
      }),
    );
    const managers = [manager.address];
    await using owner = await joinPool({ managers, pool: 'p', name: 'b', url: 'http://b', logger: silent });
    expect(manager.observe().waitsUntil).toBeUndefined();
    const message = 'leases of an earlier log have expired; granting keys';
    expect(logger.lines.filter((line) => line.message === message)).toMatchObject([{ level: 'info' }]);
    expect(await owner.whenOwned('alice')).toBeGreaterThan(above.position);
    const members = [...manager.observe().state.pool('p').members.values()];
    expect(members.map(({ name }) => name)).toEqual(['b']);
    expect(manager.observe().term).toBeGreaterThan(above.term);
  }, 60_000);

  it('goes just above what was seen, if that is known', async () => {
    const directory = join(folder, 'seen');
    const seenPosition = (await used(directory)).position + 9_000;
    const seen = { seenTerm: 40, seenPosition };
    const recovery = await planRecovery({ store: { directory }, ...seen, logger: silent });
    expect(await recovery.carryOut()).toMatchObject({ term: 40, floor: seenPosition });
    // Once more does no harm, and no less than one position is left out.
    const again = await planRecovery({ store: { directory }, seenTerm: 0, seenPosition: 0, logger: silent });
    expect(again.above).toEqual({ term: 40, position: seenPosition + 1 });
  });

  it('changes nothing before it is carried out', async () => {
    const directory = join(folder, 'looked');
    await used(directory);
    const [one, two] = [
      await planRecovery({ store: { directory }, logger: silent }),
      await planRecovery({ store: { directory }, logger: silent }),
    ];
    expect(one.found).toEqual(two.found);
  });

  it('is refused while a Manager runs there', async () => {
    const directory = join(folder, 'running');
    await using _ = await startManager({ ...options, store: { directory } });
    await expect(planRecovery({ store: { directory }, logger: silent })).rejects.toMatchObject({
      code: 'LOCKED',
    });
  });

  it('is refused where there is no log, and makes none', async () => {
    const directory = join(folder, 'missing');
    await expect(planRecovery({ store: { directory } })).rejects.toMatchObject({ code: 'ENOENT' });
    expect(existsSync(directory)).toBe(false);
    mkdirSync(directory);
    await expect(planRecovery({ store: { directory } })).rejects.toThrow('there is no log in it');
  });

  it.each<[PlanRecoveryOptions, string]>([
    [{} as PlanRecoveryOptions, 'option store is'],
    [{ store: 'memory' }, 'it must say where the log is'],
    [{ store: { directory: 'd' }, seenTerm: -1 }, 'option seenTerm is -1'],
    [{ store: { directory: 'd' }, seenPosition: 1.5 }, 'option seenPosition is 1.5'],
    [{ dir: 'd' } as unknown as PlanRecoveryOptions, 'there is no such option'],
  ])('makes sense: not with %j', async (wrong, complaint) => {
    await expect(planRecovery(wrong)).rejects.toThrow(complaint);
  });
});
