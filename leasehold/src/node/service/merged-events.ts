/**
 * The events of all handles of a process as one stream that can be resumed.
 *
 * Each handle keeps its own log, whose ids carry an epoch of that log alone. The stream's id names the last event of *each* log,
 * `a1b2-7,c3d4-19`, so a reader that shows it goes on in every log where it was. Of one handle the id is the event's own.
 * Events are told in the order of their clocks as far as they are there; a reader that fell behind in one log is told of a gap
 * in that log.
 */

import { printableJson } from '../../runtime/printable.ts';
import type { EventSupply, HttpRequest, ServerSentEvent } from '../http/exchange.ts';
import type { EventReader, Gap, Logged, ServiceEvent } from './event-log.ts';
import type { Service, ServiceEvents } from './service.ts';

const BETWEEN = ',';

type Supplied = Logged<ServiceEvent> | Gap;

interface Line {
  readonly reader: EventReader<ServiceEvent>;
  /** The last event that the reader of the stream has been told from this log. */
  told: string;
  /** Read from the log, and not told yet. */
  next: Supplied | undefined;
}

const logsOf = (services: readonly Service[]): readonly ServiceEvents<ServiceEvent>[] =>
  services.flatMap(({ events }) => events ?? []);

export const hasEvents = (services: readonly Service[]): boolean => logsOf(services).length > 0;

/** The id to resume after, for a reader that has just read everything else there is. */
export const latestEventId = (services: readonly Service[]): string =>
  logsOf(services)
    .map(({ log }) => log.latestId)
    .join(BETWEEN);

/** The last events of all, the newest last. */
export const recentEvents = (
  services: readonly Service[],
  limit: number,
  query: URLSearchParams,
): readonly Logged<ServiceEvent>[] =>
  logsOf(services)
    .flatMap(({ log, filter }) => log.recent(limit, filter?.(query)))
    .sort((one, another) => one.atMs - another.atMs)
    .slice(-limit);

/** A reader that shows no id gets the events from now on. */
export function supplyEvents(
  services: readonly Service[],
  request: HttpRequest,
  onMore: () => void,
): EventSupply {
  // A browser that reconnects sends the header, so the header is newer than the query.
  const after = request.header('last-event-id') ?? request.query.get('after') ?? undefined;
  const shown = after?.split(BETWEEN) ?? [];
  const lines = logsOf(services).map(({ log, filter }): Line => {
    const own = shown.find((id) => log.isOwn(id));
    const reader = log.read({ after: own ?? after, filter: filter?.(request.query), onMore });
    return { reader, told: own ?? log.latestId, next: undefined };
  });
  return {
    next: () => tellNext(lines),
    [Symbol.dispose]: () => {
      for (const { reader } of lines) reader[Symbol.dispose]();
    },
  };
}

function tellNext(lines: readonly Line[]): ServerSentEvent | undefined {
  let first: Line | undefined;
  for (const line of lines) {
    line.next ??= line.reader.next();
    if (line.next !== undefined && (first?.next === undefined || line.next.atMs < first.next.atMs))
      first = line;
  }
  const event = first?.next;
  if (first === undefined || event === undefined) return undefined;
  first.next = undefined;
  const data = printableJson(event);
  // A gap has no id: the next event has one, and until then the old one is still true.
  if (!('id' in event)) return { id: undefined, event: event.kind, data };
  first.told = event.id;
  return { id: lines.map(({ told }) => told).join(BETWEEN), event: event.kind, data };
}
