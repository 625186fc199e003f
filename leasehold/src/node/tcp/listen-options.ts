/** What a listener is made with. Those that share a port compare these (`port.ts`). */

import type { Codec } from '../../runtime/codec.ts';
import type { LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Identity } from '../identity/peer-identity.ts';
import type { PeerInfo } from './connection.ts';
import type { Hello, ProtocolId, Texts } from './handshake.ts';
import type { TcpLimits } from './limits.ts';
import type { ListenSockets } from './sockets.ts';

export interface ListenOptions<Out, In> {
  host: string;
  /** 0 for any that is free. */
  port: number;
  codec: Codec<Out, In>;
  protocol: ProtocolId;
  runtime: Runtime;
  logger: Logger;
  limits?: Partial<TcpLimits> | undefined;

  /**
   * Told to every client in the welcome, and so small enough for their `helloBytes`. `http`, if it is
   * there, is also told to clients that speak HTTP here by mistake.
   */
  greeting?: Texts | undefined;

  /** Why a client must not be talked to, by the hello and by what its certificate allows it to be. @default every client of the protocol may */
  refuses?: ((hello: Hello, identity: Identity) => LeaseholdError | undefined) | undefined;

  /** Told when a peer has introduced itself, and when it is gone. */
  onPeer?: ((peer: PeerInfo, state: 'connected' | 'disconnected', why?: LeaseholdError) => void) | undefined;

  /** Whether a peer of this role may have to send large frames before it can be admitted. @default no */
  sendsMuchAtOnce?: ((role: string) => boolean) | undefined;

  /**
   * The ids of the peers that the protocol above counts as admitted now. If given, a newcomer that finds no room
   * displaces a peer that is not admitted; see `connection-room.ts`. @default the newcomer is refused
   */
  admitted?: (() => ReadonlySet<string>) | undefined;

  /** How sockets are made. @default plain ones */
  secure?: ListenSockets | undefined;

  /**
   * Listeners of this process with different groups may share the address; a client is heard by the listener whose group its
   * introduction names. @default the address is this listener's alone
   */
  group?: string | undefined;
}
