/**
 * Several asks or answers in one message of a group: all that one server has to say to another in a turn.
 *
 *     bundle   kind  (length  frame) … until the message ends
 *
 * Each frame is an ask or an answer as on a connection (`codec.ts`).
 */

import { wholePayload } from '../../runtime/codec.ts';
import { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { Flaw, refusing } from '../../runtime/msgpack/flaw.ts';
import type { Answer, Ask } from '../owner/messages.ts';
import { answerCodec, askCodec } from './codec.ts';

export type Bundle =
  | { readonly kind: 'asks'; readonly asks: readonly Ask[] }
  | { readonly kind: 'answers'; readonly answers: readonly Answer[] };

const KIND = { asks: 1, answers: 2 } as const;
/** Below the longest message of a group, with room for one more ask. */
const BUNDLE_BYTES = 48 * 1024;

const writer = new ByteWriter();

/** As many messages as are needed. */
export function encodeBundle(bundle: Bundle): Uint8Array[] {
  const frames =
    bundle.kind === 'asks'
      ? bundle.asks.map((ask) => wholePayload(askCodec.encode(ask)))
      : bundle.answers.map((answer) => wholePayload(answerCodec.encode(answer)));
  const messages: Uint8Array[] = [];
  let bytes = 0;
  writer.clear();
  for (const frame of frames) {
    if (bytes === 0) writer.uint8(KIND[bundle.kind]);
    writer.varint(frame.length);
    writer.bytes(frame);
    bytes += frame.length;
    if (bytes < BUNDLE_BYTES) continue;
    messages.push(writer.take());
    bytes = 0;
  }
  if (bytes > 0) messages.push(writer.take());
  return messages;
}

/** @throws {MalformedMessageError} and nothing else, for all bytes */
export function decodeBundle(message: Uint8Array): Bundle {
  return refusing(() => {
    const reader = new ByteReader(message);
    const kind = reader.uint8();
    const frames: Uint8Array[] = [];
    while (reader.left > 0) frames.push(reader.bytes(reader.varint()));
    if (kind === KIND.asks) return { kind: 'asks', asks: frames.map((frame) => answerCodec.decode(frame)) };
    if (kind === KIND.answers) {
      return { kind: 'answers', answers: frames.map((frame) => askCodec.decode(frame)) };
    }
    throw new Flaw(`is of kind ${kind}, which there is not`);
  });
}
