/**
 * A small network of its own for each test: machines as network namespaces, joined by a bridge that is in
 * a namespace too, so that nothing of it touches the network of this machine.
 *
 *     10.77.0.1 m ──┐
 *     10.77.0.2 a ──┼── bridge
 *     10.77.0.3 b ──┘
 */

import type { Scene } from './scene.ts';
import { run } from './tools.ts';

let networks = 0;

export class Network {
  readonly #id: string;
  readonly #machines = new Map<string, string>();

  private constructor(id: string) {
    this.#id = id;
  }

  static async open(scene: Scene, ...machines: readonly string[]): Promise<Network> {
    networks += 1;
    const network = new Network(`leasehold-${process.pid}-${networks}`);
    const hub = network.#namespace('hub');
    await run('ip', 'netns', 'add', hub);
    scene.defer(() => run('ip', 'netns', 'delete', hub).then(() => {}));
    await run('ip', '-n', hub, 'link', 'add', 'bridge', 'type', 'bridge');
    await run('ip', '-n', hub, 'link', 'set', 'bridge', 'up');
    for (const machine of machines) await network.#add(scene, machine);
    return network;
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

  async heal(machine: string): Promise<void> {
    const [command = '', ...args] = this.on(machine);
    await run(command, ...args, 'nft', 'delete table inet cut');
  }

  #namespace(machine: string): string {
    return `${this.#id}-${machine}`;
  }

  async #add(scene: Scene, machine: string): Promise<void> {
    const [name, hub] = [this.#namespace(machine), this.#namespace('hub')];
    const address = `10.77.0.${this.#machines.size + 1}`;
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
