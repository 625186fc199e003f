/** How owners and look-ups reach the Managers. */

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
