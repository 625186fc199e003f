/**
 * A server's name stays the same when the server restarts; the incarnation does not. Incarnations of one name are
 * ordered, so that every process can tell which of two records or promises belongs to the later process.
 *
 * An incarnation begins with the wall clock at the start. The wall clock may have gone back since the previous process ran.
 * So the order is repaired rather than trusted: a server that hears of a greater incarnation of its own name takes a
 * greater one still ({@link incarnationAfter}).
 */

const NONCE_LIMIT = 2 ** 32;

export interface Incarnation {
  /** The wall clock when the process started, or one more than a refuted incarnation. */
  readonly startedMs: number;
  /** Drawn at random: two processes that start in the same millisecond differ. */
  readonly nonce: number;
}

/** One process of the group. */
export interface MemberId {
  readonly name: string;
  readonly incarnation: Incarnation;
}

export const compareIncarnations = (one: Incarnation, other: Incarnation): number =>
  one.startedMs - other.startedMs || one.nonce - other.nonce;

export const isSameIncarnation = (one: Incarnation, other: Incarnation): boolean =>
  one.startedMs === other.startedMs && one.nonce === other.nonce;

export const incarnationAfter = (other: Incarnation, nonce: number): Incarnation => ({
  startedMs: other.startedMs + 1,
  nonce,
});

/** A later incarnation of a name than this one. */
export const laterIncarnation = (other: Incarnation, random: () => number): Incarnation =>
  incarnationAfter(other, Math.floor(random() * NONCE_LIMIT));

/** An incarnation belongs to one name, and its key is asked for again and again. */
const keys = new WeakMap<Incarnation, { readonly name: string; readonly key: string }>();

export function keyOf({ name, incarnation }: MemberId): string {
  const known = keys.get(incarnation);
  if (known?.name === name) return known.key;
  const key = `${name}#${incarnation.startedMs}.${incarnation.nonce}`;
  keys.set(incarnation, { name, key });
  return key;
}

/** A server in a set, with the version of its list of clients (`attachment.ts`): another list of clients makes another set. */
export interface SetMember extends MemberId {
  readonly listVersion: number;
}

/** A set of servers as a value: sorted by name, with a key that is equal for equal sets. */
export interface Membership {
  readonly key: string;
  readonly members: readonly SetMember[];
}

export function membershipOf(members: readonly SetMember[]): Membership {
  const sorted = members.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return { key: sorted.map((member) => `${keyOf(member)}@${member.listVersion}`).join(' '), members: sorted };
}

export const incarnationIn = ({ members }: Membership, name: string): Incarnation | undefined =>
  members.find((member) => member.name === name)?.incarnation;

/** Whether two lists name the same processes in the same order. */
export const areSameMembers = (one: readonly MemberId[], other: readonly MemberId[]): boolean =>
  one.length === other.length &&
  one.every((member, index) => {
    const peer = other[index];
    return (
      peer !== undefined &&
      member.name === peer.name &&
      isSameIncarnation(member.incarnation, peer.incarnation)
    );
  });
