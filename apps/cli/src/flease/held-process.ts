/**
 * A process that may run for as long as a lease is held, and what becomes of it:
 *
 *     running ──the lease is about to end: SIGTERM──► ending ──it is over: SIGKILL──┐
 *        │                                               │                          ▼
 *        └──────────────ends by itself, or is killed─────┴───────────────────────► ended
 *
 * While it runs the watchman is told of each renewal. Once it is ending, a renewal that comes after all comes too late:
 * it has been asked to end, and the watchman was told by when.
 *
 * Whether the lease was lost before the process had ended is judged when it has. The state does not say so, for it is
 * timers that change it, and we may have stood still when they were due:
 *
 *  - The lease may be over by the clock, and no timer has said so yet. So the clock is asked again.
 *  - The watchman may have killed it, and we have gone on in time to renew the lease. So the watchman is asked, too, if
 *    it was killed; but whether we stood still is for `wakefulness.ts` to say, as it was when the lease was lost.
 */

import type { FleaseLease } from 'leasehold/flease';
import type { Logger } from 'leasehold/supervisor';
import type { ResolvedFleaseDurations } from '../../../../leasehold/src/flease/options.ts';
import type { ChildEnd } from '../../../../leasehold/src/node/child.ts';
import type { LostLease } from './command-ended-error.ts';
import type { StartedProcess } from './started-process.ts';
import { Wakefulness } from './wakefulness.ts';
import type { Watchman } from './watchman.ts';

export interface HeldProcessOptions {
  readonly started: Pick<StartedProcess, 'command' | 'pid' | 'ended' | 'kill'>;
  readonly watchman: Pick<Watchman, 'allow' | 'end'>;
  readonly lease: Pick<FleaseLease, 'resource' | 'number' | 'signal' | 'leftMs' | 'isHeld' | 'onRenewal'>;
  readonly durations: Pick<ResolvedFleaseDurations, 'noticeMs' | 'leaseMs' | 'renewAfterMs' | 'answerMs'>;
  readonly logger: Logger;
  /** Since when it is looked whether we stand still. @default since now */
  readonly wakefulness?: Wakefulness | undefined;
}

export interface HeldEnd {
  readonly end: ChildEnd;
  /** What there is to say of the lease; undefined if it was held until then. */
  readonly lost: Omit<LostLease, 'suspects'> | undefined;
}

interface Ended {
  readonly name: 'ended';
  readonly hasOverslept: boolean;
}

type State =
  | { readonly name: 'running' }
  | { readonly name: 'ending'; readonly hasOverslept: boolean; readonly killing: NodeJS.Timeout }
  | Ended;

/** Begins to look. */
export const wakefulnessFor = ({
  leaseMs,
  renewAfterMs,
  answerMs,
}: HeldProcessOptions['durations']): Wakefulness =>
  new Wakefulness({ leaseMs, renewalMs: renewAfterMs + answerMs });

export class HeldProcess implements Disposable {
  readonly #options: HeldProcessOptions;
  readonly #wakefulness: Wakefulness;
  readonly #looking: NodeJS.Timeout;
  readonly #renewals: Disposable;
  readonly #onLoss = (): void => this.#lose();
  #state: State = { name: 'running' };

  constructor(options: HeldProcessOptions) {
    const { lease, durations, wakefulness = wakefulnessFor(durations) } = options;
    this.#options = options;
    this.#wakefulness = wakefulness;
    this.#looking = setInterval(() => this.#wakefulness.look(), this.#wakefulness.everyMs);
    this.#renewals = lease.onRenewal(() => this.#renewed());
    if (lease.signal.aborted) this.#lose();
    else lease.signal.addEventListener('abort', this.#onLoss, { once: true });
  }

  get state(): State['name'] {
    return this.#state.name;
  }

  /** Resolves when it has ended. */
  async ended(): Promise<HeldEnd> {
    const { started, lease } = this.#options;
    const end = await started.ended;
    const { hasOverslept } = this.#end();
    const wasOverdue = end.signal === 'SIGKILL' && (await this.#wasOverdue());
    if (!lease.signal.aborted && !wasOverdue) return { end, lost: undefined };
    started.kill('SIGKILL'); // What it has started may still be there.
    return { end, lost: { ...this.#lost(), hasOverslept } };
  }

  [Symbol.dispose](): void {
    this.#end();
  }

  #end(): Ended {
    const state = this.#state;
    if (state.name === 'ended') return state;
    if (state.name === 'ending') clearTimeout(state.killing);
    clearInterval(this.#looking);
    this.#renewals[Symbol.dispose]();
    this.#options.lease.signal.removeEventListener('abort', this.#onLoss);
    const { hasOverslept } = state.name === 'ending' ? state : this.#wakefulness;
    return (this.#state = { name: 'ended', hasOverslept });
  }

  #renewed(): void {
    if (this.#state.name !== 'running') return;
    this.#wakefulness.renewed();
    this.#options.watchman.allow(this.#options.lease.leftMs);
  }

  /** The lease is lost, or soon will be. */
  #lose(): void {
    const { started, watchman, lease, durations, logger } = this.#options;
    const { hasOverslept } = this.#wakefulness;
    const withinMs = Math.round(Math.min(lease.leftMs, durations.noticeMs));
    watchman.allow(withinMs);
    started.kill('SIGTERM');
    const killing = setTimeout(() => started.kill('SIGKILL'), withinMs);
    this.#state = { name: 'ending', hasOverslept, killing };
    const { command, pid } = started;
    logger.warn('the lease is lost: the command is ended', { command, pid, withinMs });
  }

  /** Whether the watchman has killed it, as far as that is known. */
  async #wasOverdue(): Promise<boolean> {
    const { started, watchman, lease, logger } = this.#options;
    const hasKilled = await watchman.end();
    if (hasKilled === undefined && !lease.signal.aborted) {
      const { command } = started;
      logger.warn('who killed the command is not known: the process that watches does not answer', {
        command,
      });
    }
    return hasKilled ?? false;
  }

  #lost(): Omit<LostLease, 'suspects' | 'hasOverslept'> {
    const { lease } = this.#options;
    const { resource, number, signal } = lease;
    const { stoodStillMs, stoodStillLatelyMs } = this.#wakefulness;
    return {
      ...{ resource, number, reason: signal.reason, wasHeldToTheEnd: lease.isHeld() },
      stoodStillMs: signal.aborted ? stoodStillMs : stoodStillLatelyMs,
    };
  }
}
