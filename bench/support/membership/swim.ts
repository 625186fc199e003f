/**
 * A failure detector after SWIM with suspicion, with the settings that memberlist has for local networks: the peer of `bench membership`.
 * Written for this measurement; it is not memberlist. Detection is complete: probes in turn over a shuffled list, indirect probes over three
 * others, suspicion that shortens with each independent confirmation, refutation, and gossip on every packet and five times a second.
 * Left out, because nobody joins or leaves while a crash is measured: joining, push and pull, the probe over TCP, the awareness of own slowness.
 */

import { Buffer } from 'node:buffer';
import { createSocket, type Socket } from 'node:dgram';

/** memberlist's DefaultLANConfig. */
const LAN = {
  probeIntervalMs: 1_000,
  probeTimeoutMs: 500,
  indirectChecks: 3,
  suspicionMultiplier: 4,
  suspicionMaxMultiplier: 6,
  gossipIntervalMs: 200,
  gossipNodes: 3,
  retransmitMultiplier: 4,
} as const;

const RUMOURS_A_PACKET = 12;

export interface SwimOptions {
  readonly name: string;
  readonly port: number;
  /** The ports of all members on this machine, this one included. */
  readonly members: Readonly<Record<string, number>>;
  onDead(name: string): void;
}

interface Rumour {
  readonly what: 'alive' | 'suspect' | 'dead';
  readonly name: string;
  readonly incarnation: number;
  readonly by: string;
}

type Packet = { readonly rumours: readonly Rumour[] } & (
  | { readonly kind: 'ping'; readonly number: number; readonly from: string }
  | { readonly kind: 'ack'; readonly number: number }
  | { readonly kind: 'ask'; readonly number: number; readonly from: string; readonly about: string }
  | { readonly kind: 'gossip' }
);

type Said = Packet extends infer Each ? (Each extends Packet ? Omit<Each, 'rumours'> : never) : never;

interface Suspicion {
  readonly startedMs: number;
  readonly confirmedBy: Set<string>;
  timer: NodeJS.Timeout;
}

interface Known {
  state: 'alive' | 'suspect' | 'dead';
  incarnation: number;
  suspicion: Suspicion | undefined;
}

export class Swim implements Disposable {
  readonly #options: SwimOptions;
  readonly #socket: Socket = createSocket('udp4');
  readonly #members = new Map<string, Known>();
  readonly #queue = new Map<string, { readonly rumour: Rumour; sent: number }>();
  readonly #awaited = new Map<number, () => void>();
  readonly #timers: NodeJS.Timeout[] = [];
  #order: string[] = [];
  #lastNumber = 0;
  #incarnation = 1;
  #isClosed = false;
  readonly sent = { messages: 0, bytes: 0 };

  constructor(options: SwimOptions) {
    this.#options = options;
    for (const name of Object.keys(options.members)) {
      if (name !== options.name)
        this.#members.set(name, { state: 'alive', incarnation: 1, suspicion: undefined });
    }
    this.#socket.on('message', (bytes) => this.#hear(JSON.parse(bytes.toString()) as Packet));
    this.#socket.bind(options.port, '127.0.0.1', () => this.#start());
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const { suspicion } of this.#members.values()) clearTimeout(suspicion?.timer);
    this.#isClosed = true; // Timers of probes that wait for an answer may still end.
    this.#socket.close();
  }

