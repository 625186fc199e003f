/**
 * Flease as bytes, for a transport. `docs/flease-protocol.md` is the same in English, for authors of a member in
 * another language.
 *
 * The output is bytes already, because a packet may take several frames and a transport wants one at a time:
 *
 *     for (const frame of encodePacket(packet)) dialer.send(address, frame);
 */

import type { Codec } from '../../runtime/codec.ts';
import type { Packet } from '../core/messages.ts';
import { decodePacket } from './packet.ts';

/** We speak `version`, and understand all from `oldest` on. */
export const FLEASE_PROTOCOL: { readonly name: string; readonly version: number; readonly oldest: number } = {
  name: 'leasehold-flease',
  version: 2,
  oldest: 2,
};

export const fleaseCodec: Codec<Uint8Array, Packet> = { encode: (frame) => frame, decode: decodePacket };
