/**
 * A spread limit in a running process: the core of `spread-limiter.ts` on the group that this process has joined. Messages are datagrams of the
 * group, on a channel of the limiter's name.
 *
 * A decision is made in the call, with the group's standing at that instant. The group tells of a view in the step that delivers the view,
 * before any promise in that view has left.
 */

import type { GroupMember } from '../../../membership/shell/group-member.ts';
import { alarmOn, Driver } from '../../../runtime/driver.ts';
import { EpisodeLog } from '../../../runtime/episode-log.ts';
import { invalidOption } from '../../../runtime/errors.ts';
import { familiesOf } from '../../../runtime/metrics.ts';
import { SuspensionGuard } from '../../../runtime/suspension.ts';
import type { Instant } from '../../../runtime/time.ts';
import { checkKey, checkNotNegative } from '../../core/local/local-limiter.ts';
import type { Rate } from '../../core/local/rate.ts';
import type { RateLimitResult } from '../../core/local/result.ts';
import type { Decider } from '../decider.ts';
import type { SpreadStatus } from '../status.ts';
import { CREDIT } from '../../core/spread/credits.ts';
import type { DemandKind } from '../../core/spread/demand.ts';
import { type SpreadEffect, SpreadLimiter } from '../../core/spread/spread-limiter.ts';
import { METRICS } from './metrics.ts';
import { attachTo, sightOf } from './on-group.ts';

export interface SpreadLimitOptions {
  readonly name: string;
  readonly rate: Rate;
  readonly group: GroupMember;
  readonly maxServers: number;
  readonly demand: DemandKind;
  readonly epochMs: number;
}

export class SpreadLimit implements Decider {
  readonly #options: SpreadLimitOptions;
  readonly #core: SpreadLimiter;
  readonly #driver: Driver<SpreadEffect>;
  readonly #guard: SuspensionGuard;
  readonly #episodes: EpisodeLog;
  #allowed = 0;
  #denied = 0;
  #hasLeft = false;

  constructor(options: SpreadLimitOptions) {
    this.#options = options;
    const { group, name, rate, maxServers, demand, epochMs } = options;
    const { runtime, durations, logger } = group.inside;
    this.#guard = new SuspensionGuard(runtime, durations.suspensionToleranceMs);
    this.#episodes = new EpisodeLog(logger, runtime);
    const settings = { rate, maxServers, demand, epochMs, random: () => runtime.random() };
    const core = new SpreadLimiter(settings, sightOf(group), runtime.now());
    this.#core = core;
    const channel = attachTo(group, `ratelimit/${name}`, {
      look: () => this.#driver.input((now) => core.look(now)),
      receive: (from, message) => this.#driver.input((now) => core.receive(from, message, now)),
      left: () => this.#leave(),
      metrics: () => familiesOf(METRICS, this.spread()),
    });
    this.#driver = new Driver<SpreadEffect>({
      ...{ core, clock: runtime, guard: this.#guard },
      alarm: (wake) => alarmOn(runtime, wake),
      execute: (effect) => {
        if (effect.do === 'send') channel.send(effect.to, effect.message, effect.isDirect);
        else this.#execute(effect);
      },
    });
    this.#driver.input((now) => core.wake(now));
  }

  get keys(): number {
    return 0;
  }

  consume(key: string, cost: number, rate: Rate): RateLimitResult {
    checkKey(key);
    checkNotNegative('cost', cost);
    this.#checkRate(rate);
    const now = this.#now();
    const result = this.#afterLeaving(
      this.#hasLeft ? this.#core.peek(now) : this.#core.consume(key, cost, now),
    );
    if (result.allowed) this.#allowed += 1;
    else this.#denied += 1;
    return result;
  }

  tryConsume(key: string, cost: number, rate: Rate): RateLimitResult {
    return this.consume(key, cost, rate);
  }

  peek(key: string, rate: Rate): RateLimitResult {
    checkKey(key);
    this.#checkRate(rate);
    return this.#afterLeaving(this.#core.peek(this.#now()));
  }

  refund(key: string, tokens: number): void {
    checkKey(key);
    checkNotNegative('tokens', tokens);
    this.#core.refund(tokens, this.#now());
  }

  block(): boolean {
    throw invalidOption('block', this.#options.name, NO_KEYS);
  }

  reset(): void {
    throw invalidOption('reset', this.#options.name, NO_KEYS);
  }

  spread(): SpreadStatus {
    const { rate, name } = this.#options;
    const now = this.#now();
    const limitPerSecond = 1_000 / rate.msPerToken;
    const { maxServers, credits, demand, participation, book, counters } = this.#core;
    return {
      ...{ name, limitPerSecond, burst: rate.burst, maxServers, credits, demand },
      levelPerSecond: this.#hasLeft ? 0 : (this.#core.level(now) * limitPerSecond) / maxServers,
      takesPart: this.#core.actsOnCredits(now),
      waitsFor: participation.unheard.map((member) => member.name),
      blacklist: book.blacklist,
      counters: {
        ...{ allowed: this.#allowed, denied: this.#denied },
        creditsGiven: counters.given / CREDIT,
        creditsReceived: counters.received / CREDIT,
        ...{ viewsKept: counters.kept, viewsRestarted: counters.restarted },
      },
    };
  }

  /** Another process of this name may begin as soon as this one has left, so nothing is allowed any more. */
  #afterLeaving(result: RateLimitResult): RateLimitResult {
    if (!this.#hasLeft) return result;
    return { ...result, allowed: false, remaining: 0, denied: 'closed', by: 'closed', retryAfterMs: 1_000 };
  }

  #leave(): void {
    this.#hasLeft = true;
    this.#driver.stop();
    this.#episodes[Symbol.dispose]();
  }

  #checkRate(rate: Rate): void {
    if (rate === this.#options.rate) return;
    throw invalidOption('limit', rate.limit, 'a spread limit is one limit for all keys and all calls');
  }

  /** The present instant, after the core has heard whether the machine was suspended. */
  #now(): Instant {
    const now = this.#options.group.inside.runtime.now();
    if (this.#guard.wasSuspended(now)) this.#driver.input((present) => this.#core.suspended(present));
    return now;
  }

  #execute(effect: Exclude<SpreadEffect, { do: 'send' }>): void {
    const { group, name } = this.#options;
    const { logger } = group.inside;
    switch (effect.do) {
      case 'hurry':
        group.hurry();
        return;
      case 'differs': {
        const { maxServers, tokensPerSecond, burst } = effect.word;
        logger.warn(
          'a member has made this spread limit with another limit, burst or maxServers; make them equal',
          {
            ...{ limiter: name, member: effect.member, tokensPerSecond, burst, maxServers },
          },
        );
        return;
      }
      case 'choke-point':
        this.#episodes.happened(
          'choke-point',
          'a part of the group reaches the rest through one member or not directly; shares follow demand slowly',
          {
            limiter: name,
            part: effect.side.join(', '),
            through: effect.through.join(', ') || 'the overlay',
          },
        );
        return;
      default:
        logger.debug(effect.event.what, effect.event.facts);
    }
  }
}

const NO_KEYS = 'a spread limit counts all keys together, and keeps nothing for one key';
