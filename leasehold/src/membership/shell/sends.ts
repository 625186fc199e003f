/**
 * The messages of the application that wait for their acknowledgement. The core settles each of them: delivered, or failed because the
 * view ended, within a stated time (`core/overlay.ts`). The bytes that wait are bounded, because a sender that never awaits would
 * otherwise fill the memory. The core sends everything that waits again at each heartbeat, on the connections on which heartbeats travel, so the
 * bound is well below the queue of a connection (16 MiB): a burst of messages must not cost the view.
 */

import { deadline } from '../../runtime/deadline.ts';
import { invalidOption } from '../../runtime/errors.ts';
import type { CallOptions } from '../../runtime/handle.ts';
import { unlessAborted } from '../../runtime/on-abort.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { SendOutcome } from '../core/effects.ts';
import { busy, closed, notAcknowledged, tooLarge, viewChanged } from '../core/errors.ts';
import { BODY_BYTES_MAX } from '../wire/bounds.ts';

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

const utf8 = new TextEncoder();

export class Sends {
  readonly #runtime: Runtime;
  readonly #waiting = new Map<number, Waiting>();
  #bytes = 0;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  get count(): number {
    return this.#waiting.size;
  }

  /**
   * The bytes of a message.
   *
   * @throws {InvalidArgumentError} if it is none, or too large
   * @throws {UnavailableError} if too much waits already
   */
  bytesOf(message: Uint8Array | string, receivers: number): Uint8Array {
    const bytes = typeof message === 'string' ? utf8.encode(message) : message;
    if (!(bytes instanceof Uint8Array))
      throw invalidOption('message', message, 'it must be a text or a Uint8Array');
    if (bytes.length > BODY_BYTES_MAX) throw tooLarge(bytes.length, BODY_BYTES_MAX);
    if (this.#bytes + receivers * (bytes.length + OVERHEAD_BYTES) > WAITING_BYTES_MAX)
      throw busy(WAITING_BYTES_MAX);
    return bytes;
  }

  /** Settles with the message, or at the end of the time or the signal; the message may arrive after that. */
  async add(id: number, to: string, bytes: number, { timeoutMs, signal }: CallOptions): Promise<void> {
    const counted = bytes + OVERHEAD_BYTES;
    this.#bytes += counted;
    const settled = new Promise<void>((resolve, reject) => {
      this.#waiting.set(id, { to, bytes: counted, resolve, reject });
    });
    if (timeoutMs === undefined) return await unlessAborted(settled, signal);
    using time = deadline(this.#runtime, timeoutMs, signal);
    try {
      await unlessAborted(settled, time.signal);
    } catch (error) {
      throw time.isOver && error === time.signal.reason ? notAcknowledged(to) : error;
    }
  }

  settle(id: number, outcome: SendOutcome): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    this.#bytes -= waiting.bytes;
    if (outcome === 'delivered') waiting.resolve();
    else waiting.reject(outcome === 'unknown' ? notAcknowledged(waiting.to) : viewChanged(waiting.to));
  }

  /** The process leaves: no acknowledgement will be heard. */
  end(): void {
    for (const { reject } of this.#waiting.values()) reject(closed(true));
    this.#waiting.clear();
    this.#bytes = 0;
  }
}
