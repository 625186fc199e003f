/**
 * A process that shares a limit, in a simulated world: the core in the toolkit's driver, the leases held here, and beliefs about
 * other holders.
 */

import { Driver } from '../../runtime/driver.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import type { Instant } from '../../runtime/time.ts';
import type { SimClock } from '../../sim/clock.ts';
import type { Network } from '../../sim/network.ts';
import { SimProcess, type SimRuntime } from '../../sim/process.ts';
import type { World } from '../../sim/world.ts';
import type { RateLimitResult } from '../core/result.ts';
import { type Right, wholeRight } from '../owner/directory.ts';
import type { SharingEffect } from '../owner/effects.ts';
import type { Answer, Ask } from '../owner/messages.ts';
import { SharedLimits } from '../owner/shared-limits.ts';
import type { SharedLimiter } from '../owner/shared-limiter.ts';
import { type DrawnWorld, SLOTS, SUSPENSION_MS, WAIT_MS } from './drawn-world.ts';

export type Message =
  | { readonly kind: 'ask'; readonly from: string; readonly ask: Ask }
  | { readonly kind: 'answer'; readonly to: string; readonly answer: Answer };

export interface Decision {
  readonly key: string;
  readonly cost: number;
  readonly result: RateLimitResult;
  /** By the clock of the server; undefined if the server was stopped meanwhile. */
  readonly waitedMs: number | undefined;
}

export interface Observer {
  decided(server: Server, decision: Decision): void;
  /** The server has minted tokens, holding the key since then. */
  minted(server: Server, key: string, since: Instant): void;
  asked(server: Server, key: string): void;
  refunded(key: string, cost: number): void;
  /** The owner of the key has answered. */
  answered(server: Server, key: string): void;
}

interface Request {
  readonly key: string;
  readonly cost: number;
  readonly at: Instant;
  readonly refundAfterMs: number | undefined;
}

export const LIMITER = 'api';
/** So few that a table is full at times. */
const MAX_KEYS = 60;
/** How long it takes until a connection is made or refused. */
const DIAL_MS = 20;
/** In a mixed world each request of so many does not wait. */
const NOT_WAITING_EVERY = 5;

export const slotOf = (key: string): number => Number(key.slice(1)) % SLOTS;

export class Server {
  readonly world: World;
  readonly name: string;
  readonly process: SimProcess;
  /** The server cannot renew leases. */
  isIsolated = false;
  /** The end of the last stop, by true time. */
  stoppedAtMs: number = Number.NEGATIVE_INFINITY;
  readonly #drawn: DrawnWorld;
  readonly #network: Network<Message>;
  readonly #observer: Observer;
  #limits: SharedLimits | undefined;
  #limiter: SharedLimiter | undefined;
  #driver: Driver<SharingEffect> | undefined;
  #held = new Map<number, { readonly since: Instant; readonly until: Instant }>();
  #believed = new Map<number, string>();
  #requests = new Map<number, Request>();
  #requestIds = 0;
  /** The key of the ask that is being answered, and those of all asks. */
  #asking = '';
  readonly #asked = new Map<number, string>();

  constructor(
    world: World,
    name: string,
    drawn: DrawnWorld,
    clock: SimClock,
    network: Network<Message>,
    observer: Observer,
  ) {
    this.world = world;
    this.name = name;
    this.#drawn = drawn;
    this.#network = network;
    this.#observer = observer;
    const start = (runtime: SimRuntime): void => this.#start(runtime);
    this.process = new SimProcess(world, { name, clock, lateMs: drawn.lateMs, start });
  }

  /** The server runs, and has made a limiter. */
  get isReady(): boolean {
    return this.process.running && this.#limiter !== undefined;
  }

  /** Requests without a decision. */
  get undecided(): number {
    return this.#requests.size;
  }

  hold(slot: number, since: Instant, until: Instant): void {
    this.process.perform(() => {
      this.#held.set(slot, { since, until });
      this.#driver?.input((now) => this.#limits?.directoryChanged(now) ?? []);
    });
  }

  letGo(slot: number): void {
    this.#held.delete(slot);
  }

  hear(slot: number, name: string | undefined): void {
    this.process.perform(() => {
      if (name === undefined) this.#believed.delete(slot);
      else this.#believed.set(slot, name);
      this.#driver?.input((now) => this.#limits?.directoryChanged(now) ?? []);
    });
  }

