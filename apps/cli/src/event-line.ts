/** An event in one line, for people. */

import type { Gap, LoggedEvent } from './answers.ts';
import type { Colors } from './context.ts';
import { clockTime, counted, percent } from './output.ts';

type Told = LoggedEvent | Gap;

export function eventLine(event: Told, colors: Colors): string {
  const pool = 'pool' in event ? `${event.pool}  ` : '';
  return `${colors.dim(clockTime(event.atMs))}  ${colors.dim(pool)}${eventText(event, colors)}`;
}

export function eventText(event: Told, colors: Colors): string {
  switch (event.kind) {
    case 'joined':
      return colors.green(`${event.owner.name} joined, at ${event.owner.url}`);
    case 'left':
      return colors.yellow(`${event.owner.name} is gone: ${whyLeft(event.why)}`);
    case 'lost': {
      const whose = event.owner === null ? 'that nobody owned' : `of ${event.owner.name}`;
      return colors.red(`lost: the state of keys ${whose}, ${extent(event)}`);
    }
    case 'moved':
      return `moved from ${event.from.name} to ${event.owner.name}: ${extent(event)}`;
    case 'granted':
      return `granted to ${event.owner.name}: ${extent(event)}`;
    case 'elected':
      return colors.green(`Manager ${event.manager} leads, term ${event.term}`);
    case 'deposed':
      return colors.yellow(`Manager ${event.manager} leads no more, term ${event.term}`);
    case 'halted':
      return colors.red(`Manager ${event.manager} has halted: ${event.why}`);
    case 'gap':
      return colors.yellow('some events before this one cannot be told any more');
    default:
      return `${(event as { kind: string }).kind}`; // A newer Manager knows more than we do.
  }
}

const extent = ({ spans, sharePercent }: { spans: number; sharePercent: number }): string =>
  `${percent(sharePercent)} in ${counted(spans, 'range')}`;

function whyLeft(why: string): string {
  switch (why) {
    case 'left':
      return 'it left';
    case 'expired':
      return 'its lease ran out';
    case 'certified':
      return 'its death was proved';
    case 'recovered':
      return 'its leases were taken back by an operator';
    default:
      return why;
  }
}
