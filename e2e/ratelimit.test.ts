import { Agent, get } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Program } from './harness/program.ts';
import { HOLD_MS, onScene, type Scene } from './harness/scene.ts';
import { nowMs, pause, until } from './harness/time.ts';

const LIMIT = 100;
const BURST = 20;
const CALM_MS = 5_000;
/** Between the decision of a process and the line in which the process says it, on a busy machine. */
const LATE_MS = 250;

async function servers(scene: Scene, names: readonly string[]): Promise<Program[]> {
  const { managers } = await scene.manager();
  const limit = { name: 'api', limit: LIMIT, burst: BURST };
  const started = names.map((name) =>
    scene.start({ name, program: 'limited-server', config: { managers, name, limit } }),
  );
  for (const server of started) await server.event('ready');
  return started;
}

/** Asks the servers in turn, three times as often as the limit allows, whether or not they answer. */
class Client implements Disposable {
  readonly statuses: number[] = [];
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 50 });
  readonly #timer: NodeJS.Timeout;
  #asked = 0;

  constructor(servers: readonly Program[], key: string) {
    const startedMs = nowMs();
    this.#timer = setInterval(() => {
      const due = ((nowMs() - startedMs) / 1_000) * 3 * LIMIT;
      for (; this.#asked < due; this.#asked += 1) {
        const port = servers[this.#asked % servers.length]?.ready['port'] as number;
        const options = { agent: this.#agent, port, host: '127.0.0.1', headers: { 'x-api-key': key } };
        get(options, (response) => {
          this.statuses.push(response.statusCode ?? 0);
          response.resume();
        }).on('error', () => this.statuses.push(0));
      }
    }, 5);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#agent.destroy();
  }
}

const admittedAt = (servers: readonly Program[]): number[] =>
  servers
    .flatMap(({ events }) => events.filter(({ event }) => event === 'admitted').map(({ atMs }) => atMs))
    .sort((one, other) => one - other);

/** How many tokens more than limit × time + burst were used in any interval. All processes have the same clock here. */
function mostAboveBound(atMs: readonly number[]): number {
  let [level, lastMs, most] = [BURST, atMs[0] ?? 0, 0];
  for (const ms of atMs) {
    level = Math.min(BURST, level + ((ms - lastMs) * LIMIT) / 1_000) - 1;
    lastMs = ms;
    most = Math.max(most, -level);
  }
  return most;
}

describe('four servers with one limit, behind a client that asks them in turn', () => {
  it(
    'use the limit and no more, also when one of them is killed',
    onScene(async (scene) => {
      const four = await servers(scene, ['ada', 'ben', 'cyd', 'dot']);
      using client = new Client(four, 'ann');
      const admittedSince = (fromMs: number): number => admittedAt(four).filter((ms) => ms >= fromMs).length;
      await until('the limit is in use', () => admittedAt(four).length > 2 * LIMIT || undefined);

      const calmFromMs = nowMs();
      await pause(CALM_MS);
      expect(admittedSince(calmFromMs)).toBeGreaterThan((0.9 * LIMIT * CALM_MS) / 1_000);
      expect(mostAboveBound(admittedAt(four).filter((ms) => ms > calmFromMs))).toBeLessThan(
        (LIMIT * LATE_MS) / 1_000,
      );

      const [killed] = four;
      killed?.signal('SIGKILL');
      await killed?.ended;
      const killedMs = nowMs();
      // The keys of the killed server have an owner again, and the limit is used as before.
      await until(
        'the limit is in use again',
        () => (nowMs() > killedMs + HOLD_MS && admittedSince(nowMs() - 1_000) > 0.7 * LIMIT) || undefined,
      );
      // One burst more for the new owner.
      expect(mostAboveBound(admittedAt(four).filter((ms) => ms > calmFromMs))).toBeLessThan(
        BURST + (LIMIT * LATE_MS) / 1_000,
      );
      expect(new Set(client.statuses)).toContain(429);
    }),
  );
});
