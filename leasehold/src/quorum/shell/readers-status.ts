/** Which members hold how much, and why: for status, metrics and `leasehold quorum leases`. */

import { invalidOption } from '../../runtime/errors.ts';
import { AUTOMATIC, bit, EVERYBODY, type Mask, type Member, type ReaderMap } from '../core/configuration.ts';
import type { PlacingStatus } from '../core/placing.ts';
import { nameOf } from '../core/founding.ts';

/** Which replicas hold keys: the leader alone, every one, or those that the leader chooses by counts of reads and writes. */
export type Readers = 'leader' | 'all' | 'automatic';

/** The ways to choose which replicas read a key from their own memory. */
export const READERS: readonly Readers[] = ['all', 'leader', 'automatic'];

/** @internal @throws {InvalidArgumentError} */
export function checkReaders(option: string, readers: unknown): Readers {
  if (READERS.some((each) => each === readers)) return readers as Readers;
  throw invalidOption(option, readers, "it must be 'all', 'leader' or 'automatic'");
}

/** @internal */
export const placementOf = (readers: Readers): ReaderMap =>
  readers === 'automatic' ? AUTOMATIC : { mode: readers };

/** Which replicas read from their own memory, and how that is chosen. */
export interface ReadersStatus {
  /** `chosen`: an operator gave the tables. */
  readonly mode: Readers | 'chosen';
  /** Objects (keys, or all keys of a tag) that have holders of their own; all others are held as their slice. */
  readonly objects: number;
  /** How much each member holds, not counting that the leader holds everything. */
  readonly holders: readonly { readonly name: string; readonly slices: number; readonly objects: number }[];
  /** How many slices the hash space has; 1 unless holders are chosen. */
  readonly slices: number;
  /** How many milliseconds of readers one of a writer is worth; undefined unless the mode is automatic. */
  readonly weight: number | undefined;
  /** The leader's view of it; undefined at other replicas and in other modes. */
  readonly placing: PlacingStatus | undefined;
}

const known = new WeakMap<ReaderMap, Omit<ReadersStatus, 'placing'>>();

/** @internal */
export function readersStatus(
  placement: ReaderMap,
  members: readonly Member[],
  leader: string | undefined,
  placing: PlacingStatus | undefined,
): ReadersStatus {
  let status = known.get(placement);
  if (status?.holders.length !== members.length) status = undefined;
  status ??= tableStatus(placement, members, leader);
  if (placement.mode === 'chosen') known.set(placement, status);
  const silent = placing?.silent.map(nameOf) ?? [];
  return { ...status, placing: placing && { ...placing, silent } };
}

function tableStatus(
  placement: ReaderMap,
  members: readonly Member[],
  leader: string | undefined,
): Omit<ReadersStatus, 'placing'> {
  if (placement.mode !== 'chosen') {
    const holders = members.map(({ storage }) => ({
      name: nameOf(storage),
      slices: placement.mode === 'all' || storage === leader ? 1 : 0,
      objects: 0,
    }));
    return { mode: placement.mode, objects: 0, holders, slices: 1, weight: undefined };
  }
  const { slices, objects, automatic } = placement;
  const holders = members.map(({ seat, storage }) => ({
    name: nameOf(storage),
    slices: countOf(slices, seat),
    objects: countOf(objects.values(), seat),
  }));
  return {
    ...{ mode: automatic === undefined ? 'chosen' : 'automatic', objects: objects.size, holders },
    ...{ slices: slices.length, weight: automatic?.weight },
  };
}

function countOf(masks: Iterable<Mask>, seat: number): number {
  let count = 0;
  for (const mask of masks) if ((mask & bit(seat)) !== 0) count += 1;
  return count;
}

/** The placement in a few words. @internal */
export function placementWords(placement: ReaderMap, members: readonly Member[]): string {
  if (placement.mode !== 'chosen') return placement.mode;
  const names = (mask: Mask): string =>
    mask === EVERYBODY
      ? 'all'
      : members
          .filter(({ seat }) => (mask & bit(seat)) !== 0)
          .map(({ storage }) => nameOf(storage))
          .join('+') || 'the leader';
  const { slices, objects, automatic } = placement;
  const sets = [...new Set(slices)].map(names).join(', ');
  const count = objects.size;
  const own = count === 0 ? '' : count === 1 ? '; 1 object of its own' : `; ${count} objects of their own`;
  return `${automatic === undefined ? 'chosen' : 'automatic'}: ${sets}${own}`;
}
