/**
 * Limits on the bytes that peers may make us read, each alone and all together, before they have been admitted and after.
 *
 * A listener cannot know which stranger is honest. It can see to it that strangers together cost a bounded amount of memory
 * and time, and that they pay before any admitted peer does:
 *
 *  - **Unfinished frames.** A frame without its end is kept. If those of peers that are not admitted are together
 *    above their limit, the connection with the largest of them is closed, because that frees memory at once. An honest
 *    stranger sends little, and a small frame comes whole: it is not kept at all. If the frames of all peers are above
 *    the limit of all, the largest of all is closed, admitted or not, and of equally large ones the one that has not
 *    grown for longest. The peer that happened to send last is not to blame: a peer that holds up to 64 KiB is never
 *    closed for the sum of all, so an ordinary report gets through. One closing is enough, since the frame that grew
 *    is not larger than the largest.
 *  - **Rates.** A peer that has sent more messages or bytes than it may is not read for a while, so its own kernel
 *    holds the rest back. Peers that are not admitted also share an allowance. A flood must not leave a debt that honest
 *    strangers then wait for. So the shared allowance is charged only with the part that the peer's own allowance permits, with
 *    at most one second's worth, and with nothing while the shared allowance is already in debt. Heartbeats count
 *    against their peer alone.
 *
 * Allowances are counted in the time of the sweep, so a message costs no reading of a clock: they are refilled, and
 * paused peers are read again, from one sweep to the next.
 */

import type { LeaseholdError } from '../../runtime/errors.ts';
import { UnfinishedFramesError } from './errors.ts';
import type { TcpLimits } from './limits.ts';

/** A connection, as far as it matters here. */
export interface InboundPeer {
  /** Where it connects from. */
  readonly remote: string;
  readonly isAdmitted: boolean;
  /** The bytes kept of a frame that has not ended. */
  readonly unfinishedBytes: number;
  readonly allowance: Allowance;
  pause(): void;
  close(why: LeaseholdError): void;
}

/** Which limit has held a peer back. */
export type InboundLimit =
  | 'unfinishedBytesTotal'
  | 'unfinishedBytesBeforeAdmission'
  | 'messagesPerSecondIn'
  | 'bytesPerSecondIn'
  | 'inTotal';

interface Unfinished {
  readonly bytes: number;
  /** The peer was not admitted when they came. */
  readonly isStrangers: boolean;
}

/** A peer that holds no more than this is not closed because of the sum of all. */
const SMALL_FRAME_BYTES = 64 * 1024;

const NOTHING: Unfinished = { bytes: 0, isStrangers: false };

export class Inbound {
  readonly #limits: TcpLimits;
  readonly #limited: (limit: InboundLimit, peer: InboundPeer) => void;
  readonly #unfinished = new Map<InboundPeer, Unfinished>();
  #unfinishedBytes = 0;
  /** Of those, the bytes of peers that were not admitted when they came. */
  #strangersBytes = 0;
  /** Of all peers that are not admitted together. */
  readonly #strangers: Allowance;

