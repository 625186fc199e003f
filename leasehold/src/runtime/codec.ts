/**
 * Between messages and the bytes of one frame. A transport knows frames, a protocol knows messages;
 * a codec is what the one is given by the other.
 */

export interface Codec<Out, In> {
  /** Cheap to call twice with the same object: one push goes to thousands of peers. */
  encode(message: Out): Uint8Array;
  /** @throws {MalformedMessageError} and nothing else, whatever the bytes are */
  decode(frame: Uint8Array): In;
}
