/**
 * What moves mean to one owner: both halves of them, and whether it takes keys at all.
 *
 * **When does an owner that drains leave?** When it holds nothing, and has no import: an import that it has confirmed may be committed
 * already, and then it is given the keys. An owner that drains and hears that it is no member leaves, too: its name may be another
 * process's by then, and waiting for the name would have no end. An owner that an operator has emptied stays, without keys.
 */

import type { Instant } from '../../../runtime/time.ts';
import {
  handsAllOver,
  type Intent,
  type OwnerPace,
  type Report,
  type TicketSpan,
  type Update,
} from '../messages.ts';
import type { Holdings, Lease } from '../owner/holdings.ts';
import type { Transitions } from '../owner/transitions.ts';
import { Incoming } from './incoming.ts';
import { type Circumstances, Outgoing } from './outgoing.ts';
import {
  DEFAULT_MOVE_SETTINGS,
  type MoveEffect,
  type MoveInput,
  type MoveSettings,
  type Transfer,
} from './seam.ts';

export class OwnerMoves {
  transfer: Transfer | undefined;
  readonly #holdings: Holdings;
  readonly #outgoing: Outgoing;
  readonly #incoming = new Incoming();
  #isCordoned = false;
  #isDraining = false;
  #drainUntil: Instant | undefined;
  /** The Manager asks so: another process has joined under this name, or an operator wants so. */
  #asked: Intent | undefined;
  #heardAt: Instant | undefined;
  #targets: number | undefined;
  /** The intent in the last report. */
  #told: Intent = 'stay';

  constructor(holdings: Holdings, settings: MoveSettings = DEFAULT_MOVE_SETTINGS) {
    this.#holdings = holdings;
    this.#outgoing = new Outgoing(holdings, settings);
  }

  /** Tickets under way. */
  get underway(): number {
    return this.#outgoing.underway + this.#incoming.underway;
  }

  get dueAt(): Instant | undefined {
    return this.#outgoing.dueAt;
  }

  get intent(): Intent {
    if (this.#isDraining || this.#asked === 'draining') return 'draining';
    if (this.#asked === 'emptying') return 'emptying';
    return this.#isCordoned || this.#asked === 'cordoned' ? 'cordoned' : 'stay';
  }

  /** When a Manager that follows the log was last heard. */
  get heardAt(): Instant | undefined {
    return this.#heardAt;
  }

  /** How many owners could take the keys of this one, which hands all over; undefined: the Manager has not said. */
  get targets(): number | undefined {
    return handsAllOver(this.intent) ? this.#targets : undefined;
  }

  /** Nothing is here that could be handed over, and nothing can come by a ticket. */
  get isEmpty(): boolean {
    return this.#holdings.pieces.length === 0 && this.#incoming.isEmpty;
  }

  drain(until: Instant | undefined): void {
    this.#isDraining = until !== undefined;
    this.#drainUntil = until;
  }

  cordon(isCordoned: boolean): void {
    this.#isCordoned = isCordoned;
  }

  /** Whether this owner wanted to hand everything over, and after this update has nothing more to hand over. */
  isDrained({ admitted, spans }: Update): boolean {
    if (this.intent !== 'draining') return false;
    if (!admitted) return true;
    return spans.length === 0 && this.isEmpty;
  }

  /** Brings the holdings in line with an update; true if a Manager should hear of it. */
  reconcile(update: Update, lease: Lease, transitions: Transitions): boolean {
    this.#heardAt = lease.now;
    this.#asked = update.admitted ? update.asked : this.#asked;
    this.#targets = update.admitted ? update.targets : undefined;
    this.#incoming.nowArrived(update.arrived ?? []);
    return this.#holdings.reconcile(update.spans, lease, update.acknowledges, transitions, this.#incoming);
  }

  /** After {@link reconcile}, if the update is about the table, and after the state of what was taken has been committed: the tickets of the update. */
  hear(
    { moves = [], incoming = [], acknowledges, admitted }: Update,
    { until, now, isLeaving }: Lease,
    { taken }: Transitions,
    pace: OwnerPace,
  ): MoveEffect[] {
    const isValid = now < until;
    const tickets = new Set(taken.map(({ ticket }) => ticket));
    const takesPart = this.transfer !== undefined && !isLeaving;
    if (!admitted) this.#incoming.nowArrived([]); // No candidate is given keys by a ticket, so it is told of none.
    return [
      ...this.#outgoing.hear(moves, acknowledges, isValid && takesPart),
      ...this.#incoming.hear(takesPart ? incoming : [], acknowledges, tickets, isValid),
      ...this.goOn(now, pace),
    ];
  }

  goOn(now: Instant, pace: OwnerPace): MoveEffect[] {
    return this.#outgoing.goOn(this.#circumstances(now, pace));
  }

  hearMove(input: MoveInput, now: Instant, pace: OwnerPace, transitions: Transitions): MoveEffect[] {
    this.#incoming.hearMove(input);
    return this.#outgoing.hearMove(input, this.#circumstances(now, pace), transitions);
  }

  expire(now: Instant, transitions: Transitions): MoveEffect[] {
    return this.#outgoing.expire(now, handsAllOver(this.intent), transitions);
  }

  abandonBroken(): MoveEffect[] {
    return this.#outgoing.abandonBroken('the keys are not held any more');
  }

  /** Nothing moves any more, in or out. */
  end(why: string): MoveEffect[] {
    this.#targets = undefined;
    return [...this.#outgoing.abandonAll(why), ...this.#incoming.discardAll()];
  }

  /** What was staged is the state of these keys now. */
  commit(taken: readonly TicketSpan[]): MoveEffect[] {
    const byTicket = new Map<string, TicketSpan[]>();
    for (const span of taken) byTicket.set(span.ticket, [...(byTicket.get(span.ticket) ?? []), span]);
    return [...byTicket].map(([ticket, spans]): MoveEffect => ({ do: 'commit', ticket, spans }));
  }

  /** Something has changed since the last report that a Manager should hear of soon. */
  get hasNews(): boolean {
    return this.#outgoing.hasNews || this.#incoming.hasNews || this.intent !== this.#told;
  }

  /** What report number `sequence` says of moves; nothing, if this owner moves nothing. */
  tell(
    sequence: number,
    now: Instant,
  ): Pick<Report, 'transfer' | 'intent' | 'moving' | 'receiving' | 'handed'> {
    this.#told = this.intent;
    const { moving, handed } = this.#outgoing.tell(sequence, now);
    const receiving = this.#incoming.tell(sequence);
    const isNothing = moving.length + handed.length + receiving.length === 0;
    if (this.transfer === undefined && isNothing) return {};
    return { transfer: this.transfer, intent: this.intent, moving, receiving, handed };
  }

  #circumstances(now: Instant, { renewEveryMs, revokeTimeoutMs }: OwnerPace): Circumstances {
    const isAll = handsAllOver(this.intent);
    const drainUntil = isAll ? this.#drainUntil : undefined;
    return {
      ...{ now, heardAt: this.#heardAt, renewEveryMs, revokeTimeoutMs },
      ...{ handsAllOver: isAll, drainUntil },
    };
  }
}
