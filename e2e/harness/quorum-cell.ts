/** Three replicas as processes that can be killed and started again, each with a directory of its own. */

import {
  connectQuorum,
  type QuorumClient,
  silent,
  type StartReplicaOptions,
} from '../../leasehold/src/quorum/index.ts';
import { lastingPort } from '../../leasehold/src/node/testing/lasting-port.ts';
import type { Program } from './program.ts';
import type { Scene } from './scene.ts';
import { until } from './time.ts';

export class QuorumCell {
  readonly peers: Readonly<Record<string, string>>;
  readonly #scene: Scene;
  readonly #options: Partial<StartReplicaOptions>;
  readonly #directoryOf: (name: string) => string;
  readonly #programs = new Map<string, Program>();

  private constructor(
    scene: Scene,
    peers: Readonly<Record<string, string>>,
    options: Partial<StartReplicaOptions>,
    directoryOf: (name: string) => string,
  ) {
    this.#directoryOf = directoryOf;
    this.#scene = scene;
    this.peers = peers;
    this.#options = options;
  }

  static async running(
    scene: Scene,
    names: readonly string[],
    options: Partial<StartReplicaOptions> = {},
    directoryOf: (name: string) => string = (name) => scene.path(name),
    environmentOf: (name: string) => Readonly<Record<string, string>> = () => ({}),
  ): Promise<QuorumCell> {
    const addresses = await Promise.all(
      names.map(async (name) => [name, `127.0.0.1:${await lastingPort()}`]),
    );
    const cell = new QuorumCell(scene, Object.fromEntries(addresses), options, directoryOf);
    for (const name of names) cell.start(name, {}, environmentOf(name));
    await Promise.all(names.map((name) => cell.program(name).event('ready')));
    return cell;
  }

  get names(): readonly string[] {
    return Object.keys(this.peers);
  }

  program(name: string): Program {
    const found = this.#programs.get(name);
    if (found === undefined) throw new Error(`${name} was never started`);
    return found;
  }

  start(
    name: string,
    options: Partial<StartReplicaOptions> = {},
    environment: Readonly<Record<string, string>> = {},
  ): Program {
    const { peers } = this;
    const config = { name, directory: this.#directoryOf(name), peers, ...this.#options, ...options };
    const program = this.#scene.start({ name, program: 'replica', config, environment });
    this.#programs.set(name, program);
    return program;
  }

  async kill(name: string): Promise<void> {
    const program = this.program(name);
    program.signal('SIGKILL');
    await program.ended;
  }

  /** A client that begins with this replica, and is closed with the scene. */
  async client(first: string): Promise<QuorumClient> {
    const { peers, names } = this;
    const order = [first, ...names.filter((name) => name !== first)];
    const servers = order.map((name) => peers[name] as string);
    const client = await connectQuorum({ servers, inOrder: true, logger: silent });
    this.#scene.defer(() => client[Symbol.asyncDispose]());
    return client;
  }

  /** The name of the leader, as known by a running replica. */
  leader(): Promise<string> {
    return until('a leader is known', async () => {
      for (const program of this.#programs.values()) {
        if (program.ending !== undefined) continue;
        const { leader, role } = await program.ask('status');
        if (role === 'leader') return String(leader);
      }
      return undefined;
    });
  }
}