  constructor(limits: TcpLimits, limited: (limit: InboundLimit, peer: InboundPeer) => void) {
    this.#limits = limits;
    this.#limited = limited;
    const { messagesPerSecondInTotal, bytesPerSecondInTotal } = limits;
    this.#strangers = new Allowance(
      messagesPerSecondInTotal,
      messagesPerSecondInTotal,
      bytesPerSecondInTotal,
    );
  }

  /** The bytes kept of unfinished frames of all peers. */
  get unfinishedBytes(): number {
    return this.#unfinishedBytes;
  }

  newAllowance(): Allowance {
    const { messagesPerSecondIn, messagesBurstIn, bytesPerSecondIn } = this.#limits;
    return new Allowance(messagesPerSecondIn, messagesBurstIn, bytesPerSecondIn);
  }

  /** A peer has sent this much, and may have to wait before it is read again. `bytes` includes the heartbeats. */
  read(peer: InboundPeer, messages: number, heartbeats: number, bytes: number, time: number): void {
    this.#keep(peer);
    const isOverInSum = !peer.isAdmitted && this.#isOverInSum(peer.allowance, messages, bytes, time);
    const over = peer.allowance.use(messages + heartbeats, bytes, time);
    if (over !== undefined) this.#pause(peer, over);
    else if (isOverInSum) this.#pause(peer, 'inTotal');
  }

  /** Whether a peer that was paused may be read again. */
  mayRead(peer: InboundPeer, time: number): boolean {
    if (!peer.allowance.isLeft(time)) return false;
    return peer.isAdmitted || this.#strangers.isLeft(time);
  }

  forget(peer: InboundPeer): void {
    const { bytes, isStrangers } = this.#unfinished.get(peer) ?? NOTHING;
    this.#unfinishedBytes -= bytes;
    if (isStrangers) this.#strangersBytes -= bytes;
    this.#unfinished.delete(peer);
  }

  /** Charges the shared allowance, before the peer's own is charged. */
  #isOverInSum(own: Allowance, messages: number, bytes: number, time: number): boolean {
    if (!this.#strangers.isLeft(time)) return true;
    const { messagesPerSecondInTotal, bytesPerSecondInTotal } = this.#limits;
    const messagesCharged = Math.min(messages, own.messagesLeft(time), messagesPerSecondInTotal);
    const bytesCharged = Math.min(bytes, own.bytesLeft(time), bytesPerSecondInTotal);
    return this.#strangers.use(messagesCharged, bytesCharged, time) !== undefined;
  }

  #keep(peer: InboundPeer): void {
    const { unfinishedBytes: bytes, isAdmitted } = peer;
    const { bytes: before } = this.#unfinished.get(peer) ?? NOTHING;
    if (bytes === before) return;
    this.forget(peer);
    if (bytes > 0) this.#unfinished.set(peer, { bytes, isStrangers: !isAdmitted });
    this.#unfinishedBytes += bytes;
    if (!isAdmitted) this.#strangersBytes += bytes;
    if (bytes < before) return;
    const { unfinishedBytesTotal, unfinishedBytesBeforeAdmission } = this.#limits;
    if (this.#strangersBytes > unfinishedBytesBeforeAdmission) {
      this.#closeLargest('unfinishedBytesBeforeAdmission', ({ isStrangers }) => isStrangers);
    }
    if (this.#unfinishedBytes > unfinishedBytesTotal) {
      this.#closeLargest('unfinishedBytesTotal', ({ bytes }) => bytes > SMALL_FRAME_BYTES);
    }
  }

  /** Frames that have grown later come later, so of equally large ones this closes the one that has waited longest. */
  #closeLargest(
    limit: 'unfinishedBytesTotal' | 'unfinishedBytesBeforeAdmission',
    mayClose: (unfinished: Unfinished) => boolean,
  ): void {
    let largest: InboundPeer | undefined;
    let most = 0;
    for (const [peer, unfinished] of this.#unfinished) {
      if (unfinished.bytes <= most || !mayClose(unfinished)) continue;
      [largest, most] = [peer, unfinished.bytes];
    }
    if (largest === undefined) return;
    this.forget(largest);
    this.#limited(limit, largest);
    largest.close(new UnfinishedFramesError(limit, this.#limits[limit]));
  }

  #pause(peer: InboundPeer, limit: InboundLimit): void {
    this.#limited(limit, peer);
    peer.pause();
  }
}

/** So many messages and bytes a second, and some at once. Use beyond that has to wait. */
export class Allowance {
  readonly #messagesPerMs: number;
  readonly #messagesMost: number;
  readonly #bytesPerMs: number;
  readonly #bytesMost: number;
  #messages: number;
  #bytes: number;
  #refilledAt = 0;

  constructor(messagesPerSecond: number, messagesMost: number, bytesPerSecond: number) {
    this.#messagesPerMs = messagesPerSecond / 1_000;
    this.#messages = this.#messagesMost = messagesMost;
    this.#bytesPerMs = bytesPerSecond / 1_000;
    this.#bytes = this.#bytesMost = bytesPerSecond;
  }

  /** Of which there is nothing left, if so. */
  use(messages: number, bytes: number, time: number): 'messagesPerSecondIn' | 'bytesPerSecondIn' | undefined {
    this.#refill(time);
    this.#messages -= messages;
    this.#bytes -= bytes;
    if (this.#messages < 0) return 'messagesPerSecondIn';
    return this.#bytes < 0 ? 'bytesPerSecondIn' : undefined;
  }

  messagesLeft(time: number): number {
    this.#refill(time);
    return Math.max(0, this.#messages);
  }

  bytesLeft(time: number): number {
    this.#refill(time);
    return Math.max(0, this.#bytes);
  }

  isLeft(time: number): boolean {
    this.#refill(time);
    return this.#messages >= 0 && this.#bytes >= 0;
  }

  #refill(time: number): void {
    const ms = time - this.#refilledAt;
    if (ms <= 0) return;
    this.#refilledAt = time;
    this.#messages = Math.min(this.#messagesMost, this.#messages + ms * this.#messagesPerMs);
    this.#bytes = Math.min(this.#bytesMost, this.#bytes + ms * this.#bytesPerMs);
  }
}