  #start(): void {
    // Members do not keep time with each other.
    const begin = setTimeout(() => {
      this.#timers.push(setInterval(() => this.#probe(), LAN.probeIntervalMs));
    }, Math.random() * LAN.probeIntervalMs);
    this.#timers.push(
      begin,
      setInterval(() => this.#gossip(), LAN.gossipIntervalMs),
    );
  }

  #probe(): void {
    if (this.#order.length === 0) this.#order = shuffled([...this.#members.keys()]);
    const target = this.#order.pop();
    const known = this.#members.get(target ?? '');
    if (target === undefined || known === undefined || known.state === 'dead') return;
    const number = this.#nextNumber();
    let isAnswered = false;
    this.#awaited.set(number, () => (isAnswered = true));
    this.#send(target, { kind: 'ping', number, from: this.#options.name });
    setTimeout(() => {
      if (isAnswered) return;
      const others = shuffled(this.#alive().filter((name) => name !== target));
      for (const name of others.slice(0, LAN.indirectChecks))
        this.#send(name, { kind: 'ask', number, from: this.#options.name, about: target });
    }, LAN.probeTimeoutMs);
    setTimeout(() => {
      this.#awaited.delete(number);
      if (!isAnswered) this.#suspect(target, known.incarnation, this.#options.name);
    }, LAN.probeIntervalMs);
  }

  #gossip(): void {
    if (this.#queue.size === 0) return;
    const others = shuffled(this.#alive()).slice(0, LAN.gossipNodes);
    for (const name of others) this.#send(name, { kind: 'gossip' });
  }

  #hear(packet: Packet): void {
    for (const { what, name, incarnation, by } of packet.rumours) {
      if (what === 'suspect') this.#suspect(name, incarnation, by);
      else if (what === 'dead') this.#bury(name, incarnation);
      else this.#revive(name, incarnation);
    }
    if (packet.kind === 'ping') this.#send(packet.from, { kind: 'ack', number: packet.number });
    else if (packet.kind === 'ack') this.#awaited.get(packet.number)?.();
    else if (packet.kind === 'ask') {
      const number = this.#nextNumber();
      const { from, number: asked } = packet;
      this.#awaited.set(number, () => this.#send(from, { kind: 'ack', number: asked }));
      setTimeout(() => this.#awaited.delete(number), LAN.probeIntervalMs);
      this.#send(packet.about, { kind: 'ping', number, from: this.#options.name });
    }
  }

  #suspect(name: string, incarnation: number, by: string): void {
    if (name === this.#options.name) {
      if (incarnation < this.#incarnation) return;
      this.#incarnation = incarnation + 1;
      this.#spread({ what: 'alive', name, incarnation: this.#incarnation, by: name });
      return;
    }
    const known = this.#members.get(name);
    if (known === undefined || known.state === 'dead' || incarnation < known.incarnation) return;
    const rumour: Rumour = { what: 'suspect', name, incarnation, by };
    if (known.suspicion !== undefined) {
      if (known.suspicion.confirmedBy.has(by) || known.suspicion.confirmedBy.size > this.#confirmations())
        return;
      known.suspicion.confirmedBy.add(by);
      this.#spread(rumour);
      this.#setTimer(name, known.suspicion);
      return;
    }
    known.state = 'suspect';
    known.incarnation = incarnation;
    const suspicion = {
      startedMs: performance.now(),
      confirmedBy: new Set([by]),
      timer: setTimeout(() => {}, 0),
    };
    known.suspicion = suspicion;
    this.#spread(rumour);
    this.#setTimer(name, suspicion);
  }

  /** From the greatest duration down to the least, by the logarithm of the confirmations. */
  #setTimer(name: string, suspicion: Suspicion): void {
    const size = this.#members.size + 1;
    const leastMs = LAN.suspicionMultiplier * Math.max(1, Math.log10(size)) * LAN.probeIntervalMs;
    const wanted = this.#confirmations();
    const mostMs = LAN.suspicionMaxMultiplier * leastMs;
    const share = Math.log(suspicion.confirmedBy.size) / Math.log(wanted + 1);
    const lastsMs = wanted < 1 ? leastMs : Math.max(leastMs, mostMs - share * (mostMs - leastMs));
    clearTimeout(suspicion.timer);
    const leftMs = Math.max(0, suspicion.startedMs + lastsMs - performance.now());
    suspicion.timer = setTimeout(() => this.#bury(name, this.#members.get(name)?.incarnation ?? 0), leftMs);
  }

  /** How many others must suspect a member too for the shortest duration; none in a group that is too small. */
  #confirmations(): number {
    const wanted = LAN.suspicionMultiplier - 2;
    return this.#members.size + 1 - 2 < wanted ? 0 : wanted;
  }

  #bury(name: string, incarnation: number): void {
    const known = this.#members.get(name);
    if (known === undefined || known.state === 'dead' || incarnation < known.incarnation) return;
    clearTimeout(known.suspicion?.timer);
    known.suspicion = undefined;
    known.state = 'dead';
    this.#spread({ what: 'dead', name, incarnation, by: this.#options.name });
    this.#options.onDead(name);
  }

  #revive(name: string, incarnation: number): void {
    const known = this.#members.get(name);
    if (known === undefined || incarnation <= known.incarnation) return;
    clearTimeout(known.suspicion?.timer);
    Object.assign(known, { state: 'alive', incarnation, suspicion: undefined });
    this.#spread({ what: 'alive', name, incarnation, by: name });
  }

  #spread(rumour: Rumour): void {
    this.#queue.set(`${rumour.name} ${rumour.what === 'suspect' ? rumour.by : ''}`, { rumour, sent: 0 });
  }

  #send(to: string, said: Said): void {
    if (this.#isClosed) return;
    const most = LAN.retransmitMultiplier * Math.ceil(Math.log10(this.#members.size + 2));
    const rumours: Rumour[] = [];
    for (const [key, queued] of [...this.#queue].sort(([, one], [, other]) => one.sent - other.sent)) {
      if (rumours.length === RUMOURS_A_PACKET) break;
      rumours.push(queued.rumour);
      queued.sent += 1;
      if (queued.sent >= most) this.#queue.delete(key);
    }
    const bytes = Buffer.from(JSON.stringify({ ...said, rumours }));
    this.sent.messages += 1;
    this.sent.bytes += bytes.length;
    this.#socket.send(bytes, this.#options.members[to] ?? 0, '127.0.0.1');
  }

  #alive(): string[] {
    return [...this.#members].filter(([, { state }]) => state !== 'dead').map(([name]) => name);
  }

  #nextNumber(): number {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }
}

function shuffled<T>(items: readonly T[]): T[] {
  const left = [...items];
  const order: T[] = [];
  while (left.length > 0) order.push(...left.splice(Math.floor(Math.random() * left.length), 1));
  return order;
}
