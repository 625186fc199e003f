/**
 * Configurations: which members vote, and which of them may read which keys locally.
 *
 * A configuration is an entry of the log, so all replicas agree on the sequence of configurations, but at any instant
 * two replicas may know different prefixes of it. Two rules bridge the gap. A writer obeys every configuration that may
 * still count: it needs a majority of each, and the union of their holders. A reader must be allowed by every one: the
 * intersection.
 *
 *     log      … c1 ── w ── c2 ── w' …        c1 known to be committed, c2 not yet
 *     w' needs the majorities of c1 and of c2, and the holders of c1 and of c2
 *     a reader whose log ends there must hold the key in c1 and in c2
 *
 * A *member* is a seat and a storage id. The seat is its bit in masks. The storage id is drawn when a directory is created and
 * never again, so an emptied directory is another member, and no vote of the old one counts for it. Votes are counted
 * by storage id alone.
 *
 * Before slot 1 is chosen the cell has no log to agree by. The initial configuration therefore counts as a quorum only
 * if *all* of its members vote (M5): a member that lost its directory during the bootstrap cannot pass for the old one.
 */

import { hashKey } from '../../runtime/keys/hash.ts';
import { SEATS_MAX } from './ballot.ts';

/** One bit per seat. */
export type Mask = number;

/** A mask that stands for every seat there can be. */
export const EVERYBODY: Mask = 2 ** SEATS_MAX - 1;

export const bit = (seat: number): Mask => 1 << seat;

export interface Member {
  readonly seat: number;
  readonly storage: string;
}

/** Who holds a key besides the leader of the term: nobody, every member, or those that the tables name. */
export type ReaderMap =
  | { readonly mode: 'leader' }
  | { readonly mode: 'all' }
  | {
      readonly mode: 'chosen';
      /** Holders by slice of the hash space; the number of slices is a power of two. */
      readonly slices: readonly Mask[];
      /** Holders of single objects, by the hash of their key or tag; they override the slice. */
      readonly objects: ReadonlyMap<number, Mask>;
      /** The leader goes on choosing by what is read and written (`core/placing.ts`), with this weight of writes; or an operator chose. */
      readonly automatic: { readonly weight: number } | undefined;
    };

/** Objects that a placement may name: a megabyte. */
export const OBJECTS_MAX = 65_536;

/** The differences to the tables before: an object without a mask is no longer in them. */
export interface ReaderMapChange {
  readonly mode: 'changed';
  readonly slices: readonly Mask[] | undefined;
  readonly objects: ReadonlyMap<number, Mask | undefined>;
  /** The weight of writes from now on, if the placement is automatic. */
  readonly weight: number | undefined;
}

export const UNCHANGED: ReaderMapChange = {
  mode: 'changed',
  slices: undefined,
  objects: new Map(),
  weight: undefined,
};

/** Every key held by all at first, and the leader chooses. */
export const AUTOMATIC: ReaderMap = {
  mode: 'chosen',
  slices: Array.from({ length: 256 }, () => EVERYBODY),
  objects: new Map(),
  automatic: { weight: 1 },
};

/** The members and their votes. */
export interface Electorate {
  readonly members: readonly Member[];
  /** The seat of the term's leader, which holds every key; undefined only in the initial configuration. */
  readonly leader: number | undefined;
  /** How many of the members decide: all of them only in the initial configuration. */
  readonly quorum: 'majority' | 'all';
  /** Every storage id that ever was a member and is none any more: it is never seated again. */
  readonly removed: readonly string[];
}

export interface Configuration extends Electorate {
  readonly placement: ReaderMap;
}

/**
 * A configuration as the log has it. The placement may be a change of the one before it in the log, whichever that is: tables can
 * have a megabyte, and every change is an entry. Replicas agree on all entries up to a chosen one, so also on the tables that follow from them.
 */
export interface ProposedConfiguration extends Electorate {
  readonly placement: ReaderMap | ReaderMapChange;
}

/**
 * The configuration that follows from a sequence of entries. A change of tables means nothing where there are none. A full table takes no
 * further objects: changes follow each other without end, and a table that no frame may hold could not be read again.
 */
export function resolved(before: Configuration, proposed: readonly ProposedConfiguration[]): Configuration {
  const last = proposed.at(-1);
  if (last === undefined) return before;
  let { placement } = before;
  let copy: Map<number, Mask> | undefined;
  for (const { placement: next } of proposed) {
    if (next.mode !== 'changed') {
      placement = next;
      copy = undefined;
    } else if (placement.mode === 'chosen' && (next.objects.size > 0 || next.slices !== undefined)) {
      copy ??= new Map(placement.objects);
      for (const [object, mask] of next.objects)
        if (mask === undefined) copy.delete(object);
        else if (copy.size < OBJECTS_MAX || copy.has(object)) copy.set(object, mask);
      const automatic = placement.automatic && { weight: next.weight ?? placement.automatic.weight };
      placement = { ...placement, slices: next.slices ?? placement.slices, objects: copy, automatic };
    }
  }
  return { ...last, placement };
}

