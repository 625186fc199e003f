/** A beat in five bytes: the kind, and the number. A reader trusts no byte before it was checked. */

import type { Codec } from '../../leasehold/src/runtime/codec.ts';
import { MalformedMessageError } from '../../leasehold/src/runtime/errors.ts';
import type { Beat } from './core.ts';

const BEAT = 1;
const BYTES = 5;

export const codec: Codec<Beat, Beat> = {
  encode: ({ number }) => {
    const bytes = new Uint8Array(BYTES);
    bytes[0] = BEAT;
    new DataView(bytes.buffer).setUint32(1, number);
    return bytes;
  },
  decode: (frame) => {
    if (frame.length !== BYTES) throw new MalformedMessageError('frame', `must have ${BYTES} bytes`);
    if (frame[0] !== BEAT) throw new MalformedMessageError('kind', `must be ${BEAT}`);
    const number = new DataView(frame.buffer, frame.byteOffset, frame.length).getUint32(1);
    return { kind: 'beat', number };
  },
};
