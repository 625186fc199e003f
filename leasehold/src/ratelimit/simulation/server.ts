/**
 * A process that shares a limit, in a simulated world: the core in the toolkit's driver, the leases held here, and beliefs about
 * other holders.
 */

import { Driver } from '../../runtime/driver.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import type { Instant } from '../../runtime/time.ts';
import type { SimClock } from '../../sim/clock.ts';
import type { Network } from '../../sim/network.ts';
import { keyHash } from '../../runtime/keys/hash.ts';
import { RING_SIZE } from '../../runtime/keys/position.ts';
import { SimProcess, type SimRuntime } from '../../sim/process.ts';
import type { World } from '../../sim/world.ts';
import type { RateLimitResult } from '../core/local/result.ts';
import type { SharerEffect } from '../core/shared/effects.ts';
import type { Answer, Ask, HandOver } from '../core/shared/messages.ts';
import { Sharer } from '../core/shared/sharer.ts';
import type { SharedLimiter } from '../core/shared/shared-limiter.ts';
import { LIMIT_SCHEME, PoolDirectory } from '../shell/pool-directory.ts';
import { type DrawnWorld, SLOTS, SUSPENSION_MS, WAIT_MS } from './drawn-world.ts';

export type Message =
  | { readonly kind: 'ask'; readonly from: string; readonly ask: Ask }
  | { readonly kind: 'hand-over'; readonly from: string; readonly page: HandOver }
  | { readonly kind: 'answer'; readonly to: string; readonly answer: Answer };

export interface Decision {
  readonly key: string;
  readonly cost: number;
  readonly result: RateLimitResult;
  /** By the clock of the server; undefined if the server was stopped meanwhile. */
  readonly waitedMs: number | undefined;
  /** How long it might wait. */
  readonly waitsMs: number;
}

export interface Observer {
  decided(server: Server, decision: Decision): void;
  /**
   * The server has minted tokens.
   *
   * @param grant as the world knows it
   * @param since since when the server counts the key as owned; earlier, if the last owner handed the key over
   */
  minted(server: Server, key: string, grant: Grant, since: Instant): void;
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
  readonly waitsMs: number;
}

/** So few that a table is full at times. */
const MAX_KEYS = 60;
/** How long it takes until a connection is made or refused. */
const DIAL_MS = 20;
/** In a mixed world each request of so many does not wait. */
const NOT_WAITING_EVERY = 5;
/** And each of so many waits for a shorter time, or is given up by its caller. */
const IMPATIENT_EVERY = 7;
const IMPATIENT_MS = 30;
const GIVEN_UP_EVERY = 11;
const GIVEN_UP_AFTER_MS = 15;

type TableRow = NonNullable<ReturnType<ConstructorParameters<typeof PoolDirectory>[1]['row']>>;

export const LIMITER = 'api';
const SLOT_SIZE: bigint = RING_SIZE / BigInt(SLOTS) + 1n;
const slotAt = (position: bigint): number => Number(position / SLOT_SIZE);
const spanOf = (slot: number): { readonly start: bigint; readonly end: bigint } => {
  const end = BigInt(slot + 1) * SLOT_SIZE;
  return { start: BigInt(slot) * SLOT_SIZE, end: end < RING_SIZE ? end : RING_SIZE };
};

/** The slot in which the pool places a key. */
export const slotOf = (key: string): number => slotAt(keyHash(`${LIMITER}/${key}`));

/** One in each slot. */
export const KEYS: readonly string[] = Array.from({ length: SLOTS }, (_, slot) => {
  for (let at = 0; ; at += 1) if (slotOf(`hot-${at}`) === slot) return `hot-${at}`;
});

/** What a server holds, under the number of the grant; and the first number of the unbroken time for which it holds that. */
export interface Grant {
  /** The holder before, and since when it held the key by its own clock: `s1/3 since 1200`. */
  readonly before: string;
  readonly since: Instant;
  readonly number: number;
  readonly tenure: number;
}

