/**
 * A server of a group as a process of a simulated world: the core in the toolkit's driver, and nothing else.
 *
 * A check from outside sees what an application in the process would see: the standing reads the clock, and a machine that was
 * suspended is noticed before anything else.
 */

import { type ClientFaults, noFaults, SimulatedEtcdClient } from '../../etcd/simulation/simulated-client.ts';
import type { SimulatedEtcd } from '../../etcd/simulation/simulated-etcd.ts';
import { Driver } from '../../runtime/driver.ts';
import { silent } from '../../runtime/logger.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import type { Instant } from '../../runtime/time.ts';
import type { SimClock } from '../../sim/clock.ts';
import type { Network } from '../../sim/network.ts';
import { SimProcess, type SimRuntime } from '../../sim/process.ts';
import type { World } from '../../sim/world.ts';
import type { Durations } from '../core/durations.ts';
import type { MemberEffect, Standing } from '../core/effects.ts';
import { keyOf } from '../core/incarnation.ts';
import { Member } from '../core/member.ts';
import type { AnyMessage, ToClient } from '../core/messages.ts';
import { RegistryKeeper } from '../etcd/keeper.ts';

export interface Observer {
  /** An effect, at the instant at which it is carried out. */
  does(server: Server, effect: MemberEffect): void;
  sent(server: Server, message: SentMessage): void;
  began(server: Server): void;
}

/** A message that was sent, and by which id and in which view. */
export interface SentMessage {
  readonly id: number;
  readonly to: string;
  readonly viewId: string;
  readonly body: Uint8Array;
}

export interface ServerOptions {
  readonly name: string;
  readonly names: readonly string[];
  /** The names of clients. @default none */
  readonly clients?: readonly string[] | undefined;
  readonly durations: Durations;
  readonly network: Network<AnyMessage>;
  readonly clock: SimClock;
  readonly lateMs: number;
  readonly observer: Observer;
  /** The registry, if there is one. */
  readonly registered?: RegisteredIn | undefined;
}

export interface RegisteredIn {
  readonly etcd: SimulatedEtcd;
  /** The address stays the same after a restart, so the registration of the process before is replaced at once. */
  readonly hasLastingAddress: boolean;
}

export const REGISTRY_PREFIX = 'group/';

export class Server {
  readonly world: World;
  readonly name: string;
  readonly process: SimProcess;
  /** A server that forwards no packets for others. */
  isDeaf = false;
  /** A server whose large messages are lost: records and data do not get out, heartbeats do. */
  losesLargeMessages = false;
  losesData = false;
  /** A server of which the first frame of each view to each client is lost, and none after it. */
  losesFirstViews = false;
  readonly #lostViews = new Set<string>();
  /** On the way to etcd. */
  readonly etcdFaults: ClientFaults = noFaults();
  /** Until when, by true time, the process was stopped at some instant. */
  stoppedUntilMs: number = Number.NEGATIVE_INFINITY;
  readonly #options: ServerOptions;
  #member: Member | undefined;
  #driver: Driver<MemberEffect> | undefined;
  #guard: SuspensionGuard | undefined;

  constructor(world: World, options: ServerOptions) {
    this.world = world;
    this.name = options.name;
    this.#options = options;
    this.process = new SimProcess(world, {
      name: options.name,
      clock: options.clock,
      lateMs: options.lateMs,
      start: (runtime) => this.#start(runtime),
    });
  }

  get member(): Member | undefined {
    return this.process.alive ? this.#member : undefined;
  }

