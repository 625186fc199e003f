import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AddressGroups, originOf } from './address-groups.ts';

describe('connections by the network they come from', () => {
  it('make room by the oldest of the origin that has the most', () => {
    const groups = new AddressGroups<string>();
    groups.add('honest', '10.0.0.1');
    groups.add('flood 1', '10.0.0.2');
    groups.add('flood 2', '10.0.0.2');
    expect(groups.oldest()).toBe('flood 1');
    groups.delete('flood 1');
    groups.add('flood 3', '10.0.0.2');
    expect(groups.oldest()).toBe('flood 2');
    expect(groups.oldest('10.0.0.1')).toBe('honest');
    expect(groups.oldest('10.0.0.9')).toBeUndefined();
  });

  it('are not counted twice when they are added or deleted twice', () => {
    const groups = new AddressGroups<string>();
    groups.add('one', 'a');
    groups.add('one', 'a');
    expect(groups.size).toBe(1);
    groups.delete('one');
    groups.delete('one');
    expect([groups.size, groups.largest, groups.oldest()]).toEqual([0, 0, undefined]);
  });

  it('always give the oldest of a largest group, whatever comes and goes', () => {
    const step = fc.record({
      isAdded: fc.boolean(),
      item: fc.nat(9),
      origin: fc.constantFrom('a', 'b', 'c'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const groups = new AddressGroups<string>();
        const model = new Map<string, string[]>();
        for (const { isAdded, item, origin } of steps) {
          const id = `${origin}${item}`;
          const all = (model.get(origin) ?? []).filter((each) => each !== id || isAdded);
          if (isAdded && !all.includes(id)) all.push(id);
          model.set(origin, all);
          if (isAdded) groups.add(id, origin);
          else groups.delete(id);
          const most = Math.max(...[...model.values()].map(({ length }) => length));
          expect(groups.largest).toBe(most);
          const candidates = [...model.values()].filter(({ length }) => length === most);
          if (most > 0) expect(candidates.map(([first]) => first)).toContain(groups.oldest());
          else expect(groups.oldest()).toBeUndefined();
        }
      }),
    );
  });
});

describe('the origin of an address', () => {
  it.each([
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
  ])('of %s is %s', (address, origin) => {
    expect(originOf(address)).toBe(origin);
  });
});
