/**
 * The places of an HTTP server, for connections and for streams of events, shared out among origins.
 *
 * A health check must get through although a stranger holds as many connections as it can: a supervisor that gets no
 * answer restarts the process. So a new connection displaces the oldest one of the busiest origin. Connections of streams
 * stay, because they have places of their own, which are fewer.
 *
 * A stream is meant to last, so it is displaced only for the sake of fairness: by a newcomer whose origin has fewer streams,
 * by more than one, than the busiest. Otherwise the newcomer is told that there is no place.
 */

import type { Socket } from 'node:net';
import { EpisodeLog } from '../../runtime/episode-log.ts';
import type { Logger } from '../../runtime/logger.ts';
import { nodeRuntime } from '../runtime.ts';
import { AddressGroups, originOf } from '../tcp/address-groups.ts';
import type { EventStream } from './event-stream.ts';

export class HttpRooms implements Disposable {
  readonly #most: { readonly connections: number; readonly streams: number };
  readonly #onLimit: (limit: 'connections' | 'streams') => void;
  readonly #episodes: EpisodeLog;
  /** Those that can be displaced. */
  readonly #connections = new AddressGroups<Socket>();
  readonly #ofStreams = new Set<Socket>();
  readonly #streams = new AddressGroups<EventStream>();

  /** @param onLimit called each time that a limit is reached */
  constructor(
    most: { readonly connections: number; readonly streams: number },
    logger: Logger,
    onLimit: (limit: 'connections' | 'streams') => void,
  ) {
    this.#most = most;
    this.#onLimit = onLimit;
    this.#episodes = new EpisodeLog(logger, nodeRuntime({ unref: true }));
  }

  get streams(): number {
    return this.#streams.size;
  }

  /** False if there is no place for this connection. */
  admit(socket: Socket): boolean {
    const origin = originOf(socket.remoteAddress ?? '');
    if (this.#connections.size + this.#ofStreams.size >= this.#most.connections) {
      this.#full(
        'connections',
        'there is no room for more http connections; the oldest of the busiest address go',
      );
      const oldest = this.#connections.oldest();
      if (oldest === undefined) return false;
      this.#connections.delete(oldest);
      oldest.destroy();
    }
    this.#connections.add(socket, origin);
    socket.on('close', () => {
      this.#connections.delete(socket);
      this.#ofStreams.delete(socket);
    });
    return true;
  }

  /** False if there is no place for a stream over this connection; one that has to go for it is ended. */
  hasPlaceForStream({ remoteAddress }: Socket): boolean {
    if (this.#streams.size < this.#most.streams) return true;
    this.#full('streams', 'there is no room for more streams of events');
    const origin = originOf(remoteAddress ?? '');
    const oldest =
      this.#streams.largest > this.#streams.sizeOf(origin) + 1 ? this.#streams.oldest() : undefined;
    if (oldest === undefined) return false;
    this.#streams.delete(oldest);
    oldest.end();
    return true;
  }

  /** This stream goes over this connection until the function that is returned is called. */
  addStream(stream: EventStream, socket: Socket): () => void {
    const origin = originOf(socket.remoteAddress ?? '');
    this.#connections.delete(socket);
    this.#ofStreams.add(socket);
    this.#streams.add(stream, origin);
    return () => {
      this.#streams.delete(stream);
      if (!this.#ofStreams.delete(socket) || socket.destroyed) return;
      this.#connections.add(socket, origin);
    };
  }

  [Symbol.dispose](): void {
    this.#episodes[Symbol.dispose]();
  }

  #full(limit: 'connections' | 'streams', message: string): void {
    this.#onLimit(limit);
    this.#episodes.happened(limit, message, { most: this.#most[limit] });
  }
}
