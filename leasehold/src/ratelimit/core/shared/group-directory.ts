/**
 * The owners of keys in a group of servers, and how much of a limit each may mint.
 *
 *     view {a b c d}, maxServers 4        a mints key k for four members: the whole limit
 *         cut ┆
 *     {a b} ┆ {c d}                 a goes on for a and b: half of the limit
 *                                   c begins when no server can act on a promise of c or d any more: the other half
 *
 * The owner of a key in a view mints for the members of that view: members / maxServers of the limit. Owners are servers that share limits. A member says that it shares
 * in the list on whose version all members agree (`membership/core/attachment.ts`), so one view has one set of sharers, and one owner of each key. A server that begins to share, or
 * stops, makes another view.
 *
 * **Why the parts of all servers never add up to more than the limit.** Let every server that mints a key *claim* the members for which the server mints.
 *
 *  1. A server that acts claims all members of the view. Views in which servers act at one time share no member (`membership/core/member.ts`),
 *     and one view has one owner of the key. So these claims share no member.
 *  2. A server that continues, while another server may still act, claims only the kept members, and only for a key that this server owned in every view of the
 *     chain and minted in one of them (*going on*). A server outside that acts on the promise of a kept member acts in a view of that chain, where
 *     the owner is this server, or acts no more (`membership/core/chain.ts`). So these claims share no member with any other.
 *     A view of the chain of which this server does not know the sharers ends the chain: the server begins anew.
 *  3. In every other state a server claims nothing, and can use only tokens that others have lent.
 *
 *  There are at most `maxServers` members, hence the claims at one instant are at most the whole.
 *
 * **Why the tokens stay within the promise.** A claim is a bucket of claimed / maxServers × burst that fills at claimed / maxServers × limit (`minter.ts`). A server that goes on
 * has come from a view with more members, and members that were lost, or that come back from elsewhere, may use their part of the burst there. So the bucket is cut to the
 * part of the kept members, at the instant of going on, also if the new view is larger. Every other start is fresh: the owner begins when the view acts,
 * and one loan later, when all tokens that earlier owners have lent are void (decision 0060).
 *
 * **A server that leaves** mints nothing from the instant at which its levels are read, and hands its keys over in the view in which it minted them (`hand-over.ts`). In that view, and
 * in the chains of later views, the next owner counts as the owner from then on: the server that left claims nothing in any view, so rules 1 and 2 hold with the next owner in its
 * place. The next owner of a key is the owner among the sharers without the server that leaves, so no two servers take the same key over.
 *
 * A server alone is a view, and acts in that view with 1 / maxServers: a server that is cut off needs no other rule (decision 0061).
 */

import { later, type Instant } from '../../../runtime/time.ts';
import { type Directory, isOpen, type Right } from './directory.ts';
import type { Heir } from './hand-over.ts';
import type { Cut } from './messages.ts';
import { slotOf, SlotOwners, SLOTS } from './slots.ts';

/** What a member of a group says of itself at one instant. */
export interface GroupStanding {
  readonly standing: 'acts' | 'continues' | 'none';
  readonly view: GroupStandingView | undefined;
  /** The views since this server last could act, as sets of names; empty: nothing may be continued. */
  readonly chain: readonly ChainView[];
}

export interface GroupStandingView {
  readonly id: string;
  /** Equal for equal sets of processes; as the keys of a chain. */
  readonly key: string;
  /** Sorted by name. */
  readonly members: readonly string[];
  /** The members that share limits, sorted by name. */
  readonly sharers: readonly string[];
  readonly kept: readonly string[];
}

export interface ChainView {
  readonly key: string;
}

/** The beginning of an ownership: by the clock of the process, and by the minting clock. */
interface Start {
  readonly realAt: Instant;
  readonly at: number;
  /** Cuts with a greater order came later; the minting clock may show the same instant for both. */
  readonly order: number;
  /** Cuts of the bucket at the last owner, before this one. */
  readonly cuts?: readonly Cut[];
}

interface OrderedCut extends Cut {
  readonly order: number;
}

/** A view in which this server had a right. */
interface RightfulView {
  readonly id: string;
  readonly key: string;
  readonly sharers: readonly string[];
  readonly owners: SlotOwners;
  /** Undefined owners: this server has not seen that view. */
  readonly chain: readonly { readonly key: string; readonly owners: SlotOwners | undefined }[];
  /** When the view was first seen to act. */
  actedAt: Start | undefined;
  readonly starts: Map<number, Start | undefined>;
  /** Slots of servers that left, and handed them over in this view. */
  readonly gained: Map<number, Start>;
}

export interface GroupDirectoryOptions {
  readonly name: string;
  /** How many servers there can be. More members in a view count as more. */
  readonly maxServers: number;
  standing(now: Instant): GroupStanding;
}

/** A right that ends unobserved is counted up to the last look. */
const LOOK_EVERY_MS = 100;
/** Longer than a chain. */
const VIEWS_REMEMBERED = 16;

