/**
 * A small network of its own for each test: machines as network namespaces, joined by a bridge that is in
 * a namespace too, so that nothing of it touches the network of this machine.
 *
 *     10.77.0.1 m ──┐
 *     10.77.0.2 a ──┼── bridge
 *     10.77.0.3 b ──┘
 *
 * One that is *reachable* has a wire to this machine as well, so that the process that made it can talk with what
 * runs there. The wire goes with the bridge.
 */

import { run } from './tools.ts';
import { worker, WORKERS_MAX } from '../../leasehold/src/node/testing/worker.ts';

let networks = 0;

/** Whoever has a network removes it at the end, the last one first. */
export interface Grounds {
  defer(cleanUp: () => Promise<void> | void): void;
}

/** Several can be reachable from one machine at once, and then they must differ: each worker has its own. */
const SUBNETS_EACH = Math.floor(250 / WORKERS_MAX);
const reachableSubnet = (): string =>
  `10.77.${1 + worker * SUBNETS_EACH + ((process.ppid + networks) % SUBNETS_EACH)}`;

export class Network {
  readonly #id: string;
  readonly #subnet: string;
  readonly #machines = new Map<string, string>();

  private constructor(id: string, subnet: string) {
    this.#id = id;
    this.#subnet = subnet;
  }

  static async open(scene: Grounds, ...machines: readonly string[]): Promise<Network> {
    return await Network.#open(scene, '10.77.0', machines);
  }

  static async openReachable(scene: Grounds, ...machines: readonly string[]): Promise<Network> {
    const network = await Network.#open(scene, reachableSubnet(), machines);
    const [hub, here] = [network.#namespace('hub'), `lh${process.pid}-${networks}`];
    await run('ip', 'link', 'add', here, 'type', 'veth', 'peer', 'name', 'outside', 'netns', hub);
    await run('ip', '-n', hub, 'link', 'set', 'outside', 'master', 'bridge', 'up');
    await run('ip', 'addr', 'add', `${network.#subnet}.254/24`, 'dev', here);
    await run('ip', 'link', 'set', here, 'up');
    return network;
  }

  static async #open(scene: Grounds, subnet: string, machines: readonly string[]): Promise<Network> {
    networks += 1;
    const network = new Network(`leasehold-${process.pid}-${networks}`, subnet);
    const hub = network.#namespace('hub');
    await run('ip', 'netns', 'add', hub);
    scene.defer(() => run('ip', 'netns', 'delete', hub).then(() => {}));
    await run('ip', '-n', hub, 'link', 'add', 'bridge', 'type', 'bridge');
    await run('ip', '-n', hub, 'link', 'set', 'bridge', 'up');
    for (const machine of machines) await network.#add(scene, machine);
    return network;
  }

  /** By their names in the system, for whoever has to remove them in a hurry. */
  get namespaces(): readonly string[] {
    return ['hub', ...this.#machines.keys()].map((machine) => this.#namespace(machine));
  }

  address(machine: string): string {
    return this.#machines.get(machine) ?? '';
  }

  /** What to put in front of a command that is to run there. */
  on(machine: string): readonly string[] {
    return ['ip', 'netns', 'exec', this.#namespace(machine)];
  }

  /** From here on nothing arrives at `machine` that comes from `from`. The other direction stays open. */
  async deafen(machine: string, from: string): Promise<void> {
    const rules = [
      'add table inet cut',
      'add chain inet cut in { type filter hook input priority 0; }',
      `add rule inet cut in ip saddr ${this.address(from)} drop`,
    ];
    const [command = '', ...args] = this.on(machine);
    await run(command, ...args, 'nft', rules.join('; '));
  }

  /** Neither hears the other any more. */
  async part(one: string, other: string): Promise<void> {
    await Promise.all([this.deafen(one, other), this.deafen(other, one)]);
  }

  async heal(machine: string): Promise<void> {
    const [command = '', ...args] = this.on(machine);
    await run(command, ...args, 'nft', 'delete table inet cut');
  }

  #namespace(machine: string): string {
    return `${this.#id}-${machine}`;
  }

  async #add(scene: Grounds, machine: string): Promise<void> {
    const [name, hub] = [this.#namespace(machine), this.#namespace('hub')];
    const address = `${this.#subnet}.${this.#machines.size + 1}`;
    this.#machines.set(machine, address);
    await run('ip', 'netns', 'add', name);
    scene.defer(() => run('ip', 'netns', 'delete', name).then(() => {}));
    const port = `port-${machine}`;
    await run('ip', 'link', 'add', 'wire', 'netns', name, 'type', 'veth', 'peer', 'name', port, 'netns', hub);
    await run('ip', '-n', hub, 'link', 'set', port, 'master', 'bridge', 'up');
    await run('ip', '-n', name, 'addr', 'add', `${address}/24`, 'dev', 'wire');
    await run('ip', '-n', name, 'link', 'set', 'wire', 'up');
    await run('ip', '-n', name, 'link', 'set', 'lo', 'up');
  }
}
