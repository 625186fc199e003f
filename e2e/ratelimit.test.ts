import { describe, expect, inject, it } from 'vitest';
import { LIMIT, LimitedServers, RoundRobinClient } from './harness/limited-servers.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { nowMs, pause, until } from './harness/time.ts';

/** The long variant has calm times between the faults, too, and takes more than a minute. The limit is judged in every second of both. */
const LONG_CALM_MS = inject('long') ? 12_000 : 0;
const CALM_MS = Math.max(3_000, LONG_CALM_MS);
const AWAY_MS = 3_000;
/**
 * Of the limit, when calm, by the time in which this machine let all servers and the client run: a server that waits for a processor longer than the burst lasts
 * uses less of the limit. The promise is the sum, which is judged in every interval by the wall.
 */
const ENOUGH = 0.9;

/** What the servers admitted, and the client that asks them. */
class Use {
  readonly startedMs: number = nowMs();
  /** The part of the limit that was used in each calm time. */
  readonly shares: number[] = [];
  readonly #servers: LimitedServers;

  constructor(servers: LimitedServers) {
    this.#servers = servers;
  }

  /** Until at least this part of the limit was used in the last second, all of it after this call. */
  atLeast(part: number): Promise<true> {
    const fromMs = nowMs();
    return until(`${part} of the limit is in use`, () => {
      const isSoon = nowMs() < fromMs + 1_000;
      return isSoon || this.#servers.admittedSince(nowMs() - 1_000) < part * LIMIT ? undefined : true;
    });
  }

  async calm(ms: number): Promise<void> {
    if (ms === 0) return;
    const fromMs = nowMs();
    const undisturbedMs = await until('the calm time is over', () => {
      const soFarMs = this.#servers.undisturbedMsSince(fromMs);
      return soFarMs < ms ? undefined : soFarMs;
    });
    this.shares.push((this.#servers.admittedSince(fromMs) * 1_000) / LIMIT / undisturbedMs);
  }

  expectKept(statuses: ReadonlyMap<number, number>): void {
    const answers = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
    const told = `admitted in each second: ${this.#servers.perSecond(this.startedMs).join(' ')}; answers ${answers}`;
    expect(this.#servers.mostAbovePromise(this.startedMs), told).toBeLessThanOrEqual(0);
    for (const share of this.shares) expect(share, told).toBeGreaterThan(ENOUGH);
    const calm = this.shares.map((share) => `${(100 * share).toFixed(1)} %`).join(', ');
    console.info(`${told}; in calm times ${calm}`);
  }
}

/** Calm, a killed owner, an owner that stands still, an owner that is cut off, calm. */
async function live(
  scene: Scene,
  on: 'pool' | 'group',
  whileCut: (servers: LimitedServers) => Promise<unknown>,
): Promise<RoundRobinClient> {
  const servers = await LimitedServers.start(scene, on);
  using client = new RoundRobinClient(servers);
  await new Use(servers).atLeast(0.85);
  const use = new Use(servers);
  await use.calm(CALM_MS);

  const killed = await servers.owner();
  killed.signal('SIGKILL');
  await killed.ended;
  await use.atLeast(on === 'pool' ? 0.85 : 0.6);
  await servers.restart(killed);
  await use.atLeast(0.85);
  await use.calm(LONG_CALM_MS);

  const stopped = await servers.owner();
  stopped.signal('SIGSTOP');
  await pause(AWAY_MS);
  stopped.signal('SIGCONT');
  await use.atLeast(0.85);
  await use.calm(LONG_CALM_MS);

  await servers.cutOff(await servers.owner());
  await whileCut(servers);
  await servers.heal();
  await use.atLeast(0.85);
  await use.calm(CALM_MS);
  use.expectKept(client.statuses);
  return client;
}

describe('four servers with one limit of 1,000 a second, behind a client that asks them in turn', () => {
  it(
    'on a pool use the limit when calm, and never more, though the owner of the key is killed, stopped and cut off',
    onScene(
      async (scene) => {
        const { statuses } = await live(scene, 'pool', () => pause(AWAY_MS));
        expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 429, 503]));
      },
      { needs: ['network namespaces'] },
    ),
  );

  it(
    'in a group do the same, and use their parts of the limit on both sides of a cut',
    onScene(
      async (scene) => {
        await live(scene, 'group', async (servers) => {
          const cut = await servers.owner();
          const admittedByCut = (): number => cut.events.filter(({ event }) => event === 'admitted').length;
          await until('the owner acts alone, and the others use the rest', async () => {
            const before = admittedByCut();
            await pause(1_000);
            const isInUse = servers.admittedSince(nowMs() - 1_000) > 0.8 * LIMIT;
            return admittedByCut() - before > 0.1 * LIMIT && isInUse ? true : undefined;
          });
        });
      },
      { needs: ['network namespaces'] },
    ),
  );
});
