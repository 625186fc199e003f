/**
 * Managers m0, m1, m2 on the command line that elect each other and keep nothing, of which one is replaced by m3: as
 * docs/flease.md says, one after the other, each started again in view 2.
 */

import { writeFileSync } from 'node:fs';
import { DURATIONS, TAKEOVER_MS } from './elected-managers.ts';
import { lastingPort } from '../../leasehold/src/node/testing/lasting-port.ts';
import type { Program } from './program.ts';
import type { Scene } from './scene.ts';
import { until } from './time.ts';

interface Place {
  /** Where the other Managers find it, owners and look-ups, and people. */
  readonly elects: number;
  readonly serves: number;
  readonly http: number;
}

const FIRST: readonly string[] = ['m0', 'm1', 'm2'];
export const JOINER = 'm3';

export class ReplacedManager {
  readonly #scene: Scene;
  readonly #places: ReadonlyMap<string, Place>;
  readonly #programs = new Map<string, Program>();

  private constructor(scene: Scene, places: ReadonlyMap<string, Place>) {
    this.#scene = scene;
    this.#places = places;
    writeFileSync(this.#configuration, JSON.stringify({ defaults: DURATIONS }));
  }

  static async open(scene: Scene): Promise<ReplacedManager> {
    const places = new Map<string, Place>();
    for (const id of [...FIRST, JOINER]) {
      places.set(id, {
        ...{ elects: await lastingPort(), serves: await lastingPort(), http: await lastingPort() },
      });
    }
    const managers = new ReplacedManager(scene, places);
    for (const id of FIRST) managers.#start(id, ['--peers', managers.#peers(FIRST)]);
    await managers.leader();
    return managers;
  }

  /** Of all four: those who are not there are not asked for long. */
  get addresses(): readonly string[] {
    return [...this.#places.values()].map(({ serves }) => `127.0.0.1:${serves}`);
  }

  /** The id of the one that leads, when there is one that says so of itself. */
  async leader(): Promise<string> {
    return await until('a Manager leads', async () => {
      for (const [id, { ending }] of this.#programs) {
        if (ending === undefined && (await this.#roleOf(id)) === 'leading') return id;
      }
      return undefined;
    });
  }

  /** Of those who were there from the beginning. */
  others(...ids: readonly string[]): readonly string[] {
    return FIRST.filter((id) => !ids.includes(id));
  }

  /** In view 2, in which the leaver is no more; resolves when it takes part. */
  async enter(id: string, leaver: string): Promise<void> {
    const before = this.#peers(FIRST);
    const peers = this.#peers([...FIRST.filter((each) => each !== leaver), JOINER]);
    const program = this.#start(id, [
      ...['--peers', peers, '--peers-version', '2', '--peers-before', before],
    ]);
    await program.wrote('ready: this member');
  }

  /** As by Ctrl-C; resolves with its exit code. */
  async end(id: string): Promise<number | null> {
    const program = this.#program(id);
    program.signal('SIGTERM');
    return (await program.ended).code;
  }

  async settled(...ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.#program(id).wrote('view 2 is settled')));
  }

  get #configuration(): string {
    return this.#scene.path('managers.json');
  }

  #peers(ids: readonly string[]): string {
    return ids.map((id) => `${id}=127.0.0.1:${this.#places.get(id)?.elects}`).join();
  }

  #start(id: string, group: readonly string[]): Program {
    const { serves, http } = this.#places.get(id) as Place;
    const argv = [
      ...['manager', 'start', '--store', 'flease', '--name', id, ...group],
      ...['--config', this.#configuration],
      ...['--listen', `127.0.0.1:${serves}`, '--http', `${http}`, '--json'],
      ...['--takeover', `${TAKEOVER_MS}ms`],
    ];
    const program = this.#scene.start({ name: id, program: 'cli', config: { argv } });
    this.#programs.set(id, program);
    return program;
  }

  #program(id: string): Program {
    const program = this.#programs.get(id);
    if (program === undefined) throw new Error(`${id} was never started`);
    return program;
  }

  /** Undefined while it does not answer yet. */
  async #roleOf(id: string): Promise<unknown> {
    try {
      const answer = await fetch(`http://127.0.0.1:${this.#places.get(id)?.http}/v1/status`);
      const { handles } = (await answer.json()) as {
        readonly handles: readonly { readonly role: unknown }[];
      };
      return handles[0]?.role;
    } catch (error) {
      if (error instanceof TypeError) return undefined;
      throw error;
    }
  }
}
