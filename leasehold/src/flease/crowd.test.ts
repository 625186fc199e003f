import { describe, expect, it } from 'vitest';
import type { Purpose } from './attempt.ts';
import { Entry } from './table.ts';
import { Claim } from './claim.ts';
import { Crowd } from './crowd.ts';

const FULL = 4_096;

const claimed = (resource: string): Claim => new Claim(new Entry(resource), 'a');

/** A crowd before a full house, and who is let in once there is room for so many. */
function bench() {
  const crowd = new Crowd();
  const wait = (resource: string, purpose: Purpose = 'take'): Claim => {
    const claim = claimed(resource);
    expect(crowd.enter(claim, purpose, FULL)).toBe(false);
    return claim;
  };
  const admit = (room: number): string[] => {
    let underWay = FULL - room;
    const admitted: string[] = [];
    for (const { resource } of crowd.next(() => underWay)) {
      underWay += 1;
      admitted.push(resource);
    }
    return admitted;
  };
  return { crowd, wait, admit };
}

describe('a crowd', () => {
  it('lets in whoever comes while there is room', () => {
    const { crowd } = bench();
    expect(crowd.enter(claimed('r'), 'take', FULL - 1)).toBe(true);
    expect(crowd.isEmpty).toBe(true);
  });

  it('lets in the others in the order in which they came, as many as there is room for', () => {
    const { wait, admit, crowd } = bench();
    for (const resource of ['r1', 'r2', 'r3']) wait(resource);
    expect(admit(2)).toEqual(['r1', 'r2']);
    wait('r4');
    expect(admit(2)).toEqual(['r3', 'r4']);
    expect(crowd.isEmpty).toBe(true);
    wait('r5');
    expect(admit(1)).toEqual(['r5']);
  });

  it('lets in who renews before who does not', () => {
    const { wait, admit, crowd } = bench();
    wait('r1');
    wait('r2', 'renew');
    expect(admit(1)).toEqual(['r2']);
    wait('r3', 'renew');
    expect(crowd.enter(claimed('r4'), 'take', 0)).toBe(false); // Not past one who renews.
    expect(admit(9)).toEqual(['r3', 'r1', 'r4']);
  });

  it('forgets who has left, and puts who has changed its mind at the end of the other line', () => {
    const { wait, admit, crowd } = bench();
    const [one, two] = [wait('r1'), wait('r2'), wait('r3')] as const;
    crowd.leave(one);
    crowd.enter(two, 'renew', FULL);
    expect(crowd.isRenewing(two)).toBe(true);
    expect(admit(9)).toEqual(['r2', 'r3']);
  });

  it('forgets the last one, too', () => {
    const { crowd, wait, admit } = bench();
    const last = wait('r');
    crowd.leave(last);
    expect([crowd.isEmpty, crowd.has(last), admit(9)]).toEqual([true, false, []]);
  });

  it('lets one in whose turn has passed when it has come again', () => {
    const { crowd, admit } = bench();
    const claim = claimed('r');
    for (let turn = 0; turn < 3; turn += 1) {
      crowd.enter(claim, 'take', FULL);
      expect(admit(1)).toEqual(['r']);
    }
    crowd.enter(claim, 'take', FULL);
    crowd.clear();
    expect(admit(1)).toEqual([]);
    crowd.enter(claim, 'take', FULL);
    expect(admit(1)).toEqual(['r']);
  });
});
