/**
 * The events of the Manager as they come. The browser connects again by itself and says which event it saw
 * last; only if it is refused, which happens when another incarnation of the Manager knows nothing of that
 * event's, everything is begun anew.
 */

import { ask, type Gap, type LoggedEvent } from './api.ts';
import { answersCome, streamIs } from './connection.ts';
import { showEvent, showEvents } from './events.ts';
import { rememberGone } from './gone.ts';
import { model } from './model.ts';
import { refresh, refreshSoon } from './refresh.ts';

const AGAIN_AFTER_MS = 2_000;
const RECENT = 200;
/** How long ranges that an owner died with are marked on the ring. */
const LOST_SHOWN_MS = 4_000;

const KINDS: readonly (LoggedEvent | Gap)['kind'][] = [
  ...(['pool.joined', 'pool.left', 'pool.granted', 'pool.moved', 'pool.lost', 'pool.ordered'] as const),
  ...(['pool.removed'] as const),
  ...(['manager.elected', 'manager.deposed', 'manager.follows', 'manager.halted', 'gap'] as const),
];

let stream: EventSource | undefined;

/** Shows how things are and what was, and then follows. Never gives up. */
export async function follow(): Promise<void> {
  try {
    const recent = await ask<{ readonly events: readonly LoggedEvent[]; readonly latestEventId: string }>(
      `/v1/events/recent?limit=${RECENT}`,
    );
    showEvents(recent.events);
    for (const event of recent.events) rememberGone(event);
    await refresh();
    answersCome(true);
    listen(recent.latestEventId);
  } catch {
    answersCome(false);
    setTimeout(() => void follow(), AGAIN_AFTER_MS);
  }
}

function listen(after: string): void {
  stream?.close();
  const opened = new EventSource(`/v1/events?after=${encodeURIComponent(after)}`);
  stream = opened;
  opened.onopen = () => {
    streamIs('open');
    refreshSoon();
  };
  opened.onerror = () => {
    streamIs('broken');
    refreshSoon(); // Whether it still answers is known sooner that way.
    if (opened.readyState === EventSource.CLOSED) setTimeout(() => void follow(), AGAIN_AFTER_MS);
  };
  for (const kind of KINDS) {
    opened.addEventListener(kind, (message: MessageEvent<string>) => {
      const event = JSON.parse(message.data) as LoggedEvent | Gap;
      showEvent(event);
      rememberGone(event);
      if (event.kind === 'pool.lost' && event.pool === model.pool && !event.isPlanned)
        model.lostUntil.set(event.position, performance.now() + LOST_SHOWN_MS);
      refreshSoon();
    });
  }
}
