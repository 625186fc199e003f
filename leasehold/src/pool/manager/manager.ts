/**
 * One Manager process: it stands by and follows the log until it is elected, leads until it is
 * deposed, and halts if it finds that the log has gone back in time.
 *
 *              elected                 deposed, suspended
 *     standby ─────────► leading ──────────────────────────► standby
 *        │                  │  somebody has seen more of the log than there is
 *        └──────► halted ◄──┘
 *
 * A standby answers look-ups; owners it only tells who leads, which promises nothing. Its answer counts as fresh only if it read the head of
 * the log, linearizably, *after* the sync came, and has followed up to there: a standby that is
 * cut off from the log cannot vouch for anything. Syncs that come while a read is under way share
 * the next one.
 *
 * Leading is in `leader.ts`, with the argument why it is safe. No I/O here: call an input with the
 * present instant, carry out the effects in order, call {@link Manager.wake} at
 * {@link Manager.wakeAt}.
 */

import { assert } from '../../runtime/assert.ts';
import { type Instant, instant } from '../../runtime/time.ts';
import { trace } from '../../runtime/trace.ts';
import type { DeposedReason, LogBatch, LogStart } from '../../log/log.ts';
import type { Report, Sync, ToManager } from '../messages.ts';
import { decodeBatch, ManagerState } from '../state.ts';
import { answerTo, Audience } from './audience.ts';
import { Leader, type LeaderEffect } from './leader.ts';
import { type ManagerObservation, NOT_LEADING } from './observation.ts';
import { elsewhere, unknownPool } from './refusal.ts';
import { isKnown, type ManagerSettings, settingsFor } from './settings.ts';
import { Sightings } from './sightings.ts';

/**
 * What the driver must do, in order. On `resign` it gives up the leadership or the campaign, follows the
 * log anew, calls {@link Manager.standing} and stands again under a new name; on `halt` it stands no more.
 */
export type ManagerEffect = LeaderEffect | { readonly do: 'ask-head' };

interface Waiting {
  readonly from: string;
  readonly sync: Sync;
  readonly receivedAt: Instant;
}

interface Standby {
  readonly name: 'standby';
  history: string | undefined;
  state: ManagerState;
  readonly audience: Audience;
  /** Syncs that wait for proof that we are up to date. */
  waiting: Waiting[];
  /** The head as it was read last. */
  head: { readonly position: number; readonly askedAt: Instant } | undefined;
  asking: boolean;
  /** The log was restored from a backup, and nobody has led since: there is nothing to vouch for. */
  recovers: boolean;
  /** How far we had followed when we asked. */
  askedFrom: number;
}

/** The last it knew, for whoever has to find out what happened. Nothing is answered from it. */
interface Known {
  readonly history: string | undefined;
  readonly term: number;
  readonly state: ManagerState;
}

type Role =
  | Standby
  | { readonly name: 'leading'; readonly leader: Leader }
  | { readonly name: 'halted'; readonly reason: string; readonly known: Known };

export class Manager {
  #settings: ManagerSettings;
  #role: Role;
  readonly #sightings = new Sightings();
  #latestNow: Instant = instant(Number.NEGATIVE_INFINITY);

  constructor(settings: ManagerSettings) {
    this.#settings = settings;
    this.#role = this.#standingBy();
  }

  get role(): Role['name'] {
    return this.#role.name;
  }

  /** Why it halted. */
  get haltedBecause(): string | undefined {
    return this.#role.name === 'halted' ? this.#role.reason : undefined;
  }

  get term(): number | undefined {
    return this.#role.name === 'leading' ? this.#role.leader.term : undefined;
  }

  /** Everything committed that this Manager knows of; of one that has halted, that it knew of then. */
  get state(): ManagerState {
    const role = this.#role;
    if (role.name === 'leading') return role.leader.state;
    return role.name === 'standby' ? role.state : role.known.state;
  }

  get wakeAt(): Instant | undefined {
    return this.#role.name === 'leading' ? this.#role.leader.wakeAt : undefined;
  }