export const initialConfiguration = (members: readonly Member[], placement: ReaderMap): Configuration => ({
  members,
  leader: undefined,
  placement,
  quorum: 'all',
  removed: [],
});

/** What a replica starts with that has no seat and knows nothing of the cell: nobody decides anything in it. */
export const UNKNOWN_CELL: Configuration = initialConfiguration([], { mode: 'leader' });

export function memberOf(configuration: Electorate, storage: string): Member | undefined {
  return configuration.members.find((member) => member.storage === storage);
}

export const isSeated = (configuration: Electorate, storage: string): boolean =>
  memberOf(configuration, storage) !== undefined;

const masks = new WeakMap<object, Mask>();

/** Computed once for each configuration: writes by the thousand ask. */
export function membersMask(configuration: Electorate): Mask {
  let mask = masks.get(configuration);
  if (mask === undefined) {
    mask = maskOf(configuration, () => true);
    masks.set(configuration, mask);
  }
  return mask;
}

/** The seats of those members whose storage id satisfies the test. */
export function maskOf(configuration: Electorate, test: (storage: string) => boolean): Mask {
  let mask = 0;
  for (const { seat, storage } of configuration.members) if (test(storage)) mask |= bit(seat);
  return mask;
}

/** Whether the members that voted are enough. Only members of this configuration have a vote in it. */
export function isQuorum(configuration: Electorate, hasVoted: (storage: string) => boolean): boolean {
  const { members, quorum } = configuration;
  let votes = 0;
  for (const { storage } of members) if (hasVoted(storage)) votes += 1;
  return quorum === 'all' ? votes === members.length && votes > 0 : votes * 2 > members.length;
}

export const isQuorumOfEach = (
  configurations: readonly Electorate[],
  hasVoted: (storage: string) => boolean,
): boolean => configurations.every((configuration) => isQuorum(configuration, hasVoted));

/** Which members hold the key: they may read it locally, and no write of it commits behind their backs. */
export const holdersOf = (configuration: Configuration, key: string): Mask =>
  holdersOfObject(configuration, () => objectOf(key));

function holdersOfObject(configuration: Configuration, object: () => number): Mask {
  const { placement, leader } = configuration;
  const leaderMask = leader === undefined ? 0 : bit(leader);
  switch (placement.mode) {
    case 'leader':
      return leaderMask;
    case 'all':
      return membersMask(configuration);
    case 'chosen':
      return leaderMask | (placedOn(placement, object()) & membersMask(configuration));
  }
}

function placedOn({ slices, objects }: Extract<ReaderMap, { mode: 'chosen' }>, object: number): Mask {
  return objects.get(object) ?? slices[object & (slices.length - 1)] ?? 0;
}

/** The objects of a list of keys, and the holders that were found last. */
interface Hashed {
  readonly objects: Uint32Array;
  configuration: Configuration | undefined;
  holders: Mask;
}

const hashes = new WeakMap<readonly string[], Hashed>();

/**
 * Which members hold one of the keys. The list must not change: its hashes are kept with it, and so is the last answer, because a
 * slot is judged again with every acknowledgement.
 */
export function holdersOfAny(configuration: Configuration, keys: readonly string[]): Mask {
  const { mode } = configuration.placement;
  if (mode !== 'chosen') return keys.length === 0 ? 0 : holdersOfObject(configuration, () => 0);
  let hashed = hashes.get(keys);
  if (hashed === undefined) {
    hashed = { objects: Uint32Array.from(keys, objectOf), configuration: undefined, holders: 0 };
    hashes.set(keys, hashed);
  }
  if (hashed.configuration === configuration) return hashed.holders;
  let holders = 0;
  for (const object of hashed.objects) holders |= holdersOfObject(configuration, () => object);
  hashed.configuration = configuration;
  hashed.holders = holders;
  return holders;
}

const words = new Uint32Array(4);

/** The object that a key belongs to: keys with a common tag are one object. */
export function objectOf(key: string): number {
  hashKey(key, words);
  return words[0] as number;
}

/** The lowest seat that is free in all of these configurations; undefined if every seat is taken. */
export function freeSeat(configurations: readonly Electorate[]): number | undefined {
  const taken = new Set(configurations.flatMap(({ members }) => members.map(({ seat }) => seat)));
  for (let seat = 0; seat < SEATS_MAX; seat += 1) if (!taken.has(seat)) return seat;
  return undefined;
}