  /** What the application would be told at this instant. A suspended machine asks nothing. */
  standing(): Standing {
    const { member, process } = this;
    if (member === undefined || process.clock.suspended) return 'none';
    const now = process.now();
    if (this.#guard?.looksSuspended(now) === true) return 'none';
    return member.standing(now);
  }

  crash(): void {
    this.process.crash();
    this.#member = undefined;
  }

  pause(ms: number): void {
    this.stoppedUntilMs = Math.max(this.stoppedUntilMs, this.world.trueMs + ms);
    this.process.pause(ms);
  }

  suspend(ms: number): void {
    this.stoppedUntilMs = Math.max(this.stoppedUntilMs, this.world.trueMs + ms);
    this.process.suspend(ms);
  }

  leave(): void {
    this.process.perform(() => this.#driver?.input((now) => this.#member?.leave(now) ?? []));
  }

  report(name: string): void {
    this.process.perform(() => this.#driver?.input((now) => this.#member?.report(name, now) ?? []));
  }

  /** Sends to one member of the view, or to all. */
  send(to: string | undefined, body: Uint8Array): void {
    this.process.perform(() =>
      this.#driver?.input((now) => {
        const member = this.#member;
        if (member === undefined) return [];
        if (to === undefined) {
          const others = (member.view?.members ?? []).filter(({ name }) => name !== this.name);
          const { ids, effects } = member.broadcast(body, now);
          const viewId = member.view?.id ?? '';
          ids.forEach((id, index) =>
            this.#options.observer.sent(this, { id, to: others[index]?.name ?? '', viewId, body }),
          );
          return effects;
        }
        const { id, effects } = member.send(to, body, now);
        const viewId = member.view?.id ?? '';
        if (id !== undefined) this.#options.observer.sent(this, { id, to, viewId, body });
        return effects;
      }),
    );
  }

  /** An input of a part that stands on the group. */
  perform(act: (member: Member, now: Instant) => MemberEffect[]): void {
    this.process.perform(() =>
      this.#driver?.input((now) => (this.#member === undefined ? [] : act(this.#member, now))),
    );
  }

  note(what: string, facts: Readonly<Record<string, string | number | undefined>> = {}): void {
    if (this.world.tracing) this.world.note(this.name, { what, facts });
  }

  /** Reads the registry for the core, and keeps the registration. */
  #keep(runtime: SimRuntime, member: Member, input: (act: (now: Instant) => MemberEffect[]) => void) {
    const { name, durations, registered } = this.#options;
    if (registered === undefined) return undefined;
    const { etcd, hasLastingAddress } = registered;
    const client = new SimulatedEtcdClient(etcd, this.process, runtime, this.etcdFaults);
    const process = `${name}.${this.process.incarnation}`;
    const entry = { address: hasLastingAddress ? name : process, process, settings: {} };
    const { registrationMs } = durations;
    const settings = {
      client,
      runtime,
      logger: silent,
      prefix: REGISTRY_PREFIX,
      name,
      entry,
      registrationMs,
    };
    return new RegistryKeeper(settings, {
      read: (reading, sentAt) => input((now) => member.registryRead(reading, sentAt, now)),
      nameTaken: () => this.world.count('registrations under another live process'),
    });
  }

  #loses(message: AnyMessage): boolean {
    const isData = message.kind === 'packet' && message.payload.kind === 'data';
    const isLarge = isData || message.kind === 'records';
    return (this.losesData && isData) || (this.losesLargeMessages && isLarge);
  }

  #losesView(message: ToClient): boolean {
    if (!this.losesFirstViews || message.kind !== 'view') return false;
    const { client, number } = message;
    const frame = `${keyOf(client)}/${client.count} ${number}`;
    const isFirst = !this.#lostViews.has(frame);
    this.#lostViews.add(frame);
    return isFirst;
  }

  #start(runtime: SimRuntime): void {
    const { name, names, durations, network, observer, clients = [] } = this.#options;
    const guard = new SuspensionGuard(runtime, durations.suspensionToleranceMs);
    const member = new Member(
      {
        name,
        incarnation: {
          startedMs: Math.floor(runtime.wallMs()),
          nonce: Math.floor(runtime.random() * 2 ** 32),
        },
        peers: this.#options.registered ? [] : names.filter((other) => other !== name),
        durations,
        registry: this.#options.registered && durations,
        random: () => runtime.random(),
      },
      runtime.now(),
    );
    this.#guard = guard;
    this.#member = member;
    const transport = runtime.transport(network, {
      onBreak: (peer) =>
        driver.input((now) =>
          clients.includes(peer) ? member.clientBroke(peer, now) : member.connectionBroke(peer, now),
        ),
    });
    const driver = new Driver<MemberEffect>({
      core: member,
      clock: runtime,
      guard,
      alarm: (wake) => runtime.alarm(wake),
      suspended: () => this.world.count('suspensions noticed'),
      execute: (effect) => {
        if (effect.do === 'send-to-client' && !this.#losesView(effect.message))
          transport.send(effect.to, effect.message);
        if (effect.do === 'send' && !this.#loses(effect.message)) transport.send(effect.to, effect.message);
        if (effect.do === 'register') keeper?.register(effect.as);
        if (effect.do === 'deregister') keeper?.deregister();
        observer.does(this, effect);
      },
    });
    this.#driver = driver;
    transport.listen((from, message) => {
      if (this.isDeaf && message.kind === 'packet' && message.to.name !== name) return;
      driver.input((now) => {
        switch (message.kind) {
          case 'stamp':
          case 'detach':
          case 'outgoing':
            return member.receiveFromClient(from, message, now);
          case 'answer':
          case 'view':
          case 'refusal':
          case 'incoming':
            return [];
          default:
            return member.receive(from, message, now);
        }
      });
    });
    const keeper = this.#keep(runtime, member, (act) => driver.input(act));
    observer.began(this);
    driver.input((now) => member.wake(now));
  }
}
