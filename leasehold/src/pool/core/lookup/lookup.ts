/**
 * The look-up's half: where is this key, and which keys have been lost?
 *
 * `find` is a hint: the table may be a little old, and an owner refuses keys of other owners. Loss is a promise:
 * *every loss is reported here within a stated bound of its commit.* Two things could break this promise, and each has
 * an answer.
 *
 * **Missing a change.** A loss is a fact of a row (`lostAt`), not of a message. A look-up that is at position L and
 * hears of rows at a later position reports each row with `lostAt > L`, whether the rows came as a push, as the answer
 * to a sync, or as the whole table, and then moves on. So the number of missed changes does not matter, nor whether a
 * range was lost, split, moved and merged since.
 *
 * **Not hearing at all.** A sync that was answered as fresh proves that at the instant we *sent* the sync (less a
 * leader lease, at the worst) nothing was committed that we do not know. When the last such instant lies too far back,
 * we are cut off and report everything as lost. We repeat the report at the same interval while we are cut off,
 * because data that is re-published meanwhile can be lost again.
 *
 *     sync sent      fresh answer                                staleAfter
 *     ├────────────────►                                          │
 *     ├───────────────────────────────────────────────────────────┤ everything is lost
 *                        loss ✗ (not heard)
 *
 * Each report carries the known position of the log, so that an application can store "dealt with up to here" and a
 * later look-up can resume there. Losses are reported in the order of the log, so that position also covers every
 * earlier report.
 *
 * **Two logs.** The look-up asks every Manager of the list which history that Manager leads (`../history-watch.ts`).
 * No table is used before that, nor one of a history while keys may be held under another. If two histories are led at
 * once, the look-up has no table, and reports everything as lost: which of them has the owners that are asked cannot
 * be known. The position that the look-up had read is still evidence: the first syncs afterwards show it, so that a
 * Manager on an older copy of the log halts (`../manager/rollback-detector.ts`) and does not give out the same numbers
 * again.
 *
 * Messages of an older term than that of the table, or than the latest that a Manager said it leads, are ignored.
 * Messages of an earlier position change nothing in the table, though they may prove that nothing newer had been
 * committed.
 *
 * This file does no I/O: call an input with the present instant, execute the effects in order,
 * then call {@link Lookup.wake} at {@link Lookup.wakeAt}.
 */

import { assert } from '../../../runtime/assert.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import { RingTable, type ValuedSpan } from '../../../runtime/keys/ring-table.ts';
import { earliest, type Instant, instant, later } from '../../../runtime/time.ts';
import { type TraceEffect, trace } from '../../../runtime/trace.ts';
import { HistoryWatch, type LedHistory } from '../history-watch.ts';
import type { Changes, LookupPace, OwnerAddress, Probe, Role, Seen, Sync, TableRow } from '../messages.ts';
import { lookupPace, type ResolvedDurations } from '../options.ts';
import { LastOwners } from './last-owners.ts';

export interface LookupSettings {
  readonly pool: string;
  /** This look-up, unlike any other. */
  readonly id: string;
  readonly managers: readonly string[];
  /** The durations to begin with; a Manager may say otherwise, */
  readonly durations: ResolvedDurations;
  /** except in this. */
  readonly insists?: Partial<LookupPace> | undefined;
  /** Where an earlier look-up stopped: losses since then are reported at the first answer. */
  readonly resumeFrom: Pick<Seen, 'history' | 'position'> | undefined;
  readonly random: () => number;
}

/** `cut-off` stands for everything: no Manager could tell us the losses. */
export type LossReason = 'reported' | 'cut-off' | 'suspended' | 'history-changed' | 'managers-disagree';

export type LookupEffect =
  | { readonly do: 'send'; readonly to: string; readonly message: Sync | Probe }
  | { readonly do: 'disagree'; readonly histories: readonly LedHistory[] }
  | { readonly do: 'agree' }
  | {
      readonly do: 'lost';
      readonly ranges: RangeSet;
      readonly why: LossReason;
      /** Every loss up to here has been reported, this one included; undefined: nothing was heard yet. */
      readonly position: Pick<Seen, 'history' | 'position'> | undefined;
    }
  | TraceEffect;

const NEVER: Instant = instant(Number.NEGATIVE_INFINITY);

