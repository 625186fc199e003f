/**
 * The message handlers of a transport, and the path of a frame to them.
 *
 * Two parties can be at fault on that path, and they must be told apart. Bytes that cannot be decoded are the peer's
 * fault: the peer loses its connection, and no handler sees the frame. An error thrown by a handler is our own fault;
 * blaming the peer would hide the fault and cut off a correct peer.
 */

import type { Codec } from '../../runtime/codec.ts';
import { LeaseholdError, MalformedMessageError } from '../../runtime/errors.ts';

export class MessageHandlers<In> {
  readonly #callbacks = new Set<(from: string, message: In) => void>();

  add(callback: (from: string, message: In) => void): Disposable {
    // The same function may be added twice.
    const own = (from: string, message: In): void => callback(from, message);
    this.#callbacks.add(own);
    return { [Symbol.dispose]: () => void this.#callbacks.delete(own) };
  }

  /**
   * A decoding error is the peer's fault, and costs that peer its connection and no other process anything. An error
   * thrown by a handler is a fault of the program, and is not caught.
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
