/**
 * Why a member did not say yes, in words. "No quorum" alone leaves one guessing among cables, clocks and
 * configurations; each of the members knows, or we do.
 */

import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, later } from '../../runtime/time.ts';
import type { PeerStatus } from '../core/peer-table.ts';
import type { RefusalCause } from '../core/attempt.ts';
import { leaseHeld, type NoMajority, noMajority } from '../core/errors.ts';
import type { Member } from '../core/member.ts';
import type { Item, Packet, Refused } from '../core/messages.ts';
import {
  disagreementWords,
  peerRecoveryWords,
  seconds,
  recoveryWords,
  troubleWords,
} from '../core/wording.ts';
import { peersAt, recoveryAt } from './at-present.ts';
import type { Ways } from './status.ts';

/** The facts about a peer, beside the peer's own messages. */
export interface PeerFacts extends Pick<PeerStatus, 'heardAgoMs' | 'view' | 'trouble'> {
  /** Whether we can send to the peer. */
  readonly connected: boolean;
  /** Why we cannot, or why the peer cannot send to us or acknowledges nothing. */
  readonly problem: string | undefined;
  /** How much longer the peer recovers, as told by the peer. */
  readonly recoversInMs: number | undefined;
}

export class Reasons {
  readonly #id: string;
  readonly #member: Member;
  readonly #connections: Pick<Ways, 'isConnected' | 'problemOf'>;
  readonly #clock: Pick<Runtime, 'now' | 'wallMs'>;
  /** Until when peers will keep silent, as they said last. */
  readonly #recoveringUntil = new Map<string, Instant>();

  constructor(
    id: string,
    member: Member,
    connections: Pick<Ways, 'isConnected' | 'problemOf'>,
    clock: Pick<Runtime, 'now' | 'wallMs'>,
  ) {
    this.#id = id;
    this.#member = member;
    this.#connections = connections;
    this.#clock = clock;
  }

  /**
   * Takes note of how long a peer recovers. A recovering peer says so in every refusal, and a refusal may stand behind
   * other items in the packet.
   */
  hear({ from, items }: Packet): void {
    const refusal = items.find(isFromRecovering);
    if (refusal === undefined) return;
    this.#recoveringUntil.set(from, later(this.#clock.now(), refusal.detail));
    // Anybody can say so under any name, and a member may leave the group.
    const members = new Set(this.#member.peers().map(({ id }) => id));
    for (const peer of this.#recoveringUntil.keys()) {
      if (!members.has(peer)) this.#recoveringUntil.delete(peer);
    }
  }

  /**
   * Why a resource that was waited for has not been had.
   *
   * @param own the lease on the resource that another caller in this process has
   */
  whyNot(resource: string, own: { readonly validUntil: number } | undefined, waitedMs: number): Error {
    if (own !== undefined) return leaseHeld(resource, this.#id, own.validUntil, waitedMs);
    const { seen, refusals } = this.#member.waitingFor(resource);
    const isHeld = seen !== undefined && refusals === undefined && this.#member.recovery === undefined;
    if (!isHeld) return this.noMajority(resource, refusals);
    const holder = seen.state === 'left' ? (seen.successor ?? seen.holder) : seen.holder;
    return leaseHeld(resource, holder, seen.untilMs, waitedMs);
  }

  /** @param refusals the members that refused, and why; undefined: no member has answered yet */
  noMajority(resource: string, refusals: ReadonlyMap<string, RefusalCause> | undefined): NoMajority {
    const reading = { now: this.#clock.now(), wallMs: this.#clock.wallMs() };
    const recovery = recoveryAt(this.#member, reading);
    if (recovery !== undefined) {
      const words = recoveryWords(recovery.why, recovery.forMs);
      // The answers of the others would not matter, and nobody has asked them.
      return noMajority(resource, new Map([[this.#id, words]]), `this member, ${this.#id}, ${words}`);
    }
    const reasons = new Map<string, string>();
    if (refusals?.has(this.#id)) {
      reasons.set(this.#id, peerReason(refusals.get(this.#id), OURSELVES));
    }
    for (const { id, ...known } of peersAt(this.#member, reading)) {
      if (refusals !== undefined && !refusals.has(id)) continue;
      reasons.set(id, peerReason(refusals?.get(id), { ...known, ...this.#factsOf(id) }));
    }
    return noMajority(resource, reasons, disagreementWords(this.#member.view, reasons));
  }

  #factsOf(peer: string): Pick<PeerFacts, 'connected' | 'problem' | 'recoversInMs'> {
    const until = this.#recoveringUntil.get(peer);
    return {
      connected: this.#connections.isConnected(peer),
      problem: this.#connections.problemOf(peer),
      recoversInMs: until === undefined ? undefined : Math.max(0, until - this.#clock.now()),
    };
  }
}

const OURSELVES: PeerFacts = {
  heardAgoMs: 0,
  view: 0,
  trouble: undefined,
  connected: true,
  problem: undefined,
  recoversInMs: undefined,
};

const isFromRecovering = (item: Item): item is Refused =>
  item.kind === 'refused' && item.why === 'recovering';

/** @param reluctance undefined: the attempt is under way, and the peer has not answered yet */
export function peerReason(refusalCause: RefusalCause | undefined, facts: PeerFacts): string {
  switch (refusalCause) {
    case 'outbid':
      return 'outbid: another member asks for the same at the same time';
    case 'late':
      return 'by its clock the attempt began too long ago; its clock, or ours, may be off';
    case 'early':
      return 'by its clock the attempt has not begun yet; its clock, or ours, may be off';
    case 'not-believed':
      return 'its answer is of a time that cannot have come yet; its clock, or ours, may be off';
    case 'clock-off':
      return facts.trouble?.why === 'clock-off' ? troubleWords(facts.trouble) : FINDS_US_OFF;
    case 'recovering':
      return facts.recoversInMs === undefined ? 'recovers' : peerRecoveryWords(facts.recoversInMs);
    case 'other-view':
      return facts.trouble?.why === 'later-view'
        ? troubleWords(facts.trouble)
        : `it is in view ${facts.view} of the group, which is another`;
    default:
      return unheard(facts);
  }
}

const FINDS_US_OFF = 'it finds our clock off from its own by more than the skew';

/** A peer heard so shortly ago is not silent: the peer is slow to answer, or the attempt ended before the answer. */
const SILENT_FROM_MS = 1_000;

function unheard({ connected, problem, trouble, heardAgoMs }: PeerFacts): string {
  if (problem !== undefined && !connected) return `not connected: ${problem}`;
  if (trouble !== undefined) return troubleWords(trouble);
  if (problem !== undefined) return problem;
  if (heardAgoMs === undefined) return 'silent: never heard of';
  return heardAgoMs < SILENT_FROM_MS ? 'has not answered yet' : `silent for ${seconds(heardAgoMs)}`;
}