export class Lookup {
  readonly #settings: LookupSettings;
  /** The Manager's decision, as last heard. */
  #pace: LookupPace;
  #table: RingTable<TableRow | undefined> = RingTable.whole<TableRow | undefined>(undefined);
  readonly #lastOwners = new LastOwners();
  #seen: Seen | undefined;
  /** True once the table is whole; before that only changes from 0 are of use. */
  #hasTable = false;
  #sequence = 0;
  #sentAt = new Map<number, Instant>();
  /** We knew everything as of this instant, or have said that everything is lost. */
  #assuredAt: Instant;
  /** The table had everything as of this instant; reporting everything lost does not move this instant. */
  #freshAt: Instant = NEVER;
  #isCutOff = false;
  /** Histories that were replaced by another: nothing said in them counts any more. */
  readonly #abandoned = new Set<string>();
  #answerer: string | undefined;
  #awaiting: number | undefined;
  #nextSyncAt: Instant;
  #latestNow: Instant = NEVER;
  readonly #watch: HistoryWatch;
  /** The Managers were found to disagree, and the end of that was not heard yet. */
  #isQuarantined = false;
  /** How far the log went before the Managers disagreed, until a Manager has answered a sync that says so. */
  #witnessed: Seen | undefined;
  /** An answer that came before every Manager was asked. */
  #early: { readonly from: string; readonly changes: Changes } | undefined;

