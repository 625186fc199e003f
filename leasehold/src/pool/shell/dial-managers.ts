/**
 * How owners and look-ups reach the Managers, and hear that one is back.
 *
 * A core that is not answered asks again after a while. After a Manager's restart nothing would be renewed in that
 * while, for all owners at once; so the core is told when a failed connection comes back, and asks at once. A first
 * connection is not told: the connection was made to carry a question.
 *
 * With a token, a Manager is whoever has a token of a server of this pool: look-ups and owners know Managers by address, not by name.
 */

import { refusalOfServer } from '../../node/identity/gate.ts';
import { ANY } from '../../node/identity/grants.ts';
import { refusalOfAll } from '../../node/tcp/lasting-refusal.ts';
import type { DialSockets } from '../../node/tcp/sockets.ts';
import { dialTcp, type TcpDialer } from '../../node/tcp/dial.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Welcome } from '../../node/tcp/handshake.ts';
import type { FromManager, ToGate } from '../core/messages.ts';
import { clientCodec, POOL_PROTOCOL } from '../wire/codec.ts';

export interface DialManagersOptions {
  readonly role: 'owner' | 'lookup';
  readonly pool: string;
  readonly addresses: { readonly current: readonly string[] };
  /** @default plain sockets */
  readonly secure: DialSockets | undefined;
  /** The first messages on every connection. */
  readonly preface?: ((welcome: Welcome) => readonly ToGate[]) | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** A Manager can be reached again. The messages in between are lost. */
  onReachable(): void;
  /** There is no connection to this Manager, so no answers come for a while. */
  onUnreachable(address: string): void;
}

export interface ManagersDialer extends TcpDialer<ToGate, FromManager> {
  /** Aborts, with the refusal as the reason, once every Manager refuses this process and time mends none of the refusals. */
  readonly refused: AbortSignal;
}

export function dialManagers(options: DialManagersOptions): ManagersDialer {
  const { role, pool, addresses, secure, preface, runtime, logger, onReachable, onUnreachable } = options;
  const wasDown = new Set<string>();
  const refused = new AbortController();
  const dialer = dialTcp({
    ...{ codec: clientCodec, protocol: POOL_PROTOCOL, role, preface, runtime, logger, secure },
    expects: (address, identity) => refusalOfServer({ module: 'pool', group: pool }, ANY, address, identity),
    onState: (address, state) => {
      if (state === 'disconnected') {
        wasDown.add(address);
        onUnreachable(address);
        const why = refusalOfAll(addresses.current, dialer.problems());
        if (why !== undefined) refused.abort(why);
      } else if (wasDown.delete(address)) onReachable();
    },
  });
  return Object.assign(dialer, { refused: refused.signal });
}
