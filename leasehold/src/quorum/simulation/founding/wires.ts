/**
 * Connections without sockets, for the links of real replicas: in order, slow, broken at any time, and noticed to be broken late by
 * either side. As over TCP, a welcome tells what the listener says of itself at that moment, and never again.
 */

import { later } from '../../../runtime/time.ts';
import type { SimRuntime } from '../../../sim/process.ts';
import type { Random } from '../../../sim/random.ts';
import type { World } from '../../../sim/world.ts';
import type { PeerDialer, PeerDialOptions, PeerListener } from '../../shell/peer-links.ts';
import type { Reply } from '../../wire/calls.ts';
import type { Inbound } from '../../wire/codec.ts';
import type { PeerMessage } from '../../wire/messages.ts';

type Welcome = NonNullable<ReturnType<PeerDialer['welcome']>>;

/** A process that dials and listens. */
export interface WireEnd {
  readonly address: string;
  readonly runtime: SimRuntime;
  readonly greeting: Readonly<Record<string, string>>;
  /** The founders of the cluster that the directory names; undefined if there is none. */
  founders(): string | undefined;
  /** A connection that was accepted has ended. */
  gone(connection: string): void;
}

export interface WireObserver {
  /** A word that is no hello arrives over a connection that was admitted. */
  hears(to: WireEnd, from: WireEnd): void;
  /** The last words of a listener arrive, and the two were of different clusters by the last hello. */
  dismissed(from: WireEnd, by: WireEnd, wereApart: boolean): void;
}

export class Wires {
  readonly world: World;
  readonly random: Random;
  readonly observer: WireObserver;
  readonly ports: Map<string, WirePort> = new Map<string, WirePort>();
  /** Addresses that can be dialled, but whose processes reach nobody. */
  readonly cut: Set<string> = new Set<string>();
  /** The chance of a word, or of a dialling, to end the connection. */
  breakChance: number;
  slowChance: number;
  #connections = 0;

  constructor(world: World, random: Random, observer: WireObserver) {
    this.world = world;
    this.random = random;
    this.observer = observer;
    this.breakChance = random.pick([0, 0.01, 0.1]);
    this.slowChance = random.pick([0, 0.05, 0.3]);
  }

  delayMs(): number {
    return this.random.chance(this.slowChance) ? this.random.between(50, 2_000) : this.random.between(1, 10);
  }

  nextId(): string {
    this.#connections += 1;
    return `connection ${this.#connections}`;
  }
}

export const foundersIn = (members: readonly { readonly storage: string }[]): string =>
  members.map(({ storage }) => storage).join(' ');

/** Whether these are the founders of two clusters. */
export const areApart = (one: string | undefined, other: string | undefined): boolean =>
  one !== undefined && other !== undefined && one !== other;

class Wire {
  readonly identity = 'unrestricted';
  readonly id: string;
  readonly link: WireLink;
  readonly port: WirePort;
  readonly welcome: Welcome;
  isAdmitted = false;
  /** The founders in the last hello that arrived. */
  #founders: string | undefined;
  #isFlowing = true;
  #lastMs = 0;

  constructor(link: WireLink, port: WirePort) {
    this.id = port.wires.nextId();
    this.link = link;
    this.port = port;
    this.welcome = { version: 1, channel: this.id, greeting: { ...port.end.greeting } };
    port.peers.set(this.id, this);
  }

