/**
 * Shared limits as bytes, for the connections among processes of a pool: a process that asks writes {@link ToOwner} and reads answers, the
 * owner of a key the other way round.
 */

import type { Codec } from '../../runtime/codec.ts';
import { decode, encode } from '../../runtime/wire/form.ts';
import type { Answer } from '../core/shared/messages.ts';
import { answer, type ToOwner, toOwner } from './messages.ts';

/** The version changes with every change of a form. */
export const LIMIT_PROTOCOL: { readonly name: string; readonly version: number; readonly oldest: number } = {
  name: 'leasehold-ratelimit',
  version: 4,
  oldest: 4,
};

export const askCodec: Codec<ToOwner, Answer> = {
  encode: (message) => encode(toOwner, message),
  decode: (frame) => decode(answer, frame),
};

export const answerCodec: Codec<Answer, ToOwner> = {
  encode: (message) => encode(answer, message),
  decode: (frame) => decode(toOwner, frame),
};
