import { describe, expect, it } from 'vitest';
import { LIMIT, LimitedServers, RoundRobinClient } from './harness/limited-servers.ts';
import { onScene } from './harness/scene.ts';
import { nowMs, pause, until } from './harness/time.ts';

const CALM_MS = 4_000;
const AWAY_MS = 3_000;

describe('four servers with one limit of 1,000 a second, behind a client that asks them in turn', () => {
  it(
    'use the limit when calm, and never more, though the owner of the key is killed, stopped and cut off',
    onScene(
      async (scene) => {
        const servers = await LimitedServers.start(scene, 'pool');
        using client = new RoundRobinClient(servers);
        const inUse = (): Promise<true> => {
          const fromMs = nowMs();
          return until('the limit is in use', () => {
            const isSoon = nowMs() < fromMs + 1_000;
            return isSoon || servers.admittedSince(nowMs() - 1_000) < 0.85 * LIMIT ? undefined : true;
          });
        };
        await inUse();
        const startedMs = nowMs();
        const calm = async (): Promise<number> => {
          const fromMs = nowMs();
          await pause(CALM_MS);
          return servers.admittedAt().filter((ms) => ms >= fromMs && ms < fromMs + CALM_MS).length;
        };
        const shares = [(await calm()) / LIMIT / (CALM_MS / 1_000)];

        const killed = await servers.owner();
        killed.signal('SIGKILL');
        await killed.ended;
        await inUse();
        await servers.restart(killed);

        const stopped = await servers.owner();
        stopped.signal('SIGSTOP');
        await pause(AWAY_MS);
        stopped.signal('SIGCONT');
        await inUse();

        const cut = await servers.owner();
        await servers.cutOff(cut);
        await pause(AWAY_MS);
        await servers.heal();
        await inUse();
        shares.push((await calm()) / LIMIT / (CALM_MS / 1_000));

        const told = `admitted in each second: ${servers.perSecond(startedMs).join(' ')}`;
        expect(servers.mostAbovePromise(startedMs), told).toBeLessThanOrEqual(0);
        for (const share of shares) expect(share, told).toBeGreaterThan(0.9);
        expect([...client.statuses.keys()]).toEqual(expect.arrayContaining([200, 429, 503]));
        console.info(told);
      },
      { needs: ['network namespaces'] },
    ),
  );

  it(
    'on a group use their part of the limit on each side of a partition and after a crash, and never more',
    onScene(
      async (scene) => {
        const servers = await LimitedServers.start(scene, 'group');
        using _client = new RoundRobinClient(servers);
        const inUse = (least: number): Promise<true> => {
          const fromMs = nowMs();
          return until(`${least} of the limit is in use`, () => {
            const isSoon = nowMs() < fromMs + 1_500;
            return isSoon || servers.admittedSince(nowMs() - 1_000) < least * LIMIT ? undefined : true;
          });
        };
        await inUse(0.85);
        const startedMs = nowMs();
        await pause(CALM_MS);
        const calm = servers.admittedAt().filter((ms) => ms < startedMs + CALM_MS && ms >= startedMs).length;

        const cut = await servers.owner();
        await servers.cutOff(cut);
        const admittedByCut = (): number => cut.events.filter(({ event }) => event === 'admitted').length;
        await until('the owner acts alone', async () => {
          const before = admittedByCut();
          await pause(1_000);
          return admittedByCut() - before > 0.1 * LIMIT &&
            servers.admittedSince(nowMs() - 1_000) > 0.8 * LIMIT
            ? true
            : undefined;
        });
        await servers.heal();
        await inUse(0.85);

        const killed = await servers.owner();
        killed.signal('SIGKILL');
        await killed.ended;
        await inUse(0.6);

        const told = `admitted in each second: ${servers.perSecond(startedMs).join(' ')}`;
        expect(servers.mostAbovePromise(startedMs), told).toBeLessThanOrEqual(0);
        expect(calm / LIMIT / (CALM_MS / 1_000), told).toBeGreaterThan(0.9);
        console.info(told);
      },
      { needs: ['network namespaces'] },
    ),
  );
});
