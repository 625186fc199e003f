/**
 * The pool's protocol as bytes, for a transport. `docs/protocol.md` is the same in English, for those who
 * write a client in another language.
 */

import type { Codec } from '../../runtime/codec.ts';
import type { FromManager, ToGate } from '../core/messages.ts';
import { decodeFromManager, decodeToManager, encodePayload } from './messages.ts';

/**
 * We speak `version`, and understand all from `oldest` on. Version 1 had no proofs, so anybody could speak for any owner. In
 * version 2 Managers answered no probes, so clients could not tell that two of them lead different logs.
 */
export const POOL_PROTOCOL: { readonly name: string; readonly version: number; readonly oldest: number } = {
  name: 'leasehold-pool',
  version: 3,
  oldest: 3,
};

/** For a Manager. */
export const managerCodec: Codec<FromManager, ToGate> = { encode: encodePayload, decode: decodeToManager };

/** For owners, look-ups and supervisors. */
export const clientCodec: Codec<ToGate, FromManager> = {
  encode: encodePayload,
  decode: decodeFromManager,
};
