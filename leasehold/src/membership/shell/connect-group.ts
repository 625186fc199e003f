/**
 * Connects to a group as a client: `connectGroup` and its options. A client is a process that does not listen, and is in views through one of the servers.
 *
 * The client dials the address to which the core wants to be attached, one at a time. The server there says its name in the handshake, and with tokens the
 * certificate of the server must grant that name: the safety of a move rests on the names of servers (`core/client.ts`).
 */

import { checkOwnRole, refusalOfServer } from '../../node/identity/gate.ts';
import { ANY } from '../../node/identity/grants.ts';
import { clientTexts, mismatch } from '../../node/mesh/introduction.ts';
import { checkAddress } from '../../node/mesh/peers-option.ts';
import { secureSocketsOf, TLS_ROW } from '../../node/mesh/tls-option.ts';
import { warnings } from '../../node/process/warnings.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { dialTcp, type TcpDialer } from '../../node/tcp/dial.ts';
import { atEndOfTurn } from '../../node/turn.ts';
import { invalidOption, type LeaseholdError } from '../../runtime/errors.ts';
import { closeOnAbort, type Tls } from '../../runtime/handle.ts';
import type { Logger } from '../../runtime/logger.ts';
import * as is from '../../runtime/option-kinds.ts';
import {
  LOGGER_WORDS,
  type OptionTable,
  optional,
  or,
  required,
  resolveOptions,
} from '../../runtime/option-table.ts';
import type { AnyMessage } from '../core/messages.ts';
import { NAME_CHARACTERS_MAX, SERVERS_MAX } from '../wire/bounds.ts';
import { MEMBERSHIP_PROTOCOL, membershipCodec } from '../wire/codec.ts';
import { GroupClient } from './group-client.ts';
import { agreedOf, durationsOf, incarnationOf, LEASE_MS, LEASE_MS_ROW, limitsOf } from './settings.ts';
import type { GroupCallbacks } from './view.ts';

/** What `connectGroup` takes. */
export interface ConnectGroupOptions extends GroupCallbacks {
  /** The name of this client. Never two processes at a time under one name, and no server's name. */
  name: string;

  /** Addresses of servers, some or all; the client is attached to one of them at a time, and to another if that one fails. */
  servers: readonly string[];

  /** Groups of different names refuse each other. @default 'default' */
  group?: string | undefined;

  /** As at the servers. @default 1_500 */
  leaseMs?: number | undefined;

  /** As at the servers; the grant is `client:membership/<group>/<name>`. @default the token of the environment; without one plain TCP */
  tls?: Tls | undefined;

  /** Gives up connecting; later leaves the group. */
  signal?: AbortSignal | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

/** @internal */
export const CONNECT_GROUP_OPTIONS: OptionTable<ConnectGroupOptions, 'group' | 'leaseMs' | 'logger'> = {
  name: required(is.name(NAME_CHARACTERS_MAX)),
  servers: required(is.anything()),
  group: or('default', is.name(NAME_CHARACTERS_MAX)),
  leaseMs: or(LEASE_MS.default, LEASE_MS_ROW),
  tls: TLS_ROW,
  signal: optional(is.signal),
  logger: or(warnings, is.logger, LOGGER_WORDS),
  onViewEnding: optional(is.callback()),
  onView: optional(is.callback()),
  onNoView: optional(is.callback()),
  onMessage: optional(is.callback()),
};

/**
 * Resolves at once; wait for `acting()`.
 *
 * @throws {InvalidArgumentError} before anything has started
 * @throws {RefusedError} `NOT_ALLOWED` if the token does not grant this name
 */
export async function connectGroup(options: ConnectGroupOptions): Promise<GroupClient> {
  const resolved = resolveOptions('', options, CONNECT_GROUP_OPTIONS);
  const { name, group, leaseMs, tls, signal, logger } = resolved;
  const places = placesOf(resolved.servers);
  signal?.throwIfAborted();
  const durations = durationsOf(leaseMs);
  const runtime = nodeRuntime({
    onBackwards: (ms) =>
      logger.error('the monotonic clock went back; it stands still until it has caught up', { ms }),
  });
  const secure = secureSocketsOf({ tls, logger }, runtime.wallMs());
  const gate = { module: 'membership', group } as const;
  if (secure !== undefined) checkOwnRole(gate, 'client', name, secure.own);
  const incarnation = incarnationOf(runtime);
  const agreed = agreedOf(durations);
  const own = {
    ...{ name, group, incarnation: `${incarnation.startedMs}.${incarnation.nonce}`, agreed },
    isClient: true,
  };
  let client: GroupClient | undefined;
  const dialer: TcpDialer<Uint8Array, AnyMessage> = dialTcp({
    ...{ codec: membershipCodec, protocol: MEMBERSHIP_PROTOCOL, role: name, runtime, logger, secure },
    limits: limitsOf(durations),
    introduction: clientTexts(group, agreed),
    expects: (address, identity) => refusalOfServer(gate, ANY, address, identity),
    refuses: ({ greeting }) => mismatch(own, greeting, greeting['member'] ?? 'the other side'),
    onState: (address, state) => client?.serverIs(address, state),
  });
  const serverAt = (address: string): string | LeaseholdError | undefined => {
    const server = dialer.welcome(address)?.greeting['member'];
    const identity = dialer.identity(address);
    if (server === undefined || identity === undefined) return undefined;
    // Another server's token is none for this name: it would be remembered as a server that it is not.
    return refusalOfServer(gate, server, address, identity) ?? server;
  };
  client = new GroupClient({
    settings: { name, incarnation, places, durations, random: () => runtime.random() },
    ...{ group, runtime, logger, dialer, serverAt, atEndOfTurn, callbacks: options },
  });
  client.endsWith(
    closeOnAbort(signal, client, (why) => logger.error('leaving the group failed', { why: String(why) })),
  );
  return client;
}

function placesOf(servers: readonly string[]): readonly string[] {
  if (!Array.isArray(servers) || servers.length === 0)
    throw invalidOption('servers', servers, "it must have the address of a server, as ['10.0.0.1:7700']");
  for (const server of servers) checkAddress('servers', server);
  const places = [...new Set(servers as readonly string[])];
  if (places.length <= SERVERS_MAX) return places;
  throw invalidOption('servers', places.length, `a group has at most ${SERVERS_MAX} servers`);
}
