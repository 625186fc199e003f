/**
 * Which replicas belong together: which ones are heard, and which ones found a cell.
 *
 * **A directory is known by its id**, which was drawn. Names and addresses can be given twice. Once the members are known, a
 * directory that is none of them, and does not say that it joins, is refused. It does not matter how the replica that
 * refuses came into the cell: after every disk was replaced, all members have joined, and an emptied directory must find no door open.
 *
 * **A cell is founded by everybody in the list.** A replica with a new directory cannot know whether the others have forgotten this
 * one, or have never met. So the first members are exactly the names of the list, each with one directory that is connected now
 * and that is as new as the own one:
 *
 *     list a b c     a gathers, b gathers, c gathers      founded: a b c
 *                    a gathers, b gathers                 c is awaited
 *                    a gathers, b joins, c joins          b and c are awaited: a cell exists, or nobody founds one
 *                    a gathers, b gathers twice, c …      b is awaited until one of its two directories is gone
 *
 * **A founding has an id**, the cluster's. Two cells may have the same name, the same replicas and, one after the other, the same
 * addresses; their logs have nothing in common but the numbers of the slots. The id follows from the directories that founded the
 * cell, and those are drawn: every founder computes the same id without a message, and no other founding gets it. A replica
 * that joins takes the id of a replica at an address that the operator gave, and of no replica that dials first: another cluster may remember
 * the address from earlier times. The id is durable before a word is heard, and never changes. From then on no replica hears another one
 * of a different id, so slots of two clusters never meet in one log, whatever the addresses are.
 *
 * **A wrong list is corrected** by a restart with the right one. A founder with a wrong list may have written down members that the others never
 * agree to: with the list `b c`, c writes b and c down, and waits for b, which waits for a as well. The first slot needs a vote of *every* founder.
 * So as long as one founder has voted for nothing, nothing is decided in that cluster. If the journal of a founder says nothing, and the list has other names now, that
 * founder forgets the founding and waits again ({@link isCorrected}); its directory, and so its id, stays. The cluster of the wrong list is never heard of again, unless
 * all its founders find it in their lists.
 *
 * A replica that waits for the founding hears no cluster that was founded without its directory. If that is the cluster of its list, an answer
 * at an address of the list says that the directory was emptied; if not, the cluster must not end a founding elsewhere.
 *
 * A replica without an id, waiting for the founding or joining, is heard: such a replica has no slots. A replica that gets an id introduces itself anew,
 * before any other word.
 *
 * Founders that already know the members say so (`initial`). A replica that is among them, and whose list has the same names, takes
 * theirs: a founder may have ended before all had written the members down.
 */

import { hashKey } from '../../runtime/keys/hash.ts';
import type { RefusalReason } from './errors.ts';
import type { Member } from './configuration.ts';

/** A replica introduces its directory. */
export interface Hello {
  readonly kind: 'hello';
  readonly cell: string;
  readonly storage: string;
  readonly life: number;
  /** Drawn by the process: two processes that open copies of one directory may have the same life. */
  readonly process: string;
  /** Where this replica listens, as others should dial it. */
  readonly address: string;
  /** The members at the cell's beginning; undefined if the replica does not know them, or joins. */
  readonly initial: readonly Member[] | undefined;
  readonly isJoining: boolean;
  /** The id of the cluster; undefined while the replica knows none. */
  readonly cluster: string | undefined;
}

/** The id of the cluster that these members found. */
export function clusterOf(founders: readonly Member[]): string {
  const drawn = founders.map(({ storage }) => storage.slice(storage.lastIndexOf('~') + 1));
  const words = new Uint32Array(4);
  hashKey(drawn.toSorted().join(' '), words);
  return [...words].map((word) => word.toString(16).padStart(8, '0')).join('');
}

/** The name in a storage id, for people. */
export const nameOf = (storage: string): string => storage.slice(0, storage.lastIndexOf('~'));

/** What a replica knows when another one introduces itself. */
export interface Acquaintance {
  readonly cell: string;
  readonly storage: string;
  readonly process: string;
  /** The id of the own cluster; undefined while it is not known. */
  readonly cluster: string | undefined;
  /** The clusters at the addresses that the operator gave, for a replica that joins and has no cluster yet; undefined for any other. */
  readonly joinable: readonly string[] | undefined;
  /** The highest life that was heard of each other directory. */
  readonly lives: Readonly<Record<string, { readonly life: number; readonly process: string }>>;
  /** Storage ids of the members; empty while they are not known. */
  readonly members: readonly string[];
  /** Storage ids of former members. */
  readonly removed: readonly string[];
  /** The names in the list, if this replica waits for the founding. */
  readonly awaited: ReadonlySet<string> | undefined;
}

/** Why a replica that introduces itself so is not heard; undefined if it is. */
export function refusalOf(own: Acquaintance, hello: Hello): RefusalReason | undefined {
  const { storage, life, process } = hello;
  if (hello.cell !== own.cell) return 'another-cell';
  if (storage === own.storage) return process === own.process ? 'own-address' : 'running-twice';
  if (hello.cluster !== undefined) {
    if (own.cluster !== undefined && hello.cluster !== own.cluster) return 'another-cluster';
    const isFounder = hello.initial?.some((member) => member.storage === own.storage) === true;
    if (own.awaited !== undefined && !isFounder) return 'another-cluster';
    if (own.joinable?.includes(hello.cluster) === false) return 'not-joined';
  }
  const known = own.lives[storage];
  if (known !== undefined && life < known.life) return 'old-copy';
  if (known !== undefined && life === known.life && process !== known.process) return 'running-twice';
  if (own.removed.includes(storage)) return 'removed';
  if (hello.isJoining || own.members.includes(storage)) return undefined;
  const name = nameOf(storage);
  if (own.members.length > 0)
    return own.members.some((member) => nameOf(member) === name) ? 'emptied-directory' : 'unknown-name';
  return own.awaited?.has(name) === false ? 'unknown-name' : undefined;
}

/** Whether the list has other names than the members that were written down by it. */
export const isCorrected = (members: readonly Member[], list: readonly string[]): boolean =>
  members.length !== list.length || !members.every(({ storage }) => list.includes(nameOf(storage)));

/** The names of the list that are not there with one new directory. `connected` are the hellos of open connections. */
export const awaitedOf = (own: string, list: readonly string[], connected: readonly Hello[]): string[] =>
  list.filter((name) => name !== nameOf(own) && founderOf(name, connected) === undefined);

/** The first members of the cell; undefined while somebody is awaited. */
export function foundersOf(
  own: string,
  list: readonly string[],
  connected: readonly Hello[],
): readonly Member[] | undefined {
  const initial = connected.map((hello) => hello.initial).find((each) => isFoundedBy(each, own, list));
  if (initial !== undefined) return initial;
  const storages = list.map((name) => (name === nameOf(own) ? own : founderOf(name, connected)));
  if (!storages.every((storage) => storage !== undefined)) return undefined;
  return storages.toSorted().map((storage, seat) => ({ seat, storage }));
}

function isFoundedBy(
  initial: readonly Member[] | undefined,
  own: string,
  list: readonly string[],
): initial is readonly Member[] {
  const isOwn = initial?.some(({ storage }) => storage === own) === true;
  return isOwn && !isCorrected(initial, list);
}

function founderOf(name: string, connected: readonly Hello[]): string | undefined {
  const hellos = connected.filter(({ storage }) => nameOf(storage) === name);
  const storage = hellos[0]?.storage;
  const isNew = hellos.every((hello) => !hello.isJoining && hello.initial === undefined);
  return isNew && hellos.every((hello) => hello.storage === storage) ? storage : undefined;
}
