/**
 * Events in one line each, for people.
 *
 * People know owners by their names, and for a while there can be two of one name: a server that was restarted before
 * the end of the first incarnation was known, or a server that was started twice. "Lost by eve, granted to eve" would
 * then say nothing. So the teller remembers the present owners, and tells an owner with a shared name by the address
 * too.
 */

import { printable, printableAll } from 'leasehold/internal';
import type { Gap, LoggedEvent, OwnerAnswer } from './answers.ts';
import type { Colors } from './context.ts';
import { clockTime, counted, percent } from './output.ts';

type Told = LoggedEvent | Gap;
type Owner = Pick<OwnerAnswer, 'incarnation' | 'name' | 'url'>;

export class EventTeller {
  readonly #colors: Colors;
  /** The owners of a pool, by incarnation. */
  readonly #present = new Map<string, Map<string, Owner>>();

  constructor(colors: Colors) {
    this.#colors = colors;
  }

  /** This owner is there, though no event has said so. */
  know(pool: string, owner: Owner): void {
    const present = this.#present.get(pool) ?? new Map<string, Owner>();
    this.#present.set(pool, present.set(owner.incarnation, printableAll(owner)));
  }

  /** With the time and the pool. */
  line(event: Told): string {
    const pool = 'pool' in event ? printable(`${event.pool}  `) : '';
    return `${this.#colors.dim(clockTime(event.atMs))}  ${this.#colors.dim(pool)}${this.text(event)}`;
  }

  text(told: Told): string {
    const event = printableAll(told);
    if (event.kind === 'pool.joined' || event.kind === 'pool.granted' || event.kind === 'pool.moved') {
      this.know(event.pool, event.owner);
    }
    if (event.kind === 'pool.left') this.#present.get(event.pool)?.delete(event.owner.incarnation);
    if (event.kind === 'gap') this.#present.clear();
    return this.#sentence(event);
  }

  #sentence(event: Told): string {
    const colors = this.#colors;
    switch (event.kind) {
      case 'pool.joined':
        return colors.green(this.#joined(event.pool, event.owner));
      case 'pool.removed':
        return colors.yellow('the pool was removed; look-ups are told that everything in it is lost');
      case 'pool.left':
        return colors.yellow(`${this.#who(event.pool, event.owner)} is gone: ${whyLeft(event.why)}`);
      case 'pool.lost': {
        const whose = event.owner === null ? 'that nobody owned' : `of ${this.#who(event.pool, event.owner)}`;
        return event.isPlanned
          ? `given back ${whose.replace(/^of/, 'by')}: ${extent(event)}; look-ups are told that what was kept of them is gone`
          : colors.red(`lost: the state of keys ${whose}, ${extent(event)}`);
      }
      case 'pool.moved':
        return `moved from ${this.#who(event.pool, event.from)} to ${this.#who(event.pool, event.owner)}: ${extent(event)}`;
      case 'pool.ordered':
        return colors.yellow(`${this.#who(event.pool, event.owner)} ${ordered(event.order)}`);
      case 'pool.granted':
        return `granted to ${this.#who(event.pool, event.owner)}: ${extent(event)}`;
      case 'manager.elected':
        return colors.green(`Manager ${event.manager} leads, term ${event.term}`);
      case 'manager.deposed':
        return colors.yellow(`Manager ${event.manager} leads no more, term ${event.term}`);
      case 'manager.follows':
        return `Manager ${event.leader} leads, term ${event.term}, as far as ${event.manager} knows, which stands by`;
      case 'manager.halted':
        return colors.red(`Manager ${event.manager} has halted: ${event.why}`);
      case 'gap':
        return colors.yellow('some events before this one cannot be told any more');
      default:
        return `${(event as { kind: string }).kind}`; // A newer Manager knows more than we do.
    }
  }

  #joined(pool: string, owner: Owner): string {
    const [earlier] = this.#duplicateNames(pool, owner);
    const replaced = earlier === undefined ? '' : `, in place of the ${earlier.name} at ${earlier.url}`;
    return `${owner.name} joined, at ${owner.url}${replaced}`;
  }

  #who(pool: string, owner: Owner): string {
    return this.#duplicateNames(pool, owner).length === 0 ? owner.name : `the ${owner.name} at ${owner.url}`;
  }

  /** The latest first. */
  #duplicateNames(pool: string, { incarnation, name }: Owner): readonly Owner[] {
    const present = [...(this.#present.get(pool)?.values() ?? [])];
    return present.filter((other) => other.name === name && other.incarnation !== incarnation).reverse();
  }
}

const extent = ({ spans, sharePercent }: { spans: number; sharePercent: number }): string =>
  `${percent(sharePercent)} in ${counted(spans, 'range')}`;

function ordered(order: (LoggedEvent & { readonly kind: 'pool.ordered' })['order']): string {
  switch (order) {
    case 'cordoned':
      return 'is to take no more keys, by order';
    case 'emptying':
      return 'is to hand all its keys over, by order';
    case 'released':
      return 'is to give back what it has not handed over, by order';
    default:
      return 'takes keys again, by order';
  }
}

function whyLeft(why: string): string {
  switch (why) {
    case 'left':
      return 'it left';
    case 'expired':
      return 'its lease expired';
    case 'certified':
      return 'its death was proved';
    case 'recovered':
      return 'its leases were taken back by an operator';
    default:
      return why;
  }
}
