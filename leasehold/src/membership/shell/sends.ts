/**
 * The messages of the application that wait for their acknowledgement. The core settles each of them: delivered, or failed because of a new
 * view or of panic, within a stated time (`core/overlay.ts`). The bytes that wait are bounded, because a sender that never awaits would
 * otherwise fill the memory. The core sends everything that waits again at each heartbeat, on the connections on which heartbeats travel, so the
 * bound is well below the queue of a connection (16 MiB): a burst of messages must not cost the view.
 */

import { unlessAborted } from '../../runtime/on-abort.ts';
import type { SendOutcome } from '../core/effects.ts';
import { LeftGroupError, NewViewError, PanicError, TooManyMessagesError } from '../errors.ts';

interface Waiting {
  readonly to: string;
  readonly bytes: number;
  resolve(): void;
  reject(why: Error): void;
}

/** Bytes of all messages that wait. */
export const WAITING_BYTES_MAX: number = 2 * 1024 * 1024;
/** What a message without a body counts for. */
export const OVERHEAD_BYTES = 256;

export class Sends {
  readonly #waiting = new Map<number, Waiting>();
  #bytes = 0;

  get count(): number {
    return this.#waiting.size;
  }

  /** @throws {TooManyMessagesError} */
  checkRoom(bytes: number, receivers: number): void {
    if (this.#bytes + receivers * (bytes + OVERHEAD_BYTES) > WAITING_BYTES_MAX)
      throw new TooManyMessagesError(WAITING_BYTES_MAX);
  }

  add(id: number, to: string, bytes: number, signal?: AbortSignal): Promise<void> {
    const counted = bytes + OVERHEAD_BYTES;
    this.#bytes += counted;
    const settled = new Promise<void>((resolve, reject) => {
      this.#waiting.set(id, { to, bytes: counted, resolve, reject });
    });
    return unlessAborted(settled, signal);
  }

  settle(id: number, outcome: SendOutcome): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    this.#bytes -= waiting.bytes;
    if (outcome === 'delivered') waiting.resolve();
    else waiting.reject(outcome === 'panic' ? new PanicError() : new NewViewError(waiting.to));
  }

  /** The process leaves: no acknowledgement will be heard. */
  end(): void {
    for (const { reject } of this.#waiting.values()) reject(new LeftGroupError());
    this.#waiting.clear();
    this.#bytes = 0;
  }
}
