/// <reference lib="esnext.disposable" preserve="true" />

/**
 * A network between named nodes that loses, repeats, delays and reorders messages, and can be cut, one way or both;
 * the network never alters a message.
 *
 * There is a link for each direction of each pair, with separate faults and chance. Links come in two kinds:
 *
 *  - like UDP, the default: every message on its own. A message may be lost, may arrive twice, and a message with less
 *    delay overtakes one with more. A message in flight is handed to the node with that name on arrival, even to a
 *    later incarnation.
 *  - like TCP, `inOrder`: messages arrive once and in order, until the connection breaks. Then those in flight are
 *    lost both ways, and both ends are told; the next message opens a new connection. So the messages that arrive on a
 *    connection are a beginning of the messages that were sent. A cut in either direction lets nothing new pass in
 *    both, because nothing would be acknowledged.
 *
 * Messages are passed by reference. Code that changes a sent or received message changes it for others too; `frozen`
 * finds such code.
 */

import { assert } from '../runtime/assert.ts';
import { invalidOption } from '../runtime/errors.ts';
import type { Happening } from './queue.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/** A span of milliseconds, from the first to the second. */
export type Span = readonly [fromMs: number, toMs: number];

export interface LinkFaults {
  /** The probability that a message is lost. Not for links in order. */
  readonly lossChance: number;
  /** The probability that a message arrives twice. Not for links in order. */
  readonly duplicateChance: number;
  /** How long a message takes. A wide span reorders. */
  readonly delayMs: Span;
  /** The probability that a message takes {@link slowMs} instead. */
  readonly slowChance: number;
  readonly slowMs: Span;
  /** Whether the link is like TCP. Give both directions the same. */
  readonly inOrder: boolean;
  /** The probability that the connection breaks on sending a message. Only for links in order. */
  readonly breakChance: number;
}

const FAULTLESS: LinkFaults = {
  lossChance: 0,
  duplicateChance: 0,
  delayMs: [1, 10],
  slowChance: 0,
  slowMs: [100, 1_000],
  inOrder: false,
  breakChance: 0,
};

export interface NetworkOptions<Message> {
  /**
   * The faults of all links without faults of their own from {@link Network.setFaults}. @default 1 to 10 ms, no faults
   */
  faults?: Partial<LinkFaults> | undefined;

  /** Tells two networks of one world apart. @default 'network' */
  name?: string | undefined;

  /**
   * Whether to deep-freeze every message sent, so that code that changes one throws. Contents of
   * maps, sets and byte arrays cannot be frozen. Slow: for some seeds, not for all.
   *
   * @default false
   */
  frozen?: boolean | undefined;

  /** How long a message would be on the wire, for {@link NetworkCounts.bytes}. @default 0 */
  sizeOf?: ((message: Message) => number) | undefined;

  /** How a message reads in the story of a tracing world. @default messages are not in the story */
  describe?: ((message: Message) => string) | undefined;
}

/** The fates of the messages. `sent + duplicated = delivered + lost + unclaimed + in flight`. */
export interface NetworkCounts {
  sent: number;
  /** The bytes of those sent. */
  bytes: number;
  /** Additional copies. */
  duplicated: number;
  delivered: number;
  /** By chance, by a cut, or with a broken connection. */
  lost: number;
  /** Arrived where nobody of that name was. */
  unclaimed: number;
}

export type Receive<Message> = (from: string, message: Message) => void;

export interface AttachOptions {
  /** Told when a connection with a peer breaks. Only for links in order. */
  onBreak?: ((peer: string) => void) | undefined;
}

export interface CutOptions {
  /**
   * Whether messages that are in flight when the cut begins are lost too.
   *
   * @default false: they are out already
   */
  dropInFlight?: boolean | undefined;
}

export class Network<Message = unknown> {
  readonly world: World;
  readonly counts: NetworkCounts = { sent: 0, bytes: 0, duplicated: 0, delivered: 0, lost: 0, unclaimed: 0 };
  readonly #random: Random;
  readonly #nodes = new Map<string, Node<Message>>();
  readonly #frozen: boolean;
  readonly #sizeOf: ((message: Message) => number) | undefined;
  readonly #describe: ((message: Message) => string) | undefined;
  #faults: LinkFaults;

  constructor(world: World, options: NetworkOptions<Message> = {}) {
    this.world = world;
    this.#random = world.random.fork(options.name ?? 'network');
    this.#faults = checkedFaults({ ...FAULTLESS, ...options.faults });
    this.#frozen = options.frozen ?? false;
    this.#sizeOf = options.sizeOf;
    this.#describe = world.tracing ? options.describe : undefined;
  }