  say(message: PeerMessage): void {
    const { port, link } = this;
    const { wires } = port;
    if (wires.random.chance(wires.breakChance)) this.break();
    this.#arrive(() => {
      if (!port.end.runtime.alive || !port.peers.has(this.id)) return;
      if (message.kind === 'hello') this.#founders = message.initial && foundersIn(message.initial);
      else if (this.isAdmitted) wires.observer.hears(port.end, link.end);
      port.hear(this.id, { from: 'replica', message });
    });
  }

  /** The listener ends the connection, with these words. */
  dismiss(words: readonly Reply[]): void {
    const { link, port } = this;
    const wereApart = areApart(port.end.founders(), this.#founders);
    port.forget(this.id);
    this.#arrive(() => {
      if (!link.isOn(this)) return;
      if (words.length > 0) port.wires.observer.dismissed(link.end, port.end, wereApart);
      if (words.length > 0) link.answered(words);
      link.lost(this);
    });
    this.#isFlowing = false;
  }

  /** Nothing arrives any more, and each side notices after a time of its own. */
  break(): void {
    if (!this.#isFlowing) return;
    this.#isFlowing = false;
    const { world, random } = this.port.wires;
    const noticeMs = random.pick([1, 100, 3_000]);
    world.after(random.between(0, noticeMs), () => this.link.lost(this));
    world.after(random.between(0, noticeMs), () => this.port.forget(this.id));
  }

  #arrive(act: () => void): void {
    if (!this.#isFlowing) return;
    const { wires } = this.port;
    this.#lastMs = Math.max(this.#lastMs, wires.world.trueMs + wires.delayMs());
    wires.world.at(this.#lastMs, act);
  }
}

export class WirePort implements PeerListener {
  readonly wires: Wires;
  readonly end: WireEnd;
  readonly peers: Map<string, Wire> = new Map<string, Wire>();
  hear: (connection: string, inbound: Inbound) => void = () => {};

  constructor(wires: Wires, end: WireEnd) {
    this.wires = wires;
    this.end = end;
    wires.ports.set(end.address, this);
  }

  listen(hear: (connection: string, inbound: Inbound) => void): Disposable {
    this.hear = hear;
    return { [Symbol.dispose]: () => {} };
  }

  send(): void {
    throw new Error('there are no clients here');
  }

  admit(id: string): void {
    const wire = this.peers.get(id);
    if (wire !== undefined) wire.isAdmitted = true;
  }

  dismiss(id: string, _why: unknown, words: readonly Reply[]): void {
    this.peers.get(id)?.dismiss(words);
  }

  close(id: string): void {
    this.peers.get(id)?.dismiss([]);
  }

  closeAll(): void {
    for (const id of [...this.peers.keys()]) this.close(id);
  }

  forget(id: string): void {
    if (this.peers.delete(id) && this.end.runtime.alive) this.end.gone(id);
  }

  /** The process has ended. */
  crash(): void {
    if (this.wires.ports.get(this.end.address) === this) this.wires.ports.delete(this.end.address);
    for (const wire of this.peers.values()) wire.break();
  }
}

export class WireDialer implements PeerDialer {
  readonly wires: Wires;
  readonly end: WireEnd;
  readonly options: PeerDialOptions;
  readonly #links = new Map<string, WireLink>();
  answered: (from: string, replies: readonly Reply[]) => void = () => {};
  isOver = false;

  constructor(wires: Wires, end: WireEnd, options: PeerDialOptions) {
    this.wires = wires;
    this.end = end;
    this.options = options;
  }

  listen(answered: (from: string, replies: readonly Reply[]) => void): Disposable {
    this.answered = answered;
    return { [Symbol.dispose]: () => {} };
  }

  send(to: string, message: PeerMessage): void {
    const link = this.#links.get(to) ?? new WireLink(this, to);
    this.#links.set(to, link);
    link.send(message);
  }

  welcome(address: string): Welcome | undefined {
    return this.#links.get(address)?.wire?.welcome;
  }

  identity(): 'unrestricted' {
    return 'unrestricted';
  }

  hurry(address: string): void {
    this.#links.get(address)?.hurry();
  }

  problems(): ReturnType<PeerDialer['problems']> {
    return new Map();
  }

  /** The process has ended. */
  crash(): void {
    this.isOver = true;
    for (const { wire } of this.#links.values()) wire?.break();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.crash();
  }
}

class WireLink {
  readonly #dialer: WireDialer;
  readonly #address: string;
  wire: Wire | undefined;
  /** Words that wait for the connection; undefined during a pause. */
  #waiting: PeerMessage[] | undefined;
  #pause: Disposable | undefined;

  constructor(dialer: WireDialer, address: string) {
    this.#dialer = dialer;
    this.#address = address;
    this.#dial();
  }

  get end(): WireEnd {
    return this.#dialer.end;
  }

  isOn(wire: Wire): boolean {
    return this.wire === wire && this.end.runtime.alive;
  }

  send(message: PeerMessage): void {
    if (this.wire !== undefined) this.wire.say(message);
    else this.#waiting?.push(message);
  }

  answered(words: readonly Reply[]): void {
    this.#dialer.answered(this.#address, words);
  }

  lost(wire: Wire): void {
    if (!this.isOn(wire)) return;
    this.wire = undefined;
    this.#rest();
  }

  hurry(): void {
    if (this.#pause === undefined) return;
    this.#pause[Symbol.dispose]();
    this.#dial();
  }

  #dial(): void {
    const { wires } = this.#dialer;
    this.#pause = undefined;
    this.#waiting = [];
    this.#after(wires.delayMs(), () => this.#connect());
  }

  #connect(): void {
    const { wires, options, isOver } = this.#dialer;
    const port = wires.ports.get(this.#address);
    if (isOver) return;
    if (port === undefined || wires.cut.has(this.end.address) || wires.random.chance(wires.breakChance)) {
      this.#rest();
      return;
    }
    const wire = new Wire(this, port);
    this.wire = wire;
    const words = [...(options.preface?.(wire.welcome) ?? []), ...(this.#waiting ?? [])];
    this.#waiting = undefined;
    for (const word of words) wire.say(word);
  }

  #rest(): void {
    this.#waiting = undefined;
    this.#pause = this.#after(this.#dialer.wires.random.between(50, 1_000), () => this.#dial());
  }

  #after(ms: number, act: () => void): Disposable {
    const { runtime } = this.end;
    return runtime.wakeAt(later(runtime.now(), ms), act);
  }
}
