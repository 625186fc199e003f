/**
 * Where Managers and etcd run: each Manager as on a machine of its own and all of etcd on another, in network
 * namespaces, so that a Manager can be cut from etcd and from nobody else. Where there are none, because whoever
 * measures may not make them, everything is on loopback and nothing can be cut.
 */

import { spawnSync } from 'node:child_process';
import process from 'node:process';
import { Network } from '../../../e2e/harness/network.ts';
import { missing } from '../../../e2e/harness/tools.ts';

const ETCD = 'etcd';

export class Grounds implements AsyncDisposable {
  /** Why Managers cannot be cut from etcd; undefined if they can. */
  readonly lacking: string | undefined;
  readonly #network: Network | undefined;
  readonly #cleanUps: (() => Promise<void> | void)[];
  readonly #exit: () => void;

  private constructor(
    lacking: string | undefined,
    network: Network | undefined,
    cleanUps: (() => Promise<void> | void)[],
  ) {
    this.lacking = lacking;
    this.#network = network;
    this.#cleanUps = cleanUps;
    // When it is broken off there is no time to wait for anything.
    this.#exit = () => {
      for (const name of network?.namespaces ?? []) spawnSync('ip', ['netns', 'delete', name]);
    };
    process.on('exit', this.#exit);
  }

  static async open(managers: number): Promise<Grounds> {
    const lacking = await missing('network namespaces');
    const cleanUps: (() => Promise<void> | void)[] = [];
    if (lacking !== undefined) return new Grounds(lacking, undefined, cleanUps);
    const machines = Array.from({ length: managers }, (_, index) => machine(index));
    const defer = (cleanUp: () => Promise<void> | void): number => cleanUps.push(cleanUp);
    return new Grounds(undefined, await Network.openReachable({ defer }, ...machines, ETCD), cleanUps);
  }

  /** Where etcd runs, and what to put in front of it. */
  get etcd(): { readonly host: string; readonly under: readonly string[] } {
    return this.#place(ETCD);
  }

  manager(index: number): { readonly host: string; readonly under: readonly string[] } {
    return this.#place(machine(index));
  }

  /** From here on nothing gets from this Manager to etcd, nor back. */
  async cut(index: number): Promise<void> {
    await this.#network?.part(machine(index), ETCD);
  }

  async heal(index: number): Promise<void> {
    await Promise.all([this.#network?.heal(machine(index)), this.#network?.heal(ETCD)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off('exit', this.#exit);
    for (const cleanUp of this.#cleanUps.reverse()) await cleanUp();
  }

  #place(name: string): { readonly host: string; readonly under: readonly string[] } {
    if (this.#network === undefined) return { host: '127.0.0.1', under: [] };
    return { host: this.#network.address(name), under: this.#network.on(name) };
  }
}

const machine = (index: number): string => `m${index}`;
