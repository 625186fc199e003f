/**
 * Asks and answers as bytes, one to a frame.
 *
 *     ask      1  id  limiter  key  limit  perMs  burst  flags  size  need  want  (id  tokens) … until the frame ends
 *     grant    2  id  tokens  remaining  resetMs
 *     denial   3  id  retryAfterMs  resetMs
 *     later    4  id
 *
 * Limits and times are doubles, all other numbers varints. Flags: 1 for the limiter's own limit, 2 for an empty start. A decoder reserves
 * nothing on the word of a peer: a text is as long as the bytes that came, and there are as many leftovers as were read.
 */

import type { Codec } from '../../runtime/codec.ts';
import { MalformedMessageError } from '../../runtime/errors.ts';
import { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { Flaw, refusing } from '../../runtime/msgpack/flaw.ts';
import { resolveRate } from '../core/rate.ts';
import type { Answer, Ask, Leftover } from '../owner/messages.ts';

export const LIMIT_PROTOCOL: { readonly name: string; readonly version: number; readonly oldest: number } = {
  name: 'leasehold-ratelimit',
  version: 2,
  oldest: 2,
};

/** Of a limiter, and of a key of a shared limiter, in UTF-16 units. Both together are a key of a pool. */
export const NAME_MAX = 100;
export const KEY_MAX = 3_900;

const KIND = { ask: 1, grant: 2, denial: 3, later: 4 } as const;
const DEFAULT_FLAG = 1;
const EMPTY_FLAG = 2;
/** Batches that can be alive at once: one ask after the other, and each batch lives 400 ms. */
const LEFTOVERS_MAX = 10_000;

/** Of a group. A forged size must not make the parts of a limit vanish. */
export const SIZE_MAX = 1_000;

const writer = new ByteWriter();
const writeLength = (length: number): void => writer.varint(length);

export const askCodec: Codec<Ask, Answer> = { encode: encodeAsk, decode: decodeAnswer };
export const answerCodec: Codec<Answer, Ask> = { encode: encodeAnswer, decode: decodeAsk };

function encodeAsk(ask: Ask): Uint8Array {
  writer.clear();
  writer.uint8(KIND.ask);
  writer.varint(ask.id);
  writer.text(ask.limiter, writeLength);
  writer.text(ask.key, writeLength);
  writer.float64(ask.limit);
  writer.float64(ask.perMs);
  writer.float64(ask.burst);
  writer.uint8((ask.isDefault ? DEFAULT_FLAG : 0) | (ask.onLoss === 'empty' ? EMPTY_FLAG : 0));
  writer.varint(ask.size);
  writer.varint(ask.need);
  writer.varint(ask.want);
  for (const { id, tokens } of ask.left) {
    writer.varint(id);
    writer.varint(tokens);
  }
  return writer.take();
}

function encodeAnswer(answer: Answer): Uint8Array {
  writer.clear();
  writer.uint8(KIND[answer.kind]);
  writer.varint(answer.id);
  if (answer.kind === 'grant') {
    writer.varint(answer.tokens);
    writer.varint(answer.remaining);
    writer.float64(answer.resetMs);
  } else if (answer.kind === 'denial') {
    writer.float64(answer.retryAfterMs);
    writer.float64(answer.resetMs);
  }
  return writer.take();
}

function decodeAsk(frame: Uint8Array): Ask {
  return refusing(() => {
    const reader = new ByteReader(frame);
    if (reader.uint8() !== KIND.ask) throw new Flaw('must be an ask');
    const id = reader.varint();
    const limiter = textOf(reader, NAME_MAX);
    const key = textOf(reader, KEY_MAX);
    const [limit, perMs, burst] = [reader.float64(), reader.float64(), reader.float64()];
    checkRate(limit, perMs, burst);
    const flags = reader.uint8();
    if (flags > (DEFAULT_FLAG | EMPTY_FLAG)) throw new Flaw('has flags that there are not');
    const size = reader.varint();
    if (size > SIZE_MAX) throw new Flaw(`must have a size of at most ${SIZE_MAX}`);
    const [need, want] = [reader.varint(), reader.varint()];
    if (need > want) throw new Flaw('must not need more than it wants');
    const left: Leftover[] = [];
    while (reader.left > 0 && left.length < LEFTOVERS_MAX) {
      left.push({ id: reader.varint(), tokens: reader.varint() });
    }
    reader.finish();
    const isDefault = (flags & DEFAULT_FLAG) !== 0;
    const onLoss = (flags & EMPTY_FLAG) === 0 ? 'full' : 'empty';
    return { id, limiter, key, limit, perMs, burst, isDefault, onLoss, size, need, want, left };
  });
}

function decodeAnswer(frame: Uint8Array): Answer {
  return refusing(() => {
    const reader = new ByteReader(frame);
    const answer = answerOf(reader);
    reader.finish();
    return answer;
  });
}

function answerOf(reader: ByteReader): Answer {
  const kind = reader.uint8();
  const id = reader.varint();
  switch (kind) {
    case KIND.grant: {
      const [tokens, remaining] = [reader.varint(), reader.varint()];
      return { kind: 'grant', id, tokens, remaining, resetMs: timeOf(reader) };
    }
    case KIND.denial: {
      const retryAfterMs = timeOf(reader);
      return { kind: 'denial', id, retryAfterMs, resetMs: timeOf(reader) };
    }
    case KIND.later:
      return { kind: 'later', id };
    default:
      throw new Flaw(`is of kind ${kind}, which there is not`);
  }
}

function textOf(reader: ByteReader, most: number): string {
  const length = reader.varint();
  const text = length > 3 * most ? '' : reader.text(length);
  if (text !== '' && text.length <= most) return text;
  throw new Flaw(`must have texts of 1 to ${most} characters here`);
}

function timeOf(reader: ByteReader): number {
  const ms = reader.float64();
  if (ms >= 0 && ms < Number.POSITIVE_INFINITY) return ms + 0;
  throw new Flaw('must have times that are finite and not negative');
}

/** By the same rules as an option: the core need not doubt a rate. */
function checkRate(limit: number, perMs: number, burst: number): void {
  try {
    resolveRate({ limit, per: perMs, burst });
  } catch (error) {
    throw new MalformedMessageError('limit', error instanceof Error ? error.message : 'is none');
  }
}
