/**
 * Joins a group as a client: a process that does not listen, and is in views through one of the servers.
 *
 * The client dials the server to which the core wants to be attached, one at a time. An address that leads to another server than `peers` says counts
 * as out of reach: the safety of a move rests on the names of servers (`core/client.ts`), and a stamp names the server that is meant.
 */

import { clientTexts, mismatch } from '../../node/mesh/introduction.ts';
import { checkPeers, type Peers } from '../../node/mesh/peers-option.ts';
import type { TlsOption } from '../../node/mesh/tls-files.ts';
import { mutualTlsOption } from '../../node/mesh/tls-option.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { dialTcp, type TcpDialer } from '../../node/tcp/dial.ts';
import { atEndOfTurn } from '../../node/turn.ts';
import { warnings } from '../../node/warnings.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import { nameOption } from '../../runtime/text-option.ts';
import type { AnyMessage } from '../core/messages.ts';
import { NAME_CHARACTERS_MAX, SERVERS_MAX } from '../wire/bounds.ts';
import { MEMBERSHIP_PROTOCOL, membershipCodec } from '../wire/codec.ts';
import type { ClientCallbacks } from './group.ts';
import { GroupClient } from './group-client.ts';
import { agreedOf, durationsOf, limitsOf } from './settings.ts';

export interface JoinGroupClientOptions extends ClientCallbacks {
  /** The name of this client. Never two processes at a time under one name, and no server's name. */
  name: string;

  /** The servers by name, with their addresses; the client is attached to one of them at a time, and to another if that one fails. */
  peers: Peers;

  /** A client does not listen. */
  listen?: undefined;

  /** A client is told the servers in `peers`, also of a group registered in etcd. */
  etcd?: undefined;

  /** Groups of different names refuse each other. @default 'default' */
  group?: string | undefined;

  /** As at the servers. @default 1_500 */
  leaseMs?: number | undefined;

  /** As at the servers. @default plain TCP */
  tls?: TlsOption | undefined;

  /** Leaves the group. */
  signal?: AbortSignal | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

const OPTIONS: OptionNames<JoinGroupClientOptions> = {
  ...{ name: true, peers: true, listen: true, etcd: true, group: true, leaseMs: true, tls: true },
  ...{ signal: true, logger: true, onStartChange: true, onView: true, onPanic: true, onEnd: true },
};

const NONCE_LIMIT = 2 ** 32;

/** @throws {InvalidOptionError} before anything has started */
export async function joinAsClient(options: JoinGroupClientOptions): Promise<GroupClient> {
  checkOptionNames('', options, OPTIONS);
  const { signal, logger = warnings } = options;
  signal?.throwIfAborted();
  const name = nameOption('name', options.name, NAME_CHARACTERS_MAX);
  const group = nameOption('group', options.group ?? 'default', NAME_CHARACTERS_MAX);
  if (options.etcd !== undefined)
    throw new InvalidOptionError(
      'etcd',
      'given',
      'a client does not ask etcd: name servers of the group in peers, or give listen to be a server',
    );
  const peers = checkPeers('peers', options.peers, NAME_CHARACTERS_MAX);
  if (peers.has(name)) throw new InvalidOptionError('name', name, 'it is the name of a server in peers');
  if (peers.size > SERVERS_MAX)
    throw new InvalidOptionError('peers', peers.size, `a group has at most ${SERVERS_MAX} servers`);
  const durations = durationsOf(options.leaseMs);
  const secure = mutualTlsOption(options.tls);
  const runtime = nodeRuntime({
    onBackwards: (ms) =>
      logger.error('the monotonic clock went back; it stands still until it has caught up', { ms }),
  });
  const incarnation = {
    startedMs: Math.floor(runtime.wallMs()),
    nonce: Math.floor(runtime.random() * NONCE_LIMIT),
  };
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
    refuses: ({ greeting }) => mismatch(own, greeting, greeting['member'] ?? 'the other side'),
    onState: (address, state) => {
      if (state === 'disconnected') client?.disconnected(address);
    },
  });
  const settings = { name, incarnation, servers: [...peers.keys()], durations };
  client = new GroupClient({
    settings: { ...settings, random: () => runtime.random() },
    ...{ group, peers, runtime, logger, dialer, atEndOfTurn, callbacks: options },
  });
  const joined = client;
  signal?.addEventListener('abort', () => void joined.close(), { once: true });
  return joined;
}
