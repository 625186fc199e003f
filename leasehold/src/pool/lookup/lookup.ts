/**
 * The look-up's half: where is this key, and what has been lost?
 *
 * `find` is a hint: it reads a table that may be a little old, and the owner refuses what is not
 * its own. Loss is a promise: *every loss is reported here within a stated bound of its commit.*
 * Two things could break it, and each has its answer.
 *
 * **Missing a change.** A loss is a fact of a row (`lostAt`), not of a message. Whoever is at
 * position L and hears of rows at a later one reports each row with `lostAt > L`, whether they came
 * as a push, as the answer to a sync, or as the whole table, and then moves on. So it does not
 * matter how many changes were missed, or that a range was lost, split, moved and merged since.
 *
 * **Not hearing at all.** A sync that was answered as fresh proves that at the instant we *sent* it
 * (less a leader lease, at the worst) nothing was committed that we do not know. When the last such
 * instant lies too far back, we are cut off and report everything as lost; and again after every
 * such time while it lasts, because what is re-published meanwhile can be lost again.
 *
 *     sync sent      fresh answer                                staleAfter
 *     ├────────────────►                                          │
 *     ├───────────────────────────────────────────────────────────┤ everything is lost
 *                        loss ✗ (not heard)
 *
 * Messages of an older term than that of the table are ignored. Those of an earlier position change
 * nothing in it, though they may prove that nothing newer had been committed.
 *
 * This file does no I/O: call an input with the present instant, carry out the effects in order,
 * then call {@link Lookup.wake} at {@link Lookup.wakeAt}.
 */

import { assert } from '../../runtime/assert.ts';
import { RangeSet } from '../../runtime/keys/range-set.ts';
import { RingTable, type ValuedSpan } from '../../runtime/keys/ring-table.ts';
import { earliest, type Instant, instant, later } from '../../runtime/time.ts';
import { type TraceEffect, trace } from '../../runtime/trace.ts';
import type { Changes, LookupPace, Seen, Sync, TableRow } from '../messages.ts';
import { lookupPace, type ResolvedDurations } from '../options.ts';

export interface LookupSettings {
  readonly pool: string;
  /** This look-up, unlike any other. */
  readonly id: string;
  readonly managers: readonly string[];
  /** What to begin with; a Manager may say otherwise, */
  readonly durations: ResolvedDurations;
  /** except in this. */
  readonly insists?: Partial<LookupPace> | undefined;
  /** Where an earlier look-up stopped: what was lost since is reported at the first answer. */
  readonly resumeFrom: Pick<Seen, 'history' | 'position'> | undefined;
  readonly random: () => number;
}

/** `cut-off` stands for everything: nobody could tell us what was lost. */
export type LossReason = 'reported' | 'cut-off' | 'suspended' | 'history-changed';

export type LookupEffect =
  | { readonly do: 'send'; readonly to: string; readonly message: Sync }
  | { readonly do: 'lost'; readonly ranges: RangeSet; readonly why: LossReason }
  | TraceEffect;

const NEVER: Instant = instant(Number.NEGATIVE_INFINITY);

export class Lookup {
  readonly #settings: LookupSettings;
  /** What the Manager decided, as it was last heard. */
  #pace: LookupPace;
  #table: RingTable<TableRow | undefined> = RingTable.whole<TableRow | undefined>(undefined);
  #seen: Seen | undefined;
  /** True once the table is whole; before that only changes from 0 are of use. */
  #hasTable = false;
  #sequence = 0;
  #sentAt = new Map<number, Instant>();
  /** We knew everything as of this instant, or have said that everything is lost. */
  #assuredAt: Instant;
  /** The table had everything as of this instant; reporting everything lost does not move it. */
  #freshAt: Instant = NEVER;
  #isCutOff = false;
  /** Histories that were replaced by another: nothing said in them counts any more. */
  readonly #abandoned = new Set<string>();
  #answerer: string | undefined;
  #awaiting: number | undefined;
  #nextSyncAt: Instant;
  #latestNow: Instant = NEVER;

