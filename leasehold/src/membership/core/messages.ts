/**
 * What servers say to each other. A heartbeat proves a link and confirms a view, a record says what a server
 * knows and proposes, and a packet carries a payload over links that work between two servers without one.
 *
 * And what a server and its clients say to each other: a client sends stamps, a server answers each with the rest of its own lease,
 * and tells views as differences.
 */

import type { Instant } from '../../runtime/time.ts';
import type { Attachment, ClientList } from './attachment.ts';
import type { Incarnation, MemberId, Membership } from './incarnation.ts';
import type { ViewDifference } from './view-difference.ts';

/** A server's proposal, decided in one step and never changed; a later proposal has a greater number. */
export interface Proposal extends Membership {
  readonly number: number;
  /** For how long, from this proposal on, a server outside the proposal may still act on the proposer's promise. */
  readonly holdMs: number;
  /** See `chain.ts`. */
  readonly chain: readonly Membership[];
}

/** Everything a server says about itself. Of one server, the record with the greater (incarnation, sequence) counts. */
export interface ServerRecord extends MemberId {
  readonly sequence: number;
  /** The processes to which this server has a link that works both ways. */
  readonly links: readonly MemberId[];
  /** The members that this server cannot reach, not even over other servers. */
  readonly cannotReach: readonly MemberId[];
  /** The clients attached to this server. */
  readonly list: ClientList;
  readonly proposal: Proposal;
  /** The server has stopped acting and leaves the group for good. */
  readonly hasLeft: boolean;
}

/** The newest stamp that the sender has heard from the receiver, and the incarnation that sent the stamp. */
export interface Echo {
  readonly incarnation: Incarnation;
  readonly stamp: Instant;
}

/** Confirms a view, directly or over the overlay. */
export interface Word {
  readonly incarnation: Incarnation;
  /** The sender's clock at sending. No other server ever compares this instant with anything. */
  readonly stamp: Instant;
  /** By any path. */
  readonly echo: Echo | undefined;
  /** The sender promises to act in no other view without the receiver for `promiseMs` after the echoed stamp arrived. */
  readonly viewId: string | undefined;
}

export interface Version extends MemberId {
  readonly sequence: number;
}

export interface Heartbeat {
  readonly kind: 'heartbeat';
  readonly word: Word;
  /** As {@link Word.echo}, but only of heartbeats that came over the link itself, as proof of the link. */
  readonly linkEcho: Echo | undefined;
  /** Of the versions of the records that the sender has of its own component. */
  readonly digest: string;
  /** These versions, if the digest in the receiver's last heartbeat was another one. */
  readonly versions: readonly Version[] | undefined;
}

export interface Records {
  readonly kind: 'records';
  readonly records: readonly ServerRecord[];
}

export type Payload =
  | { readonly kind: 'word'; readonly word: Word }
  | {
      readonly kind: 'data';
      readonly id: number;
      /** The sender waits for no message with a lower id any more. */
      readonly oldestId: number;
      readonly body: Uint8Array;
    }
  | { readonly kind: 'acknowledgement'; readonly id: number }
  | Datagram
  /** From a client of the sender, or for a client of the receiver. */
  | { readonly kind: 'post'; readonly post: Post };

/** A message of the application with a client at one end or at both; see `letters.ts`. */
export interface Letter {
  readonly kind: 'letter';
  readonly from: MemberId;
  readonly to: MemberId;
  /** The view in which the letter was sent, and outside which no process hands the letter over. */
  readonly viewId: string;
  readonly id: number;
  /** The sender waits for no message with a lower id any more. */
  readonly oldestId: number;
  readonly body: Uint8Array;
}

/** The letter with this id was handed over. */
export interface Receipt {
  readonly kind: 'receipt';
  readonly from: MemberId;
  readonly to: MemberId;
  readonly viewId: string;
  readonly id: number;
}

export type Post = Letter | Receipt;

/** For a part of the toolkit that stands on the group, and that repeats lost messages. */
export interface Datagram {
  readonly kind: 'datagram';
  readonly channel: string;
  readonly body: Uint8Array;
}

export interface Packet {
  readonly kind: 'packet';
  readonly from: MemberId;
  readonly to: MemberId;
  /** How often the packet may still be forwarded. */
  readonly hopsLeft: number;
  readonly payload: Payload;
}

export type Message = Heartbeat | Records | Packet;

/** A client's heartbeat. The first one to a server attaches the client there. */
export interface Stamp {
  readonly kind: 'stamp';
  readonly client: Attachment;
  /** The server that is meant: the address may lead to another one. */
  readonly to: string;
  /** The client's clock at sending. The server only repeats this instant. */
  readonly stamp: Instant;
  /** The process to which the client is attached; undefined until the first answer. */
  readonly server: Incarnation | undefined;
  /** The newest stamp that this process of the server has said. */
  readonly echo: Instant | undefined;
  /** The view that the client holds, by the server's number; 0 for none. This acknowledges the view and ends every earlier one at the client. */
  readonly holds: number;
  /** The greatest number in the id of a view that this client has had, at any server. The views that count the client have greater ones. */
  readonly greatestNumber: number;
  /** Whether the server may list the client; see `client.ts`. */
  readonly isCountable: boolean;
}

/** The client uses nothing any more on the word of this server. */
export interface Detach {
  readonly kind: 'detach';
  readonly client: Attachment;
}

/** A client sends a letter or a receipt. The server passes it on, and keeps nothing. */
export interface Outgoing {
  readonly kind: 'outgoing';
  readonly client: Attachment;
  readonly post: Post;
}

/** A letter or a receipt for this client. */
export interface Incoming {
  readonly kind: 'incoming';
  readonly client: Attachment;
  readonly incarnation: Incarnation;
  readonly post: Post;
}

export interface Answer {
  readonly kind: 'answer';
  /** The attachment that is answered. */
  readonly client: Attachment;
  readonly incarnation: Incarnation;
  /** The client's stamp that is answered, and the server's clock. */
  readonly stamp: Instant;
  readonly ownStamp: Instant;
  /** The server's present view; 0 without one. */
  readonly number: number;
  /** For how long the client may act in this view, from its stamp on; 0 for not at all. */
  readonly leaseMs: number;
}

export interface ViewForClient {
  readonly kind: 'view';
  readonly client: Attachment;
  readonly incarnation: Incarnation;
  readonly number: number;
  readonly difference: ViewDifference;
}

/** The server does not list the client, or no longer. */
export interface Refusal {
  readonly kind: 'refusal';
  readonly client: Attachment;
  readonly incarnation: Incarnation;
  /**
   * `leaving`: the server waits for the client to detach. `outbid`: a higher attachment of this name is known. `server-name`: a server has this name, and names
   * are unique in a group.
   */
  readonly reason: 'leaving' | 'full' | 'silent' | 'outbid' | 'server-name';
  /** The higher attachment, if outbid. */
  readonly by: Attachment | undefined;
}

export type FromClient = Stamp | Detach | Outgoing;
export type ToClient = Answer | ViewForClient | Refusal | Incoming;
export type AnyMessage = Message | FromClient | ToClient;
