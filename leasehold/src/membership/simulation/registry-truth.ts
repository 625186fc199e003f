/** Every set of servers that was ever registered, as etcd itself saw it. */

import type { SimulatedEtcd } from '../../etcd/simulation/simulated-etcd.ts';
import { keyOf } from '../core/incarnation.ts';
import { decodeEntry } from '../etcd/entry.ts';
import { endOf } from '../etcd/keeper.ts';
import { REGISTRY_PREFIX } from './server.ts';

export class RegistryTruth {
  readonly #sets = new Set<string>();

  constructor(etcd: SimulatedEtcd) {
    etcd.onChange = () => this.#look(etcd);
  }

  has(set: string): boolean {
    return this.#sets.has(set);
  }

  #look({ store }: SimulatedEtcd): void {
    const names: string[] = [];
    for (const key of store.keysIn(REGISTRY_PREFIX, endOf(REGISTRY_PREFIX))) {
      const found = store.at(key);
      const entry = found && decodeEntry(found, REGISTRY_PREFIX);
      if (typeof entry === 'object') names.push(keyOf(entry));
    }
    this.#sets.add(names.join(' '));
  }
}
