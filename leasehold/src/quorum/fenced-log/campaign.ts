/// <reference lib="esnext.disposable" preserve="true" />

/**
 * One campaign: from standing for election to the end of the leadership.
 *
 *     look ──may stand──► write `term` ──ours──► view has reached it, claim holds ──► told: elected
 *      ▲                      │                          │                                │
 *      └──────────────────────┴─── in vain ──────────────┘                         told: deposed
 *
 * **At most one candidate leads.** `term` is written only over the revision that the candidate has seen. The leader lease is
 * a claim on the written revision (`core/key-claim.ts`): the claim ends before the replica in this process acknowledges the write
 * of another candidate, and without that acknowledgement such a write is committed only after the lease has run out.
 *
 * **When a candidate stands** is a matter of progress alone; safety does not rest on the rule. A candidate stands if `term`
 * names nobody, or if the replica of this process leads the cell and has lost sight of the replica of the holder: the
 * promise to that replica has run out, or no configuration seats the replica. That promise also keeps the new write from
 * being committed, so waiting for the end of the promise costs nothing. In both cases the replica of the candidate must hold
 * read leases on `term`: without them there is no leader lease.
 *
 * **A name under which nobody leads is taken off** `term`, so that others need not wait: by a leader that resigns, that has
 * lost the claim, or whose claim was not extended for some leases; by a candidate that withdrew while the write was under
 * way; and after a restart, by the log itself (`quorum-log.ts`).
 *
 * A try of unknown outcome is repeated. If `term` already has our name and number, an earlier copy went through.
 */

import { Lifetime } from '../../runtime/lifetime.ts';
import type { DeposedReason, LeaderEvents } from '../../log/log.ts';
import type { Instant } from '../../runtime/time.ts';
import { instant } from '../../runtime/time.ts';
import type { ClaimEnd } from '../core/context.ts';
import { type Revision, slotOf } from '../core/operation.ts';
import type { LogContext } from './context.ts';
import { decodeHolder, encodeJson, hasRevision, type Holder, TERM_KEY } from './layout.ts';
import { Leading } from './leading.ts';
import { foundOf, type Outcome } from './requests.ts';

/** So many leases without an extension, and the leader lets others try. */
const PATIENCE_LEASES = 3;

interface Reign {
  readonly revision: Revision;
  readonly life: Lifetime;
  readonly claim: { current: Disposable | undefined };
  until: Instant;
  leadership: Leading | undefined;
}

export class Campaign implements Disposable {
  readonly candidate: string;
  readonly #context: LogContext;
  readonly #events: LeaderEvents;
  readonly #life: Lifetime;
  readonly #onEnd: (campaign: Campaign) => void;
  #attempts = 0;
  #isWriting = false;
  #reign: Reign | undefined;

  constructor(
    context: LogContext,
    candidate: string,
    events: LeaderEvents,
    onEnd: (campaign: Campaign) => void,
  ) {
    this.#context = context;
    this.candidate = candidate;
    this.#events = events;
    this.#onEnd = onEnd;
    this.#life = new Lifetime(context.options.runtime);
    this.#poll();
  }

  get isLeading(): boolean {
    return this.#reign?.leadership !== undefined;
  }

  /** Withdraws, or resigns, without an event. */
  [Symbol.dispose](): void {
    if (this.#life.isOver) return;
    this.#life[Symbol.dispose]();
    const reign = this.#endReign();
    if (reign !== undefined) this.#context.vacate(reign.revision);
    this.#onEnd(this);
  }

  /** The view has changed. */
  look(): void {
    if (this.#life.isOver) return;
    const reign = this.#reign;
    if (reign !== undefined) this.#tell(reign);
    else if (!this.#isWriting && this.#mayStand()) this.#write();
  }

  #poll(): void {
    const { options } = this.#context;
    this.#life.after(options.pollMs, () => {
      this.#poll();
      this.look();
    });
  }

