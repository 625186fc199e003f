/**
 * Three Managers that share a real etcd of three members, for one test. With a network, each Manager is on a machine
 * of its own, and all of etcd on another.
 */

import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { EtcdCluster } from '../../leasehold/src/etcd/testing/etcd-cluster.ts';
import { Network } from './network.ts';
import { lastingPort } from '../../leasehold/src/node/testing/lasting-port.ts';
import type { Program } from './program.ts';
import type { Scene } from './scene.ts';
import { until } from './time.ts';

const COUNT = 3;
const ETCD = 'etcd';
const machine = (index: number): string => `m${index}`;

interface Place {
  readonly host: string;
  readonly under: readonly string[];
}

interface Slot {
  readonly config: { readonly listen: string; readonly [option: string]: unknown };
  readonly under: readonly string[];
  program: Program;
}

const LOOPBACK: Place = { host: '127.0.0.1', under: [] };

export class ManagersOnEtcd {
  readonly cluster: EtcdCluster;
  readonly #scene: Scene;
  readonly #network: Network | undefined;
  readonly #slots: Slot[] = [];

  private constructor(scene: Scene, cluster: EtcdCluster, network: Network | undefined) {
    this.#scene = scene;
    this.cluster = cluster;
    this.#network = network;
  }

  static async open(
    scene: Scene,
    { isNetworked = false }: { readonly isNetworked?: boolean } = {},
  ): Promise<ManagersOnEtcd> {
    const names = Array.from({ length: COUNT }, (_, index) => machine(index));
    const network = isNetworked ? await Network.openReachable(scene, ...names, ETCD) : undefined;
    const place = (name: string): Place =>
      network === undefined ? LOOPBACK : { host: network.address(name), under: network.on(name) };
    const cluster = await EtcdCluster.start(place(ETCD));
    scene.defer(() => cluster[Symbol.asyncDispose]());
    const all = new ManagersOnEtcd(scene, cluster, network);
    const store = `etcd://${cluster.endpoints.map((endpoint) => new URL(endpoint).host).join(',')}/e2e`;
    for (const name of names) {
      const { host, under } = place(name);
      const config = { store, listen: `${host}:${await lastingPort()}`, insecure: true, name };
      all.#slots.push({ config, under, program: all.#start(config, under) });
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

  /** Resolves when the leader has heard so many owners since it leads. */
  async heard(owners: number, ...others: readonly Program[]): Promise<void> {
    await until(`the leader has heard ${owners} owners`, async () => {
      const { role, heard } = await (await this.leader(...others)).ask('observe');
      return role === 'leading' && heard === owners ? true : undefined;
    });
  }

  /** Starts one that has ended, at its old address. */
  async again(program: Program): Promise<Program> {
    const slot = this.#slot(program);
    slot.program = this.#start(slot.config, slot.under);
    await slot.program.event('ready');
    return slot.program;
  }

  /** Nothing gets from it to etcd, nor back; owners and look-ups reach it as before. */
  async cutFromEtcd(program: Program): Promise<void> {
    await this.#network?.part(this.#machineOf(program), ETCD);
  }

  async heal(program: Program): Promise<void> {
    await Promise.all([this.#machineOf(program), ETCD].map((each) => this.#network?.heal(each)));
  }

  /** Stops all of etcd as by a power cut, does something to what is on its disks, and starts it. */
  async whileEtcdIsDown(act: () => void): Promise<void> {
    await Promise.all(this.cluster.members.map((member) => member.kill()));
    act();
    await this.cluster.heal();
  }

  backUp(): void {
    for (const { name } of this.cluster.members) {
      cpSync(join(this.cluster.directory, name), this.#scene.path(`backup-${name}`), { recursive: true });
    }
  }

  restore(): void {
    for (const { name } of this.cluster.members) {
      const data = join(this.cluster.directory, name);
      rmSync(data, { recursive: true });
      cpSync(this.#scene.path(`backup-${name}`), data, { recursive: true });
    }
  }

  #start(config: Slot['config'], under: readonly string[]): Program {
    return this.#scene.start({ name: String(config['name']), program: 'manager', config, under });
  }

  #slot(program: Program): Slot {
    const slot = this.#slots.find((each) => each.program === program);
    if (slot === undefined) throw new Error(`${program.name} is none of these Managers`);
    return slot;
  }

  #machineOf(program: Program): string {
    return machine(this.#slots.indexOf(this.#slot(program)));
  }
}
