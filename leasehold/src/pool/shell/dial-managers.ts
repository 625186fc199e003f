/**
 * How owners and look-ups reach the Managers, and hear that one is back.
 *
 * A core that is not answered asks again after a while. After a Manager's restart nothing would be renewed in that
 * while, for all owners at once; so the core is told when a failed connection comes back, and asks at once. A first
 * connection is not told: the connection was made to carry a question.
 */

import { dialTcp, type TcpDialer } from '../../node/tcp/dial.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Welcome } from '../../node/tcp/handshake.ts';
import type { FromManager, ToGate } from '../core/messages.ts';
import { clientCodec, POOL_PROTOCOL } from '../wire/codec.ts';

export interface DialManagersOptions {
  readonly role: 'owner' | 'lookup';
  /** The first messages on every connection. */
  readonly preface?: ((welcome: Welcome) => readonly ToGate[]) | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** A Manager can be reached again. The messages in between are lost. */
  onReachable(): void;
  /** There is no connection to this Manager, so no answers come for a while. */
  onUnreachable(address: string): void;
}

export function dialManagers(options: DialManagersOptions): TcpDialer<ToGate, FromManager> {
  const { role, preface, runtime, logger, onReachable, onUnreachable } = options;
  const wasDown = new Set<string>();
  return dialTcp({
    ...{ codec: clientCodec, protocol: POOL_PROTOCOL, role, preface, runtime, logger },
    onState: (address, state) => {
      if (state === 'disconnected') {
        wasDown.add(address);
        onUnreachable(address);
      } else if (wasDown.delete(address)) onReachable();
    },
  });
}