  constructor(settings: LookupSettings, now: Instant) {
    this.#settings = settings;
    this.#pace = { ...lookupPace(settings.durations), ...settings.insists };
    this.#assuredAt = now;
    this.#nextSyncAt = now;
    const resume = settings.resumeFrom;
    if (resume !== undefined) this.#seen = { ...resume, term: 0 };
    this.#watch = new HistoryWatch(
      {
        asker: settings.id,
        get managers() {
          return settings.managers;
        },
      },
      () => ({ everyMs: this.#pace.syncEveryMs, soonMs: this.#pace.retryMs }),
    );
  }

  get wakeAt(): Instant {
    const at = earliest(this.#nextSyncAt, this.#cutOffAt());
    return earliest(at, this.#watch.wakeAt ?? at);
  }

  /** The newest position of the log that this table has; an application can store the position to resume from. */
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

  /** Those who may know something of a position, also when its owner is unknown: the best first, each once. */
  weakOwners(high: number, low: number): Iterable<OwnerAddress> {
    return this.#lastOwners.along(this.#table, high, low);
  }

  wake(now: Instant): LookupEffect[] {
    const effects = this.#judge(now);
    const probes = this.#watch.wake(now).map((probe): LookupEffect => ({ do: 'send', ...probe }));
    effects.push(...probes, ...this.#applyWatch(now));
    if (now >= this.#nextSyncAt) effects.push(...this.#sync(now));
    return effects;
  }

  /** A Manager reports whether that Manager leads, and which history. */
  hearRole(from: string, role: Role, now: Instant): LookupEffect[] {
    const effects = this.#judge(now);
    this.#watch.hear(from, role, now);
    return [...effects, ...this.#applyWatch(now)];
  }

  /** There is no connection to this Manager. */
  unreachable(address: string, now: Instant): LookupEffect[] {
    const effects = this.#judge(now);
    this.#watch.unreachable(address, now);
    return [...effects, ...this.#applyWatch(now)];
  }

  receive(from: string, changes: Changes, now: Instant): LookupEffect[] {
    const effects = this.#judge(now);
    if (changes.pool !== this.#settings.pool || this.#abandoned.has(changes.history)) return effects;
    if (this.#watch.isOutdated(changes)) return effects;
    if (!this.#watch.permits(changes, now)) {
      if (changes.answers !== undefined && !this.#isQuarantined) this.#early = { from, changes };
      this.#watch.hurry();
      return effects;
    }
    if (this.#seen !== undefined && changes.history !== this.#seen.history) {
      // Histories have no order; but an answer to a recent request of ours is no word from the past.
      if (!this.#isAnswer(changes)) return [...effects, ...this.#hurry(now)];
      effects.push(...this.#startOver(changes));
    }
    if (changes.term < (this.#seen?.term ?? 0)) return effects;

    const position = this.#seen?.position ?? 0;
    const usable = changes.from === 0 || (this.#hasTable && changes.from <= position);
    if (this.#isAnswer(changes)) this.#witnessed = undefined; // The Manager has judged the evidence, and goes on.
    if (!usable) return [...effects, ...this.#hurry(now)];
    if (changes.to > position || !this.#hasTable) effects.push(...this.#advance(changes));
    const { answers } = changes;
    if (answers?.lookup === this.#settings.id) {
      if (changes.pace !== undefined) this.#pace = { ...changes.pace, ...this.#settings.insists };
      this.#freshen(from, answers.sequence, now);
    }
    return effects;
  }

  /** A Manager can be reached again: pushes from the time in between are lost, so sync now. */
  reachable(now: Instant): LookupEffect[] {
    this.#watch.hurry();
    return [...this.#judge(now), ...this.#hurry(now)];
  }

  /** The machine was suspended: how long we heard nothing cannot be known. */
  suspended(now: Instant): LookupEffect[] {
    const effects = this.#judge(now);
    this.#sentAt.clear();
    this.#assuredAt = now;
    this.#freshAt = NEVER;
    this.#nextSyncAt = now;
    this.#watch.suspended();
    return [...effects, ...this.#loseEverything('suspended')];
  }

  /** Acts on the Managers' answers: drops the table, asks for one again, or takes one that came too early. */
  #applyWatch(now: Instant): LookupEffect[] {
    const histories = this.#watch.disagreement;
    if (histories !== undefined && !this.#isQuarantined) return this.#quarantine(histories);
    const effects: LookupEffect[] = [];
    if (histories === undefined && this.#isQuarantined) {
      this.#isQuarantined = false;
      effects.push({ do: 'agree' }, trace('managers-agree'), ...this.#hurry(now));
    }
    const early = this.#early;
    if (early === undefined || !this.#watch.permits(early.changes, now)) return effects;
    this.#early = undefined;
    return [...effects, ...this.receive(early.from, early.changes, now)];
  }

  #quarantine(histories: readonly LedHistory[]): LookupEffect[] {
    this.#isQuarantined = true;
    if (this.#hasTable) this.#witnessed = this.#seen;
    this.#early = undefined;
    this.#abandoned.clear();
    this.#hasTable = false;
    this.#lastOwners.dropped(this.#table);
    this.#table = RingTable.whole<TableRow | undefined>(undefined);
    this.#freshAt = NEVER;
    this.#sentAt.clear();
    this.#answerer = undefined;
    const facts = { histories: histories.map(({ history }) => history).join(',') };
    const lost = this.#loseEverything('managers-disagree');
    return [{ do: 'disagree', histories }, trace('managers-disagree', facts), ...lost];
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
    return [this.#lost(RangeSet.everything, why), trace('lost-everything', { why })];
  }

  #lost(ranges: RangeSet, why: LossReason): LookupEffect {
    const seen = this.#seen;
    const position = seen && { history: seen.history, position: seen.position };
    return { do: 'lost', ranges, why, position };
  }

  #isAnswer({ answers }: Changes): boolean {
    return answers?.lookup === this.#settings.id && this.#sentAt.has(answers.sequence);
  }

  #startOver(changes: Changes): LookupEffect[] {
    if (this.#seen !== undefined) this.#abandoned.add(this.#seen.history);
    // Losses up to here are in the present report; losses before the table arrives are not.
    this.#seen = seenIn(changes);
    this.#hasTable = false;
    this.#freshAt = NEVER;
    this.#sentAt.clear();
    return [trace('new-history', { history: changes.history }), ...this.#loseEverything('history-changed')];
  }

  /** Takes over the rows, and reports each row that lost state after our position. */
  #advance(changes: Changes): LookupEffect[] {
    const { from, to, rows } = changes;
    const position = this.#seen?.position;
    const before = this.#table;
    this.#table = from === 0 ? wholeTable(rows) : this.#table.overlay(rows.map(asValue));
    this.#lastOwners.advance(before, this.#table, rows);
    this.#hasTable = true;
    this.#seen = seenIn(changes);
    const effects: LookupEffect[] = [trace('moved-to', { position: to, rows: rows.length })];
    // A look-up that resumes from beyond the log's end resumes from a log that went back in time, or asks a deposed
    // leader that does not know so yet: nobody can say which keys were lost.
    if (position !== undefined && to < position)
      return [...effects, ...this.#loseEverything('history-changed')];
    // A look-up that has just been opened has nothing that could have been lost.
    const lost = position === undefined ? [] : rows.filter(({ lostAt }) => lostAt > position);
    if (lost.length > 0) {
      effects.push(this.#lost(RangeSet.of(lost), 'reported'));
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

  /** Asks the Manager that answered last, or any; if that Manager was asked and is silent, asks every Manager. */
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
    const seen = this.#hasTable ? this.#seen : this.#witnessed;
    const message: Sync = { kind: 'sync', pool, lookup: id, sequence: this.#sequence, seen };
    return asked.map((to) => ({ do: 'send', to, message }));
  }
}

const seenIn = ({ history, term, to, stamp }: Changes): Seen => ({ history, term, position: to, stamp });

const asValue = (row: TableRow): ValuedSpan<TableRow> => ({ start: row.start, end: row.end, value: row });

const wholeTable = (rows: readonly TableRow[]): RingTable<TableRow | undefined> =>
  RingTable.build<TableRow | undefined>(
    rows.map(({ start }) => start),
    rows,
  );
