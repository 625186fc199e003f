/**
 * Those who listen to a transport, and the way of a frame to them.
 *
 * On that way two can be at fault, and they must be told apart. Bytes that cannot be decoded are the
 * peer's doing: it loses its connection, and nobody hears of the frame. What a listener throws is our own
 * doing, and to blame the peer for it would hide a fault and cut off somebody who did nothing.
 */

import type { Codec } from '../../runtime/codec.ts';
import { LeaseholdError, MalformedMessageError } from '../../runtime/errors.ts';

export class Audience<In> {
  readonly #callbacks = new Set<(from: string, message: In) => void>();

  add(callback: (from: string, message: In) => void): Disposable {
    // The same function may listen twice.
    const own = (from: string, message: In): void => callback(from, message);
    this.#callbacks.add(own);
    return { [Symbol.dispose]: () => void this.#callbacks.delete(own) };
  }

  /**
   * Whatever decoding throws was brought about by the peer, so it costs the peer its connection and
   * nobody else anything. What a listener throws is a fault of the program, and is not caught.
   */
  decode(
    codec: Codec<never, In>,
    frame: Uint8Array,
    connection: { close(why: LeaseholdError): void },
    from: string,
  ): void {
    let message: In;
    try {
      message = codec.decode(frame);
    } catch (cause) {
      const isTyped = cause instanceof LeaseholdError;
      connection.close(isTyped ? cause : new MalformedMessageError('frame', 'cannot be decoded', { cause }));
      return;
    }
    for (const callback of this.#callbacks) callback(from, message);
  }
}