interface Held extends Grant {
  readonly until: Instant;
}

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
  #limits: Sharer | undefined;
  #limiter: SharedLimiter | undefined;
  #driver: Driver<SharerEffect> | undefined;
  #held = new Map<number, Held>();
  #believed = new Map<number, { readonly name: string | undefined; readonly number: number }>();
  #heard = 0;
  #directory: PoolDirectory | undefined;
  #isLeaving = false;
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

  /** The server gives back what it holds, and takes no more. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** How many servers this one has heard of as owners, with itself; undefined: of none. */
  get knownMembers(): number | undefined {
    return this.#heard === 0 ? undefined : this.#directory?.members();
  }

  /** Hands its keys over; they are given back by {@link letGo} soon. */
  leave(): void {
    this.process.perform(() => {
      this.#isLeaving = true;
      this.#driver?.input((now) => this.#limits?.leave(now) ?? []);
    });
  }

  hold(slot: number, grant: Grant, until: Instant): void {
    this.process.perform(() => {
      this.#held.set(slot, { ...grant, until });
      this.#directory?.noteGrants(this.process.now());
      this.#driver?.input((now) => this.#limits?.directoryChanged(now) ?? []);
    });
  }

  letGo(slot: number): void {
    this.#held.delete(slot);
  }

  hear(slot: number, name: string | undefined, number: number): void {
    this.process.perform(() => {
      if (number < (this.#believed.get(slot)?.number ?? 0)) return;
      this.#believed.set(slot, { name, number });
      this.#heard += 1;
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
        const isMixed = this.#drawn.kind === 'mixed';
        const waitsMs = isMixed && id % IMPATIENT_EVERY === 0 ? IMPATIENT_MS : WAIT_MS;
        this.#requests.set(id, { key, cost, at: now, refundAfterMs, waitsMs });
        if (isMixed && id % NOT_WAITING_EVERY === 0) return this.#tryConsume(id, key, cost, now);
        if (isMixed && id % GIVEN_UP_EVERY === 0) this.#giveUpLater(id, key);
        return this.#limiter?.consume(key, id, cost, this.#drawn.rate, now, waitsMs) ?? [];
      });
    });
  }

  /** A decision that comes after its caller gave up would be one of no request. */
  #giveUpLater(id: number, key: string): void {
    const { incarnation } = this.process;
    this.world.after(GIVEN_UP_AFTER_MS, () => {
      if (this.process.incarnation !== incarnation) return;
      this.process.perform(() => {
        if (!this.#requests.delete(id)) return;
        this.world.count('given up by the caller');
        this.#driver?.input(() => this.#limiter?.giveUp(key, id) ?? []);
      });
    });
  }

  /** A request that does not wait, as the shell makes it. */
  #tryConsume(id: number, key: string, cost: number, now: Instant): SharerEffect[] {
    const limiter = this.#limiter;
    const { rate } = this.#drawn;
    const result = limiter?.decide(key, cost, rate, now);
    if (limiter === undefined || result === undefined) {
      this.#requests.delete(id);
      this.world.count('denied, does not wait');
      return limiter?.borrow(key, cost, rate, now) ?? [];
    }
    const settled: SharerEffect = { do: 'settle', id, result };
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
    this.#held = new Map();
    this.#believed = new Map();
    this.#heard = 0;
    this.#requests = new Map();
    this.#isLeaving = false;
    const directory = this.#directoryOf(runtime);
    this.#directory = directory;
    const limits = new Sharer(directory);
    const { rate, whenLost, whenCutOff } = this.#drawn;
    const options = { name: LIMITER, rate, whenLost, whenCutOff, askTimeoutMs: WAIT_MS };
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
    const driver = new Driver<SharerEffect>({
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
        else if (effect.do === 'hand-over') {
          this.world.count('pages handed over');
          transport.send(effect.to, { kind: 'hand-over', from: identity, page: effect.page });
        } else if (effect.do === 'answer') {
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
      } else if (message.kind === 'hand-over') {
        driver.input((now) => limits.receiveHandOver(message.from, message.page, now));
      } else if (message.to === identity) {
        const { answer } = message;
        if (answer.kind === 'grant' || answer.kind === 'denial')
          this.#observer.answered(this, this.#asked.get(answer.id) ?? '');
        driver.input((now) => limits.receiveAnswer(answer, now));
      }
    });
  }

  /** The pool's owner and look-up of this server, as the world gives and tells. */
  #directoryOf(runtime: SimRuntime): PoolDirectory {
    const url = `${LIMIT_SCHEME}${this.name}`;
    const heldNow = (key: string | bigint): Held | undefined => {
      const held = this.#held.get(slotAt(keyHash(key)));
      return held !== undefined && runtime.now() < held.until ? held : undefined;
    };
    const ownerOf = (name: string | undefined): TableRow['owner'] =>
      name === undefined ? undefined : { name, url: `${LIMIT_SCHEME}${name}`, incarnation: name };
    const rowOf = (slot: number): TableRow => {
      const { name, number } = this.#believed.get(slot) ?? { name: undefined, number: 0 };
      return { ...spanOf(slot), owner: ownerOf(name), number, lostAt: 0 };
    };
    // A pool leaves something to every member: here a position at the end of the ring, in which no key lies.
    const { names } = this.#drawn;
    const membersFrom = RING_SIZE - BigInt(names.length);
    const rowAt = (position: bigint): TableRow => {
      const row = rowOf(slotAt(position));
      if (position < membersFrom) return row.end < RING_SIZE ? row : { ...row, end: membersFrom };
      const name = this.#heard === 0 ? undefined : names[Number(position - membersFrom)];
      return { start: position, end: position + 1n, owner: ownerOf(name), number: 0, lostAt: 0 };
    };
    const world = { heard: (): number => this.#heard };
    return new PoolDirectory(
      {
        ...{ pool: 'ratelimit', url, isAdmitted: true, mayBeBare: false, refusal: undefined },
        tenure: (key) => heldNow(key)?.tenure,
        tenures: () => new Set([...this.#held.values()].map(({ tenure }) => tenure)),
        ranges: () =>
          [...this.#held]
            .filter(([, { until }]) => runtime.now() < until)
            .map(([slot, { number }]) => ({ ...spanOf(slot), number })),
        isHeld: (key, number) => {
          const held = heldNow(key);
          return held !== undefined && held.tenure <= number;
        },
      },
      {
        isCutOff: false,
        get position() {
          return { history: 'world', position: world.heard() };
        },
        row: (position) => rowAt(position as bigint),
        find: (key) => {
          const { owner, number } = rowOf(slotAt(keyHash(key)));
          return owner === undefined ? undefined : { ...owner, number };
        },
      },
    );
  }

  /** A connection that was lost is made again, or refused if nothing listens there; a link that is cut does neither. */
  #dial(peer: string, runtime: SimRuntime, driver: Driver<SharerEffect>, limits: Sharer): void {
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

  #observe(effect: SharerEffect, now: Instant): void {
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
    const { key, cost, refundAfterMs, waitsMs } = request;
    observer.decided(this, { key, cost, result, waitedMs, waitsMs });
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
    const right = this.#directory?.rightTo(LIMITER, key, this.process.now());
    if (lease !== undefined)
      this.#observer.minted(this, key, lease, (right?.since ?? lease.since) as Instant);
  }
}
