/**
 * One Manager process: stands by and follows the log until elected, leads until deposed, and halts if the log has gone back in
 * time.
 *
 *              elected                 deposed, suspended
 *     standby ─────────► leading ──────────────────────────► standby
 *        │                  │  a client has seen more of the log than there is
 *        └──────► halted ◄──┘
 *
 * `leader.ts` argues why leading is safe, `standby.ts` why standing by is; this file has the roles and the moves between them.
 * No I/O: call an input with the present instant, execute the effects in order, call {@link Manager.wake} at
 * {@link Manager.wakeAt}.
 */

import { assert } from '../../../runtime/assert.ts';
import { type Instant, instant } from '../../../runtime/time.ts';
import { trace } from '../../../runtime/trace.ts';
import type { DeposedReason, LogBatch, LogStart } from '../../../log/log.ts';
import type { Seen, ToManager } from '../messages.ts';
import type { ManagerState } from '../state.ts';
import type { MemberOrder } from '../table.ts';
import { policyInForce } from './placement-cache.ts';
import { Leader, type LeaderEffect } from './leader.ts';
import { type ManagerObservation, observeWithoutLeading } from './observation.ts';
import { unknownPool } from './refusal.ts';
import { leadsNone } from './role.ts';
import { checkTakeover, isKnown, type ManagerSettings, settingsFor } from './settings.ts';
import { RollbackDetector } from './rollback-detector.ts';
import type { Stamps } from './stamps.ts';
import { Standby, type StandbyEffect } from './standby.ts';

/**
 * The work of the driver, in order. On `resign` the driver gives up the leadership or the campaign, follows the log
 * anew, calls {@link Manager.standing} and stands again under a new name; on `halt` the driver stands no more.
 */
export type ManagerEffect = LeaderEffect | StandbyEffect;

/** The last knowledge of a Manager that has halted, for operators. No client is answered from it. */
interface Known {
  readonly history: string | undefined;
  readonly term: number;
  readonly state: ManagerState;
}

type Role =
  | { readonly name: 'standby'; readonly standby: Standby }
  | { readonly name: 'leading'; readonly leader: Leader }
  | { readonly name: 'halted'; readonly reason: string; readonly known: Known };

export class Manager {
  #settings: ManagerSettings;
  #role: Role;
  readonly #rollback = new RollbackDetector();
  /** A client told of a log before the one that this process began: when the leases of that log have expired. */
  #earlierUntil: Instant | undefined;
  #latestNow: Instant = instant(Number.NEGATIVE_INFINITY);

  /** @throws {InvalidArgumentError} if leases would outlast the wait that the group has agreed on */
  constructor(settings: ManagerSettings) {
    checkTakeover(settings);
    this.#settings = settings;
    this.#role = this.#standingBy();
  }

  get role(): Role['name'] {
    return this.#role.name;
  }

  /** Why the Manager halted. */
  get haltedBecause(): string | undefined {
    return this.#role.name === 'halted' ? this.#role.reason : undefined;
  }

  /** The furthest point of that history that was ever reported. */
  seen(history: string): Seen | undefined {
    return this.#rollback.in(history);
  }

  get term(): number | undefined {
    return this.#role.name === 'leading' ? this.#role.leader.term : undefined;
  }

  /** The history of {@link state}; undefined if no log was read yet, or the log has yet to be read again. */
  get history(): string | undefined {
    return this.#known.history;
  }

  /** Everything committed that this Manager knows; after a halt, everything that it knew then. */
  get state(): ManagerState {
    const role = this.#role;
    if (role.name === 'leading') return role.leader.state;
    return role.name === 'standby' ? role.standby.state : role.known.state;
  }

  /** Whether this Manager leads and awaits the outcome of a commit. */
  get isWriting(): boolean {
    return this.#role.name === 'leading' && this.#role.leader.isWriting;
  }

  /** The end of the wait of a leader for leases of an earlier log; undefined if there is no such wait. */
  get waitsUntil(): Instant | undefined {
    return this.#role.name === 'leading' ? this.#role.leader.waitsUntil : undefined;
  }

  get wakeAt(): Instant | undefined {
    return this.#role.name === 'leading' ? this.#role.leader.wakeAt : undefined;
  }

