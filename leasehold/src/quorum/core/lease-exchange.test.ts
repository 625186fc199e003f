import { describe, expect, it } from 'vitest';
import { holdFor } from './leases.ts';
import { put } from './operation.ts';
import { LEASE_MS, Trio } from './testing/trio.ts';

describe('a grantor', () => {
  it('writes down the longest hold that it has promised, also when it promises a shorter one later', () => {
    const trio = new Trio();
    const { leader, follower } = trio;
    const holds = (): number[] =>
      (trio.effects.get(leader) ?? []).flatMap((effect) =>
        effect.do === 'persist' ? [effect.frame.holdMs] : [],
      );
    expect(holds().at(-1)).toBe(holdFor(LEASE_MS));
    const { acceptor, log } = trio.replica(follower).view;
    const { ballot } = acceptor;
    const short = { leaseMs: LEASE_MS / 20, ballot, upTo: log.last };
    trio.input(leader, (replica) =>
      replica.receive(follower, { kind: 'ask', life: 1, number: 10_000, ...short }, trio.now),
    );
    const before = holds().length;
    trio.begin(leader, put('key', new Uint8Array([1])));
    expect(holds().length).toBeGreaterThan(before);
    expect(holds().at(-1)).toBe(holdFor(LEASE_MS));
  });
});
