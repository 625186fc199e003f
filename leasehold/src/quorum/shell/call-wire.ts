/**
 * A client's way to a replica: over TCP to one of several servers, or within the replica's own process.
 *
 * Over TCP one server is used at a time. If the server cannot be reached or cannot serve, the next one is tried.
 * The client then sends unanswered calls again. That is safe: sessions make repeated writes harmless.
 */

import { refusalOfServer } from '../../node/identity/gate.ts';
import { ANY } from '../../node/identity/grants.ts';
import { MEMBER_LINK } from '../../node/tcp/limits.ts';
import { dialTcp, type TcpDialer } from '../../node/tcp/dial.ts';
import type { DialSockets } from '../../node/tcp/sockets.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Call, Reply } from '../wire/calls.ts';
import type { LeaseholdError, RefusedError } from '../../runtime/errors.ts';
import { refusalOfAll } from '../../node/tcp/lasting-refusal.ts';
import { anotherCluster } from '../core/errors.ts';
import { clientCodec, QUORUM_PROTOCOL } from '../wire/codec.ts';
import { ownReply } from './client-checks.ts';

/** Told to the client. */
export interface WireEvents {
  replies(replies: readonly Reply[]): void;
  /** Calls under way may be lost: another server is used, or the same one again. */
  renewed(): void;
  /** Another server is used, and was connected already. Calls that wait for the server before are repeated in a moment. */
  moved(): void;
  /** Every server refuses this client, and time mends none of the refusals. */
  refused(why: LeaseholdError): void;
  /** The connection to a server is made, or has ended. */
  connected(server: string, isConnected: boolean): void;
}

export interface CallWire extends AsyncDisposable {
  /** How long the cell keeps a session without a request, as far as is known. */
  readonly sessionMs: number;
  /** Whether a call that is sent now reaches the server, as far as is known. */
  readonly isOpen: boolean;
  /** The address of the server in use; undefined within its process. */
  readonly server: string | undefined;
  /** Connects, if there is no connection; {@link WireEvents.renewed} when there is one. */
  open(): void;
  send(calls: readonly Call[]): void;
  /** The server in use cannot serve now: use the next one. */
  next(): void;
  /** Use the server at this address. */
  redirect(address: string): void;
  /** Why servers cannot be reached, for an error; empty if they can. */
  problems(): string;
  /** Why every server refuses this client, if time mends none of the refusals. */
  refusal(): LeaseholdError | undefined;
}

const DEFAULT_SESSION_MS = 60_000;

export class TcpWire implements CallWire {
  readonly #dialer: TcpDialer<readonly Call[], readonly Reply[]>;
  readonly #servers: string[];
  readonly #events: WireEvents;
  #at = 0;
  #cluster: string | undefined;

  constructor(
    servers: readonly string[],
    options: {
      readonly runtime: Runtime;
      readonly logger: Logger;
      readonly secure: DialSockets | undefined;
      /** The cell whose replicas are expected at the addresses. */
      readonly cell: string;
      readonly inOrder: boolean;
    },
    events: WireEvents,
  ) {
    this.#servers = [...servers];
    this.#events = events;
    const { runtime, logger, secure, cell, inOrder } = options;
    this.#at = inOrder ? 0 : Math.floor(runtime.random() * servers.length);
    this.#dialer = dialTcp({
      ...{ codec: clientCodec, protocol: QUORUM_PROTOCOL, role: 'client', runtime, logger, secure },
      limits: MEMBER_LINK,
      expects: (address, identity) =>
        refusalOfServer({ module: 'quorum', group: cell }, ANY, address, identity),
      refuses: ({ greeting }) => this.#refuses(greeting['cluster']),
      onState: (address, state) => {
        this.#events.connected(address, state === 'connected');
        if (address !== this.server) return;
        if (state === 'disconnected') this.#lost();
        else this.#events.renewed();
      },
    });
    this.#dialer.listen((address, replies) => {
      if (address === this.server) this.#events.replies(replies);
      else this.#endWatches(address, replies);
    });
  }

  /** A client stays with the cluster that it met first: its session and its positions mean nothing in another one. */
  #refuses(cluster: string | undefined): RefusedError | undefined {
    this.#cluster ??= cluster;
    if (cluster === undefined || cluster === this.#cluster) return undefined;
    return anotherCluster(this.#cluster ?? '', cluster);
  }

  get server(): string {
    return this.#servers[this.#at] as string;
  }

  get sessionMs(): number {
    const said = Number(this.#dialer.welcome(this.server)?.greeting['sessionMs']);
    return Number.isFinite(said) && said > 0 ? said : DEFAULT_SESSION_MS;
  }

  get isOpen(): boolean {
    return this.#dialer.welcome(this.server) !== undefined;
  }

  open(): void {
    // The first message to an address makes the dialer connect. After a failure the dialer pauses, and this one is dropped.
    this.#dialer.send(this.server, []);
  }

  send(calls: readonly Call[]): void {
    this.#dialer.send(this.server, calls);
  }

  next(): void {
    this.#at = (this.#at + 1) % this.#servers.length;
    if (this.isOpen) this.#events.renewed();
    else this.open();
  }

  redirect(address: string): void {
    let at = this.#servers.indexOf(address);
    if (at < 0) at = this.#servers.push(address) - 1;
    if (at === this.#at) return;
    this.#at = at;
    if (this.isOpen) this.#events.moved();
    else this.open();
  }

  /** A server that is no longer used goes on to serve watches, until it is told. */
  #endWatches(address: string, replies: readonly Reply[]): void {
    const watches = new Set(replies.flatMap(({ kind, id }) => (kind === 'changes' ? [id] : [])));
    const calls = [...watches].map((id): Call => ({ kind: 'unwatch', id }));
    if (calls.length > 0) this.#dialer.send(address, calls);
  }

  #lost(): void {
    const why = this.refusal();
    if (why !== undefined) this.#events.refused(why);
    this.next();
  }

  refusal(): LeaseholdError | undefined {
    return refusalOfAll(this.#servers, this.#dialer.problems());
  }

  problems(): string {
    const problems = [...this.#dialer.problems()].map(([address, { message }]) => `; ${address}: ${message}`);
    return problems.join('');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dialer[Symbol.asyncDispose]();
  }
}

/** Within the replica's process. */
export interface LocalDesk {
  take(calls: readonly Call[]): void;
  gone(): void;
}

export class LocalWire implements CallWire {
  readonly sessionMs: number;
  readonly #desk: LocalDesk;

  constructor(
    sessionMs: number,
    desk: (send: (replies: readonly Reply[]) => void) => LocalDesk,
    events: WireEvents,
  ) {
    this.sessionMs = sessionMs;
    this.#desk = desk((replies) => events.replies(replies.map(ownReply)));
  }

  readonly isOpen = true;
  readonly server = undefined;

  open(): void {}

  send(calls: readonly Call[]): void {
    this.#desk.take(calls);
  }

  next(): void {}

  redirect(): void {}

  problems(): string {
    return '';
  }

  refusal(): undefined {}

  async [Symbol.asyncDispose](): Promise<void> {
    this.#desk.gone();
  }
}
