/**
 * Why a member did not say yes, in words. "No quorum" alone leaves one guessing among cables, clocks and
 * configurations; each of the members knows, or we do.
 */

import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, later } from '../../runtime/time.ts';
import type { Reluctance } from '../attempt.ts';
import { LeaseHeldError, NoMajorityError } from '../errors.ts';
import type { Member, SilenceReason } from '../member.ts';
import type { Item, Packet, Refused } from '../messages.ts';
import type { ResolvedFleaseDurations } from '../options.ts';
import type { ClockBounds } from '../peer-clocks.ts';
import { majorityOf } from '../view.ts';
import { clockOff, seconds, TROUBLE_WORDS } from '../wording.ts';

/** Those that must be the same everywhere. */
export type GroupDurations = Pick<ResolvedFleaseDurations, 'leaseMs' | 'clockSkewMs'>;

/** What is known of a peer, beside what it said. */
export interface PeerFacts {
  readonly heardAgoMs: number | undefined;
  readonly view: number;
  readonly trouble: string | undefined;
  readonly clock: ClockBounds | undefined;
  /** Why there is no connection to it. */
  readonly problem: string | undefined;
  /** How much longer it keeps silent, by its own word. */
  readonly recoversInMs: number | undefined;
  readonly otherDurations: GroupDurations | undefined;
}

export class Reasons {
  readonly #id: string;
  readonly #member: Member;
  readonly #durations: GroupDurations;
  readonly #connections: { problemOf(member: string): string | undefined };
  readonly #clock: Pick<Runtime, 'now'>;
  /** Until when peers will keep silent, as they said last. */
  readonly #recoveringUntil = new Map<string, Instant>();
  /** Of peers that have not ours, as they said last. */
  readonly #otherDurations = new Map<string, GroupDurations>();

  constructor(
    id: string,
    member: Member,
    durations: GroupDurations,
    connections: { problemOf(member: string): string | undefined },
    clock: Pick<Runtime, 'now'>,
  ) {
    this.#id = id;
    this.#member = member;
    this.#durations = durations;
    this.#connections = connections;
    this.#clock = clock;
  }

  /**
   * Takes note of a peer's durations, and of how long it keeps silent. That it says in every answer, but an answer need not
   * come first: even then it says what it no longer waits for.
   */
  hear(packet: Packet): void {
    this.#hearDurations(packet);
    const { from, items } = packet;
    const refusal = items.find(isOfOneSilent);
    if (refusal !== undefined) this.#recoveringUntil.set(from, later(this.#clock.now(), refusal.detail));
  }

  /** What a peer was started with, if not with ours. */
  durationsOf(peer: string): GroupDurations | undefined {
    return this.#otherDurations.get(peer);
  }

