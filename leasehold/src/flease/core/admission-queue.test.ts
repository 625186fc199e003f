import { describe, expect, it } from 'vitest';
import type { Operation } from './attempt.ts';
import { Entry } from './table.ts';
import { ResourceState } from './resource-state.ts';
import { AdmissionQueue } from './admission-queue.ts';

const FULL = 4_096;

const claimed = (resource: string): ResourceState => new ResourceState(new Entry(resource), 'a');

/** A crowd before a full house, and who is let in once there is room for so many. */
function bench() {
  const admissionQueue = new AdmissionQueue();
  const wait = (resource: string, operation: Operation = 'take'): ResourceState => {
    const state = claimed(resource);
    expect(admissionQueue.enter(state, operation, FULL)).toBe(false);
    return state;
  };
  const admit = (room: number): string[] => {
    let underWay = FULL - room;
    const admitted: string[] = [];
    for (const { resource } of admissionQueue.next(() => underWay)) {
      underWay += 1;
      admitted.push(resource);
    }
    return admitted;
  };
  return { admissionQueue, wait, admit };
}

describe('an admission queue', () => {
  it('admits each resource at once while there is room', () => {
    const { admissionQueue } = bench();
    expect(admissionQueue.enter(claimed('r'), 'take', FULL - 1)).toBe(true);
    expect(admissionQueue.isEmpty).toBe(true);
  });

  it('lets in the others in the order in which they came, as many as there is room for', () => {
    const { wait, admit, admissionQueue } = bench();
    for (const resource of ['r1', 'r2', 'r3']) wait(resource);
    expect(admit(2)).toEqual(['r1', 'r2']);
    wait('r4');
    expect(admit(2)).toEqual(['r3', 'r4']);
    expect(admissionQueue.isEmpty).toBe(true);
    wait('r5');
    expect(admit(1)).toEqual(['r5']);
  });

  it('lets in who renews before who does not', () => {
    const { wait, admit, admissionQueue } = bench();
    wait('r1');
    wait('r2', 'renew');
    expect(admit(1)).toEqual(['r2']);
    wait('r3', 'renew');
    expect(admissionQueue.enter(claimed('r4'), 'take', 0)).toBe(false); // Not past one who renews.
    expect(admit(9)).toEqual(['r3', 'r1', 'r4']);
  });

  it('forgets a resource that left, and puts one that changed its operation at the end of the other line', () => {
    const { wait, admit, admissionQueue } = bench();
    const [one, two] = [wait('r1'), wait('r2'), wait('r3')] as const;
    admissionQueue.leave(one);
    admissionQueue.enter(two, 'renew', FULL);
    expect(admissionQueue.isRenewing(two)).toBe(true);
    expect(admit(9)).toEqual(['r2', 'r3']);
  });

  it('forgets the last one, too', () => {
    const { admissionQueue, wait, admit } = bench();
    const last = wait('r');
    admissionQueue.leave(last);
    expect([admissionQueue.isEmpty, admissionQueue.has(last), admit(9)]).toEqual([true, false, []]);
  });

  it('lets one in whose turn has passed when it has come again', () => {
    const { admissionQueue, admit } = bench();
    const state = claimed('r');
    for (let turn = 0; turn < 3; turn += 1) {
      admissionQueue.enter(state, 'take', FULL);
      expect(admit(1)).toEqual(['r']);
    }
    admissionQueue.enter(state, 'take', FULL);
    admissionQueue.clear();
    expect(admit(1)).toEqual([]);
    admissionQueue.enter(state, 'take', FULL);
    expect(admit(1)).toEqual(['r']);
  });
});
