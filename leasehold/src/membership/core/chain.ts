/**
 * The chain: the views through which a server has come since that server could last act.
 *
 * After a crash, the members that remain must wait (hold) before they act in the new view, because a server outside may still act on
 * their promise. A right that one server alone held before and still holds need not wait. The chain is the proof. A chain begins with the last
 * view whose hold was over at this server, and every view delivered since follows. A member *continues* while its view is confirmed and
 * the hold still runs. The member may then use a right that was its alone in every view of the chain and still is in the present view, on behalf
 * of the members that have the same chain (`kept`).
 *
 * Why that is safe: a server outside that acts on the promise of a kept member m acts in a view that m promised. Either that view is
 * in the chain, where the right was this server's alone, or that view lies before the chain, where m's hold is over.
 *
 * The chain is *unknown* (empty) at a new process and after a suspension: promises were given of which this process has no
 * memory. The chain stays unknown through all views that follow, until the hold of a view is over. A view whose hold never ended cannot
 * begin a chain: the forgotten promises may outlast that view (decision 0051).
 */

import type { Membership } from './incarnation.ts';

/** A chain longer than this is given up, so that records stay small; the server then waits for its hold. */
const CHAIN_MAX = 8;

export type Chain = readonly Membership[];

export const UNKNOWN_CHAIN: Chain = [];

/** The chain once `view` is over. */
export function chainAfter(chain: Chain, view: Membership, isHoldOver: boolean): Chain {
  const { key, members } = view;
  if (isHoldOver) return [{ key, members }];
  if (chain.length === 0 || chain.at(-1)?.key === key) return chain;
  return chain.length >= CHAIN_MAX ? UNKNOWN_CHAIN : [...chain, { key, members }];
}
