/**
 * Which servers this one dials, and from which it takes messages: those of the options, those registered in etcd, and those that it has heard of. A server
 * that is in no list of this one says where it is, and is dialled from then on; names that the core has forgotten make room.
 */

import type { Mesh } from '../../node/mesh/mesh.ts';
import type { EpisodeLog } from '../../runtime/episode-log.ts';
import type { Member } from '../core/member.ts';
import type { AnyMessage } from '../core/messages.ts';
import type { Reading } from '../etcd/keeper.ts';
import { SERVERS_MAX } from '../wire/bounds.ts';
import { isAddress, type RegistryConnection } from './registry.ts';

interface Around {
  readonly name: string;
  /** The peers of the options. */
  readonly peers: readonly string[];
  readonly mesh: Pick<Mesh<Uint8Array, AnyMessage>, 'peers' | 'setPeers' | 'addressSaidBy' | 'isConnected'>;
  readonly member: Pick<Member, 'registry' | 'records'>;
  readonly episodes: EpisodeLog;
}

export class KnownServers {
  readonly #around: Around;

  constructor(around: Around) {
    this.#around = around;
  }

  /** Dials the servers that are registered. */
  registered(registry: RegistryConnection, reading: Reading): void {
    const addresses = registry.addressesIn(reading, this.#kept());
    if (addresses !== undefined) this.#around.mesh.setPeers(addresses);
  }

  /** Whether the process that introduced itself so can be answered. */
  has(name: string): boolean {
    const { mesh, episodes } = this.#around;
    if (mesh.peers.has(name)) return true;
    const address = mesh.addressSaidBy(name);
    if (name === this.#around.name || address === undefined || !isAddress(address)) {
      episodes.happened('unknown', 'a server that is not in the peers gives no address, and is ignored', {
        name,
      });
      return false;
    }
    const kept = this.#kept();
    if (kept.size >= SERVERS_MAX) {
      episodes.happened('too-many', 'more servers than a group can have; the last one is ignored', { name });
      return false;
    }
    mesh.setPeers(kept.set(name, address));
    return true;
  }

  /** The peers that are configured, registered or heard of. */
  #kept(): Map<string, string> {
    const { mesh, member, peers, name: own } = this.#around;
    const registered = member.registry?.registry?.registrations ?? [];
    const isKept = (name: string): boolean =>
      name === own ||
      peers.includes(name) ||
      registered.some((each) => each.name === name) ||
      member.records.has(name) ||
      mesh.isConnected(name);
    return new Map([...mesh.peers].filter(([name]) => isKept(name)));
  }
}
