import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import { consistentHashing } from '../../core/policy/consistent-hashing.ts';
import { claimantPoint } from './claim.ts';
import { spanAt } from './shares.ts';

describe('the point that claims a key', () => {
  it('is, of the owner that the policy chose, the one that a ring of points would choose', () => {
    const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(names, fc.integer({ min: 1, max: 9 }), fc.bigInt(0n, RING_SIZE - 1n), (some, nodes, at) => {
        const members = some.map((name) => ({ name, incarnation: name, load: undefined }));
        const target = consistentHashing({ virtualNodes: nodes }).place({ rows: [], members });
        const winner = spanAt(target, at)?.incarnation ?? '';
        const claims = some.map((name) => claimantPoint(name, nodes, at));
        // Of everybody's best points, the winner's must be the nearest going down the ring.
        const distance = (point: bigint): bigint => (at - point + RING_SIZE) % RING_SIZE;
        const nearest = claims
          .map((claim) => distance(claim?.hash ?? 0n))
          .reduce((least, each) => (each < least ? each : least));
        const claim = claimantPoint(winner, nodes, at);
        expect(distance(claim?.hash ?? 0n)).toBe(nearest);
        expect(claim).toMatchObject({ name: winner });
      }),
      { numRuns: 200 },
    );
  });
});
