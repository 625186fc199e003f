/** A server of a simulated group that shares a limit with the other servers: the core of shared limits beside the core of membership. */

import type { Server as GroupServer } from '../../../membership/simulation/server.ts';
import { Driver } from '../../../runtime/driver.ts';
import { SuspensionGuard } from '../../../runtime/suspension.ts';
import type { Instant } from '../../../runtime/time.ts';
import type { Network } from '../../../sim/network.ts';
import type { RateLimitResult } from '../../core/local/result.ts';
import type { Right } from '../../core/shared/directory.ts';
import type { SharerEffect } from '../../core/shared/effects.ts';
import { GroupDirectory, type GroupStanding } from '../../core/shared/group-directory.ts';
import type { Answer, Ask, HandOver } from '../../core/shared/messages.ts';
import { Sharer } from '../../core/shared/sharer.ts';
import type { SharedLimiter } from '../../core/shared/shared-limiter.ts';
import { SUSPENSION_TOLERANCE_MS } from '../../core/shared/timing.ts';
import type { DrawnWorld } from './drawn-world.ts';

export type LimitMessage =
  | { readonly kind: 'ask'; readonly from: string; readonly ask: Ask }
  | { readonly kind: 'hand-over'; readonly from: string; readonly page: HandOver }
  | { readonly kind: 'answer'; readonly to: string; readonly answer: Answer };

export interface LimitObserver {
  decided(server: LimitedServer, key: string, result: RateLimitResult): void;
  /** The server has minted tokens by this right. */
  minted(server: LimitedServer, key: string, right: Right): void;
  /** The owner of the key has answered. */
  answered(server: LimitedServer, key: string): void;
  /** The server hands the key over, and mints it no more. */
  handedOver(server: LimitedServer, key: string, right: Right): void;
  /** The server may mint this key from here on, because the last owner handed it over. */
  tookOver(server: LimitedServer, key: string, right: Right, from: string): void;
}

export const LIMITER = 'api';
/** Of the group: servers that share limits. */
const PART = 'limits';
export const KEYS: readonly string[] = ['k0', 'k1', 'k2', 'k3'];
const WAIT_MS = 100;

export class LimitedServer {
  readonly group: GroupServer;
  readonly #drawn: DrawnWorld;
  readonly #network: Network<LimitMessage>;
  readonly #observer: LimitObserver;
  #limits: Sharer | undefined;
  #limiter: SharedLimiter | undefined;
  #driver: Driver<SharerEffect> | undefined;
  #listening: Disposable | undefined;
  #requests = new Map<number, string>();
  #requestIds = 0;
  #asking = '';
  #shares: boolean;
  #sharings = 0;
  readonly #asked = new Map<number, string>();

  constructor(
    group: GroupServer,
    drawn: DrawnWorld,
    network: Network<LimitMessage>,
    observer: LimitObserver,
  ) {
    this.group = group;
    this.#drawn = drawn;
    this.#network = network;
    this.#observer = observer;
    this.#shares = !drawn.strangers.includes(group.name);
  }

  get name(): string {
    return this.group.name;
  }

  /** Of its limits: a process that shares limits again begins with nothing. */
  get life(): string {
    return `${this.identity}.${this.#sharings}`;
  }

  /** As other servers know the process. */
  get identity(): string {
    return `${this.name}/${this.group.process.incarnation}`;
  }

  get isRunning(): boolean {
    return this.group.process.running && this.#driver !== undefined;
  }

  /** The right of this server at this instant, and the members it mints for. */
  claim(key: string): { readonly share: number; readonly members: readonly string[] } | undefined {
    const { process } = this.group;
    if (!this.isRunning || process.clock.suspended) return undefined;
    const right = this.#limits?.rightTo(LIMITER, key, process.now());
    if (right === undefined) return undefined;
    const { standing, view } = this.#standing();
    return { share: right.share, members: (standing === 'acts' ? view?.members : view?.kept) ?? [] };
  }

  /** Hands its keys over; the server leaves the group soon. */
  leave(): void {
    this.group.process.perform(() => this.#driver?.input((now) => this.#leave(now)));
  }

  #leave(now: Instant): SharerEffect[] {
    for (const key of KEYS) {
      const right = this.#limits?.rightTo(LIMITER, key, now);
      if (right !== undefined) this.#observer.handedOver(this, key, right);
    }
    return this.#limits?.leave(now) ?? [];
  }

