/**
 * Which of an owner's points on the ring claims a key, under consistent hashing.
 *
 * The policy says only which owner a key goes to. But a key goes to the owner of the last point at or before the key;
 * so among that owner's points the claiming one is also the last at or before the key, and no other owner's points
 * need to be known.
 */

import type { Hash } from '../../../runtime/keys/position.ts';
import { pointOf } from '../../core/policy/consistent-hashing.ts';

export interface Claim {
  readonly name: string;
  /** Counted from 0. */
  readonly point: number;
  readonly hash: Hash;
}

/** The point of the owner that the policy gives `position` to. */
export function claimantPoint(name: string, virtualNodes: number, position: Hash): Claim | undefined {
  const points = Array.from({ length: virtualNodes }, (_, point) => ({
    name,
    point,
    hash: pointOf(name, point),
  }));
  const before = points.filter(({ hash }) => hash <= position);
  // With no point before the key, the last point on the ring claims the key, across zero.
  return last(before.length > 0 ? before : points);
}

const last = (claims: readonly Claim[]): Claim | undefined =>
  claims.reduce<Claim | undefined>(
    (best, claim) => (best !== undefined && best.hash >= claim.hash ? best : claim),
    undefined,
  );
