/**
 * The source's half of moves: tickets by which this owner hands keys over.
 *
 *     heard         little is left      no work under way,     the target says
 *     of it         to send             `onDepart` done        the same digest
 *     ─────► streaming ─────► stopping ─────► frozen ─────► handed ─────► departed, or served on under a later number
 *               ▲                │              │
 *               └── took too long┘              └── too late, withdrawn, lapsed, recalled …: abandoned, served on
 *
 * **Why two owners never act for a key, and nothing is missing at the target** (rules 1 to 7 of `docs/design/moves.md`). The last frame is made
 * in the turn of the freeze, when no check passes any more; so the target has every change that was acknowledged to a caller. From then on this owner
 * acts for these keys again in two cases only. It abandons the ticket: then it never says `handed` by this ticket, and without that
 * word no Manager commits the move. Or it has said `handed`: then it stays frozen under this number for ever, and acts again only under a later
 * number, which the log gives to one owner. So of the two owners of a ticket, one can act for the keys after the freeze.
 *
 * Whatever takes keys out of the hands of the ticket (a lapse, a recall, another number, another history) abandons it:
 * {@link Outgoing.abandonBroken} looks at the keys themselves after every change of theirs, and not at the reasons.
 *
 * **How long a stop may be.** While an owner serves on, a stop is short, because callers wait for no need of theirs. An owner that hands everything over has to
 * outlast the work under way, whose length this owner finds out: a stop that took too long makes the next ones four times as long, those of other ranges
 * too, up to `revokeTimeoutMs`. Otherwise an owner whose requests take longer than `stopTimeoutMs` would lose in the end whatever is never idle.
 *
 * An abandoned ticket is remembered for as long as its number is here, because updates that still name it may be on their way.
 */

import { earliest, type Instant, later } from '../../../runtime/time.ts';
import type { Handed, MoveOrder, Moving, TicketSpan } from '../messages.ts';
import type { Holdings } from '../owner/holdings.ts';
import type { Transitions } from '../owner/transitions.ts';
import type { MoveEffect, MoveInput, MoveSettings } from './seam.ts';

/** Stops that took too long before a ticket is abandoned, and the pause after the first of them, which doubles. */
const MOST_STOPS = 5;
const STOP_AGAIN_MS = 500;
/** The next stop of an owner that hands everything over is so many times as long. */
const STOP_GROWTH = 4;
/** Somebody may watch a drain: while much is sent, how much is said so often. It costs one small message that is not answered. */
const PROGRESS_EVERY_MS = 300;

interface Departure {
  readonly order: MoveOrder;
  phase: 'streaming' | 'stopping' | 'frozen';
  bytes: number;
  /** Little is left to send. */
  isCaughtUp: boolean;
  stops: number;
  notBefore: Instant | undefined;
  /** The end of the stop, or of the wait for the target. */
  due: Instant | undefined;
  isLastStop: boolean;
  /** How long the present stop may be. */
  stopMs: number;
  /** Of everything, the last frame included. */
  digest: string | undefined;
  /** The first report that named it. */
  toldIn: number | undefined;
}

/** What else the owner knows at this instant. */
export interface Circumstances {
  readonly now: Instant;
  /** When a Manager was last heard; a stop needs one that can commit soon. */
  readonly heardAt: Instant | undefined;
  readonly renewEveryMs: number;
  readonly revokeTimeoutMs: number;
  /** Whether this owner is to have no keys. */
  readonly handsAllOver: boolean;
  /** When the drain ends in any case. */
  readonly drainUntil: Instant | undefined;
}

export class Outgoing {
  readonly #holdings: Holdings;
  readonly #settings: MoveSettings;
  readonly #departures = new Map<string, Departure>();
  /** What was said, and is said again until nothing of it is handed any more. */
  readonly #words = new Map<string, Handed>();
  /** Tickets that are over, with the keys and the number that they were about. */
  readonly #over = new Map<string, TicketSpan>();
  /** Something that a Manager should hear of soon. */
  #isNews = false;
  #toldAt: Instant | undefined;
  /** How long the next stop may be, as those that took too long have shown; undefined: none has, or this owner serves on. */
  #longerStopMs: number | undefined;

  constructor(holdings: Holdings, settings: MoveSettings) {
    this.#holdings = holdings;
    this.#settings = settings;
  }

  get underway(): number {
    return this.#departures.size;
  }

