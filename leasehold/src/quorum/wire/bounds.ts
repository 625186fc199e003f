/** How large things may be, on the wire, on the disk and for callers alike. */

import { LONGEST_KEY } from '../../runtime/errors.ts';

/** A character takes at most three bytes for each of its UTF-16 units. */
export const KEY_BYTES_MAX: number = 3 * LONGEST_KEY;

/** A value is at most 1 MiB. Larger ones belong into a store of their own, under a key that is kept here. */
export const VALUE_BYTES_MAX: number = 1024 * 1024;

/** Conditions and actions of one transaction. */
export const PARTS_MAX = 1_024;

/** Names of replicas and groups, in characters. */
export const NAME_CHARACTERS_MAX = 64;

/** `name~` and 32 hexadecimal digits; a name of 64 characters has at most 192 bytes. */
export const STORAGE_BYTES_MAX = 256;

/** An address of a replica as `host:port`. */
export const ADDRESS_BYTES_MAX = 512;

/**
 * The largest frame between replicas. Entries are split long before (`bytesPerMessage`); only a snapshot comes near. It is
 * one frame, so the whole state of a group must fit.
 */
export const PEER_FRAME_BYTES_MAX: number = 512 * 1024 * 1024;

/** The largest frame of a client: a transaction with several large values fits. */
export const CALL_FRAME_BYTES_MAX: number = 16 * 1024 * 1024;
