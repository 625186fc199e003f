/** Numbers and events as people say them. */

import type { Gap, LoggedEvent, OwnerAnswer } from './api.ts';

export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

export const clockTime = (wallMs: number): string =>
  new Date(wallMs).toLocaleTimeString([], { hour12: false });

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** In the unit that says enough: `80 s`, `12 min`, `30 h`, `4 days`. */
export function uptime(upSeconds: number): string {
  if (upSeconds < 1.5 * MINUTE) return `${upSeconds} s`;
  if (upSeconds < 1.5 * HOUR) return `${Math.round(upSeconds / MINUTE)} min`;
  if (upSeconds < 1.5 * DAY) return `${Math.round(upSeconds / HOUR)} h`;
  return `${Math.round(upSeconds / DAY)} days`;
}

/** Without its kind, which is shown before it. */
export function eventText(event: LoggedEvent | Gap): string {
  switch (event.kind) {
    case 'pool.joined':
      return `${event.owner.name} at ${event.owner.url}`;
    case 'pool.left':
      return `${event.owner.name} ${whyLeft(event.why)}`;
    case 'pool.ordered':
      return `${event.owner.name} ${ordered(event.order)}`;
    case 'pool.removed':
      return 'the pool was removed';
    case 'pool.granted':
      return `${event.owner.name} was given ${extent(event)}`;
    case 'pool.moved':
      return `${event.from.name} handed ${extent(event)} to ${event.owner.name}`;
    case 'pool.lost':
      return event.isPlanned
        ? `${event.owner?.name} gave back ${extent(event)}`
        : `${event.owner?.name ?? 'nobody'} had ${extent(event)}`;
    case 'manager.elected':
      return `${event.manager} leads in term ${event.term}`;
    case 'manager.deposed':
      return `${event.manager} no longer leads in term ${event.term}`;
    case 'manager.follows':
      return `${event.leader} leads in term ${event.term}, as far as ${event.manager} knows`;
    case 'manager.halted':
      return `${event.manager}: ${event.why}`;
    case 'gap':
      return 'some events were missed';
  }
}

const extent = ({ sharePercent, spans }: { sharePercent: number; spans: number }): string =>
  `${sharePercent} % of the ring in ${counted(spans, 'range')}`;

function ordered(order: (LoggedEvent & { kind: 'pool.ordered' })['order']): string {
  switch (order) {
    case 'cordoned':
      return 'is to take no more keys';
    case 'emptying':
      return 'is to hand all its keys over';
    case 'released':
      return 'is to give back what it has not handed over';
    case null:
      return 'takes keys again';
  }
}

/** What an owner does with its keys, beside serving them; empty if nothing. */
export function intentText({ intent, order, movesOut, movesIn }: OwnerAnswer): string {
  const words = [
    ...(intent === 'draining' ? ['drains'] : []),
    ...(intent === 'emptying' || order === 'emptying' || order === 'released' ? ['hands all over'] : []),
    ...(intent === 'cordoned' || (intent === null && order === 'cordoned') ? ['cordoned'] : []),
    ...(movesOut !== null && movesOut > 0 ? [`${counted(movesOut, 'range')} on the way out`] : []),
    ...(movesIn !== null && movesIn > 0 ? [`${counted(movesIn, 'range')} on the way in`] : []),
  ];
  return words.join('; ');
}

/** How it is known that an owner is there no more. */
export function whyLeft(why: (LoggedEvent & { kind: 'pool.left' })['why']): string {
  switch (why) {
    case 'left':
      return 'left in good order';
    case 'expired':
      return 'was silent until its hold was over';
    case 'certified':
      return 'died: its death was proved, by its supervisor or its lock';
    case 'recovered':
      return 'was dropped: the log was restored';
    case 'unknown':
      return 'is gone; how is not known';
  }
}