  /** Does as it is told from here on, see `settings.ts`. */
  configure(settings: ManagerSettings, now: Instant): ManagerEffect[] {
    assert(settings.id === this.#settings.id, 'a Manager cannot become another one');
    this.#settings = settings;
    return this.#whileLeading(now, (leader) => leader.configure(settings, now));
  }

  /** What somebody who watches can see. */
  observe(): ManagerObservation {
    const role = this.#role;
    const leader = role.name === 'leading' ? role.leader : undefined;
    const audience = leader?.audience ?? (role.name === 'standby' ? role.audience : undefined);
    return {
      id: this.#settings.id,
      role: role.name,
      haltedBecause: this.haltedBecause,
      ...this.#known,
      ...(leader?.observe() ?? NOT_LEADING),
      headSeen: role.name === 'standby' ? role.head : undefined,
      lookups: [...(audience?.listeners() ?? [])],
      policy: (pool) => settingsFor(this.#settings, pool).policy.name,
    };
  }

  /** It stands for election from here on. */
  standing(): void {
    this.#sightings.standing();
    if (this.#role.name !== 'standby') return;
    this.#role.asking = false; // The log is followed anew: what was asked before is answered by nobody.
    this.#role.askedFrom = 0;
  }

  /** Leads from here on; `until` is the end of the leader lease. */
  elected(term: number, start: LogStart, until: Instant, now: Instant): ManagerEffect[] {
    this.#observe(now);
    if (this.#role.name === 'halted') return [{ do: 'resign' }];
    const leader = new Leader(this.#settings, term, start, until, now);
    const verdict = this.#sightings.verdictOnElection(leader);
    if (verdict?.do === 'halt') {
      const knewMore = this.state.position > leader.startPosition;
      return this.#halt(verdict.reason, knewMore ? this.#known : knownTo(leader));
    }
    if (verdict?.do === 'resign')
      return [trace('elected-too-late', { term, seen: this.#sightings.in(start.history)?.term }), verdict];
    this.#role = { name: 'leading', leader };
    return [trace('elected', { term, position: leader.state.position }), ...this.#watched(leader.wake(now))];
  }

  extended(until: Instant, now: Instant): ManagerEffect[] {
    return this.#whileLeading(now, (leader) => leader.extended(until, now));
  }

  appended(position: number, now: Instant): ManagerEffect[] {
    return this.#whileLeading(now, (leader) => leader.appended(position, now));
  }

  refused(now: Instant): ManagerEffect[] {
    return this.#whileLeading(now, (leader) => leader.refused(now));
  }

  /** No longer the leader. Following starts anew with {@link reset}. */
  deposed(reason: DeposedReason, now: Instant): ManagerEffect[] {
    this.#observe(now);
    if (this.#role.name !== 'leading') return [];
    const { term, history, state } = this.#role.leader;
    this.#sightings.hear({ history, term, position: state.position });
    this.#role = this.#standingBy();
    return [trace('deposed', { term, reason })];
  }

  /** Gives up the leadership, if it has it, so that another can take it. */
  stepDown(now: Instant): ManagerEffect[] {
    this.#observe(now);
    return this.#role.name === 'leading' ? this.#resign(now) : [];
  }

  /** A standby reads the head of the log, to know how far behind it is. */
  lookAtHead(now: Instant): ManagerEffect[] {
    this.#observe(now);
    return this.#role.name === 'standby' && !this.#role.asking ? [this.#askHead(this.#role)] : [];
  }

  /**
   * The machine was suspended, and a leader lease may have run out unseen: also one that is just
   * being given, so a candidate withdraws and stands anew.
   */
  suspended(now: Instant): ManagerEffect[] {
    return this.#role.name === 'halted' ? [] : this.#resign(now);
  }

  reset(start: LogStart, now: Instant): ManagerEffect[] {
    this.#observe(now);
    const role = this.#role;
    if (role.name !== 'standby') return [];
    const state = ManagerState.replay(start);
    if (role.history === start.history && state.position < role.state.position) {
      return this.#halt(
        `the log ends at ${state.position}, but we have followed it to ${role.state.position}: the store went back in time`,
      );
    }
    role.history = start.history;
    role.state = state;
    role.recovers = start.floor > state.position || state.reign.recovering === true;
    this.#sightings.hear({ history: start.history, term: state.term, position: state.position });
    role.askedFrom = 0;
    return this.#answerWaiting(role);
  }

  followed(batch: LogBatch, now: Instant): ManagerEffect[] {
    this.#observe(now);
    const role = this.#role;
    if (role.name !== 'standby' || role.history === undefined || batch.position <= role.state.position)
      return [];
    const before = role.state;
    role.state = before.apply(batch.position, decodeBatch(batch.bytes));
    role.recovers = role.state.reign.recovering === true;
    this.#sightings.hear({ history: role.history, term: role.state.term, position: role.state.position });
    return [...role.audience.push(role.history, before, role.state, now), ...this.#answerWaiting(role)];
  }

  /** The head of the log was at `position` at some instant after `askedAt`. */
  head(position: number, askedAt: Instant, now: Instant): ManagerEffect[] {
    this.#observe(now);
    const role = this.#role;
    if (role.name !== 'standby') return [];
    role.asking = false;
    if (position < role.askedFrom) {
      return this.#halt(
        `the log ends at ${position}, but we have followed it to ${role.askedFrom}: the store went back in time`,
      );
    }
    role.head = { position, askedAt };
    return this.#answerWaiting(role);
  }

  receive(from: string, message: ToManager, now: Instant): ManagerEffect[] {
    this.#observe(now);
    const role = this.#role;
    if (role.name === 'halted') return [];
    if (message.kind !== 'certificate') {
      this.#sightings.hear(message.seen);
      // A pool that somebody is in is served although it is declared no more.
      const isRefused = !isKnown(this.#settings, message.pool) && !this.state.pools.has(message.pool);
      if (isRefused) return [unknownPool(from, message, [...(this.#settings.pools?.keys() ?? [])])];
    }
    if (role.name === 'standby') {
      if (message.kind === 'sync') return this.#hearSync(role, from, message, now);
      return message.kind === 'report' ? this.#pointOn(role, from, message) : [];
    }
    const { leader } = role;
    switch (message.kind) {
      case 'report':
        return this.#watched(leader.hearReport(from, message, now));
      case 'sync':
        return this.#watched(leader.hearSync(from, message, now));
      case 'certificate':
        return this.#watched(leader.hearCertificate(from, message, now));
    }
  }

  wake(now: Instant): ManagerEffect[] {
    return this.#whileLeading(now, (leader) => leader.wake(now));
  }

  #whileLeading(now: Instant, act: (leader: Leader) => LeaderEffect[]): ManagerEffect[] {
    this.#observe(now);
    return this.#role.name === 'leading' ? this.#watched(act(this.#role.leader)) : [];
  }

  #standingBy(): Standby {
    return {
      name: 'standby',
      history: undefined,
      state: ManagerState.empty,
      audience: new Audience((pool) => settingsFor(this.#settings, pool).durations.syncEveryMs),
      waiting: [],
      head: undefined,
      asking: false,
      askedFrom: 0,
      recovers: false,
    };
  }

  /** A leader that resigns or halts ends here; the driver may stand again. */
  #watched(effects: LeaderEffect[]): ManagerEffect[] {
    for (const effect of effects) {
      if (effect.do === 'halt') return this.#halt(effect.reason);
      if (effect.do === 'resign') return this.#resign(this.#latestNow);
    }
    return effects;
  }

  #resign(now: Instant): ManagerEffect[] {
    return [...this.deposed('resigned', now), { do: 'resign' }];
  }

  get #known(): Known {
    const role = this.#role;
    if (role.name === 'halted') return role.known;
    if (role.name === 'leading') return knownTo(role.leader);
    return { history: role.history, term: role.state.term, state: role.state };
  }

  #halt(reason: string, known: Known = this.#known): ManagerEffect[] {
    this.#role = { name: 'halted', reason, known };
    return [trace('halted', { reason }), { do: 'halt', reason }, { do: 'resign' }];
  }

  /** A report is for whoever leads; if we know of nobody, whoever sent it asks all Managers soon. */
  #pointOn({ state: { reign }, history }: Standby, from: string, report: Report): ManagerEffect[] {
    const { term, address, leader } = reign;
    const seenTerm = report.seen?.history === history ? report.seen?.term : undefined;
    if (address === undefined || leader === this.#settings.id || (seenTerm ?? 0) > term) return [];
    return [elsewhere(from, report, term, address)];
  }

  #hearSync(role: Standby, from: string, sync: Sync, now: Instant): ManagerEffect[] {
    role.audience.hear(from, sync, now);
    // One that asks again is answered by what it asked first, or a slow log would starve it.
    const isFrom = (other: Waiting): boolean => other.from === from && other.sync.pool === sync.pool;
    role.waiting = role.waiting.filter((other) => !isFrom(other) || other.sync.lookup === sync.lookup);
    if (!role.waiting.some(isFrom)) role.waiting.push({ from, sync, receivedAt: now });
    if (role.asking) return [];
    return [this.#askHead(role)];
  }

  #askHead(role: Standby): ManagerEffect {
    role.asking = true;
    role.askedFrom = role.state.position;
    return { do: 'ask-head' };
  }

  /** Answers the syncs that came before the head was read, once we have followed up to it. */
  #answerWaiting(role: Standby): ManagerEffect[] {
    const { head, history, state } = role;
    const effects: ManagerEffect[] = [];
    if (head !== undefined && history !== undefined && state.position >= head.position && !role.recovers) {
      const ready = role.waiting.filter(({ receivedAt }) => receivedAt <= head.askedAt);
      role.waiting = role.waiting.filter(({ receivedAt }) => receivedAt > head.askedAt);
      for (const { from, sync } of ready) {
        const message = answerTo(sync, history, state.term, state);
        if (message !== undefined) effects.push({ do: 'send', to: from, message });
      }
    }
    const unread = role.waiting.some(({ receivedAt }) => head === undefined || receivedAt > head.askedAt);
    if (unread && !role.asking) {
      effects.push(this.#askHead(role));
    }
    return effects;
  }

  #observe(now: Instant): void {
    assert(now >= this.#latestNow, `time went back from ${this.#latestNow} to ${now}`);
    this.#latestNow = now;
  }
}

const knownTo = ({ history, term, state }: Leader): Known => ({ history, term, state });
