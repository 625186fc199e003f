/**
 * A process that may run for as long as a lease is held, and the end of that process:
 *
 *     running ──the lease is about to end: SIGTERM──► ending ──lease over: SIGKILL──┐
 *        │                                               │                          ▼
 *        └──────────────ends by itself, or is killed─────┴───────────────────────► ended
 *
 * While the process runs, the watchman is told of each renewal. Once the process is ending, a late renewal comes too
 * late: the process has been asked to end, and the watchman knows the deadline.
 *
 * Whether the lease was lost before the process had ended is judged after the end. The state cannot tell, because
 * timers change the state, and we may have stood still when the timers were due:
 *
 *  - The lease may be over by the clock, and no timer has said so yet. So the clock is asked again.
 *  - The watchman may have killed the process, and we have gone on in time to renew the lease. So the watchman is
 *    asked, too, if the process was killed; but `wakefulness.ts` decides whether we stood still, as of the loss of the
 *    lease.
 */

import type { Lease } from 'leasehold/flease';
import type { Logger } from 'leasehold/supervisor';
import type { ResolvedFleaseDurations, ChildEnd } from 'leasehold/internal';
import type { LostLease } from './command-ended.ts';
import type { StartedProcess } from './started-process.ts';
import { Wakefulness } from './wakefulness.ts';
import type { Watchman } from './watchman.ts';

export interface HeldProcessOptions {
  readonly started: Pick<StartedProcess, 'command' | 'pid' | 'ended' | 'kill'>;
  readonly watchman: Pick<Watchman, 'allow' | 'end'>;
  readonly lease: Pick<Lease, 'resource' | 'number' | 'signal' | 'leftMs' | 'isHeld' | 'onRenewal'>;
  readonly durations: Pick<
    ResolvedFleaseDurations,
    'noticeMs' | 'leaseMs' | 'renewAfterMs' | 'answerTimeoutMs'
  >;
  readonly logger: Logger;
  /** The detector of standstills, from its start on. @default since now */
  readonly wakefulness?: Wakefulness | undefined;
}

export interface HeldEnd {
  readonly end: ChildEnd;
  /** The facts about the lease; undefined if the lease was held until then. */
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
  answerTimeoutMs,
}: HeldProcessOptions['durations']): Wakefulness =>
  new Wakefulness({ leaseMs, renewalMs: renewAfterMs + answerTimeoutMs });

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

  /** Resolves when the process has ended. */
  async ended(): Promise<HeldEnd> {
    const { started, lease } = this.#options;
    const end = await started.ended;
    const { hasOverslept } = this.#end();
    const wasOverdue = end.signal === 'SIGKILL' && (await this.#wasOverdue());
    if (!lease.signal.aborted && !wasOverdue) return { end, lost: undefined };
    started.kill('SIGKILL'); // Descendants may still be there.
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

  /** Whether the watchman has killed the process, as far as known. */
  async #wasOverdue(): Promise<boolean> {
    const { started, watchman, lease, logger } = this.#options;
    const hasKilled = await watchman.end();
    if (hasKilled === undefined && !lease.signal.aborted) {
      const { command } = started;
      logger.warn('cannot tell which process killed the command: the watchman does not answer', {
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
