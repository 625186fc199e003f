/**
 * How long a leader may act without asking etcd, and how it extends that time.
 *
 * Two clocks count. etcd's lease decides when the leader key goes; ours, when the leader stops acting. Ours starts
 * first and runs no longer, so while etcd keeps its leases no other Manager is elected before the leader has stopped:
 *
 *     leader   asked ├────────── leader lease ─────────┤
 *                     ╲             ╱
 *     etcd             ├──────────────── ttl ──────────────┤···┤ the key goes
 *
 * The leader lease counts from before the *grant* was asked for: the electing transaction comes later, and does not
 * lengthen the lease.
 *
 * etcd does not always keep its leases: an etcd leader that was stopped, and resumes, has been seen to end leases
 * that others kept alive. So a successor waits for a whole leader lease (see `pool/manager`), which relies on this:
 * **no leader lease reaches further than its own length beyond the election of a successor.** A keep-alive alone does
 * not give that, because an etcd member that was stopped, and does not know yet that it was replaced, answers a
 * keep-alive alone:
 *
 *     majority       the key is gone, a successor is elected, waits, and takes over
 *     that member    "your lease is alive" ► the leader goes on for longer than its successor waits
 *
 * Therefore an extension counts only if the leader key was read after the extension was asked for, linearizably, and
 * is still ours: then no successor was elected before.
 *
 * The head is read in the same step. A store that was restored from a backup may contain our key, and nothing else
 * would tell the leader before the next write; but the restored head is behind our writes. `halted` is read, too: no
 * Manager leads on a halted log (`halting.ts`), so the leader resigns.
 *
 * The end of a leader lease deposes no leader. If etcd was away and comes back with the key still there, the leader
 * goes on: no other was elected meanwhile, and every write was compared with the key.
 *
 * But a leader that keeps its lease alive and can do nothing else blocks all others. etcd requires no permission for
 * a keep-alive, so a Manager without permissions, for example, could hold the key for ever and answer no owner. So
 * after some consecutive unconfirmed extensions the leader resigns, and a Manager that can read leads.
 */

import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, later } from '../../runtime/time.ts';
import type { DeposedReason } from '../log.ts';
import type { Requester } from './requester.ts';
import type { EtcdKeyValue } from '../../etcd/client.ts';
import type { LogContext } from './context.ts';
import type { Fence } from './fence.ts';
import type { Lifetime } from '../../runtime/lifetime.ts';

/** The number of tries within a leader lease, if etcd answers at once. */
const TRIES = 4;
/** The number of tries if etcd does not: a busy process needs time more than attempts. */
const SLOW_TRIES = 2;
/**
 * Consecutive extensions that were granted and not confirmed: three leader leases, or more if etcd is slow to fail.
 */
const UNCONFIRMED_MAX = 3 * TRIES;

const UNCONFIRMED = 'etcd keeps the leader key alive and answers nothing else: lets go of it';

export interface KeptLease {
  readonly lease: string;
  /** From before the grant was asked for. */
  readonly askedAt: Instant;
}

export interface LeaseEvents {
  /** The position up to which the log is known to be written. */
  written(): number;
  /** The head at some instant after the log was known to be at `written`; comes before `extended`. */
  sawHead(head: EtcdKeyValue | undefined, written: number): void;
  extended(until: Instant): void;
  lost(reason: DeposedReason): void;
}

/** Keeps the lease alive until it is lost or `lifetime` ends; first after a quarter of the grant. */
export function keepLease(
  { requester, layout, options: { runtime, leaderLeaseMs } }: LogContext,
  lifetime: Lifetime,
  { lease, askedAt: grantedFrom }: KeptLease,
  fence: Fence,
  events: LeaseEvents,
): void {
  const everyMs = leaderLeaseMs / TRIES;
  const withinMs = leaderLeaseMs / SLOW_TRIES;
  let unconfirmed = 0;
  const next = (askedAt: Instant): void =>
    void lifetime.after(Math.max(0, later(askedAt, everyMs) - runtime.now()), extend);

  const extend = (): void => {
    const askedAt = runtime.now();
    requester.keepAlive(
      lease,
      withinMs,
      lifetime.hearing((answer) => {
        const isGone =
          answer.kind === 'refused'
            ? answer.refusal.reason === 'no-lease'
            : answer.kind === 'done' && answer.value.ttlSeconds <= 0;
        if (isGone) events.lost('lease-ended');
        else if (answer.kind === 'done') confirm(askedAt);
        else next(askedAt);
      }),
    );
  };

  const confirm = (askedAt: Instant): void => {
    const written = events.written();
    requester.get(
      [layout.leader, layout.head, layout.halted],
      lifetime.hearing((answer) => {
        if (answer.kind === 'done') {
          const [found, head, halted] = answer.value.found;
          if (!fence.isOurs(found)) return events.lost(fence.reason(found));
          events.sawHead(head, written);
          if (lifetime.isOver) return;
          if (halted !== undefined) return events.lost('resigned');
          unconfirmed = 0;
          events.extended(later(askedAt, leaderLeaseMs));
        } else if (++unconfirmed >= UNCONFIRMED_MAX) {
          requester.episodes.met(UNCONFIRMED, { tries: unconfirmed });
          return events.lost('resigned');
        }
        next(askedAt);
      }),
      withinMs,
    );
  };

  next(grantedFrom);
}

/**
 * Revokes leases: with a lease goes the leader key, and a transaction that would put a key under it is refused.
 * Repeats until the outcome is known, or the lease has expired by itself.
 */
export class Releases {
  readonly #requester: Requester;
  readonly #runtime: Runtime;
  readonly #lifetime: Lifetime;
  readonly #ttlMs: number;
  readonly #pending = new Set<string>();
  #whenDone: (() => void) | undefined;

  constructor(requester: Requester, runtime: Runtime, lifetime: Lifetime, ttlMs: number) {
    this.#requester = requester;
    this.#runtime = runtime;
    this.#lifetime = lifetime;
    this.#ttlMs = ttlMs;
  }

  release(lease: string): void {
    this.#pending.add(lease);
    const giveUpAt = later(this.#runtime.now(), this.#ttlMs);
    const attempt = (): void =>
      this.#requester.revoke(
        lease,
        this.#lifetime.hearing((answer) => {
          const isGone =
            answer.kind === 'done' || (answer.kind === 'refused' && answer.refusal.reason === 'no-lease');
          if (isGone || this.#runtime.now() >= giveUpAt) this.#released(lease);
          else this.#lifetime.after(this.#requester.pauseMs(), attempt);
        }),
      );
    attempt();
  }

  /** Calls back when no revocation is pending: within the call if there is none. */
  whenDone(act: () => void): void {
    this.#whenDone = act;
    this.#look();
  }

  #released(lease: string): void {
    this.#pending.delete(lease);
    this.#look();
  }

  #look(): void {
    if (this.#pending.size > 0) return;
    const act = this.#whenDone;
    this.#whenDone = undefined;
    act?.();
  }
}
