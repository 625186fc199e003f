/** The events of a Manager as a stream that can be resumed. */

import type { ApiRequest, StreamAnswer } from './exchange.ts';
import type { ApiSource } from './source.ts';

/**
 * Whoever shows the id of the last event it has seen gets everything since, or a `gap` where that is
 * not kept any more; whoever shows none gets what happens from now on. A gap has no id of its own: the
 * next event has one, and until then the old one is still the truth.
 */
export const streamEvents = (source: ApiSource, request: ApiRequest): StreamAnswer => ({
  kind: 'stream',
  open: (onMore) => {
    // The header is what a browser sends when it reconnects by itself, so it is newer than the query.
    const after = request.header('last-event-id') ?? request.query.get('after') ?? undefined;
    const pool = request.query.get('pool') ?? undefined;
    const reader = source.events.read({ after, pool, onMore });
    return {
      next: () => {
        const event = reader.next();
        if (event === undefined) return undefined;
        return {
          id: event.kind === 'gap' ? undefined : event.id,
          event: event.kind,
          data: JSON.stringify(event),
        };
      },
      [Symbol.dispose]: () => reader[Symbol.dispose](),
    };
  },
});
