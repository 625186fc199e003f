import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { silent } from '../../runtime/logger.ts';
import { lastingAddresses } from '../../node/testing/lasting-port.ts';
import { Stopwatch } from '../../node/testing/undisturbed-time.ts';
import { joinPool } from './owner/join-pool.ts';
import type { PoolOwner } from './owner/pool-owner.ts';
import { startManager } from './manager/start-manager.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-restored-'));
afterAll(() => rmSync(folder, { recursive: true }));

const WITNESS_MS = 500 + 2 * 200 + 2_000;
const DURATIONS = { leaseMs: 6_000, renewEveryMs: 500, retryMs: 200 };

async function scene(name: string) {
  const directory = join(folder, name);
  const { manager: address } = await lastingAddresses('manager');
  const port = Number(address.split(':')[1]);
  const start = (firstStart: boolean) =>
    startManager({
      store: { directory },
      listen: `127.0.0.1:${port}`,
      logger: silent,
      defaults: DURATIONS,
      firstStart,
    });
  const enter = (name: string, signal?: AbortSignal): Promise<PoolOwner> =>
    joinPool({ managers: [address], pool: 'p', name, url: `http://${name}`, logger: silent, signal });
  return { directory, start, enter };
}

describe('a directory that was put back from a backup, and that nobody has recovered', () => {
  it('has no second owner, though a new owner asks first and the keys look free', async () => {
    const { directory, start, enter } = await scene('put-back');
    const before = await start(true);
    cpSync(directory, `${directory}.backup`, { recursive: true });
    const old = await enter('old');
    await old.whenOwned('alice');
    await before.close();
    rmSync(directory, { recursive: true });
    cpSync(`${directory}.backup`, directory, { recursive: true });

    await using after = await start(false);
    const giveUp = new AbortController();
    let young: PoolOwner | undefined;
    const joining = enter('young', giveUp.signal).then(
      (owner) => (young = owner),
      () => undefined,
    );
    const seen: string[] = [];
    await vi.waitUntil(
      () => {
        const [one, two] = [old.check('alice'), young?.check('alice')];
        if (one !== undefined && two !== undefined) seen.push(`${one} and ${two}`);
        return after.observe().role === 'halted' && one === undefined;
      },
      { timeout: 60_000, interval: 5 },
    );
    expect(seen).toEqual([]);
    giveUp.abort();
    await joining;
    await young?.close();
    await old.close();
  }, 120_000);
});

describe('a Manager that is restarted on its directory', () => {
  const seconds = (ms: number): number => ms / 1_000;

  it('a moment after it led there admits a newcomer at once', async () => {
    const { start, enter } = await scene('restarted');
    const before = await start(true);
    const old = await enter('old');
    await vi.waitUntil(() => marked('restarted') >= before.observe().state.position, { timeout: 30_000 });
    await before.close();
    await using _ = await start(false);
    const since = new Stopwatch();
    const young = await enter('young');
    expect(seconds(since.ms)).toBeLessThan(seconds(WITNESS_MS));
    await young.close();
    await old.close();
  }, 120_000);

  it.each([
    ['after a halt', () => ' '],
    ['after the mark was lost', () => ''],
    ['after a while', (text: string) => text.replace(/"wallMs":\d+/, '"wallMs":1')],
    ['on an older log than was marked', (text: string) => text.replace(/"position":(\d+)/, '"position":9$1')],
  ])(
    '%s admits a newcomer when clients could tell what they have seen',
    async (name, change) => {
      const { start, enter } = await scene(name.replaceAll(' ', '-'));
      const before = await start(true);
      const old = await enter('old');
      await vi.waitUntil(() => marked(name.replaceAll(' ', '-')) > 0, { timeout: 30_000 });
      await before.close();
      const path = join(folder, name.replaceAll(' ', '-'), 'led');
      writeFileSync(path, change(readFileSync(path, 'utf8')));
      await using _ = await start(false);
      const since = performance.now();
      const young = await enter('young');
      expect(seconds(performance.now() - since)).toBeGreaterThan(seconds(WITNESS_MS) / 2);
      await vi.waitUntil(() => [old, young].some((owner) => owner.check('alice') !== undefined), {
        timeout: 30_000,
      });
      await young.close();
      await old.close();
    },
    120_000,
  );
});

/** The position in the mark; 0 if there is none. */
function marked(name: string): number {
  const text = readFileSync(join(folder, name, 'led'), 'utf8');
  return Number(/"position":(\d+)/.exec(text)?.[1] ?? 0);
}
