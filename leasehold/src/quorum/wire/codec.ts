/**
 * Quorum as bytes, for a transport. Replicas and clients connect to one port; the first byte of a frame says which of the two
 * kinds of words follow.
 *
 *     0  one message between replicas          1  calls of a client
 *
 * A replica speaks over the connections that it dialled and hears over those that it accepted, so a listener sends nothing but
 * replies to clients.
 */

import type { Codec } from '../../runtime/codec.ts';
import { MalformedMessageError } from '../../runtime/errors.ts';
import { type Call, decodeCalls, decodeReplies, encodeCalls, encodeReplies, type Reply } from './calls.ts';
import { decodeMessage, encodeMessage, type PeerMessage } from './messages.ts';

/** The version changes with every change of a form. */
export const QUORUM_PROTOCOL: { readonly name: string; readonly version: number; readonly oldest: number } = {
  name: 'leasehold-quorum',
  version: 7,
  oldest: 7,
};

export type Inbound =
  | { readonly from: 'replica'; readonly message: PeerMessage }
  | { readonly from: 'client'; readonly calls: readonly Call[] };

const MESSAGE = Uint8Array.of(0);
const CALLS = Uint8Array.of(1);

export const listenerCodec: Codec<readonly Reply[], Inbound> = {
  encode: encodeReplies,
  decode: (frame) => {
    const rest = frame.subarray(1);
    if (frame[0] === 0) return { from: 'replica', message: decodeMessage(rest) };
    if (frame[0] === 1) return { from: 'client', calls: decodeCalls(rest) };
    throw new MalformedMessageError('the message', 'must begin with 0 or 1');
  },
};

export const replicaCodec: Codec<PeerMessage, readonly Reply[]> = {
  encode: (message) => ({ head: MESSAGE, tail: encodeMessage(message) }),
  decode: decodeReplies,
};

export const clientCodec: Codec<readonly Call[], readonly Reply[]> = {
  encode: (calls) => ({ head: CALLS, tail: encodeCalls(calls) }),
  decode: decodeReplies,
};
