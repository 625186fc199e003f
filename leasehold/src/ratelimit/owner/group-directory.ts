/**
 * The owners of keys in a group of servers, and how much of a limit each may mint.
 *
 *     view {a b c d}, size 4        a mints key k for four members: the whole limit
 *         cut ┆
 *     {a b} ┆ {c d}                 a goes on for a and b: half of the limit
 *                                   c begins when no server can act on a promise of c or d any more: the other half
 *
 * The owner of a key in a view mints for the members of that view: members / size of the limit (rules L1, O1, O2 of the design).
 *
 * **Why the parts of all servers never add up to more than the limit.** Let every server that mints a key *claim* the members for which the server mints.
 *
 *  1. A server that acts claims all members of the view. Views in which servers act at one time share no member (`membership/core/member.ts`),
 *     and one view has one owner of the key. So these claims share no member.
 *  2. A server that continues, while another server may still act, claims only the kept members, and only for a key that this server owned in every view of the
 *     chain and minted in one of them (*going on*). A server outside that acts on the promise of a kept member acts in a view of that chain, where
 *     the owner is this server, or acts no more (`membership/core/chain.ts`). So these claims share no member with any other.
 *  3. In every other state a server claims nothing (L2, L3), and can use only tokens that others have lent.
 *
 *  There are at most `size` members, hence the claims at one instant are at most the whole.
 *
 * **Why the tokens stay within the promise.** A claim is a bucket of claimed / size × burst that fills at claimed / size × limit (`minter.ts`). A server that goes on
 * has come from a view with more members, and members that were lost, or that come back from elsewhere, may use their part of the burst there. So the bucket is cut to the
 * part of the kept members, at the instant of going on, also if the new view is larger (O3). Every other start is fresh: the owner begins when the view acts,
 * and one loan later, when all tokens that earlier owners have lent are void (decision 0060).
 *
 * A server alone is a view, and acts in that view with 1 / size: a server that is cut off needs no other rule (decision 0061).
 */

import { later, type Instant } from '../../runtime/time.ts';
import { type Cut, type Directory, isOpen, type Right } from './directory.ts';
import { slotOf, SlotOwners } from './slots.ts';

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
  readonly kept: readonly string[];
}

export interface ChainView {
  readonly key: string;
  readonly members: readonly string[];
}

/** The beginning of an ownership: by the clock of the process, and by the minting clock. */
interface Start {
  readonly realAt: Instant;
  readonly at: number;
  /** Cuts with a greater order came later; the minting clock may show the same instant for both. */
  readonly order: number;
}

interface OrderedCut extends Cut {
  readonly order: number;
}

/** A view in which this server had a right. */
interface RightfulView {
  readonly id: string;
  readonly key: string;
  readonly owners: SlotOwners;
  readonly chain: readonly { readonly key: string; readonly owners: SlotOwners }[];
  /** When the view was first seen to act. */
  actedAt: Start | undefined;
  readonly starts: Map<number, Start | undefined>;
}

export interface GroupDirectoryOptions {
  readonly name: string;
  /** How many servers there can be. More members in a view count as more. */
  readonly size: number;
  standing(now: Instant): GroupStanding;
}

/** A right that ends unobserved is counted up to the last look. */
const LOOK_EVERY_MS = 100;
/** Longer than a chain. */
const VIEWS_REMEMBERED = 16;

export class GroupDirectory implements Directory {
  readonly size: number;
  readonly #options: GroupDirectoryOptions;
  /** The greatest number of servers that this process has heard of; never less than before. */
  #greatestSize: number;
  /** The minting clock, and when it was last set. */
  #at = 0;
  #realAt: Instant | undefined;
  #share = 0;
  #cuts: readonly OrderedCut[] = [];
  #order = 0;
  #views: RightfulView[] = [];
  #hint: { readonly id: string; readonly owners: SlotOwners } | undefined;
  #lookedAt: Instant | undefined;

  constructor(options: GroupDirectoryOptions) {
    this.#options = options;
    this.size = options.size;
    this.#greatestSize = options.size;
  }

  get wakeAt(): Instant | undefined {
    return this.#lookedAt === undefined ? undefined : later(this.#lookedAt, LOOK_EVERY_MS);
  }

  wake(now: Instant): void {
    this.#look(now);
  }

  heardSize(size: number): void {
    this.#greatestSize = Math.max(this.#greatestSize, size);
  }

  rightTo(limiter: string, key: string, now: Instant): Right | undefined {
    const view = this.#look(now);
    if (view === undefined) return undefined;
    const slot = slotOf(limiter, key);
    if (view.owners.ownerOf(slot) !== this.#options.name) return undefined;
    const start = this.#startOf(view, slot);
    if (start === undefined) return undefined;
    return {
      ...{ at: this.#at, since: start.at, isOpen: isOpen(start.realAt, now), share: this.#share },
      cuts: this.#cuts.length === 0 ? this.#cuts : this.#cuts.filter(({ order }) => order > start.order),
    };
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
    if (this.#hint?.id !== view.id) this.#hint = { id: view.id, owners: new SlotOwners(view.members) };
    this.#greatestSize = Math.max(this.#greatestSize, view.members.length);
    if (standing === 'none') return undefined;
    const keptShare = view.kept.length / this.#greatestSize;
    const share = standing === 'acts' ? view.members.length / this.#greatestSize : keptShare;
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

  #enter(view: GroupStandingView, chain: readonly ChainView[]): RightfulView {
    const known = (key: string, members: readonly string[]): SlotOwners =>
      this.#views.find((each) => each.key === key)?.owners ?? new SlotOwners(members);
    const entered: RightfulView = {
      ...{ id: view.id, key: view.key, owners: known(view.key, view.members) },
      chain: chain.map(({ key, members }) => ({ key, owners: known(key, members) })),
      ...{ actedAt: undefined, starts: new Map() },
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
    if (!view.starts.has(slot)) view.starts.set(slot, this.#goesOnFrom(view, slot) ?? view.actedAt);
    return view.starts.get(slot);
  }

  #goesOnFrom({ id, chain }: RightfulView, slot: number): Start | undefined {
    const { name } = this.#options;
    if (!chain.every(({ owners }) => owners.ownerOf(slot) === name)) return undefined;
    const before = this.#views.slice(
      0,
      this.#views.findIndex((each) => each.id === id),
    );
    const last = before.findLast(({ key }) => chain.some((each) => each.key === key));
    return last === undefined ? undefined : this.#startOf(last, slot);
  }
}
