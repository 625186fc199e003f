/**
 * How owners and look-ups reach the Managers, and hear that one is back.
 *
 * A core that is not answered asks again after a while. After a Manager's restart that while would be the
 * time that nothing is renewed, for everybody at once; so a connection that comes back after it had
 * failed is told, and the core asks at once. A first connection is not: it was made to carry a question.
 */

import { dialTcp, type TcpDialer } from '../../node/tcp/dial.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { FromManager, ToManager } from '../messages.ts';
import { clientCodec, POOL_PROTOCOL } from '../wire/codec.ts';

export interface DialManagersOptions {
  readonly role: 'owner' | 'lookup';
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** A Manager can be reached again after it could not. What it said meanwhile is lost. */
  onReachable(): void;
}

export function dialManagers(options: DialManagersOptions): TcpDialer<ToManager, FromManager> {
  const { role, runtime, logger, onReachable } = options;
  const wasDown = new Set<string>();
  return dialTcp({
    ...{ codec: clientCodec, protocol: POOL_PROTOCOL, role, runtime, logger },
    onState: (address, state) => {
      if (state === 'disconnected') wasDown.add(address);
      else if (wasDown.delete(address)) onReachable();
    },
  });
}