  constructor(settings: LookupSettings, now: Instant) {
    this.#settings = settings;
    this.#pace = { ...lookupPace(settings.durations), ...settings.insists };
    this.#assuredAt = now;
    this.#nextSyncAt = now;
    const resume = settings.resumeFrom;
    if (resume !== undefined) this.#seen = { ...resume, term: 0 };
  }

  get wakeAt(): Instant {
    return earliest(this.#nextSyncAt, this.#cutOffAt());
  }

  /** The newest point of the log this table is at; an application can store it to resume from. */
  get seen(): Seen | undefined {
    return this.#seen;
  }

  get hasTable(): boolean {
    return this.#hasTable;
  }

  get isCutOff(): boolean {
    return this.#isCutOff;
  }

  /** How old the table may be, in milliseconds, not counting a leader lease; infinite if that is not known. */
  ageMs(now: Instant): number {
    return now - this.#freshAt;
  }

  /** The row for a position. Local, allocates nothing. */
  find(high: number, low: number): TableRow | undefined {
    return this.#table.find(high, low);
  }

  wake(now: Instant): LookupEffect[] {
    const effects = this.#judge(now);
    if (now >= this.#nextSyncAt) effects.push(...this.#sync(now));
    return effects;
  }

  receive(from: string, changes: Changes, now: Instant): LookupEffect[] {
    const effects = this.#judge(now);
    if (changes.pool !== this.#settings.pool || this.#abandoned.has(changes.history)) return effects;
    if (this.#seen !== undefined && changes.history !== this.#seen.history) {
      // Histories have no order; but an answer to what we asked lately is no word from the past.
      if (!this.#isAnswer(changes)) return [...effects, ...this.#hurry(now)];
      effects.push(...this.#startOver(changes));
    }
    if (changes.term < (this.#seen?.term ?? 0)) return effects;

    const position = this.#seen?.position ?? 0;
    const usable = changes.from === 0 || (this.#hasTable && changes.from <= position);
    if (!usable) return [...effects, ...this.#hurry(now)];
    if (changes.to > position || !this.#hasTable) effects.push(...this.#advance(changes));
    const { answers } = changes;
    if (answers?.lookup === this.#settings.id) {
      if (changes.pace !== undefined) this.#pace = { ...changes.pace, ...this.#settings.insists };
      this.#freshen(from, answers.sequence, now);
    }
    return effects;
  }

  /** A Manager can be reached again: what it pushed meanwhile is lost, so sync now. */
  reachable(now: Instant): LookupEffect[] {
    return [...this.#judge(now), ...this.#hurry(now)];
  }

  /** The machine was suspended: how long we heard nothing cannot be known. */
  suspended(now: Instant): LookupEffect[] {
    const effects = this.#judge(now);
    this.#sentAt.clear();
    this.#assuredAt = now;
    this.#freshAt = NEVER;
    this.#nextSyncAt = now;
    return [...effects, ...this.#loseEverything('suspended')];
  }

  #cutOffAt(): Instant {
    return later(this.#assuredAt, this.#pace.staleAfterMs);
  }

  /** Comes first in every input: too long without a fresh answer, and everything may be lost. */
  #judge(now: Instant): LookupEffect[] {
    assert(now >= this.#latestNow, `time went back from ${this.#latestNow} to ${now}`);
    this.#latestNow = now;
    if (now < this.#cutOffAt()) return [];
    this.#isCutOff = true;
    this.#assuredAt = now;
    return this.#loseEverything('cut-off');
  }

  #loseEverything(why: LossReason): LookupEffect[] {
    return [{ do: 'lost', ranges: RangeSet.everything, why }, trace('lost-everything', { why })];
  }

  #isAnswer({ answers }: Changes): boolean {
    return answers?.lookup === this.#settings.id && this.#sentAt.has(answers.sequence);
  }

  #startOver(changes: Changes): LookupEffect[] {
    if (this.#seen !== undefined) this.#abandoned.add(this.#seen.history);
    // What was lost up to here is in what we report now; what is lost before the table comes is not.
    this.#seen = { history: changes.history, term: changes.term, position: changes.to };
    this.#hasTable = false;
    this.#freshAt = NEVER;
    this.#sentAt.clear();
    return [trace('new-history', { history: changes.history }), ...this.#loseEverything('history-changed')];
  }

  /** Takes over the rows, and reports each that lost its state after where we were. */
  #advance({ history, term, from, to, rows }: Changes): LookupEffect[] {
    const position = this.#seen?.position;
    this.#table = from === 0 ? wholeTable(rows) : this.#table.overlay(rows.map(asValue));
    this.#hasTable = true;
    this.#seen = { history, term, position: to };
    const effects: LookupEffect[] = [trace('moved-to', { position: to, rows: rows.length })];
    // Whoever resumes from further on than there is resumes from a log that went back in time, or from
    // one that a leader does not know yet that it was deposed from: nobody can say what was lost.
    if (position !== undefined && to < position)
      return [...effects, ...this.#loseEverything('history-changed')];
    // A look-up that has just been opened has nothing that could have been lost.
    const lost = position === undefined ? [] : rows.filter(({ lostAt }) => lostAt > position);
    if (lost.length > 0) {
      effects.push({ do: 'lost', ranges: RangeSet.of(lost), why: 'reported' });
      effects.push(trace('lost', { rows: lost.length, since: position, position: to }));
    }
    return effects;
  }

  #freshen(from: string, sequence: number, now: Instant): void {
    const sentAt = this.#sentAt.get(sequence);
    if (sentAt === undefined) return;
    for (const old of this.#sentAt.keys()) if (old <= sequence) this.#sentAt.delete(old);
    this.#answerer = from;
    this.#isCutOff = false;
    if (sentAt > this.#assuredAt) this.#assuredAt = sentAt;
    if (sentAt > this.#freshAt) this.#freshAt = sentAt;
    if (this.#awaiting === undefined || sequence < this.#awaiting) return;
    this.#awaiting = undefined;
    this.#nextSyncAt = later(now, this.#pace.syncEveryMs * (0.95 + this.#settings.random() / 20));
  }

  /** We have missed something: sync soon rather than at the next turn. */
  #hurry(now: Instant): LookupEffect[] {
    if (this.#awaiting !== undefined) return [];
    return this.#sync(now);
  }

  /** Asks whoever answered last, or anyone; when it was asked and is silent, asks every Manager. */
  #sync(now: Instant): LookupEffect[] {
    const { pool, id, managers, random } = this.#settings;
    const someone = this.#answerer ?? managers[Math.floor(random() * managers.length)] ?? '';
    const asked = this.#awaiting !== undefined ? managers : [someone];
    this.#sequence += 1;
    this.#sentAt.set(this.#sequence, now);
    for (const [old, at] of this.#sentAt) {
      if (later(at, this.#pace.staleAfterMs) > now) break;
      this.#sentAt.delete(old);
    }
    this.#awaiting ??= this.#sequence;
    this.#nextSyncAt = later(now, this.#pace.retryMs * (0.75 + random() / 2));
    const seen = this.#hasTable ? this.#seen : undefined;
    const message: Sync = { kind: 'sync', pool, lookup: id, sequence: this.#sequence, seen };
    return asked.map((to) => ({ do: 'send', to, message }));
  }
}

const asValue = (row: TableRow): ValuedSpan<TableRow> => ({ start: row.start, end: row.end, value: row });

const wholeTable = (rows: readonly TableRow[]): RingTable<TableRow | undefined> =>
  RingTable.build<TableRow | undefined>(
    rows.map(({ start }) => start),
    rows,
  );
