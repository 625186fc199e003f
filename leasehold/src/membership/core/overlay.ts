/**
 * Messages between members, acknowledged, over whichever links work.
 *
 * A message is sent again at every heartbeat until its receiver acknowledges it, each time over the path that is shortest by then. The
 * receiver hands each message over once: the receiver remembers the ids handed over, and the sender says which ids no longer wait
 * for, so that memory stays small.
 *
 *                   acknowledged                     ┌──► delivered
 *     send ──► waiting ─────────────────────────────►┘
 *                 │ doubtMs without one              next view, or none
 *                 ├──────────────► doubted ────────────────────────────► failed
 *                 └── a view without the receiver, or none ────────────► failed
 *
 * **Fate sharing.** A doubted message is a conflict with its receiver. A conflict takes one of the two servers out of the other's
 * proposal at once, so a change begins, and a change ends with a view or, after `noViewAfterMs`, without one. A send never
 * fails on its own while the view of that send goes on.
 *
 * A server that becomes a new incarnation keeps its ids, and its receivers would take a repeated message for a new one. So no message that waited is repeated
 * ({@link Overlay.abandon}). Without a registry no record lists the new incarnation yet, the server is alone in its next view, which it delivers in the same step, and everything that
 * waited fails. With a registry the server has no view until it is registered again, and reaches its receivers long before.
 */

import type { Instant } from '../../runtime/time.ts';
import { compareIncarnations, type Incarnation, isSameIncarnation, type MemberId } from './incarnation.ts';
import type { MemberEffect } from './effects.ts';
import type { Datagram, Packet, Payload } from './messages.ts';
import type { MemberView } from './view.ts';

/** A path of more hops than this is longer than any group of the supported size needs, unless a packet goes in circles. */
export const HOPS_MAX = 8;

interface Pending {
  readonly id: number;
  readonly to: MemberId;
  readonly body: Uint8Array;
  readonly sentAt: Instant;
  isDoubted: boolean;
}

interface Received {
  readonly incarnation: Incarnation;
  /** Every id below this one is settled. */
  oldestId: number;
  readonly ids: Set<number>;
}

type Data = Extract<Payload, { kind: 'data' }>;
type ForServer = Exclude<Payload, { kind: 'word' | 'post' }>;

/** The server that sends and forwards. */
export interface Router {
  self(): MemberId;
  nextHop(name: string): string | undefined;
  emit(effect: MemberEffect): void;
}

export class Overlay {
  readonly #router: Router;
  readonly #pending = new Map<number, Pending>();
  readonly #received = new Map<string, Received>();
  #lastId = 0;

  constructor(router: Router) {
    this.#router = router;
  }

  /** Sends a payload over the first server of a shortest path, if there is one. */
  route(to: MemberId, payload: Payload): void {
    this.#forward({ kind: 'packet', from: this.#router.self(), to, hopsLeft: HOPS_MAX, payload });
  }

  /** Sends once, over the direct link even if that seems down, or over links that work. */
  datagram(to: MemberId, payload: Datagram, isDirect: boolean): void {
    const message = { kind: 'packet', from: this.#router.self(), to, hopsLeft: 0, payload } as const;
    if (isDirect) this.#router.emit({ do: 'send', to: to.name, message });
    else this.route(to, payload);
  }

  /** A packet for another server. */
  passOn(packet: Packet): void {
    const { hopsLeft } = packet;
    if (hopsLeft > 0) this.#forward({ ...packet, hopsLeft: hopsLeft - 1 });
  }

  /** Sends a message that waits, for the first time or again. */
  send(id: number): void {
    const message = this.payloadOf(id);
    if (message !== undefined) this.route(message.to, message.payload);
  }

  /** A message for this server, or an acknowledgement. */
  receive(from: MemberId, payload: ForServer): void {
    if (payload.kind === 'datagram') {
      this.#router.emit({ do: 'hand-over-datagram', from, datagram: payload });
      return;
    }
    const { id } = payload;
    if (payload.kind === 'acknowledgement') {
      if (this.acknowledged(from, id)) this.#router.emit({ do: 'settle-send', id, outcome: 'delivered' });
      return;
    }
    if (this.accepts(from, payload)) this.#router.emit({ do: 'hand-over', from, body: payload.body });
    this.route(from, { kind: 'acknowledgement', id });
  }

  #forward(packet: Packet): void {
    const hop = this.#router.nextHop(packet.to.name);
    if (hop !== undefined) this.#router.emit({ do: 'send', to: hop, message: packet });
  }