  /** Puts a receiver under a name. There is one at a time. */
  attach(name: string, receive: Receive<Message>, options: AttachOptions = {}): Disposable {
    const node = this.#node(name);
    assert(node.receive === undefined, `${name} is attached already`);
    node.receive = receive;
    node.onBreak = options.onBreak;
    return {
      [Symbol.dispose]: () => {
        if (node.receive === receive) this.detach(name);
      },
    };
  }

  /** Takes the receiver away. The connections of the node break; messages of other links stay in flight. */
  detach(name: string): void {
    const node = this.#node(name);
    node.receive = undefined;
    node.onBreak = undefined;
    // A node that has sent to this one in order has made the link back as well.
    for (const link of node.links.values()) if (link.faults.inOrder) this.#break(link);
  }

  /** Whether a node with that name receives. */
  isAttached(name: string): boolean {
    return this.#node(name).receive !== undefined;
  }

  send(from: string, to: string, message: Message): void {
    const link = this.#link(from, to);
    const { counts } = this;
    counts.sent += 1;
    if (this.#sizeOf !== undefined) counts.bytes += this.#sizeOf(message);
    if (this.#frozen) deepFreeze(message);
    if (this.#describe !== undefined) this.#note(from, 'sends', 'to', to, message);
    if (link.faults.inOrder) this.#sendInOrder(link, message);
    else this.#sendAlone(link, message);
  }

  /** Changes the faults of links: one direction, or, if no names are given, all links without their own. */
  setFaults(faults: Partial<LinkFaults>, from?: string, to?: string): void {
    if (from !== undefined && to !== undefined) {
      const link = this.#link(from, to);
      link.faults = checkedFaults({ ...link.faults, ...faults });
      link.own = true;
      return;
    }
    assert(from === undefined && to === undefined, 'setFaults needs both names or none');
    this.#faults = checkedFaults({ ...this.#faults, ...faults });
    for (const node of this.#nodes.values()) {
      for (const link of node.links.values()) if (!link.own) link.faults = this.#faults;
    }
  }

  /** The faults of all links without their own. */
  get faults(): LinkFaults {
    return this.#faults;
  }

  /** From now on this direction has no faults of its own, but those of the network. */
  resetFaults(from: string, to: string): void {
    const link = this.#link(from, to);
    link.faults = this.#faults;
    link.own = false;
  }

  /** From now on nothing passes from the one to the other; the other direction stays unchanged. */
  cut(from: string, to: string, { dropInFlight = false }: CutOptions = {}): void {
    const link = this.#link(from, to);
    link.cut = true;
    if (link.faults.inOrder) this.#break(link, dropInFlight);
    else if (dropInFlight) link.connection += 1;
  }

  cutBoth(one: string, other: string, options: CutOptions = {}): void {
    this.cut(one, other, options);
    this.cut(other, one, options);
  }

  /** Cuts every link between nodes of different groups. Other links stay as they are. */
  partition(groups: readonly (readonly string[])[], options: CutOptions = {}): void {
    for (const group of groups) {
      for (const other of groups) {
        if (group === other) continue;
        for (const from of group) for (const to of other) this.cut(from, to, options);
      }
    }
  }

  /** Ends the cuts between these two in both directions; without names, all cuts. */
  heal(one?: string, other?: string): void {
    if (one !== undefined && other !== undefined) {
      this.#link(one, other).cut = false;
      this.#link(other, one).cut = false;
      return;
    }
    assert(one === undefined && other === undefined, 'heal needs both names or none');
    for (const node of this.#nodes.values()) for (const link of node.links.values()) link.cut = false;
  }

  /** Ends the cut in this direction alone. */
  restore(from: string, to: string): void {
    this.#link(from, to).cut = false;
  }

  isCut(from: string, to: string): boolean {
    return this.#link(from, to).cut;
  }

  /** Breaks the connection between these two nodes, whose links are in order. */
  breakConnection(one: string, other: string): void {
    const link = this.#link(one, other);
    assert(link.faults.inOrder, `the link from ${one} to ${other} is not in order`);
    this.#break(link);
  }

  #sendAlone(link: Link<Message>, message: Message): void {
    const { random, faults } = link;
    if (link.cut || (faults.lossChance > 0 && random.chance(faults.lossChance))) {
      this.#lose(link, message);
    } else {
      this.#fly(link, message, this.world.trueMs + delayOf(link));
    }
    if (faults.duplicateChance > 0 && random.chance(faults.duplicateChance)) {
      this.counts.duplicated += 1;
      if (link.cut) this.#lose(link, message);
      else this.#fly(link, message, this.world.trueMs + delayOf(link));
    }
  }

  #sendInOrder(link: Link<Message>, message: Message): void {
    const { random, faults } = link;
    if (link.cut || this.#back(link).cut) {
      this.#lose(link, message);
      return;
    }
    if (faults.breakChance > 0 && random.chance(faults.breakChance)) {
      this.#break(link);
      this.#lose(link, message);
      return;
    }
    link.lastArrivalMs = Math.max(link.lastArrivalMs, this.world.trueMs + delayOf(link));
    this.#fly(link, message, link.lastArrivalMs);
  }

  #fly(link: Link<Message>, message: Message, arrivalMs: number): void {
    this.world.schedule(arrivalMs, new Delivery(this, link, message));
  }

  /** @internal */
  arrive(link: Link<Message>, connection: number, message: Message): boolean {
    if (connection !== link.connection) {
      this.#lose(link, message);
      return false;
    }
    const { receive } = link.to;
    if (receive === undefined) {
      this.counts.unclaimed += 1;
      return false;
    }
    this.counts.delivered += 1;
    if (this.#describe !== undefined) {
      this.#note(link.to.name, 'receives', 'from', link.from.name, message);
    }
    receive(link.from.name, message);
    return true;
  }

  #lose(link: Link<Message>, message: Message): void {
    this.counts.lost += 1;
    if (this.#describe !== undefined) this.#note(link.from.name, 'lost', 'to', link.to.name, message);
  }

  /** Ends a connection both ways; each end hears of the break as late as of a message. */
  #break(link: Link<Message>, dropInFlight = true): void {
    const back = this.#back(link);
    if (dropInFlight) {
      link.connection += 1;
      back.connection += 1;
    }
    for (const { from, to } of [link, back]) {
      const { onBreak } = to;
      if (onBreak === undefined) continue;
      this.world.after(delayOf(link), () => {
        if (to.onBreak === onBreak) onBreak(from.name);
      });
    }
  }