  #mayStand(): boolean {
    const { view, options } = this.#context;
    return view.meta !== undefined && options.port.mayStand(TERM_KEY, view.term?.value.storage);
  }

  #write(): void {
    const { requests, view, options } = this.#context;
    this.#isWriting = true;
    this.#attempts += 1;
    const { candidate } = this;
    const holder: Holder = { candidate, attempt: this.#attempts, storage: options.port.storage };
    const value = encodeJson(holder);
    requests.write(
      {
        conditions: [hasRevision(TERM_KEY, view.term?.revision)],
        actions: [{ do: 'put', key: TERM_KEY, value }],
      },
      (outcome) => this.#written(holder, outcome),
    );
  }

  #written(holder: Holder, outcome: Outcome): void {
    this.#isWriting = false;
    const revision = revisionIfOurs(holder, outcome);
    if (revision === undefined) return; // Another candidate was faster.
    if (this.#life.isOver) {
      this.#context.vacate(revision);
      return;
    }
    const { options } = this.#context;
    const reign: Reign = {
      ...{ revision, life: new Lifetime(options.runtime), claim: { current: undefined } },
      ...{ until: instant(Number.NEGATIVE_INFINITY), leadership: undefined },
    };
    this.#reign = reign;
    this.#waitForExtension(reign);
    const claim = options.port.claim(TERM_KEY, revision, {
      extended: reign.life.hearing((until) => this.#extended(reign, until)),
      ended: reign.life.hearing((why) => this.#lost(reign, REASONS[why])),
    });
    if (this.#reign === reign) reign.claim.current = claim;
    else claim[Symbol.dispose]();
  }

  #extended(reign: Reign, until: Instant): void {
    reign.until = until;
    if (reign.leadership === undefined) this.#tell(reign);
    else this.#events.extended(until);
  }

  /** As soon as the view has everything; but not with a leader lease that is over. */
  #tell(reign: Reign): void {
    const { view, options } = this.#context;
    if (reign.leadership !== undefined || reign.until <= options.runtime.now()) return;
    // The core shows a slot before it answers for it, so this holds already; the leadership must not rest on that order.
    if ((view.slot ?? 0) < slotOf(reign.revision)) return;
    const start = this.#context.start();
    if (start === undefined) return;
    reign.leadership = new Leading(this.#context, {
      ...{ revision: reign.revision, start, life: reign.life },
      superseded: () => this.#lost(reign, 'superseded'),
      resigned: () => this[Symbol.dispose](),
    });
    this.#events.elected(reign.leadership, reign.until);
  }

  #waitForExtension(reign: Reign): void {
    const { runtime, leaseMs } = this.#context.options;
    reign.life.after(PATIENCE_LEASES * leaseMs, () => {
      if (reign.until + (PATIENCE_LEASES - 1) * leaseMs > runtime.now()) this.#waitForExtension(reign);
      else this.#lost(reign, 'lease-ended');
    });
  }

  #lost(reign: Reign, reason: DeposedReason): void {
    const isTold = reign.leadership !== undefined;
    this.#endReign();
    if (reason !== 'superseded') this.#context.vacate(reign.revision);
    if (!isTold) return; // Nothing was told and nothing appended: the next look begins anew.
    this.#life[Symbol.dispose]();
    this.#onEnd(this);
    this.#events.deposed(reason);
  }

  #endReign(): Reign | undefined {
    const reign = this.#reign;
    this.#reign = undefined;
    reign?.life[Symbol.dispose]();
    reign?.claim.current?.[Symbol.dispose]();
    return reign;
  }
}

/** The revision of our write of `term`, if this copy or an earlier one went through. */
function revisionIfOurs(ours: Holder, outcome: Outcome): Revision | undefined {
  if (outcome.kind === 'done') return outcome.revision;
  const found = foundOf(outcome, TERM_KEY);
  const holder = found?.value && decodeHolder(found.value);
  const isOurs = holder?.candidate === ours.candidate && holder.attempt === ours.attempt;
  return isOurs ? found?.revision : undefined;
}

const REASONS: Readonly<Record<ClaimEnd, DeposedReason>> = {
  overwritten: 'superseded',
  shortened: 'lease-ended',
  dropped: 'lease-ended',
};