  /** Sends a message for the first time, and returns its id. */
  begin(to: MemberId, body: Uint8Array, now: Instant): number {
    const id = this.add(to, body, now);
    this.send(id);
    return id;
  }

  add(to: MemberId, body: Uint8Array, now: Instant): number {
    const id = this.nextId();
    this.#pending.set(id, { id, to, body, sentAt: now, isDoubted: false });
    return id;
  }

  /** For messages of every kind, so that an id names one. */
  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** What a message says on the wire. */
  payloadOf(id: number): { readonly to: MemberId; readonly payload: Data } | undefined {
    const pending = this.#pending.get(id);
    if (pending === undefined) return undefined;
    const { to, body } = pending;
    const [oldestId = id] = this.#pending.keys();
    return { to, payload: { kind: 'data', id, oldestId, body } };
  }

  /** The messages to send again. */
  *waitingIds(): Generator<number> {
    for (const { id, isDoubted } of this.#pending.values()) if (!isDoubted) yield id;
  }

  /** True if the message was waiting for this acknowledgement. */
  acknowledged(from: MemberId, id: number): boolean {
    const to = this.#pending.get(id)?.to;
    if (to?.name !== from.name || !isSameIncarnation(to.incarnation, from.incarnation)) return false;
    return this.#pending.delete(id);
  }

  /** True if the message is to be handed over; false for a repeated message, or one that the sender has given up. */
  accepts(from: MemberId, { id, oldestId }: Data): boolean {
    let received = this.#received.get(from.name);
    if (received === undefined || !isSameIncarnation(received.incarnation, from.incarnation)) {
      if (received !== undefined && compareIncarnations(received.incarnation, from.incarnation) > 0)
        return false;
      received = { incarnation: from.incarnation, oldestId: 0, ids: new Set() };
      this.#received.set(from.name, received);
    }
    if (oldestId > received.oldestId) {
      received.oldestId = oldestId;
      for (const known of received.ids) if (known < oldestId) received.ids.delete(known);
    }
    if (id < received.oldestId || received.ids.has(id)) return false;
    received.ids.add(id);
    return true;
  }

  forget(name: string): void {
    this.#received.delete(name);
  }

  /** The receivers of messages that have waited for so long. Each is named once. */
  *doubtedAfter(ms: number, now: Instant): Generator<MemberId> {
    for (const pending of this.#pending.values()) {
      if (pending.isDoubted || now - pending.sentAt <= ms) continue;
      pending.isDoubted = true;
      yield pending.to;
    }
  }

  /**
   * This server has a new incarnation. Receivers know repeated messages by the incarnation of their sender, and would hand over again what the new
   * one repeats. So no message is repeated, and all that wait fail with the next view or when there is none, one of which follows.
   */
  abandon(): void {
    for (const pending of this.#pending.values()) pending.isDoubted = true;
  }

  /** The messages that fail because of this view, or because there is none. */
  failedBy(view: MemberView | undefined): number[] {
    const failed: number[] = [];
    for (const { id, to, isDoubted } of this.#pending.values()) {
      const isMember = view?.members.some(
        ({ name, incarnation }) => name === to.name && isSameIncarnation(incarnation, to.incarnation),
      );
      if (isDoubted || isMember !== true) failed.push(id);
    }
    for (const id of failed) this.#pending.delete(id);
    return failed;
  }
}
