/** The bounds of a message. Every list that a peer sends has one, so a message costs a known amount. */

import { GROUP_CLIENTS_MAX } from '../core/clients.ts';

/** In UTF-16 units, of a server's name and of the group's. */
export const NAME_CHARACTERS_MAX = 128;

/** Servers that one list may name: several times the supported size, so that a group that is too large still talks and says so. */
export const SERVERS_MAX = 256;

/** Records in one frame. A server has one of each server, those that are gone too. */
export const RECORDS_MAX: number = 2 * SERVERS_MAX;

/** Clients of one view: twice as many as a group takes, because two parts of a group may come together. */
export const CLIENTS_OF_VIEW_MAX: number = 2 * GROUP_CLIENTS_MAX;

/** The largest message of an application. */
export const BODY_BYTES_MAX: number = 64 * 1024;

/** As long as a chain can be; see `core/chain.ts`. */
export const CHAIN_MAX = 8;

/** The name of a channel for datagrams. */
export const CHANNEL_BYTES_MAX = 512;

/** Parts of the toolkit that one server says it takes part in. */
export const PARTS_MAX = 16;

export const VIEW_ID_BYTES_MAX = 64;

/**
 * Of a proposal, a record, a list and a start in milliseconds (the year 2527). Far above what counting reaches, and so small that the sum over all servers is still exact: the
 * greatest number that any server says goes into the next view, so one absurd number would be everybody's.
 */
export const NUMBER_MAX: number = 2 ** 44;

export const DIGEST_BYTES_MAX = 64;

export const HOLD_MS_MAX: number = 24 * 3_600_000;

/** A frame of several records is not larger than this. */
export const FRAME_BYTES: number = 128 * 1024;
