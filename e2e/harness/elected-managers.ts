/** Three Managers that elect each other and keep nothing, for one test. */

import { lastingPort } from '../../leasehold/src/node/testing/lasting-port.ts';
import type { Program } from './program.ts';
import type { Scene } from './scene.ts';
import { until } from './time.ts';

const NAMES: readonly string[] = ['m0', 'm1', 'm2'];

/** Long enough that a busy machine does not cost a leader its lease. */
export const DURATIONS: { readonly leaseMs: number; readonly leaderLeaseMs: number } = {
  leaseMs: 2_700,
  leaderLeaseMs: 1_200,
};

/** How long a new leader waits: a little more than these durations need. */
export const TAKEOVER_MS = 6_000;

export class ElectedManagers {
  readonly programs: readonly Program[];
  readonly addresses: readonly string[];

  private constructor(programs: readonly Program[], addresses: readonly string[]) {
    this.programs = programs;
    this.addresses = addresses;
  }

  static async open(scene: Scene): Promise<ElectedManagers> {
    const peers: Record<string, string> = {};
    for (const name of NAMES) peers[name] = `127.0.0.1:${await lastingPort()}`;
    const started = NAMES.map((name) =>
      scene.start({
        ...{ name, program: 'manager' },
        config: { store: { flease: { name, peers, takeoverMs: TAKEOVER_MS } }, defaults: DURATIONS },
      }),
    );
    const ready = await Promise.all(started.map((program) => program.event('ready')));
    return new ElectedManagers(
      started,
      ready.map(({ address }) => String(address)),
    );
  }

  /** The one that leads, when there is one; not one of those named. */
  async leader(...others: readonly Program[]): Promise<Program> {
    return await until('a Manager leads', async () => {
      for (const program of this.programs) {
        if (others.includes(program) || program.ending !== undefined) continue;
        const { role } = await program.ask('observe');
        if (role === 'leading') return program;
      }
      return undefined;
    });
  }
}