  #note(who: string, what: string, preposition: string, peer: string, message: Message): void {
    this.world.note(who, { what, facts: { [preposition]: peer, message: this.#describe?.(message) } });
  }

  #back(link: Link<Message>): Link<Message> {
    return this.#link(link.to.name, link.from.name);
  }

  #link(from: string, to: string): Link<Message> {
    const node = this.#node(from);
    const known = node.links.get(to);
    if (known !== undefined) return known;
    const link: Link<Message> = {
      from: node,
      to: this.#node(to),
      random: this.#random.fork(`${from} to ${to}`),
      faults: this.#faults,
      own: false,
      cut: false,
      connection: 0,
      lastArrivalMs: 0,
    };
    node.links.set(to, link);
    return link;
  }

  #node(name: string): Node<Message> {
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    const node: Node<Message> = { name, receive: undefined, onBreak: undefined, links: new Map() };
    this.#nodes.set(name, node);
    return node;
  }
}

interface Node<Message> {
  readonly name: string;
  receive: Receive<Message> | undefined;
  onBreak: ((peer: string) => void) | undefined;
  /** From here to others. */
  readonly links: Map<string, Link<Message>>;
}

interface Link<Message> {
  readonly from: Node<Message>;
  readonly to: Node<Message>;
  readonly random: Random;
  faults: LinkFaults;
  /** Whether the faults are the link's rather than the network's. */
  own: boolean;
  cut: boolean;
  /** Messages in flight with an older number than this are lost. */
  connection: number;
  /** In order, no message arrives before an earlier one. */
  lastArrivalMs: number;
}

class Delivery<Message> implements Happening {
  readonly cancelled = false;
  readonly #network: Network<Message>;
  readonly #link: Link<Message>;
  readonly #connection: number;
  readonly #message: Message;

  constructor(network: Network<Message>, link: Link<Message>, message: Message) {
    this.#network = network;
    this.#link = link;
    this.#connection = link.connection;
    this.#message = message;
  }

  happen(): boolean {
    return this.#network.arrive(this.#link, this.#connection, this.#message);
  }
}

function delayOf<Message>({ random, faults }: Link<Message>): number {
  const slow = faults.slowChance > 0 && random.chance(faults.slowChance);
  const span = slow ? faults.slowMs : faults.delayMs;
  return random.between(span[0], span[1]);
}

function checkedFaults(faults: LinkFaults): LinkFaults {
  for (const name of ['lossChance', 'duplicateChance', 'slowChance', 'breakChance'] as const) {
    const value = faults[name];
    if (!(value >= 0 && value <= 1)) throw invalidOption(name, value, 'it must be in [0, 1]');
  }
  for (const name of ['delayMs', 'slowMs'] as const) {
    const [from, to] = faults[name];
    if (!(from >= 0 && to >= from && Number.isFinite(to))) {
      throw invalidOption(name, `[${from}, ${to}]`, 'it must be a span of times, from 0 up');
    }
  }
  return faults;
}

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  if (ArrayBuffer.isView(value)) return;
  Object.freeze(value);
  for (const part of value instanceof Map || value instanceof Set ? value : Object.values(value)) {
    deepFreeze(part);
  }
}
