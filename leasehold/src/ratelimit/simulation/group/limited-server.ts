/** A server of a simulated group that shares a limit with the other servers: the core of shared limits beside the core of membership. */

import type { Server as GroupServer } from '../../../membership/simulation/server.ts';
import { Driver } from '../../../runtime/driver.ts';
import { SuspensionGuard } from '../../../runtime/suspension.ts';
import type { Instant } from '../../../runtime/time.ts';
import type { Network } from '../../../sim/network.ts';
import type { RateLimitResult } from '../../core/result.ts';
import type { Right } from '../../owner/directory.ts';
import type { SharingEffect } from '../../owner/effects.ts';
import { GroupDirectory, type GroupStanding } from '../../owner/group-directory.ts';
import type { Answer, Ask } from '../../owner/messages.ts';
import { SharedLimits } from '../../owner/shared-limits.ts';
import type { SharedLimiter } from '../../owner/shared-limiter.ts';
import { SUSPENSION_TOLERANCE_MS } from '../../owner/timing.ts';
import type { DrawnWorld } from './drawn-world.ts';

export type LimitMessage =
  | { readonly kind: 'ask'; readonly from: string; readonly ask: Ask }
  | { readonly kind: 'answer'; readonly to: string; readonly answer: Answer };

export interface LimitObserver {
  decided(server: LimitedServer, key: string, result: RateLimitResult): void;
  /** The server has minted tokens by this right. */
  minted(server: LimitedServer, key: string, right: Right): void;
}

export const LIMITER = 'api';
const WAIT_MS = 100;

export class LimitedServer {
  readonly group: GroupServer;
  readonly #drawn: DrawnWorld;
  readonly #network: Network<LimitMessage>;
  readonly #observer: LimitObserver;
  #directory: GroupDirectory | undefined;
  #limits: SharedLimits | undefined;
  #limiter: SharedLimiter | undefined;
  #driver: Driver<SharingEffect> | undefined;
  #requests = new Map<number, string>();
  #requestIds = 0;
  #asking = '';

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
  }

  get name(): string {
    return this.group.name;
  }

  get isRunning(): boolean {
    return this.group.process.running && this.#driver !== undefined;
  }

  /** The right of this server at this instant, and the members it mints for. */
  claim(key: string): { readonly share: number; readonly members: readonly string[] } | undefined {
    const { process } = this.group;
    if (!this.isRunning || process.clock.suspended) return undefined;
    const right = this.#directory?.rightTo(LIMITER, key, process.now());
    if (right === undefined) return undefined;
    const { standing, view } = this.#standing();
    return { share: right.share, members: (standing === 'acts' ? view?.members : view?.kept) ?? [] };
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

  /** The process ended: nothing of it is left. */
  crashed(): void {
    this.#driver = undefined;
    this.#requests = new Map();
  }

  /** A new process of this server has started. */
  began(): void {
    const { runtime, incarnation } = this.group.process;
    if (runtime === undefined) return;
    const { rate, onLoss, names } = this.#drawn;
    const identity = `${this.name}/${incarnation}`;
    const standing = (): GroupStanding => this.#standing();
    const directory = new GroupDirectory({ name: this.name, size: names.length, standing });
    const limits = new SharedLimits(directory);
    this.#directory = directory;
    this.#limits = limits;
    this.#requests = new Map();
    this.#limiter = limits.add({
      ...{ name: LIMITER, rate, onLoss, whenCutOff: { kind: 'closed' }, waitMs: WAIT_MS },
      ...{ maxKeys: 100, whenFull: 'deny' },
    });
    const transport = runtime.transport(this.#network, {
      onBreak: (peer) => driver.input((now) => limits.ownerLost(peer, now)),
    });
    const driver = new Driver<SharingEffect>({
      ...{ core: limits, clock: runtime, guard: new SuspensionGuard(runtime, SUSPENSION_TOLERANCE_MS) },
      alarm: (wake) => runtime.alarm(wake),
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
      } else if (message.to === identity) driver.input((now) => limits.receiveAnswer(message.answer, now));
    });
    driver.input((now) => limits.wake(now));
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
      view: { id: view.id, key: view.key, members: namesOf(view.members), kept: namesOf(view.kept) },
      chain: member.chain.map(({ key, members }) => ({ key, members: namesOf(members) })),
    };
  }

  #observe(effect: SharingEffect, now: Instant): void {
    if (effect.do === 'answer' && effect.answer.kind === 'grant') this.#minted(this.#asking, now);
    if (effect.do !== 'settle') return;
    const key = this.#requests.get(effect.id) ?? '';
    this.#requests.delete(effect.id);
    if (effect.result.allowed && effect.result.by === 'owner') this.#minted(key, now);
    this.#observer.decided(this, key, effect.result);
  }

  #minted(key: string, now: Instant): void {
    const right = this.#directory?.rightTo(LIMITER, key, now);
    if (right !== undefined) this.#observer.minted(this, key, right);
  }
}