  get dueAt(): Instant | undefined {
    let due: Instant | undefined;
    for (const { due: at, isCaughtUp, notBefore } of this.#departures.values())
      for (const each of [at, isCaughtUp ? notBefore : undefined])
        if (each !== undefined) due = due === undefined ? each : earliest(due, each);
    return due;
  }

  /** Something has changed since the last report that a Manager should hear of. */
  get hasNews(): boolean {
    return this.#isNews;
  }

  /** The tickets that an update names, and the latest report that its Manager had heard. */
  hear(orders: readonly MoveOrder[], acknowledged: number, mayBegin: boolean): MoveEffect[] {
    const effects: MoveEffect[] = [];
    const named = new Set(orders.map(({ ticket }) => ticket));
    for (const [ticket, { toldIn }] of this.#departures) {
      const isKnown = toldIn !== undefined && acknowledged >= toldIn;
      if (isKnown && !named.has(ticket)) effects.push(...this.#abandon(ticket, 'withdrawn'));
    }
    for (const [ticket, span] of this.#over) if (!this.#holdings.has(span)) this.#over.delete(ticket);
    for (const order of mayBegin ? orders : []) effects.push(...this.#begin(order));
    return effects;
  }

  #begin(order: MoveOrder): MoveEffect[] {
    const { ticket, start, end, number, to, toName, address } = order;
    if (this.#departures.has(ticket) || this.#over.has(ticket)) return [];
    const effects: MoveEffect[] = [];
    for (const [other, { order: its }] of this.#departures)
      if (its.start < end && start < its.end) effects.push(...this.#abandon(other, 'replaced'));
    if (!this.#holdings.canMove(order)) return effects; // Not named in the next report: then the Manager gives it up.
    this.#departures.set(ticket, {
      ...{ order, phase: 'streaming', bytes: 0, isCaughtUp: false, stops: 0, isLastStop: false, stopMs: 0 },
      ...{ notBefore: undefined, due: undefined, digest: undefined, toldIn: undefined },
    });
    this.#isNews = true;
    return [...effects, { do: 'stream', ticket, span: { start, end }, number, to, toName, address }];
  }

  /** What the shell says about a stream. */
  hearMove(input: MoveInput, at: Circumstances, transitions: Transitions): MoveEffect[] {
    const { ticket } = input;
    const departure = this.#departures.get(ticket);
    if (departure === undefined) return [];
    switch (input.is) {
      case 'sent':
        departure.bytes = input.bytes;
        if (this.#toldAt === undefined || later(this.#toldAt, PROGRESS_EVERY_MS) <= at.now)
          this.#isNews = true;
        return [];
      case 'caughtUp':
        departure.isCaughtUp = true;
        return this.goOn(at);
      case 'stopped':
        return this.#freeze(departure, at.now);
      case 'stopFailed':
        return departure.phase === 'stopping' ? this.#giveUpStop(departure, input.why, transitions) : [];
      case 'sealed':
        if (departure.phase === 'frozen') departure.digest = input.digest;
        return [];
      case 'acknowledged':
        return this.#hand(departure, input.digest);
      case 'failed':
        return this.#abandon(ticket, input.why);
      default:
        return [];
    }
  }

  /** Begins each stop that can begin now. */
  goOn(at: Circumstances): MoveEffect[] {
    const { now, heardAt, renewEveryMs, revokeTimeoutMs, drainUntil } = at;
    if (!at.handsAllOver) this.#longerStopMs = undefined;
    // After its pause a stop waits for the next word of a Manager, and for no instant.
    for (const departure of this.#departures.values())
      if (departure.notBefore !== undefined && departure.notBefore <= now) departure.notBefore = undefined;
    if (heardAt === undefined || later(heardAt, renewEveryMs) <= now) return [];
    const effects: MoveEffect[] = [];
    for (const departure of this.#departures.values()) {
      const { order, phase, isCaughtUp, notBefore } = departure;
      if (phase !== 'streaming' || !isCaughtUp || notBefore !== undefined) continue;
      const isLast = drainUntil !== undefined && drainUntil <= later(now, revokeTimeoutMs);
      departure.stopMs = isLast ? revokeTimeoutMs : this.#stopMs(revokeTimeoutMs);
      const by = later(now, departure.stopMs);
      departure.phase = 'stopping';
      departure.isLastStop = isLast;
      departure.due = by;
      this.#holdings.stop(order);
      effects.push({ do: 'stop', ticket: order.ticket, by, isLast });
    }
    return effects;
  }

  #stopMs(revokeTimeoutMs: number): number {
    const { stopTimeoutMs } = this.#settings;
    return Math.max(stopTimeoutMs, Math.min(this.#longerStopMs ?? stopTimeoutMs, revokeTimeoutMs));
  }

  #freeze(departure: Departure, now: Instant): MoveEffect[] {
    const { ticket } = departure.order;
    if (departure.phase !== 'stopping') return [];
    departure.phase = 'frozen';
    departure.due = later(now, this.#settings.ackTimeoutMs);
    this.#holdings.goOut(ticket, 'stopping', 'frozen');
    return [{ do: 'freeze', ticket }];
  }

  #hand({ order, phase, bytes, digest }: Departure, acknowledged: string): MoveEffect[] {
    const { ticket, start, end, number, to } = order;
    if (phase !== 'frozen' || digest === undefined || acknowledged !== digest) return [];
    this.#holdings.goOut(ticket, 'frozen', 'handed');
    this.#departures.delete(ticket);
    this.#over.set(ticket, { ticket, start, end, number });
    this.#words.set(ticket, { ticket, start, end, number, to, bytes, digest });
    this.#isNews = true;
    return [{ do: 'handed', ticket }];
  }

  /** Ends what has taken too long. */
  expire(now: Instant, handsAllOver: boolean, transitions: Transitions): MoveEffect[] {
    const effects: MoveEffect[] = [];
    for (const departure of [...this.#departures.values()]) {
      const { order, phase, due } = departure;
      if (due === undefined || now < due) continue;
      if (phase === 'frozen') effects.push(...this.#abandon(order.ticket, 'the target did not acknowledge'));
      else if (departure.isLastStop)
        effects.push(...this.#giveUpStop(departure, 'the last stop took too long', transitions));
      else effects.push(...this.#serveOn(departure, now, handsAllOver));
    }
    return effects;
  }

  #serveOn(departure: Departure, now: Instant, handsAllOver: boolean): MoveEffect[] {
    const { stopMs } = departure;
    const { ticket } = departure.order;
    departure.stops += 1;
    if (handsAllOver) this.#longerStopMs = Math.max(this.#longerStopMs ?? 0, STOP_GROWTH * stopMs);
    if (departure.stops >= MOST_STOPS) return this.#abandon(ticket, `${MOST_STOPS} stops took too long`);
    departure.phase = 'streaming';
    departure.isCaughtUp = false;
    departure.due = undefined;
    // Callers are served for as long as they have waited at least.
    departure.notBefore = later(now, handsAllOver ? stopMs : STOP_AGAIN_MS * 2 ** (departure.stops - 1));
    this.#holdings.serveOn(ticket);
    return [{ do: 'resume', ticket }];
  }

  /** The next owner would read a store that `onDepart` has not brought up to date, so nothing is handed over. */
  #giveUpStop({ order, isLastStop }: Departure, why: string, transitions: Transitions): MoveEffect[] {
    if (isLastStop) this.#holdings.releaseStopped(order.ticket, transitions);
    return this.#abandon(order.ticket, why);
  }

  /** Abandons every ticket whose keys are not all in its hands any more. */
  abandonBroken(why: string): MoveEffect[] {
    return [...this.#departures.values()].flatMap(({ order }) =>
      this.#holdings.canMove(order) ? [] : this.#abandon(order.ticket, why),
    );
  }

  abandonAll(why: string): MoveEffect[] {
    return [...this.#departures.keys()].flatMap((ticket) => this.#abandon(ticket, why));
  }

  #abandon(ticket: string, why: string): MoveEffect[] {
    const departure = this.#departures.get(ticket);
    if (departure === undefined) return [];
    const { start, end, number } = departure.order;
    this.#departures.delete(ticket);
    this.#over.set(ticket, { ticket, start, end, number });
    this.#holdings.serveOn(ticket);
    this.#isNews = true;
    return [{ do: 'abandon', ticket, why }];
  }

  /** For report number `sequence`, which is sent now. */
  tell(
    sequence: number,
    now: Instant,
  ): { readonly moving: readonly Moving[]; readonly handed: readonly Handed[] } {
    this.#isNews = false;
    this.#toldAt = now;
    const handedTickets = this.#holdings.handedTickets();
    for (const ticket of this.#words.keys()) if (!handedTickets.has(ticket)) this.#words.delete(ticket);
    const moving = [...this.#departures.values()].map((departure) => {
      departure.toldIn ??= sequence;
      const { ticket, start, end, number, to } = departure.order;
      return { ticket, start, end, number, to, bytes: departure.bytes };
    });
    return { moving, handed: [...this.#words.values()] };
  }
}