  request(key: string): void {
    if (!this.isRunning) return;
    this.group.process.perform(() => {
      this.#requestIds += 1;
      const id = this.#requestIds;
      this.#driver?.input((now) => {
        this.#requests.set(id, key);
        return this.#limiter?.consume(key, id, 1, this.#drawn.rate, now) ?? [];
      });
    });
  }

  /** Takes no more part in shared limits, and stays in the group. */
  stopSharing(): void {
    this.#shares = false;
    this.#driver?.stop();
    this.#listening?.[Symbol.dispose]();
    this.crashed();
    this.group.perform((member, now) => member.takePart(PART, false, now));
  }

  /** Takes part in shared limits again. */
  beginToShare(): void {
    this.#shares = true;
    if (this.group.process.alive && this.#driver === undefined)
      this.group.process.perform(() => this.#share());
  }

  /** Nothing is left of its limits: the process ended, or stopped sharing. */
  crashed(): void {
    this.#driver = undefined;
    this.#requests = new Map();
  }

  /** A new process of this server has started. */
  began(): void {
    if (this.#shares) this.#share();
  }

  #share(): void {
    const { runtime } = this.group.process;
    if (runtime === undefined) return;
    this.#sharings += 1;
    const { rate, whenLost, names, whenCutOff } = this.#drawn;
    const { identity } = this;
    const standing = (): GroupStanding => this.#standing();
    const directory = new GroupDirectory({ name: this.name, maxServers: names.length, standing });
    const limits = new Sharer(directory, Math.floor(1_000 * runtime.now()));
    this.#limits = limits;
    this.#requests = new Map();
    this.#limiter = limits.add({
      ...{ name: LIMITER, rate, whenLost, whenCutOff, askTimeoutMs: WAIT_MS },
      ...{ maxKeys: 100, whenFull: 'deny' },
    });
    const transport = runtime.transport(this.#network, {
      onBreak: (peer) => driver.input((now) => limits.ownerLost(peer, now)),
    });
    const driver = new Driver<SharerEffect>({
      ...{ core: limits, clock: runtime, guard: new SuspensionGuard(runtime, SUSPENSION_TOLERANCE_MS) },
      alarm: (wake) => runtime.alarm(wake),
      execute: (effect) => {
        if (effect.do === 'ask') transport.send(effect.to, { kind: 'ask', from: identity, ask: effect.ask });
        else if (effect.do === 'hand-over') {
          this.group.world.count('pages handed over');
          transport.send(effect.to, { kind: 'hand-over', from: identity, page: effect.page });
        } else if (effect.do === 'answer') {
          const [to = ''] = effect.to.split('/');
          transport.send(to, { kind: 'answer', to: effect.to, answer: effect.answer });
        }
        this.#observe(effect, runtime.now());
      },
    });
    this.#driver = driver;
    this.#listening = transport.listen((_from, message) => {
      if (message.kind === 'ask') {
        this.#asking = message.ask.key;
        driver.input((now) => limits.receiveAsk(message.from, message.ask, now));
      } else if (message.kind === 'hand-over') {
        driver.input((now) => this.#takeOver(limits, message.from, message.page, now));
      } else if (message.to === identity) {
        const { answer } = message;
        if (answer.kind === 'grant' || answer.kind === 'denial')
          this.#observer.answered(this, this.#asked.get(answer.id) ?? '');
        driver.input((now) => limits.receiveAnswer(answer, now));
      }
    });
    driver.input((now) => limits.wake(now));
    this.group.perform((member, now) => member.takePart(PART, true, now));
  }

  /** The group has a new view. */
  delivered(): void {
    this.#driver?.input((now) => this.#limits?.directoryChanged(now) ?? []);
  }

  #standing(): GroupStanding {
    const { member } = this.group;
    const view = member?.view;
    if (member === undefined || view === undefined) return { standing: 'none', view: undefined, chain: [] };
    const namesOf = (members: readonly { readonly name: string }[]): string[] =>
      members.map(({ name }) => name);
    return {
      standing: this.group.standing(),
      view: {
        ...{ id: view.id, key: view.key, members: namesOf(view.members), kept: namesOf(view.kept) },
        sharers: namesOf(view.members).filter((name) => view.parts.get(name)?.includes(PART)),
      },
      chain: member.chain.map(({ key }) => ({ key })),
    };
  }

  #takeOver(limits: Sharer, from: string, page: HandOver, now: Instant): SharerEffect[] {
    const rightTo = (key: string): Right | undefined => this.#limits?.rightTo(LIMITER, key, now);
    const others = KEYS.filter((key) => rightTo(key) === undefined);
    const effects = limits.receiveHandOver(from, page, now);
    for (const key of others) {
      const right = rightTo(key);
      if (right !== undefined) this.#observer.tookOver(this, key, right, from);
    }
    return effects;
  }

  #observe(effect: SharerEffect, now: Instant): void {
    if (effect.do === 'ask') this.#asked.set(effect.ask.id, effect.ask.key);
    if (effect.do === 'answer' && effect.answer.kind === 'grant') this.#minted(this.#asking, now);
    if (effect.do !== 'settle') return;
    const key = this.#requests.get(effect.id) ?? '';
    this.#requests.delete(effect.id);
    if (effect.result.allowed && effect.result.by === 'owner') this.#minted(key, now);
    this.#observer.decided(this, key, effect.result);
  }

  #minted(key: string, now: Instant): void {
    const right = this.#limits?.rightTo(LIMITER, key, now);
    if (right !== undefined) this.#observer.minted(this, key, right);
  }
}
