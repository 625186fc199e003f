/** A beat in five bytes: the kind, and the number. Declared once, it is written, read and checked: no byte is trusted before. */

import type { Codec } from '../../leasehold/src/runtime/codec.ts';
import { decode, encode, type Form, uint32, union } from '../../leasehold/src/runtime/wire/form.ts';
import type { Beat } from './core.ts';

export const beat: Form<Beat> = union<'kind', Beat>('kind', { beat: { number: uint32 } });

export const codec: Codec<Beat, Beat> = {
  encode: (message) => encode(beat, message),
  decode: (frame) => decode(beat, frame),
};
