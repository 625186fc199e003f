/** What has happened, the latest first. */

import type { Gap, LoggedEvent } from './api.ts';
import { element, make } from './elements.ts';
import { clockTime, eventText } from './words.ts';

const MOST_EVENTS = 100;

/** Instead of what was shown before. */
export function showEvents(events: readonly LoggedEvent[]): void {
  const list = element('events', HTMLElement);
  list.replaceChildren();
  for (const event of events) showEvent(event);
  if (events.length === 0) list.append(make('li', 'none', 'nothing yet'));
}

export function showEvent(event: LoggedEvent | Gap): void {
  const list = element('events', HTMLElement);
  list.querySelector('.none')?.remove();
  const pool = 'pool' in event ? `${event.pool}: ` : '';
  const line = make('li');
  const kind =
    event.kind === 'pool.lost' && event.isPlanned ? 'given back' : event.kind.replace(/^\w+\./, '');
  line.dataset['kind'] = kind;
  line.append(
    make('time', '', event.atMs === 0 ? '' : clockTime(event.atMs)),
    make('b', '', kind),
    make('span', '', pool + eventText(event)),
  );
  list.prepend(line);
  while (list.children.length > MOST_EVENTS) list.lastElementChild?.remove();
}
