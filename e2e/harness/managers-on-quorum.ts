/** Three Managers that keep their log among themselves, each with a replica in the process, for one test. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastingPort } from '../../leasehold/src/node/testing/lasting-port.ts';
import type { Program } from './program.ts';
import type { Scene } from './scene.ts';
import { until } from './time.ts';

const NAMES = ['m0', 'm1', 'm2'] as const;

interface Slot {
  readonly config: { readonly listen: string; readonly [option: string]: unknown };
  program: Program;
}

export class ManagersOnQuorum {
  readonly #scene: Scene;
  readonly #slots: Slot[] = [];

  private constructor(scene: Scene) {
    this.#scene = scene;
  }

  static async open(scene: Scene): Promise<ManagersOnQuorum> {
    const all = new ManagersOnQuorum(scene);
    const root = mkdtempSync(join(tmpdir(), 'leasehold-e2e-quorum-'));
    scene.defer(() => rmSync(root, { recursive: true, force: true }));
    const peers: Record<string, string> = {};
    for (const name of NAMES) peers[name] = `127.0.0.1:${await lastingPort()}`;
    for (const name of NAMES) {
      const quorum = { name, directory: join(root, name), peers };
      const config = { store: { quorum }, listen: `127.0.0.1:${await lastingPort()}`, firstStart: true };
      all.#slots.push({ config, program: all.#start(name, config) });
    }
    await Promise.all(all.programs.map((program) => program.event('ready')));
    await all.leader();
    return all;
  }

  get programs(): readonly Program[] {
    return this.#slots.map(({ program }) => program);
  }

  get addresses(): readonly string[] {
    return this.#slots.map(({ config: { listen } }) => listen);
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

  /** Resolves when the leader has heard so many owners since the election. */
  async heard(owners: number, ...others: readonly Program[]): Promise<void> {
    await until(`the leader has heard ${owners} owners`, async () => {
      const { role, heard } = await (await this.leader(...others)).ask('observe');
      return role === 'leading' && heard === owners ? true : undefined;
    });
  }

  /** Starts one that has ended, at the old address and in the old directory. */
  async again(program: Program): Promise<Program> {
    const at = this.#slots.findIndex((slot) => slot.program === program);
    const slot = this.#slots[at] as Slot;
    slot.program = this.#start(NAMES[at] ?? '', slot.config);
    await slot.program.event('ready');
    return slot.program;
  }

  #start(name: string, config: Slot['config']): Program {
    return this.#scene.start({ name, program: 'manager', config });
  }
}
