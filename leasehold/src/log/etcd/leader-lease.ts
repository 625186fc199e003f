/**
 * How long a leader may act without asking, and what it does to be allowed to go on.
 *
 * Two clocks count. etcd's lease decides when the leader key goes; ours, when the leader stops acting.
 * Ours starts first and runs no longer, so while etcd keeps its leases nobody else is elected before we
 * have stopped:
 *
 *     leader   asked ├────────── leader lease ─────────┤
 *                     ╲             ╱
 *     etcd             ├──────────────── ttl ──────────────┤···┤ the key goes
 *
 * The election counts from before the *grant* was asked for: the transaction that elects comes later, and
 * does not lengthen the lease.
 *
 * etcd does not always keep its leases: a leader of its own that was stopped, and resumes, has been seen
 * to end leases that others kept alive. So whoever takes over waits for a whole leader lease (see
 * `pool/manager`), and what that relies on is this: **no leader lease reaches further than its own length
 * beyond the election of a successor.** A keep-alive alone does not give that, because a member that was
 * stopped, and does not know yet that it has been replaced, answers it without asking anybody:
 *
 *     majority       the key is gone, a successor is elected, waits, and takes over
 *     that member    "your lease is alive" ► the leader goes on for longer than its successor waits
 *
 * Therefore an extension counts only if the leader key was read after it was asked for, linearizably, and
 * is still ours: then nobody was elected before it was asked for.
 *
 * The head is read in the same step. A store that was put back from a backup may have our key in it, and
 * nothing else would tell us before we next write; but its head is behind what we have written. And so is what somebody
 * else may have found out about the log: nobody leads on one that has halted (`halting.ts`), so we let go.
 *
 * That a leader lease has run out deposes nobody. If etcd was away and comes back with the key still
 * there, the leader goes on: nobody was elected meanwhile, and what it wrote was compared with the key.
 *
 * But whoever keeps a lease alive and can do nothing else stands in everybody's way. etcd asks nobody for a name to keep
 * a lease alive, so one whose rights were taken away, for example, could do so for ever, and answer nobody. So after some
 * extensions in a row that could not be confirmed we let go: whoever can read leads then.
 */

import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, later } from '../../runtime/time.ts';
import type { DeposedReason } from '../log.ts';
import type { Asking } from './asking.ts';
import type { EtcdKeyValue } from './client.ts';
import type { LogContext } from './context.ts';
import type { Fence } from './fence.ts';
import type { Lifetime } from './lifetime.ts';

/** So many tries fit into a leader lease, if they are answered at once. */
const TRIES = 4;
/** And so many if they are not: a process that is short of time needs patience more than attempts. */
const SLOW_TRIES = 2;
/** Extensions in a row that were granted and not confirmed: three leader leases, or more if etcd is slow to fail. */
const UNCONFIRMED_MAX = 3 * TRIES;

const UNCONFIRMED = 'etcd keeps the leader key alive and answers nothing else: lets go of it';

export interface KeptLease {
  readonly lease: string;
  /** From before it was asked for. */
  readonly askedAt: Instant;
}

export interface LeaseEvents {
  /** The position up to which we know the log to be written. */
  written(): number;
  /** The head, as it was at some instant after it was known to be at `written`; comes before `extended`. */
  sawHead(head: EtcdKeyValue | undefined, written: number): void;
  extended(until: Instant): void;
  lost(reason: DeposedReason): void;
}

/** Keeps the lease alive until it is lost, or life ends; first when a quarter of the grant is over. */
export function keepLease(
  { asking, layout, options: { runtime, leaderLeaseMs } }: LogContext,
  life: Lifetime,
  { lease, askedAt: grantedFrom }: KeptLease,
  fence: Fence,
  events: LeaseEvents,
): void {
  const everyMs = leaderLeaseMs / TRIES;
  const withinMs = leaderLeaseMs / SLOW_TRIES;
  let unconfirmed = 0;
  const next = (askedAt: Instant): void =>
    void life.after(Math.max(0, later(askedAt, everyMs) - runtime.now()), extend);

  const extend = (): void => {
    const askedAt = runtime.now();
    asking.keepAlive(
      lease,
      withinMs,
      life.hearing((answer) => {
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
    asking.get(
      [layout.leader, layout.head, layout.halted],
      life.hearing((answer) => {
        if (answer.kind === 'done') {
          const [found, head, halted] = answer.value.found;
          if (!fence.isOurs(found)) return events.lost(fence.reason(found));
          events.sawHead(head, written);
          if (life.isOver) return;
          if (halted !== undefined) return events.lost('resigned');
          unconfirmed = 0;
          events.extended(later(askedAt, leaderLeaseMs));
        } else if (++unconfirmed >= UNCONFIRMED_MAX) {
          asking.troubles.met(UNCONFIRMED, { tries: unconfirmed });
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
 * Lets go of leases: with a lease goes the leader key, and a transaction that would put one under it,
 * still on its way, is refused. Tries again until that is known, or the lease has run out by itself.
 */
export class Releases {
  readonly #asking: Asking;
  readonly #runtime: Runtime;
  readonly #life: Lifetime;
  readonly #ttlMs: number;
  readonly #pending = new Set<string>();
  #whenDone: (() => void) | undefined;

  constructor(asking: Asking, runtime: Runtime, life: Lifetime, ttlMs: number) {
    this.#asking = asking;
    this.#runtime = runtime;
    this.#life = life;
    this.#ttlMs = ttlMs;
  }

  release(lease: string): void {
    this.#pending.add(lease);
    const giveUpAt = later(this.#runtime.now(), this.#ttlMs);
    const attempt = (): void =>
      this.#asking.revoke(
        lease,
        this.#life.hearing((answer) => {
          const isGone =
            answer.kind === 'done' || (answer.kind === 'refused' && answer.refusal.reason === 'no-lease');
          if (isGone || this.#runtime.now() >= giveUpAt) this.#released(lease);
          else this.#life.after(this.#asking.pauseMs(), attempt);
        }),
      );
    attempt();
  }

  /** Calls back when nothing is left to let go of: within the call if nothing is. */
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