  /**
   * Applies new settings from here on, see `settings.ts`.
   *
   * @throws {InvalidArgumentError} as the constructor does, and then nothing was changed
   */
  configure(settings: ManagerSettings, now: Instant): ManagerEffect[] {
    const { id, groupTakeoverMs } = this.#settings;
    assert(settings.id === id, 'a Manager cannot become another one');
    assert(settings.groupTakeoverMs === groupTakeoverMs, 'what a group has agreed on stays');
    checkTakeover(settings);
    this.#settings = settings;
    return this.#whileLeading(now, (leader) => leader.configure(settings, now));
  }

  /** Everything that operators can see. The cost grows with the number of owners, so this is not for every message. */
  observe(): ManagerObservation {
    const role = this.#role;
    const leader = role.name === 'leading' ? role.leader : undefined;
    const standby = role.name === 'standby' ? role.standby : undefined;
    const subscribers = leader?.subscribers ?? standby?.subscribers;
    return {
      id: this.#settings.id,
      role: role.name,
      haltedBecause: this.haltedBecause,
      ...this.#known,
      ...(leader?.observe() ?? observeWithoutLeading(this.state)),
      headSeen: standby?.headSeen,
      lookups: [...(subscribers?.listeners() ?? [])],
      policy: (pool) => policyInForce(settingsFor(this.#settings, pool), this.state.pool(pool)).name,
    };
  }

  /** The Manager stands for election from here on. */
  standing(): void {
    this.#rollback.standing();
    if (this.#role.name === 'standby') this.#role.standby.standing();
  }

  /** Leads from here on; `until` is the end of the leader lease. */
  elected(term: number, start: LogStart, until: Instant, now: Instant): ManagerEffect[] {
    this.#observe(now);
    if (this.#role.name === 'halted') return [{ do: 'resign' }];
    const leader = new Leader(this.#settings, term, start, until, now);
    if (this.#earlierUntil !== undefined) leader.awaitEarlier(this.#earlierUntil);
    const verdict = this.#rollback.verdictOnElection(leader);
    if (verdict?.do === 'halt') {
      const knewMore = this.state.position > leader.startPosition;
      return this.#halt(verdict.reason, knewMore ? this.#known : knownTo(leader));
    }
    if (verdict?.do === 'resign')
      return [trace('elected-too-late', { term, seen: this.#rollback.in(start.history)?.term }), verdict];
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
    this.#rollback.note({ history, term, position: state.position });
    this.#role = this.#standingBy();
    return [trace('deposed', { term, reason })];
  }

  /** Gives up the leadership, if there is one to give up, so that another Manager can lead. */
  stepDown(now: Instant): ManagerEffect[] {
    this.#observe(now);
    return this.#role.name === 'leading' ? this.#resign(now) : [];
  }

  /** Removes a pool without members, if this Manager leads; see {@link isRemoving}. */
  removePool(pool: string, now: Instant): ManagerEffect[] {
    return this.#whileLeading(now, (leader) => leader.removePool(pool, now));
  }

  /** Whether the removal of this pool is still to be done. */
  isRemoving(pool: string): boolean {
    return this.#role.name === 'leading' && this.#role.leader.isRemoving(pool);
  }

  /** An operator wants this of a member, if this Manager leads; undefined: nothing any more. See {@link isOrdering}. */
  order(pool: string, incarnation: string, order: MemberOrder | undefined, now: Instant): ManagerEffect[] {
    return this.#whileLeading(now, (leader) => leader.order(pool, incarnation, order, now));
  }

  /** Whether an order to this member is still to be written. */
  isOrdering(pool: string, incarnation: string): boolean {
    return this.#role.name === 'leading' && this.#role.leader.isOrdering(pool, incarnation);
  }

  /** A standby reads the head of the log, to know its own lag. */
  lookAtHead(now: Instant): ManagerEffect[] {
    return this.#whileStandingBy(now, (standby) => standby.lookAtHead());
  }

  /**
   * The machine was suspended, and a leader lease may have expired unseen: also a lease that is just
   * being granted, so a candidate withdraws and stands anew.
   */
  suspended(now: Instant): ManagerEffect[] {
    return this.#role.name === 'halted' ? [] : this.#resign(now);
  }

  reset(start: LogStart, now: Instant): ManagerEffect[] {
    return this.#whileStandingBy(now, (standby) => standby.reset(start));
  }

  followed(batch: LogBatch, now: Instant): ManagerEffect[] {
    return this.#whileStandingBy(now, (standby) => standby.followed(batch, now));
  }

  /** The head of the log was at `position` at some instant after `askedAt`. */
  head(position: number, askedAt: Instant, now: Instant): ManagerEffect[] {
    return this.#whileStandingBy(now, (standby) => standby.head(position, askedAt));
  }

  receive(from: string, message: ToManager, now: Instant): ManagerEffect[] {
    this.#observe(now);
    const role = this.#role;
    if (role.name === 'halted') return [];
    if (message.kind === 'probe')
      return role.name === 'leading'
        ? [role.leader.hearProbe(from, message, now)]
        : [leadsNone(from, message)];
    if (message.kind !== 'certificate') {
      this.#rollback.hear(message.seen, this.#stamps);
      // A pool with members is served although it is declared no more.
      const isRefused = !isKnown(this.#settings, message.pool) && !this.state.pools.has(message.pool);
      if (isRefused) return [unknownPool(from, message, [...(this.#settings.pools?.keys() ?? [])])];
    }
    if (role.name === 'standby') {
      const { standby } = role;
      if (message.kind === 'sync') return standby.hearSync(from, message, now);
      return message.kind === 'report' ? standby.pointOn(from, message) : [];
    }
    const { leader } = role;
    switch (message.kind) {
      case 'report':
        return [
          ...this.#denied(leader, message.seen, now),
          ...this.#watched(leader.hearReport(from, message, now)),
        ];
      case 'sync':
        return [
          ...this.#denied(leader, message.seen, now),
          ...this.#watched(leader.hearSync(from, message, now)),
        ];
      case 'certificate':
        return this.#watched(leader.hearCertificate(from, message, now));
    }
  }

  /** This Manager leads, and the log is not older than the one clients have seen, as far as they could tell. */
  isSureOfItsLog(now: Instant): boolean {
    return this.#role.name === 'leading' && this.#role.leader.isSureOfItsLog(now);
  }

  /** The connections over which members were last heard; empty unless this Manager leads. */
  memberConnections(): ReadonlySet<string> {
    return this.#role.name === 'leading' ? this.#role.leader.memberConnections() : new Set();
  }

  wake(now: Instant): ManagerEffect[] {
    return this.#whileLeading(now, (leader) => leader.wake(now));
  }

  /** The next leadership of this process knows too that its log is not the first. */
  #denied(leader: Leader, seen: Seen | undefined, now: Instant): ManagerEffect[] {
    const earlierUntil = leader.deniesFirst(seen, now);
    if (earlierUntil === undefined) return [];
    this.#earlierUntil = earlierUntil;
    return [trace('not-the-first-log', { earlier: seen?.history, forMs: Math.ceil(earlierUntil - now) })];
  }

  #whileLeading(now: Instant, act: (leader: Leader) => LeaderEffect[]): ManagerEffect[] {
    this.#observe(now);
    return this.#role.name === 'leading' ? this.#watched(act(this.#role.leader)) : [];
  }

  #whileStandingBy(now: Instant, act: (standby: Standby) => StandbyEffect[]): ManagerEffect[] {
    this.#observe(now);
    return this.#role.name === 'standby' ? this.#watched(act(this.#role.standby)) : [];
  }

  #standingBy(): Role {
    return { name: 'standby', standby: new Standby(() => this.#settings, this.#rollback) };
  }

  /** A Manager that resigns or halts stops leading here; the driver may stand again. */
  #watched(effects: ManagerEffect[]): ManagerEffect[] {
    for (const effect of effects) {
      if (effect.do === 'halt') return this.#halt(effect.reason);
      if (effect.do === 'resign') return this.#resign(this.#latestNow);
    }
    return effects;
  }

  #resign(now: Instant): ManagerEffect[] {
    return [...this.deposed('resigned', now), { do: 'resign' }];
  }

  /** Of the log that it leads or follows. */
  get #stamps(): Stamps | undefined {
    const role = this.#role;
    if (role.name === 'leading') return role.leader.stamps;
    return role.name === 'standby' ? role.standby.stamps : undefined;
  }

  get #known(): Known {
    const role = this.#role;
    if (role.name === 'halted') return role.known;
    if (role.name === 'leading') return knownTo(role.leader);
    const { history, state } = role.standby;
    return { history, term: state.term, state };
  }

  #halt(reason: string, known: Known = this.#known): ManagerEffect[] {
    this.#role = { name: 'halted', reason, known };
    return [trace('halted', { reason }), { do: 'halt', reason }, { do: 'resign' }];
  }

  #observe(now: Instant): void {
    assert(now >= this.#latestNow, `time went back from ${this.#latestNow} to ${now}`);
    this.#latestNow = now;
  }
}

const knownTo = ({ history, term, state }: Leader): Known => ({ history, term, state });
