/**
 * A member of a spread limit as a process of a simulated world: a server of the simulated group, and on it the core in the toolkit's driver.
 * Messages travel as datagrams of the group, in bytes.
 */

import { keyOf, type MemberId } from '../../../membership/core/incarnation.ts';
import type { MemberEffect } from '../../../membership/core/effects.ts';
import type { Server } from '../../../membership/simulation/server.ts';
import { assert } from '../../../runtime/assert.ts';
import { Driver } from '../../../runtime/driver.ts';
import { SuspensionGuard } from '../../../runtime/suspension.ts';
import { decodeSpread, encodeSpread } from '../../wire/spread.ts';
import type { GroupSight } from '../../core/spread/group-sight.ts';
import {
  type SpreadEffect,
  SpreadLimiter,
  type SpreadLimiterSettings,
} from '../../core/spread/spread-limiter.ts';

const CHANNEL = 'ratelimit/simulated';

export class SpreadMember {
  readonly server: Server;
  readonly #settings: Omit<SpreadLimiterSettings, 'random'>;
  readonly #toleranceMs: number;
  readonly #majorityOf: number | undefined;
  #limiter: SpreadLimiter | undefined;
  #driver: Driver<SpreadEffect> | undefined;

  /** @param majorityOf a view of at most half of so many servers never acts, as in a group that rests on a quorum */
  constructor(
    server: Server,
    settings: Omit<SpreadLimiterSettings, 'random'>,
    toleranceMs: number,
    majorityOf?: number,
  ) {
    this.server = server;
    this.#majorityOf = majorityOf;
    this.#settings = settings;
    this.#toleranceMs = toleranceMs;
  }

  /** The core, if the process lives and could use tokens at this instant. */
  get running(): SpreadLimiter | undefined {
    const { process } = this.server;
    return process.running && !process.clock.suspended ? this.alive : undefined;
  }

  get alive(): SpreadLimiter | undefined {
    return this.server.member === undefined ? undefined : this.#limiter;
  }

  get id(): MemberId | undefined {
    return this.server.member?.id;
  }

  began(): void {
    const { runtime } = this.server.process;
    assert(runtime !== undefined, 'a process that begins has a runtime');
    const settings = { ...this.#settings, random: () => runtime.random() };
    const limiter = new SpreadLimiter(settings, this.#sight(), runtime.now());
    this.#limiter = limiter;
    this.#driver = new Driver<SpreadEffect>({
      core: limiter,
      clock: runtime,
      guard: new SuspensionGuard(runtime, this.#toleranceMs),
      alarm: (wake) => runtime.alarm(wake),
      execute: (effect) => this.#execute(effect),
    });
    this.#driver.input((now) => limiter.wake(now));
  }

  /** An effect of the group's core. */
  does(effect: MemberEffect): void {
    const limiter = this.#limiter;
    if (limiter === undefined) return;
    if (effect.do === 'deliver-view') this.#driver?.input((now) => limiter.look(now));
    if (effect.do !== 'hand-over-datagram' || effect.datagram.channel !== CHANNEL) return;
    const message = decodeSpread(effect.datagram.body);
    this.#driver?.input((now) => limiter.receive(effect.from, message, now));
  }

  #sight(): GroupSight {
    const { server } = this;
    const member = (): NonNullable<Server['member']> => {
      assert(server.member !== undefined, 'a core is asked only while its process lives');
      return server.member;
    };
    return {
      get id() {
        return member().id;
      },
      get view() {
        return member().view;
      },
      get isChanging() {
        return member().isChanging;
      },
      get promisesEndAt() {
        return member().promisesEndAt;
      },
      standing: () => (this.#isInMinority() ? 'none' : server.standing()),
    };
  }

  #isInMinority(): boolean {
    const members = this.server.member?.view?.members.length ?? 0;
    return this.#majorityOf !== undefined && 2 * members <= this.#majorityOf;
  }

  #execute(effect: SpreadEffect): void {
    const { server } = this;
    const { world } = server;
    switch (effect.do) {
      case 'send': {
        const body = encodeSpread(effect.message);
        const { to, isDirect, message } = effect;
        world.count(`messages, ${message.kind}`);
        if (world.tracing && message.kind !== 'show') {
          server.note(`sends ${message.kind}`, { to: keyOf(to), message: JSON.stringify(message) });
        }
        server.perform((member) => member.datagram(to.name, CHANNEL, body, isDirect));
        return;
      }
      case 'hurry':
        world.count('views heard of early');
        server.perform((member, now) => member.wake(now, true));
        return;
      case 'choke-point':
        world.count('choke points');
        return;
      case 'differs':
        world.count('members that differ');
        return;
      default:
        world.count(effect.event.what);
        world.note(server.name, effect.event);
    }
  }
}
