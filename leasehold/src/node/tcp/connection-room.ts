/**
 * The connections of one listener, and which of them goes when there is no room for one more.
 *
 * **Admitted peers keep their connections; strangers make room for each other.** A stranger that holds every connection
 * would otherwise keep honest peers out for as long as it likes. With {@link RoomOptions.admitted}, a newcomer displaces
 * the oldest connection that is not admitted, of the busiest origin, and is refused only where all peers are admitted.
 *
 * **Admission is counted again whenever room is short**, at most once per sweep. A peer could otherwise be admitted over
 * one connection, come back over the next, and so collect connections that nobody may close; or leave, and keep its own.
 *
 * Without that option a newcomer is refused. That is right for a mesh: its peers are as good as the newcomer.
 */

import type { Runtime } from '../../runtime/runtime.ts';
import { EpisodeLog } from '../../runtime/episode-log.ts';
import type { Logger } from '../../runtime/logger.ts';
import { AddressGroups } from './address-groups.ts';
import type { Connection } from './connection.ts';
import type { ConnectionSet } from './connection-set.ts';
import { TooManyConnectionsError } from './errors.ts';

export interface RoomOptions {
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** The ids of the peers that the protocol above counts as admitted now. */
  readonly admitted: (() => ReadonlySet<string>) | undefined;
  /** Connections in their TLS handshake count too, and cannot be displaced. */
  readonly handshakes: () => number;
}

/** One connection has to go, for this reason. */
export interface Displaced {
  readonly connection: Connection;
  readonly why: TooManyConnectionsError;
}

export class ConnectionRoom implements Disposable {
  readonly #options: RoomOptions;
  readonly #connectionSet: ConnectionSet;
  readonly #episodes: EpisodeLog;
  /** All that have a socket, with the origin it counts for. */
  readonly #connections = new Map<Connection, string>();
  readonly #pending = new AddressGroups<Connection>();
  /** Those that are not admitted, if they can be displaced. */
  readonly #strangers = new AddressGroups<Connection>();
  /** How many there are, also of those in their TLS handshake, by origin. */
  readonly #perOrigin = new Map<string, number>();
  /** When the admitted were last counted again, by the sweep. */
  #reviewedAt = Number.NEGATIVE_INFINITY;

  constructor(connectionSet: ConnectionSet, options: RoomOptions) {
    this.#connectionSet = connectionSet;
    this.#options = options;
    this.#episodes = new EpisodeLog(options.logger, options.runtime);
  }

  get all(): Iterable<Connection> {
    return this.#connections.keys();
  }

  get size(): number {
    return this.#connections.size + this.#options.handshakes();
  }

  get pending(): number {
    return this.#pending.size + this.#options.handshakes();
  }

  originOf(connection: Connection): string | undefined {
    return this.#connections.get(connection);
  }

  /** A socket came from there, or is gone. */
  count(origin: string, by: 1 | -1): void {
    const left = (this.#perOrigin.get(origin) ?? 0) + by;
    if (left <= 0) this.#perOrigin.delete(origin);
    else this.#perOrigin.set(origin, left);
  }

  /** Returns the connection that has to go because too many have not introduced themselves. */
  add(connection: Connection, origin: string): Displaced | undefined {
    this.count(origin, 1);
    this.#connections.set(connection, origin);
    if (this.#options.admitted !== undefined) this.#strangers.add(connection, origin);
    this.#pending.add(connection, origin);
    const { connectionsPending } = this.#connectionSet.limits;
    if (this.#pending.size <= connectionsPending) return undefined;
    const what = 'connections that have not introduced themselves';
    return this.#displaced(this.#pending.oldest(), 'connectionsPending', connectionsPending, what);
  }

  introduced(connection: Connection): void {
    this.#pending.delete(connection);
  }

  admit(connection: Connection): void {
    connection.admit();
    this.#strangers.delete(connection);
  }

  /** The connection is of no more use; its socket may still end. */
  closed(connection: Connection): void {
    this.#pending.delete(connection);
    this.#strangers.delete(connection);
  }

  gone(connection: Connection): void {
    const origin = this.#connections.get(connection);
    if (origin === undefined) return;
    this.#connections.delete(connection);
    this.count(origin, -1);
  }

  /** Why there is no room for one more from there, or the connection that has to go; undefined if there is room. */
  make(origin: string): TooManyConnectionsError | Displaced | undefined {
    const { connections, connectionsPerAddress } = this.#connectionSet.limits;
    const isFull = this.size >= connections;
    if (!isFull && (this.#perOrigin.get(origin) ?? 0) < connectionsPerAddress) return undefined;
    this.#review();
    const limit = isFull ? connections : connectionsPerAddress;
    const stranger = this.#strangers.oldest(isFull ? undefined : origin);
    const what = 'connections of peers that are not admitted';
    const displaced = this.#displaced(stranger, 'connections', limit, what);
    return displaced ?? new TooManyConnectionsError(isFull ? 'the listener' : 'this address', limit);
  }

  [Symbol.dispose](): void {
    this.#episodes[Symbol.dispose]();
  }

  #review(): void {
    const { admitted } = this.#options;
    const { time } = this.#connectionSet.sweep;
    if (admitted === undefined || time === this.#reviewedAt) return;
    this.#reviewedAt = time;
    const still = admitted();
    for (const [connection, origin] of this.#connections) {
      if (!connection.isAdmitted || !connection.isOpen || still.has(connection.id)) continue;
      connection.isAdmitted = false;
      this.#strangers.add(connection, origin);
    }
  }

  #displaced(
    connection: Connection | undefined,
    name: 'connections' | 'connectionsPending',
    most: number,
    what: string,
  ): Displaced | undefined {
    if (connection === undefined) return undefined;
    this.#connectionSet.counters.limited[name] += 1;
    this.#episodes.happened(
      name,
      'there is no room for more connections; the oldest of the busiest address go',
      {
        ...{ limit: name, most, address: this.#connections.get(connection) },
      },
    );
    return { connection, why: new TooManyConnectionsError('the listener', most, what) };
  }
}