export class GroupDirectory implements Directory {
  readonly maxServers: number;
  readonly #options: GroupDirectoryOptions;
  /** The greatest number of servers that this process has heard of; never less than before. */
  #greatestMax: number;
  /** The minting clock, and when it was last set. */
  #at = 0;
  #realAt: Instant | undefined;
  #share = 0;
  #cuts: readonly OrderedCut[] = [];
  #order = 0;
  #views: RightfulView[] = [];
  /** The owners in the last views that were delivered here, by the key of the view. */
  readonly #ownersIn = new Map<string, SlotOwners>();
  #hint: { readonly id: string; readonly owners: SlotOwners } | undefined;
  #lookedAt: Instant | undefined;
  #hasNamedHeirs = false;
  /** The members of the last view. */
  #present = 0;

  constructor(options: GroupDirectoryOptions) {
    this.#options = options;
    this.maxServers = options.maxServers;
    this.#greatestMax = options.maxServers;
  }

  get wakeAt(): Instant | undefined {
    return this.#lookedAt === undefined ? undefined : later(this.#lookedAt, LOOK_EVERY_MS);
  }

  wake(now: Instant): void {
    this.#look(now);
  }

  members(): number {
    return this.#greatestMax;
  }

  /** The view acts, its members know that this server shares limits, and its owners have waited for the loans of earlier ones. */
  isReady(now: Instant): boolean {
    const view = this.#look(now);
    if (view?.actedAt === undefined || !view.sharers.includes(this.#options.name)) return false;
    return isOpen(view.actedAt.realAt, now);
  }

  /** More servers than the maxServers that this one was told: the parts of a restarted server and of a partition might add up to more than the limit. */
  whyCutOff(): string | undefined {
    const { maxServers } = this.#options;
    return this.#present <= maxServers
      ? undefined
      : `the view has ${this.#present} servers, and maxServers is ${maxServers}: raise maxServers at all servers before adding one`;
  }

  heardMaxServers(maxServers: number): void {
    this.#greatestMax = Math.max(this.#greatestMax, maxServers);
  }

  rightTo(limiter: string, key: string, now: Instant): Right | undefined {
    const view = this.#look(now);
    if (view === undefined) return undefined;
    const slot = slotOf(limiter, key);
    if (!this.#owns(view, slot)) return undefined;
    const start = this.#startOf(view, slot);
    if (start === undefined) return undefined;
    return {
      ...{ at: this.#at, since: start.at, isOpen: isOpen(start.realAt, now), share: this.#share },
      cuts: this.#cutsSince(start),
    };
  }

  /** Slots that this server itself has taken over in this view are not handed on. */
  heirs(now: Instant): readonly Heir[] {
    if (this.#hasNamedHeirs) return [];
    this.#hasNamedHeirs = true;
    const { name } = this.#options;
    const view = this.#look(now);
    const rest = view?.sharers.filter((sharer) => sharer !== name) ?? [];
    if (view === undefined || rest.length === 0) return [];
    const next = new SlotOwners(rest);
    const isOwn = (slot: number): boolean => view.owners.ownerOf(slot) === name;
    const starts = slotsOf(isOwn).map((slot) => this.#startOf(view, slot));
    const [first] = starts;
    if (first === undefined) return [];
    let [youngest, oldest] = [first, first];
    for (const start of starts) {
      if (start === undefined) return [];
      if (start.at > youngest.at) youngest = start;
      if (start.order < oldest.order) oldest = start;
    }
    const said = {
      scope: `${view.id} ${name}`,
      ageMs: this.#at - youngest.at,
      // The bucket has no more than the present part, also if that of the next owner is larger.
      cuts: [
        ...this.#cutsSince(oldest),
        ...(this.#share < 1 ? [{ at: this.#at, share: this.#share }] : []),
      ].map(({ at, share }) => ({ share, at: at - this.#at })),
    };
    const named = new Set(slotsOf(isOwn).flatMap((slot) => next.ownerOf(slot) ?? []));
    return [...named].map((to) => ({
      ...{ ...said, to },
      has: (limiter, key) => {
        const slot = slotOf(limiter, key);
        return isOwn(slot) && next.ownerOf(slot) === to;
      },
    }));
  }

  /** Only in a view that acts here: before that a server outside may act on a promise of this one, in a view with another owner of the key. */
  mayTake(_from: string, scope: string, now: Instant): number | undefined {
    const view = this.#look(now);
    if (view?.actedAt === undefined) return undefined;
    const slots = this.#slotsHandedOver(view, scope);
    return slots.length === 0 || slots.some((slot) => view?.gained.has(slot)) ? undefined : this.#at;
  }

  take(_from: string, scope: string, ageMs: number, cuts: readonly Cut[], now: Instant): void {
    const view = this.#look(now);
    const start: Start = {
      ...{ realAt: (now - ageMs) as Instant, at: this.#at - ageMs, order: this.#order },
      cuts: cuts.map(({ at, share }) => ({ share, at: this.#at + at })),
    };
    for (const slot of this.#slotsHandedOver(view, scope)) view?.gained.set(slot, start);
  }

  #slotsHandedOver(view: RightfulView | undefined, scope: string): number[] {
    const at = scope.indexOf(' ');
    const [id, leaving] = [scope.slice(0, at), scope.slice(at + 1)];
    if (view === undefined || view.id !== id || !view.sharers.includes(leaving)) return [];
    const next = new SlotOwners(view.sharers.filter((sharer) => sharer !== leaving));
    const { name } = this.#options;
    return slotsOf((slot) => view.owners.ownerOf(slot) === leaving && next.ownerOf(slot) === name);
  }

  #owns(view: RightfulView, slot: number): boolean {
    return view.owners.ownerOf(slot) === this.#options.name || view.gained.has(slot);
  }

  #cutsSince(start: Start): readonly Cut[] {
    const own = this.#cuts.length === 0 ? this.#cuts : this.#cuts.filter(({ order }) => order > start.order);
    return start.cuts === undefined || start.cuts.length === 0 ? own : [...start.cuts, ...own];
  }

  find(limiter: string, key: string): string | undefined {
    if (this.#hint === undefined) return undefined;
    const owner = this.#hint.owners.ownerOf(slotOf(limiter, key));
    return owner === this.#options.name ? undefined : owner;
  }

  /** Sets the minting clock. Undefined: this server mints nothing at this instant. */
  #look(now: Instant): RightfulView | undefined {
    this.#lookedAt = now;
    const { standing, view, chain } = this.#options.standing(now);
    if (view === undefined) return undefined;
    if (this.#hint?.id !== view.id) this.#hint = { id: view.id, owners: this.#ownersOf(view) };
    this.#present = view.members.length;
    this.#greatestMax = Math.max(this.#greatestMax, view.members.length);
    if (standing === 'none') return undefined;
    const keptShare = view.kept.length / this.#greatestMax;
    const share = standing === 'acts' ? view.members.length / this.#greatestMax : keptShare;
    let present = this.#views.at(-1);
    if (present?.id === view.id) {
      // All of this time belongs to the view: its members could confirm no other in between.
      if (this.#realAt !== undefined) this.#at += (now - this.#realAt) * Math.min(share, this.#share);
    } else {
      this.#cut(this.#share);
      this.#cut(keptShare);
      present = this.#enter(view, chain);
    }
    if (share !== this.#share) this.#cut(this.#share);
    this.#share = share;
    this.#realAt = now;
    if (standing === 'acts' && present.actedAt === undefined) {
      present.actedAt = { realAt: now, at: this.#at, order: this.#order };
      present.starts.clear();
    }
    return present;
  }

  /** Of a view that was delivered. Views with one key have the same sharers. */
  #ownersOf(view: GroupStandingView): SlotOwners {
    const { key } = view;
    const owners = this.#ownersIn.get(key) ?? new SlotOwners(view.sharers);
    this.#ownersIn.delete(key);
    this.#ownersIn.set(key, owners);
    for (const [oldest] of this.#ownersIn) {
      if (this.#ownersIn.size <= VIEWS_REMEMBERED) break;
      this.#ownersIn.delete(oldest);
    }
    return owners;
  }

  #enter(view: GroupStandingView, chain: readonly ChainView[]): RightfulView {
    const entered: RightfulView = {
      ...{ id: view.id, key: view.key, sharers: view.sharers, owners: this.#ownersOf(view) },
      chain: chain.map(({ key }) => ({ key, owners: this.#ownersIn.get(key) })),
      ...{ actedAt: undefined, starts: new Map(), gained: new Map() },
    };
    this.#views = [...this.#views.slice(1 - VIEWS_REMEMBERED), entered];
    return entered;
  }

  /** Remembers that the bucket was no larger than this until now. Earlier cuts to as much or more say nothing beside this one. */
  #cut(share: number): void {
    if (share <= 0 || share >= 1) return;
    this.#order += 1;
    const earlier = this.#cuts.filter((cut) => cut.share < share);
    this.#cuts = [...earlier, { share, at: this.#at, order: this.#order }];
  }

  /** Since when this server owns the slot without another owner in between; undefined if it may not mint it yet. */
  #startOf(view: RightfulView, slot: number): Start | undefined {
    const gained = view.gained.get(slot);
    if (gained !== undefined) return gained;
    if (!view.starts.has(slot)) view.starts.set(slot, this.#goesOnFrom(view, slot) ?? view.actedAt);
    return view.starts.get(slot);
  }

  #goesOnFrom({ id, chain }: RightfulView, slot: number): Start | undefined {
    const { name } = this.#options;
    const wasGained = (key: string): boolean =>
      this.#views.some((each) => each.key === key && each.gained.has(slot));
    if (!chain.every(({ key, owners }) => owners?.ownerOf(slot) === name || wasGained(key))) return undefined;
    const before = this.#views.slice(
      0,
      this.#views.findIndex((each) => each.id === id),
    );
    const last = before.findLast(({ key }) => chain.some((each) => each.key === key));
    return last === undefined ? undefined : this.#startOf(last, slot);
  }
}

const slotsOf = (isMeant: (slot: number) => boolean): number[] =>
  Array.from({ length: SLOTS }, (_, slot) => slot).filter(isMeant);
