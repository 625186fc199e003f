/**
 * Between messages and the bytes of one frame. A transport knows frames, a protocol knows messages; a codec is given
 * to the transport by the protocol.
 */

/**
 * The bytes of one frame: in one piece, or with a long end that other frames have too. A whole table is the same for
 * every receiver; to copy the table for each would take half a megabyte a time.
 */
export type Payload = Uint8Array | WithTail;

export interface WithTail {
  readonly head: Uint8Array;
  /** Comes behind the head, and is never changed. */
  readonly tail: Uint8Array;
}

export interface Codec<Out, In> {
  /** Cheap to call twice with the same object: one push goes to thousands of peers. */
  encode(message: Out): Payload;
  /** @throws {MalformedMessageError} and nothing else, for all bytes */
  decode(frame: Uint8Array): In;
}

export const payloadBytes = (payload: Payload): number =>
  payload instanceof Uint8Array ? payload.length : payload.head.length + payload.tail.length;

/** In one piece. */
export function wholePayload(payload: Payload): Uint8Array {
  if (payload instanceof Uint8Array) return payload;
  const whole = new Uint8Array(payloadBytes(payload));
  whole.set(payload.head);
  whole.set(payload.tail, payload.head.length);
  return whole;
}
