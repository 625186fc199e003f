import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { PoolDirectory } from './pool-directory.ts';

/** An owner that holds one span, or none. */
const owner = {
  ...{ pool: 'ratelimit', url: 'leasehold-limit://a', isAdmitted: true, refusal: undefined, spans: 0 },
  mayBeBare: false,
  tenure: () => undefined,
  tenures: () => new Set(owner.spans === 0 ? [] : [1]),
  isHeld: () => true,
  ranges: () => Array.from({ length: owner.spans }, () => ({ start: 0n, end: 1n, number: 1 })),
};

describe('the directory of a pool', () => {
  it('counts a process as cut off that owned keys and owns none, and not one that waits for its first', () => {
    const directory = new PoolDirectory(owner, {
      ...{ find: () => undefined, row: () => undefined, isCutOff: false, position: undefined },
    });
    expect(directory.whyCutOff()).toBeUndefined();
    owner.spans = 1;
    directory.noteGrants(instant(0));
    expect(directory.whyCutOff()).toBeUndefined();
    owner.spans = 0;
    directory.noteGrants(instant(1));
    expect(directory.whyCutOff()).toMatch(
      /^this process owns no keys of pool ratelimit: no Manager has renewed/,
    );
    directory.close();
    expect(directory.whyCutOff()).toBeUndefined();
  });

  it('does not count a process as cut off that is cordoned or has handed its keys over', () => {
    const lookup = { find: () => undefined, row: () => undefined, isCutOff: false, position: undefined };
    const cordoned = { ...owner, tenures: () => new Set([1]), mayBeBare: true };
    const directory = new PoolDirectory(cordoned, lookup);
    directory.noteGrants(instant(0));
    expect([directory.whyCutOff(), directory.isReady(instant(1))]).toEqual([undefined, true]);
    lookup.isCutOff = true;
    expect(directory.whyCutOff()).toMatch(/owns no keys/);
    expect(directory.isReady(instant(2))).toBe(false);
  });
});
