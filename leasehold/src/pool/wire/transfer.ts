/**
 * The messages by which state moves from one owner to another, as bytes: a protocol of its own, on the port of the target.
 *
 *     source                                     target
 *     hello { ticket, from, to, nonce, attempt }
 *                                                proof { key, signature }       or refused
 *     proof { key, signature }
 *                                                ready                          or refused
 *     names { 1 }                                acknowledged { 1 }             or refused
 *     chunk { 2 }, chunk { 3 }, …                acknowledged { 2 }, …          or refused
 *     last { n, digest }                         staged { digest }              or refused
 *
 * Names, chunks and the last are the *frames* of an attempt. They count from 1, and a target takes no other than the next. The *digest* is about
 * all frames before the last: how many items, how many bytes of items, and the CRC-32 of the frames as they travelled.
 *
 * Every list and text has a bound. Before the source is proved, a target reads frames of 1 KiB, which its hello and its proof fit into.
 */

import {
  bytes,
  checked,
  decode,
  encode,
  type Form,
  list,
  record,
  text,
  uint32,
  union,
  whole,
  wholeUpTo,
  withSamples,
} from '../../runtime/wire/form.ts';
import { MOST_TICKETS } from '../core/moves/limits.ts';

export const TRANSFER_PROTOCOL: { readonly name: string; readonly version: number; readonly oldest: number } =
  {
    name: 'leasehold-transfer',
    version: 1,
    oldest: 1,
  };

export const MOST_ATTEMPTS = 3;
/** Of one chunk, and so of one turn of either end. */
export const CHUNK_ITEMS_MAX = 512;
export const CHUNK_BYTES_MAX: number = 256 * 1024;
/** A larger item cannot travel. A chunk above {@link CHUNK_BYTES_MAX} has one item. */
export const ITEM_BYTES_MAX: number = 16 * 1024 * 1024;
/** An item with all that is around it. */
export const FRAME_BYTES_MAX: number = ITEM_BYTES_MAX + 64 * 1024;
/** What may be on its way without an acknowledgement; one frame alone may be larger. */
export const WINDOW_BYTES: number = 4 * 1024 * 1024;
/** The largest frame before the source is proved. */
export const UNPROVED_BYTES_MAX = 1_024;

/** What an attempt has sent, or has received: the same at both ends, or something was lost. */
export interface Digest {
  readonly items: number;
  readonly bytes: number;
  readonly checksum: number;
}

/** As reports have it. */
export const formatDigest = ({ items, bytes: total, checksum }: Digest): string =>
  `${items}-${total}-${checksum.toString(16)}`;

export interface SourceHello {
  readonly kind: 'hello';
  readonly ticket: string;
  /** Incarnations. */
  readonly from: string;
  readonly to: string;
  /** Random, drawn by the source for this connection. */
  readonly nonce: string;
  /** From 1. */
  readonly attempt: number;
}

export interface TransferProofMessage {
  readonly kind: 'proof';
  readonly key: string;
  readonly signature: string;
}

/** The forms of state that this source has. Chunks name them by their place here. */
export interface NamesFrame {
  readonly kind: 'names';
  readonly sequence: number;
  readonly names: readonly NameOfState[];
}

export interface NameOfState {
  readonly name: string;
  readonly version: number;
}

export interface ChunkFrame {
  readonly kind: 'chunk';
  readonly sequence: number;
  /** The place of the name in {@link NamesFrame.names}. */
  readonly place: number;
  readonly items: readonly Uint8Array[];
}

export interface LastFrame {
  readonly kind: 'last';
  readonly sequence: number;
  readonly digest: Digest;
}

export type TransferFrame = NamesFrame | ChunkFrame | LastFrame;
export type FromSource = SourceHello | TransferProofMessage | TransferFrame;

/** The source is proved, and may send frames. */
export interface Ready {
  readonly kind: 'ready';
}

/** Everything up to this frame is staged. */
export interface Acknowledged {
  readonly kind: 'acknowledged';
  readonly sequence: number;
}

/** Everything is staged, and is kept until the table has decided. */
export interface Staged {
  readonly kind: 'staged';
  readonly digest: Digest;
}

/** The target takes nothing more by this ticket on this connection. */
export interface TransferRefused {
  readonly kind: 'refused';
  readonly code: string;
  readonly why: string;
}

export type FromTarget = TransferProofMessage | Ready | Acknowledged | Staged | TransferRefused;

const hexadecimal = (digits: number): Form<string> =>
  withSamples(
    checked(
      text(digits),
      (value) => value.length === digits && /^[0-9a-f]*$/.test(value),
      `must be ${digits} hexadecimal digits`,
    ),
    () => ['0f'.repeat(digits / 2), 'a9'.repeat(digits / 2)],
  );

const named = (longestBytes: number): Form<string> =>
  checked(text(longestBytes), (value) => value !== '', 'must not be empty');

/** Short enough for a hello of 1 KiB. */
const ticket: Form<string> = named(256);
const incarnation: Form<string> = named(128);
const sequence: Form<number> = checked(whole, (value) => value > 0, 'must be a whole number from 1');
const place: Form<number> = wholeUpTo(MOST_TICKETS - 1);
const digest: Form<Digest> = record<Digest>({ items: whole, bytes: whole, checksum: uint32 });
const proof = { key: hexadecimal(64), signature: hexadecimal(128) };

const names: Form<readonly NameOfState[]> = list(
  record<NameOfState>({ name: named(768), version: whole }),
  MOST_TICKETS,
);

const fromSource: Form<FromSource> = union<'kind', FromSource>('kind', {
  hello: {
    ...{ ticket, from: incarnation, to: incarnation, nonce: hexadecimal(32) },
    attempt: checked(wholeUpTo(MOST_ATTEMPTS), (value) => value > 0, 'must be a whole number from 1'),
  },
  proof,
  names: { sequence, names },
  chunk: { sequence, place, items: list(bytes(ITEM_BYTES_MAX), CHUNK_ITEMS_MAX) },
  last: { sequence, digest },
});

const fromTarget: Form<FromTarget> = union<'kind', FromTarget>('kind', {
  proof,
  ready: {},
  acknowledged: { sequence },
  staged: { digest },
  refused: { code: text(64), why: text(2_048) },
});

export const transferForms: { readonly fromSource: Form<FromSource>; readonly fromTarget: Form<FromTarget> } =
  { fromSource, fromTarget };

export const encodeFromSource = (message: FromSource): Uint8Array => encode(fromSource, message);
export const encodeFromTarget = (message: FromTarget): Uint8Array => encode(fromTarget, message);

/** @throws {MalformedMessageError} if it is not something that a source says */
export const decodeFromSource = (frame: Uint8Array): FromSource => decode(fromSource, frame);

/** @throws {MalformedMessageError} if it is not something that a target says */
export const decodeFromTarget = (frame: Uint8Array): FromTarget => decode(fromTarget, frame);