  /**
   * Why a resource that was waited for has not been had.
   *
   * @param own the lease on it that somebody else in this process has
   */
  whyNot(resource: string, own: { readonly validUntil: number } | undefined, waitedMs: number): Error {
    if (own !== undefined) return new LeaseHeldError(resource, this.#id, own.validUntil, waitedMs);
    const { seen, reluctant } = this.#member.waitingFor(resource);
    const isHeld = seen !== undefined && reluctant === undefined && this.#member.silence === undefined;
    if (!isHeld) return this.noMajority(resource, reluctant);
    const holder = seen.state === 'left' ? (seen.heir ?? seen.holder) : seen.holder;
    return new LeaseHeldError(resource, holder, seen.untilMs, waitedMs);
  }

  /** @param reluctant who did not say yes, and why; undefined: nobody has answered yet */
  noMajority(resource: string, reluctant: ReadonlyMap<string, Reluctance> | undefined): NoMajorityError {
    const { view, silence } = this.#member;
    const reasons = new Map<string, string>();
    if (silence !== undefined) reasons.set(this.#id, ownReason(silence.why, silence.forMs));
    else if (reluctant?.has(this.#id)) {
      reasons.set(this.#id, peerReason(reluctant.get(this.#id), OURSELVES));
    }
    for (const { id, ...known } of this.#member.peers()) {
      if (silence !== undefined || (reluctant !== undefined && !reluctant.has(id))) continue;
      reasons.set(id, peerReason(reluctant?.get(id), { ...known, ...this.#factsOf(id) }));
    }
    return new NoMajorityError(resource, reasons, majorityOf(view.members.length), view.members.length);
  }

  #hearDurations({ from, leaseMs, clockSkewMs }: Packet): void {
    const ours = this.#durations;
    if (leaseMs === ours.leaseMs && clockSkewMs === ours.clockSkewMs) this.#otherDurations.delete(from);
    else if (this.#member.peers().some(({ id }) => id === from)) {
      this.#otherDurations.set(from, { leaseMs, clockSkewMs });
    }
  }

  #factsOf(peer: string): Pick<PeerFacts, 'problem' | 'recoversInMs' | 'otherDurations'> {
    const until = this.#recoveringUntil.get(peer);
    return {
      problem: this.#connections.problemOf(peer),
      recoversInMs: until === undefined ? undefined : Math.max(0, until - this.#clock.now()),
      otherDurations: this.durationsOf(peer),
    };
  }
}

const OURSELVES: PeerFacts = {
  ...{
    heardAgoMs: 0,
    view: 0,
    trouble: undefined,
    clock: undefined,
    problem: undefined,
    recoversInMs: undefined,
    otherDurations: undefined,
  },
};

const isOfOneSilent = (item: Item): item is Refused => item.kind === 'refused' && item.why === 'recovering';

/** @param reluctance undefined: the attempt is under way, and it has not answered yet */
export function peerReason(reluctance: Reluctance | undefined, facts: PeerFacts): string {
  switch (reluctance) {
    case 'outbid':
      return 'outbid: another member asks for the same at the same time';
    case 'late':
      return 'by its clock the attempt began too long ago; its clock, or ours, may be off';
    case 'early':
      return 'by its clock the attempt has not begun yet; its clock, or ours, may be off';
    case 'clock-off':
      return offBy(facts.clock);
    case 'recovering':
      return facts.recoversInMs === undefined ? 'keeps silent' : keepsSilent(facts.recoversInMs);
    case 'other-view':
      return `in another view of the group: ${facts.view}`;
    default:
      return unheard(facts);
  }
}

function unheard({ problem, trouble, clock, heardAgoMs, view, otherDurations }: PeerFacts): string {
  if (problem !== undefined) return `not connected: ${problem}`;
  switch (trouble) {
    case 'clock-off':
      return offBy(clock);
    case 'later-view':
      return `in another view of the group: ${view}`;
    case 'other-durations':
      return `it was started with another leaseMs or clockSkewMs${
        otherDurations === undefined ? '' : `: ${otherDurations.leaseMs} and ${otherDurations.clockSkewMs}`
      }`;
    case 'same-name':
    case 'other-members':
      return TROUBLE_WORDS[trouble];
    default:
      return heardAgoMs === undefined ? 'silent: never heard of' : `silent for ${seconds(heardAgoMs)}`;
  }
}

/** Of another, who does not say why. */
const keepsSilent = (forMs: number): string =>
  Number.isFinite(forMs)
    ? `keeps silent for ${seconds(forMs)}`
    : 'keeps silent until its clock, or its peers, are put right; its log says which';

const offBy = (bounds: ClockBounds | undefined): string =>
  bounds === undefined ? 'its clock is not that of the others' : clockOff(bounds);

/** In words that follow "keeps silent". */
export const WHY_SILENT: Readonly<Record<SilenceReason, string>> = {
  began: 'it may have forgotten what it promised before it was started',
  'clock-jumped': 'its wall clock was set, and it cannot be told which time was right',
  'odd-one-out': 'its clock is off from those of most others, and has to be mended',
  'other-members':
    'another member was started with other peers in the same view; they must be the same everywhere, see "Changing the group" in docs/flease.md',
};

/** Why this process says nothing itself. */
export const ownReason = (why: SilenceReason, forMs: number): string =>
  `keeps silent${Number.isFinite(forMs) ? ` for ${seconds(forMs)}` : ''}: ${WHY_SILENT[why]}`;
