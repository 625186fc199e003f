/** The effects of a member: messages to send, and events for the application. */

import type { TraceEffect } from '../../runtime/trace.ts';
import type { MemberId } from './incarnation.ts';
import type { Datagram, Message, ToClient } from './messages.ts';
import type { MemberView } from './view.ts';

export type MemberEffect =
  | { readonly do: 'send'; readonly to: string; readonly message: Message }
  /** `to` is the connection on which the client was last heard. */
  | { readonly do: 'send-to-client'; readonly to: string; readonly message: ToClient }
  /** The present view is about to end: be careful. */
  | { readonly do: 'start-change' }
  | { readonly do: 'deliver-view'; readonly view: MemberView }
  /** No view could be agreed on in time. The next view ends that. */
  | { readonly do: 'no-view' }
  /** Enter this incarnation in the registry. Only in a group with a registry, and once for each incarnation. */
  | { readonly do: 'register'; readonly as: MemberId }
  /** End the registration of every incarnation before, and the attempt to register one. */
  | { readonly do: 'deregister' }
  | { readonly do: 'hand-over'; readonly from: MemberId; readonly body: Uint8Array }
  | { readonly do: 'hand-over-datagram'; readonly from: MemberId; readonly datagram: Datagram }
  | { readonly do: 'settle-send'; readonly id: number; readonly outcome: SendOutcome }
  /** A peer's clock runs at least (or, below 1, at most) so many times as fast as the own one. Told at every heartbeat. */
  | { readonly do: 'clock-outside-the-bound'; readonly peer: string; readonly rate: number }
  /** Another live process uses the name of this one. */
  | { readonly do: 'name-taken'; readonly by: MemberId }
  | TraceEffect;

/** `unknown`: a message with a client at one end was given up while the view goes on. */
export type SendOutcome = 'delivered' | 'new-view' | 'no-view' | 'unknown';

/** Whether a member may act: `acts`, or only with rights that were its alone all along (`continues`, see `chain.ts`), or not at all. */
export type Standing = 'acts' | 'continues' | 'none';

/** A message that waits for its acknowledgement under this id; none if there is no such member. */
export interface Sent {
  readonly id: number | undefined;
  readonly effects: MemberEffect[];
}

export interface Broadcast {
  readonly ids: readonly number[];
  readonly effects: MemberEffect[];
}
