/** Connects a client to the servers of a cell: `connectQuorum`. */

import { checkOwnRole } from '../../node/identity/gate.ts';
import { ANY } from '../../node/identity/grants.ts';
import { randomId } from '../../node/id.ts';
import { type BeginOptions, closeOnAbort } from '../../runtime/handle.ts';
import { checkAddress } from '../../node/mesh/peers-option.ts';
import { secureSocketsOf, TLS_ROW } from '../../node/mesh/tls-option.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { warnings } from '../../node/process/warnings.ts';
import { invalidOption } from '../../runtime/errors.ts';
import * as is from '../../runtime/option-kinds.ts';
import {
  LOGGER_WORDS,
  type OptionTable,
  optional,
  or,
  required,
  resolveOptions,
} from '../../runtime/option-table.ts';
import { NAME_CHARACTERS_MAX } from '../wire/bounds.ts';
import { TcpWire } from './call-wire.ts';
import { CLIENT_TIMEOUT_MS, QuorumClient } from './quorum-client.ts';

/** What `connectQuorum` takes. */
export interface ConnectQuorumOptions extends Omit<BeginOptions, 'insecure'> {
  /** Addresses of replicas, some or all. Put the nearest one first and set `inOrder` to read from it. */
  servers: readonly string[];

  /** Begins with the first server, and goes on to the next one only if need be. @default a server by chance */
  inOrder?: boolean | undefined;

  /** The cell of the replicas, which their tokens must grant. @default 'default' */
  cell?: string | undefined;

  /**
   * As at the replicas. A token needs the grant `reader:quorum/<cell>` to read and watch, `client:quorum/<cell>` to write, and `operator:quorum/<cell>` to
   * change members. @default the token of the environment; without one plain TCP
   */
  tls?: BeginOptions['tls'];

  /** How long a call waits for an answer, unless the call has its own `timeoutMs`. @default 10_000 */
  timeoutMs?: number | undefined;

  /** Closes the client. */
  signal?: AbortSignal | undefined;
}

/** @internal */
export const CONNECT_QUORUM_OPTIONS: OptionTable<
  ConnectQuorumOptions,
  'inOrder' | 'cell' | 'timeoutMs' | 'logger'
> = {
  servers: required(is.anything()),
  inOrder: or(false, is.flag),
  cell: or('default', is.name(NAME_CHARACTERS_MAX)),
  tls: TLS_ROW,
  timeoutMs: or(CLIENT_TIMEOUT_MS, is.timeLimit),
  signal: optional(is.signal),
  logger: or(warnings, is.logger, LOGGER_WORDS),
};

/**
 * Resolves when the options and the token are read; connects when something is first asked, or {@link QuorumClient.ready}. A client is for
 * the whole life of a process; close the client at the end.
 *
 * @throws {InvalidArgumentError} if an option is wrong
 * @throws {RefusedError} if the own token grants nothing in this cell
 */
export async function connectQuorum(options: ConnectQuorumOptions): Promise<QuorumClient> {
  const resolved = resolveOptions('', options, CONNECT_QUORUM_OPTIONS);
  const { servers, inOrder, cell, tls, timeoutMs, signal, logger } = resolved;
  checkServers(servers);
  signal?.throwIfAborted();
  const runtime = nodeRuntime({
    onBackwards: (ms) => logger.error('the monotonic clock went back; it stands still meanwhile', { ms }),
  });
  const secure = secureSocketsOf({ tls, logger }, runtime.wallMs());
  if (secure !== undefined) checkOwnRole({ module: 'quorum', group: cell }, 'reader', ANY, secure.own);
  // The client's own timers keep the process alive while a call or a watch waits; the dialer's do not, so that an idle client with no
  // connection lets the process end.
  const unattended = nodeRuntime({ unref: true });
  const client = new QuorumClient(
    runtime,
    { cell, timeoutMs, id: randomId() },
    (events) => new TcpWire(servers, { runtime: unattended, logger, secure, cell, inOrder }, events),
  );
  const closing = closeOnAbort(signal, client, (why) => logger.error('closing failed', { why: String(why) }));
  void client.closed.then(() => closing[Symbol.dispose]());
  return client;
}

/** @throws {InvalidArgumentError} */
function checkServers(servers: unknown): void {
  if (!Array.isArray(servers) || servers.length === 0)
    throw invalidOption('servers', servers, "it must have the address of a replica, as ['10.0.0.1:7600']");
  for (const server of servers) checkAddress('servers', server);
}
