/**
 * The pool's protocol as bytes, for a transport. `docs/protocol.md` is the same in English, for those who
 * write a client in another language.
 */

import type { Codec } from '../../runtime/codec.ts';
import { decodeFromManager, decodeToManager } from '../decode.ts';
import type { FromManager, ToManager } from '../messages.ts';
import { encodePayload } from './encode.ts';

/** We speak `version`, and understand all from `oldest` on. */
export const POOL_PROTOCOL: { readonly name: string; readonly version: number; readonly oldest: number } = {
  name: 'leasehold-pool',
  version: 1,
  oldest: 1,
};

/** For a Manager. */
export const managerCodec: Codec<FromManager, ToManager> = { encode: encodePayload, decode: decodeToManager };

/** For owners, look-ups and supervisors. */
export const clientCodec: Codec<ToManager, FromManager> = {
  encode: encodePayload,
  decode: decodeFromManager,
};
