/** A member is replaced by another: c by d, on the command line, where members cannot move but are restarted. */

import { describe, expect, it } from 'vitest';
import { KEY, TIMES } from './harness/flease-group.ts';
import { lastingPort } from '../leasehold/src/node/testing/lasting-port.ts';
import type { Program } from './harness/program.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { nowMs, until } from './harness/time.ts';

type Peers = Readonly<Record<string, string>>;

const flagOf = (peers: Peers): string =>
  Object.entries(peers)
    .map((pair) => pair.join('='))
    .join();

/** Commands of the group {a, b, c}, and of {a, b, d} after it. */
class Change {
  readonly before: Peers;
  readonly peers: Peers;
  readonly #scene: Scene;

  private constructor(scene: Scene, { c = '', d = '', ...staying }: Peers) {
    this.#scene = scene;
    this.before = { ...staying, c };
    this.peers = { ...staying, d };
  }

  static async planned(scene: Scene): Promise<Change> {
    const peers: Record<string, string> = {};
    for (const id of ['a', 'b', 'c', 'd']) peers[id] = `127.0.0.1:${await lastingPort()}`;
    return new Change(scene, peers);
  }

  serve(id: string, view: number): Program {
    return this.#start(['start', '--no-http', '--json'], id, view);
  }

  /** Says what number it runs under, and runs until it is told to end. */
  hold(id: string, view: number): Program {
    const script = `echo '{"event":"runs","number":'"$LEASEHOLD_NUMBER"'}'; while :; do sleep 0.05; done`;
    return this.#start(['hold', KEY], id, view, ['--', 'sh', '-c', script]);
  }

  /** Ends one that serves, and starts it in view 2. */
  async restart(member: Program): Promise<Program> {
    member.signal('SIGTERM');
    expect((await member.ended).code).toBe(0);
    return this.serve(member.name, 2);
  }

  #start(words: readonly string[], id: string, view: number, rest: readonly string[] = []): Program {
    const who =
      view === 1
        ? ['--peers', flagOf(this.before)]
        : ['--peers', flagOf(this.peers), '--peers-version', '2', '--peers-before', flagOf(this.before)];
    const times = ['--lease', `${TIMES.leaseMs}ms`, '--clock-skew', `${TIMES.clockSkewMs}ms`];
    const argv = ['flease', ...words, '--name', id, ...who, ...times, ...rest];
    return this.#scene.start({ name: id, program: 'cli', config: { argv } });
  }
}

const takesPart = (program: Program): Promise<true> => program.wrote('ready: this member');
const hasSettled = (program: Program): Promise<true> => program.wrote('view 2 is settled');

describe('a member of three that is replaced on the command line', () => {
  it(
    'costs the lease once, when those that are left of the old group are no majority; and nobody else has it before',
    onScene(async (scene) => {
      const change = await Change.planned(scene);
      const [a, b] = [change.serve('a', 1), change.serve('b', 1)];
      const c = change.hold('c', 1);
      const { number } = await c.event('runs');
      const cEnded = c.ended.then(({ code }) => ({ code, atMs: nowMs() }));

      const d = change.hold('d', 2);
      const a2 = await change.restart(a);
      await Promise.all([takesPart(a2), takesPart(d)]);
      expect(c.ending).toBeUndefined();

      const b2 = await change.restart(b);
      const runs = await d.event('runs');
      expect(runs['number']).toBeGreaterThan(number as number);
      const { code, atMs } = await cEnded;
      expect([code, atMs < runs.heardMs]).toEqual([76, true]);
      await Promise.all([a2, b2, d].map(hasSettled));
      expect(d.ending).toBeUndefined();
    }),
  );

  it(
    'costs nothing a process of one’s own that moves while it is needed on both sides',
    onScene(async (scene) => {
      const change = await Change.planned(scene);
      const b = change.serve('b', 1);
      const c = change.serve('c', 1);
      const a = scene.start({
        ...{ name: 'a', program: 'member' },
        config: {
          join: { name: 'a', peers: change.before, ...TIMES },
          ...{ keys: [KEY], register: scene.register.path, writeEveryMs: 10 },
        },
      });
      await a.event('ready');
      scene.observer.watch(a);
      const { number } = await a.event('acquired');

      const d = change.serve('d', 2);
      const b2 = await change.restart(b);
      await Promise.all([takesPart(b2), takesPart(d)]);
      await a.ask('change', { peers: change.peers });
      await Promise.all([a.ask('settled'), hasSettled(b2), hasSettled(d)]);
      await c.kill();
      const look = () => a.ask('look', { key: KEY });
      const { validUntil } = await look();
      const renewed = await until('it has renewed without c', async () => {
        const seen = await look();
        return Number(seen['validUntil']) > Number(validUntil) ? seen : undefined;
      });
      expect(renewed).toMatchObject({ number, isHeld: true, isAborted: false });
    }),
  );
});