  /** @param refundAfterMs when the tokens are given back; undefined: never */
  request(key: string, cost: number, refundAfterMs?: number): void {
    if (!this.isReady) return;
    this.process.perform(() => {
      this.#requestIds += 1;
      const id = this.#requestIds;
      this.#driver?.input((now) => {
        this.#requests.set(id, { key, cost, at: now, refundAfterMs });
        if (this.#drawn.kind === 'mixed' && id % NOT_WAITING_EVERY === 0)
          return this.#tryConsume(id, key, cost, now);
        return this.#limiter?.consume(key, id, cost, this.#drawn.rate, now) ?? [];
      });
    });
  }

  /** A request that does not wait, as the shell makes it. */
  #tryConsume(id: number, key: string, cost: number, now: Instant): SharingEffect[] {
    const limiter = this.#limiter;
    const { rate } = this.#drawn;
    const result = limiter?.decide(key, cost, rate, now);
    if (limiter === undefined || result === undefined) {
      this.#requests.delete(id);
      this.world.count('denied, does not wait');
      return limiter?.borrow(key, cost, rate, now) ?? [];
    }
    const settled: SharingEffect = { do: 'settle', id, result };
    return limiter.wantsToSpeak(key, rate, now) ? [settled, ...limiter.speak(key, rate, now)] : [settled];
  }

  crash(): void {
    this.process.crash();
    this.#limits = undefined;
    this.#limiter = undefined;
    this.#held = new Map();
    this.#requests = new Map();
  }

  pause(ms: number): void {
    this.stoppedAtMs = this.world.trueMs + ms;
    this.process.pause(ms);
  }

  suspend(ms: number): void {
    this.stoppedAtMs = this.world.trueMs + ms;
    this.process.suspend(ms);
  }

  #start(runtime: SimRuntime): void {
    const { name } = this;
    const identity = `${name}/${this.process.incarnation}`;
    const rightTo = (_limiter: string, key: string, now: Instant): Right | undefined => {
      const lease = this.#held.get(slotOf(key));
      return lease !== undefined && now < lease.until ? wholeRight(lease.since, now) : undefined;
    };
    const find = (_limiter: string, key: string): string | undefined => {
      const believed = this.#believed.get(slotOf(key));
      return believed === name ? undefined : believed;
    };
    this.#held = new Map();
    this.#believed = new Map();
    this.#requests = new Map();
    const limits = new SharedLimits({ rightTo, find });
    const { rate, onLoss, whenCutOff } = this.#drawn;
    const options = { name: LIMITER, rate, onLoss, whenCutOff, waitMs: WAIT_MS };
    this.#limits = limits;
    // Now and then others ask before this process has made a limiter.
    const isLate = runtime.random() < 0.3;
    const addLimiter = (): void => {
      this.#limiter = limits.add({ ...options, maxKeys: MAX_KEYS, whenFull: 'deny' });
    };
    this.#limiter = undefined;
    if (isLate) runtime.wakeAt((runtime.now() + 1_500) as Instant, addLimiter);
    else addLimiter();
    const transport = runtime.transport(this.#network, {
      onBreak: (peer) => {
        driver.input((now) => limits.ownerLost(peer, now));
        this.#dial(peer, runtime, driver, limits);
      },
    });
    const driver = new Driver<SharingEffect>({
      core: limits,
      clock: runtime,
      guard: new SuspensionGuard(runtime, SUSPENSION_MS),
      alarm: (wake) => runtime.alarm(wake),
      suspended: () => {
        this.world.count('suspensions noticed');
        this.#held.clear();
      },
      execute: (effect) => {
        if (effect.do === 'ask') transport.send(effect.to, { kind: 'ask', from: identity, ask: effect.ask });
        else if (effect.do === 'answer') {
          const [to = ''] = effect.to.split('/');
          transport.send(to, { kind: 'answer', to: effect.to, answer: effect.answer });
        }
        this.#observe(effect, runtime.now());
      },
    });
    this.#driver = driver;
    transport.listen((_from, message) => {
      if (message.kind === 'ask') {
        this.#asking = message.ask.key;
        driver.input((now) => limits.receiveAsk(message.from, message.ask, now));
      } else if (message.to === identity) {
        const { answer } = message;
        if (answer.kind !== 'later') this.#observer.answered(this, this.#asked.get(answer.id) ?? '');
        driver.input((now) => limits.receiveAnswer(answer, now));
      }
    });
  }

  /** A connection that was lost is made again, or refused if nothing listens there; a link that is cut does neither. */
  #dial(peer: string, runtime: SimRuntime, driver: Driver<SharingEffect>, limits: SharedLimits): void {
    runtime.wakeAt((runtime.now() + DIAL_MS) as Instant, () => {
      const isCut = this.#network.isCut(this.name, peer) || this.#network.isCut(peer, this.name);
      const isThere = this.#network.isAttached(peer);
      if (!isCut && isThere) {
        driver.input(() => limits.ownerBack(peer));
        return;
      }
      if (!isCut) driver.input((now) => limits.ownerGone(peer, now));
      this.#dial(peer, runtime, driver, limits);
    });
  }

  #observe(effect: SharingEffect, now: Instant): void {
    const observer = this.#observer;
    if (effect.do === 'ask') {
      this.#asked.set(effect.ask.id, effect.ask.key);
      observer.asked(this, effect.ask.key);
    }
    if (effect.do === 'answer' && effect.answer.kind === 'grant') this.#minted(this.#asking);
    if (effect.do !== 'settle') return;
    const { id, result } = effect;
    const request = this.#requests.get(id);
    if (request === undefined) throw this.world.broken('decided-once', `request ${id} of ${this.name}`);
    this.#requests.delete(id);
    if (result.allowed && result.by === 'owner') this.#minted(request.key);
    const hasStopped = this.world.trueMs - (now - request.at) * 1.2 < this.stoppedAtMs;
    const waitedMs = hasStopped ? undefined : now - request.at;
    const { key, cost, refundAfterMs } = request;
    observer.decided(this, { key, cost, result, waitedMs });
    if (result.allowed && refundAfterMs !== undefined) this.#refund(key, cost, result, refundAfterMs);
  }

  #refund(key: string, cost: number, { by }: RateLimitResult, afterMs: number): void {
    if (by !== 'owner' && by !== 'batch') return;
    const { incarnation } = this.process;
    this.world.after(afterMs, () => {
      if (this.process.incarnation !== incarnation) return;
      this.process.perform(() =>
        this.#driver?.input((now) => {
          this.#limiter?.refund(key, cost, this.#drawn.rate, now);
          this.#observer.refunded(key, cost);
          return [];
        }),
      );
    });
  }

  #minted(key: string): void {
    const lease = this.#held.get(slotOf(key));
    if (lease !== undefined) this.#observer.minted(this, key, lease.since);
  }
}
