import { expect, it } from 'vitest';
import { SlotOwners, SLOTS } from './slots.ts';

it('spreads slots evenly over servers, also over servers with braces in their names', () => {
  for (const names of [
    ['a', 'b', 'c'],
    ['a{x}', 'b{x}', 'c{x}'],
  ]) {
    const owners = new SlotOwners(names);
    const counts = new Map<string | undefined, number>();
    for (let slot = 0; slot < SLOTS; slot += 1) {
      const owner = owners.ownerOf(slot);
      counts.set(owner, (counts.get(owner) ?? 0) + 1);
    }
    for (const name of names) expect(counts.get(name)).toBeGreaterThan(SLOTS / 5);
  }
});

it('have no owner without servers', () => {
  expect(new SlotOwners([]).ownerOf(3)).toBeUndefined();
});
