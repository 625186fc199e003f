/// <reference lib="esnext.disposable" preserve="true" />

/**
 * One Manager's client of the simulated engine: the duties of every client of such an engine.
 *
 *  - The leader lease is counted from before the request (`simulated-campaign.ts`).
 *  - An append of unknown outcome is repeated at the same position with the same bytes.
 *  - A refusal counts as one only if no earlier try of the same append can have been written, or
 *    can be yet.
 *  - A candidate is elected once: each campaign has a name of its own, so that the answer to an earlier campaign
 *    cannot elect the candidate.
 *
 * A request that is not answered in time is asked again of the next member, and the first one may still be carried
 * out, and answered. A late answer still counts: each answers only its own request.
 */

import type { Runtime, Transport } from '../runtime/runtime.ts';
import { type Instant, later } from '../runtime/time.ts';
import type { FencedLog, FollowerEvents, Following, LeaderEvents } from './log.ts';
import { SimulatedCampaign } from './simulated-campaign.ts';
import { type Answer, type Ask, ENGINE, type LogMessage } from './simulated-messages.ts';
import { SimulatedFollower } from './simulated-follower.ts';
import { MEMBERS } from './simulated-members.ts';

export interface ClientOptions {
  /** How long a leader acts without hearing from the engine, by the leader's clock. */
  readonly leaderLeaseMs: number;
  /** How long to wait before asking again. */
  readonly retryMs: number;
  /** How often a follower or a candidate asks without being poked. */
  readonly pollMs: number;
  /** The log is not where this leader left the log: the store was restored meanwhile. Nothing is told any more. */
  readonly strayed?: (() => void) | undefined;
}

/** One Manager's way to the engine. Dies with the process. */
export class SimulatedLog implements FencedLog {
  readonly maxBatchBytes: number = Number.POSITIVE_INFINITY;
  readonly options: ClientOptions;
  readonly #runtime: Runtime;
  readonly #transport: Transport<LogMessage, LogMessage>;
  #requests: number;
  #member: number;
  readonly #pending = new Map<number, (answer: Answer) => void>();
  readonly #watching = new Set<() => void>();

  constructor(runtime: Runtime, transport: Transport<LogMessage, LogMessage>, options: ClientOptions) {
    this.#runtime = runtime;
    this.#transport = transport;
    this.options = options;
    this.#requests = Math.floor(runtime.random() * 2 ** 40); // So that no answer to an earlier incarnation fits.
    this.#member = this.#requests % MEMBERS;
    transport.listen((_, { request, body }) => {
      if (!('answer' in body)) return;
      if (body.answer === 'poke' || body.answer === 'watch-ended') {
        if (body.answer === 'watch-ended') this.elsewhere();
        for (const poke of [...this.#watching]) poke();
        return;
      }
      const hear = this.#pending.get(request);
      this.#pending.delete(request);
      hear?.(body);
    });
  }

  campaign(candidate: string, events: LeaderEvents): Disposable {
    return new SimulatedCampaign(this, candidate, events);
  }

  follow(events: FollowerEvents): Following {
    return new SimulatedFollower(this, events);
  }

  /** @internal */
  now(): Instant {
    return this.#runtime.now();
  }

  /** @internal */
  ask(body: Ask, hear: (answer: Answer) => void): void {
    this.#requests += 1;
    this.#pending.set(this.#requests, hear);
    this.#transport.send(ENGINE, { request: this.#requests, member: this.#member, body });
  }

  /**
   * Asks until `hear` accepts the answer. `askedAt` is from before the very request that was answered.
   *
   * @internal
   */
  insist(body: Ask, isOver: () => boolean, hear: (answer: Answer, askedAt: Instant) => boolean): void {
    let done = false;
    let next: Disposable | undefined;
    const attempt = (): void => {
      if (isOver()) return;
      if (next !== undefined) this.elsewhere();
      const askedAt = this.now();
      next = this.again(this.options.retryMs, attempt);
      this.ask(body, (answer) => {
        if (done || isOver() || !hear(answer, askedAt)) return;
        done = true;
        next?.[Symbol.dispose]();
      });
    };
    attempt();
  }

  /** The next member is asked from here on. @internal */
  elsewhere(): void {
    this.#member = (this.#member + 1) % MEMBERS;
  }

  /** @internal */
  again(ms: number, act: () => void): Disposable {
    return this.#runtime.wakeAt(later(this.now(), ms), act);
  }

  /** Calls back whenever something may have changed in the log, as far as that comes through. @internal */
  watch(poke: () => void): Disposable {
    this.#watching.add(poke);
    return { [Symbol.dispose]: () => this.#watching.delete(poke) };
  }
}
