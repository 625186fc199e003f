/** Connects a client to the servers of a group: `connectQuorum`. */

import type { TlsOption } from '../../node/mesh/tls-files.ts';
import { mutualTlsOption } from '../../node/mesh/tls-option.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { parseAddress } from '../../node/tcp/address.ts';
import { warnings } from '../../node/warnings.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import * as is from '../../runtime/option-kinds.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import { TcpWire } from './call-wire.ts';
import { QuorumClient } from './quorum-client.ts';

export interface ConnectQuorumOptions {
  /** Addresses of replicas, some or all. Put the nearest one first and set `inOrder` to read from it. */
  servers: readonly string[];

  /** Begins with the first server, and goes on to the next one only if need be. @default a server by chance */
  inOrder?: boolean | undefined;

  /** As at the replicas. @default plain TCP */
  tls?: TlsOption | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

const OPTIONS: OptionNames<ConnectQuorumOptions> = { servers: true, inOrder: true, tls: true, logger: true };

/**
 * Connects when something is first asked. A client is for the whole life of a process; close the client at the end.
 *
 * @throws {InvalidOptionError}
 */
export function connectQuorum(options: ConnectQuorumOptions): QuorumClient {
  checkOptionNames('', options, OPTIONS);
  const { servers, inOrder = false, logger = warnings } = options;
  is.flag.check('inOrder', inOrder);
  is.logger.check('logger', logger);
  if (!Array.isArray(servers) || servers.length === 0)
    throw new InvalidOptionError(
      'servers',
      servers,
      "it must have the address of a replica, as ['10.0.0.1:7600']",
    );
  for (const server of servers as readonly string[]) {
    try {
      parseAddress(String(server));
    } catch (error) {
      if (!(error instanceof InvalidOptionError)) throw error;
      throw new InvalidOptionError('servers', server, error.rule);
    }
  }
  const secure = mutualTlsOption(options.tls);
  const runtime = nodeRuntime({
    onBackwards: (ms) => logger.error('the monotonic clock went back; it stands still meanwhile', { ms }),
  });
  // The client's own timers keep the process alive while a call or a watch waits; the dialer's do not, so that an idle client with no
  // connection lets the process end.
  const unattended = nodeRuntime({ unref: true });
  return new QuorumClient(
    runtime,
    (events) => new TcpWire(servers, { runtime: unattended, logger, secure, inOrder }, events),
  );
}
