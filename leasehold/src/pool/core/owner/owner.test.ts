import { describe, expect, it } from 'vitest';
import { AssertionError } from '../../../runtime/assert.ts';
import { instant } from '../../../runtime/time.ts';
import { resolveDurations, ownerPace } from '../options.ts';
import { granted } from '../script.ts';
import { Owner, type OwnerEffect } from './owner.ts';
import { type OwnerScriptOptions, playOwner } from './owner-script.ts';

// In these scripts a lease lasts 9000 ms. `owner-script.ts` says how they are read.
function plays(script: string, options: OwnerScriptOptions = {}): void {
  const { went, written } = playOwner(script, options);
  expect(went).toBe(written);
}

/** It has asked. */
const STARTED = `
      0     wake
              > m1: report 1?
              > m2: report 1?`;

/** And holds the first half of the ring, from the instant 0. */
const HOLDING = `${STARTED}
      10    update 1.1 ack=1 0-8#2
              > admitted
              > granted 0-8#2
              > m1: report 2, held 0-8#2`;

describe('the pace of an owner', () => {
  it('is what the last update said', () =>
    plays(`${STARTED}
      10    update 1.1 ack=1 every=4000 0-8#2
              > admitted
              > granted 0-8#2
              > m1: report 2, held 0-8#2
      3799  wake
      3801  wake
              > m1: report 3?, held 0-8#2
    `));
});

describe('a lease', () => {
  it('is counted from when the report was sent, not from when the update came', () =>
    plays(`${STARTED}
      4000  update 1.1 ack=1 0-8#2
              > admitted
              > granted 0-8#2
              > m1: report 2, held 0-8#2
      8999  check 0
              > held #2
      9000  check 0
              > not held
      9000  since 0 2
              > broken
    `));

  it('is counted from the report that the update acknowledges, also when it comes unasked', () =>
    plays(`${HOLDING}
      3000  update 1.2 ack=2 0-8#2 8-16#3
              > granted 8-16#3
              > m1: report 3, held 0-8#2 8-16#3
      9009  check 0
              > held #2
      9010  check 0
              > not held
    `));

  it('cannot be had from an update that is too late', () =>
    plays(`${STARTED}
      9000  update 1.1 ack=1 0-8#2
              > admitted
              > m1: report 2
      9000  check 0
              > not held
    `));

  it('is as long as the update says', () =>
    plays(`${STARTED}
      10    update 1.1 ack=1 lease=5000 0-8#2
              > admitted
              > granted 0-8#2
              > m1: report 2, held 0-8#2
      4999  check 0
              > held #2
      5000  check 0
              > not held
    `));

  it('is renewed every 1500 ms or a little sooner, of the leader alone while it answers', () =>
    plays(`${HOLDING}
      1424  wake
      1425  wake
              > m1: report 3?, held 0-8#2
      1435  update 1.2 ack=3 0-8#2
      10424 check 0
              > held #2
      10425 check 0
              > not held
    `));

  it('is asked of everybody when the leader falls silent', () =>
    plays(`${STARTED}
      10    update 1.1 ack=1 from=m2 0-8#2
              > admitted
              > granted 0-8#2
              > m2: report 2, held 0-8#2
      1500  wake
              > m2: report 3?, held 0-8#2
      2000  wake
              > m1: report 4?, held 0-8#2
              > m2: report 4?, held 0-8#2
    `));

  it('is judged by the clock, not by a timer: a check at the end fails though nothing was woken', () =>
    plays(`${HOLDING}
      9000  check 0
              > not held
      9001  wake
              > lapsed 0-8#2
              > m1: report 3, let go lapsed:0-8#2
              > m1: report 4?, let go lapsed:0-8#2
    `));
});

describe('an older message', () => {
  const admitted = `${STARTED}
      10    update 2.5 ack=1 0-8#2
              > admitted
              > granted 0-8#2
              > m1: report 2, held 0-8#2`;

  it('of the same term, or a repeated one, has no effect', () =>
    plays(`${admitted}
      20    update 2.5 ack=1 0-8#2 8-16#3
      30    update 2.4 ack=2 0-8#2 8-16#3
      40    check 12
              > not held
    `));

  it('of an earlier term has none either, however high its sequence', () =>
    plays(`${admitted}
      20    update 1.99 ack=2 0-8#2 8-16#9
      30    check 12
              > not held
    `));

  it('of a deposed leader does not lengthen a lease', () =>
    plays(`${admitted}
      1500  wake
              > m1: report 3?, held 0-8#2
      1600  update 1.99 ack=3 0-8#2
      9000  check 0
              > not held
    `));

  it('is older than any of a later term, with which sequences begin again', () =>
    plays(`${admitted}
      20    update 3.1 ack=2 from=m2 0-8#2 8-16#3
              > granted 8-16#3
              > m2: report 3, held 0-8#2 8-16#3
      30    update 2.6 ack=2 0-8#2!
    `));
});

describe('a span that an update does not mention', () => {
  it('keeps its own end: absence means nothing', () =>
    plays(`${HOLDING}
      1500  wake
              > m1: report 3?, held 0-8#2
      1510  update 1.2 ack=3
      8999  check 0
              > held #2
      9000  check 0
              > not held
    `));
});

describe('keys whose lease ran out', () => {
  const lapsed = `${HOLDING}
      9000  wake
              > lapsed 0-8#2
              > m1: report 3, let go lapsed:0-8#2
              > m1: report 4?, let go lapsed:0-8#2`;

  it('are never served under their number again, whatever still says so', () =>
    plays(`${lapsed}
      9010  update 1.2 ack=4 0-8#2
      9020  check 0
              > not held
    `));

  it('are told of in every report until the Manager has heard and has another number for them', () =>
    plays(`${lapsed}
      9010  update 1.2 ack=2 0-8#2
      9500  wake
              > m1: report 5?, let go lapsed:0-8#2
              > m2: report 5?, let go lapsed:0-8#2
      9510  update 1.3 ack=5
              > dropped 0-8#2
              > m1: report 6
    `));

  it('are served again, with all that is remembered, under a number that continues theirs', () =>
    plays(`${lapsed}
      9010  update 1.2 ack=4 0-8#9<0-8#2
              > resumed 0-8#9
              > m1: report 5, held 0-8#9
      9020  check 0
              > held #9
      9020  since 0 2
              > continuous
      9020  since 0 1
              > broken
      9020  since 0 10
              > broken
    `));

  it('are new to it under a number that continues nothing', () =>
    plays(`${lapsed}
      9010  update 1.2 ack=4 0-8#9
              > dropped 0-8#2
              > granted 0-8#9
              > m1: report 5, held 0-8#9
      9020  since 0 2
              > broken
      9020  since 0 9
              > continuous
    `));

  it('are given up if it leaves before the Manager has said anything', () =>
    plays(`${lapsed}
      9010  leave
              > dropped 0-8#2
              > m1: report 5?, let go released:0-8#2, leaving
              > m2: report 5?, let go released:0-8#2, leaving
      9020  update 1.2 ack=5 0-8#9<0-8#2
              > m1: report 6, let go released:0-8#9, leaving
      9030  update 1.3 ack=6 admitted=no
              > left
    `));

  it('were loading, and so have no memory to come back to', () =>
    plays(
      `${HOLDING}
      9000  wake
              > lapsed 0-8#2
              > dropped 0-8#2
              > m1: report 3, let go released:0-8#2
              > m1: report 4?, let go released:0-8#2
      9010  update 1.2 ack=4 0-8#9<0-8#2
              > m1: report 5, let go released:0-8#9
    `,
      { loads: true },
    ));
});

describe('a released number', () => {
  it('is never used again, and neither is one that continues it: the memory is gone', () =>
    plays(`${HOLDING}
      20    update 1.2 ack=2 0-8#2!
              > revoking 0-8#2
              > dropped 0-8#2
              > m1: report 3, let go released:0-8#2
      30    update 1.3 ack=2 0-8#2
      40    update 1.4 ack=2 0-8#5<0-8#2
              > m1: report 4, let go released:0-8#5
      50    check 0
              > not held
      60    update 1.5 ack=4 0-8#6
              > granted 0-8#6
              > m1: report 5, held 0-8#6
    `));
});

describe('a number that continues what the owner never had', () => {
  it('is let go of at once, for it claims a memory that is not there', () =>
    plays(`${STARTED}
      10    update 1.1 ack=1 0-8#5<0-8#2
              > admitted
              > m1: report 2, let go released:0-8#5
    `));

  it('is let go of at once if it is recalled before it was heard of', () =>
    plays(`${STARTED}
      10    update 1.1 ack=1 0-8#5!
              > admitted
              > m1: report 2, let go released:0-8#5
    `));
});

describe('keys that are recalled', () => {
  const recalled = `${HOLDING}
      100   update 1.2 ack=2 0-4#2 4-8#2!
              > revoking 4-8#2
              > m1: report 3, held 0-4#2 4-8#2`;

  it('take no new work but are still held while what is under way is flushed', () =>
    plays(
      `${recalled}
      110   check 4
              > not held
      110   since 4 2
              > continuous
      110   check 0
              > held #2
      200   flushed 4-8#2
              > dropped 4-8#2
              > m1: report 4, held 0-4#2, let go released:4-8#2
      210   since 4 2
              > broken
      220   update 1.3 ack=4 0-4#2
              > m1: report 5, held 0-4#2
    `,
      { flushes: true },
    ));

  it('are let go of at the deadline if they are not flushed by then', () =>
    plays(
      `${recalled}
      1500  wake
              > m1: report 4?, held 0-4#2 4-8#2
      3099  wake
              > m1: report 5?, held 0-4#2 4-8#2
              > m2: report 5?, held 0-4#2 4-8#2
      3100  wake
              > dropped 4-8#2
              > m1: report 6, held 0-4#2, let go released:4-8#2
      3200  flushed 4-8#2
    `,
      { flushes: true },
    ));

  it('are not given a new deadline by hearing of the recall again', () =>
    plays(
      `${recalled}
      2000  update 1.3 ack=3 0-4#2 4-8#2!
      2100  update 1.4 ack=3 0-4#2 4-8#2! 8-9#5
              > granted 8-9#5
              > m1: report 4, held 0-4#2 4-8#2 8-9#5
      3100  wake
              > dropped 4-8#2
              > m1: report 5, held 0-4#2 8-9#5, let go released:4-8#2
              > m1: report 6?, held 0-4#2 8-9#5, let go released:4-8#2
    `,
      { flushes: true },
    ));

  it('are forgotten, not remembered, if the lease ends first', () =>
    plays(
      `${STARTED}
      8000  update 1.1 ack=1 0-8#2
              > admitted
              > granted 0-8#2
              > m1: report 2, held 0-8#2
      8100  update 1.2 ack=1 0-8#2!
              > revoking 0-8#2
              > m1: report 3, held 0-8#2
      9000  wake
              > dropped 0-8#2
              > m1: report 4, let go released:0-8#2
              > m1: report 5?, let go released:0-8#2
    `,
      { flushes: true },
    ));

  it('are let go of at once when the application has nothing to flush', () =>
    plays(`${HOLDING}
      100   update 1.2 ack=2 0-4#2 4-8#2!
              > revoking 4-8#2
              > dropped 4-8#2
              > m1: report 3, held 0-4#2, let go released:4-8#2
    `));
});

describe('keys that are granted', () => {
  it('are served once they are loaded, not before', () =>
    plays(
      `${HOLDING}
      20    check 0
              > not held
      20    since 0 2
              > broken
      30    loaded 0-4#2
      40    check 0
              > held #2
      40    check 4
              > not held
    `,
      { loads: true },
    ));

  it('are served if their number changed while they were loading', () =>
    plays(
      `${HOLDING}
      20    update 1.2 ack=2 0-8#5<0-8#2
              > m1: report 3, held 0-8#5
      30    loaded 0-8#2
      40    check 0
              > held #5
    `,
      { loads: true },
    ));

  it('keep their tenure when rows are merged: the new number continues both', () =>
    plays(`${STARTED}
      10    update 1.1 ack=1 0-4#2 4-8#3
              > admitted
              > granted 0-4#2 4-8#3
              > m1: report 2, held 0-4#2 4-8#3
      20    update 1.2 ack=2 0-8#7<0-4#2,4-8#3
              > m1: report 3, held 0-4#7 4-8#7
      30    since 0 2
              > continuous
      30    since 4 2
              > broken
      30    since 4 3
              > continuous
    `));
});

describe('the instants an owner wants to be woken at', () => {
  const settings = {
    identity: { pool: 'p', incarnation: 'a.1', name: 'a', url: 'http://a', proof: undefined },
    managers: ['m1'],
    durations: resolveDurations(),
    loads: false,
    flushes: false,
    random: () => 0.5,
  };
  const update = (acknowledges: number, sequence: number, spans: string[], position = 0) =>
    ({
      kind: 'update',
      pool: 'p',
      incarnation: 'a.1',
      history: 'h',
      term: 1,
      sequence,
      position,
      acknowledges,
      leaseMs: 9_000,
      pace: ownerPace(resolveDurations()),
      admitted: true,
      spans: spans.map(granted),
    }) as const;

  it('are its next report, or the end of a lease if that is sooner; none once it has left', () => {
    const owner = new Owner(settings, instant(0));
    expect(owner.wakeAt).toBe(0);
    owner.wake(instant(0));
    expect(owner.wakeAt).toBe(500);
    owner.receive('m1', update(1, 1, ['0-8#2']), instant(10));
    expect(owner.wakeAt).toBe(1_425);
    owner.wake(instant(8_800));
    expect(owner.wakeAt).toBe(9_000);
    owner.wake(instant(9_000));
    owner.leave(instant(9_001));
    const effects: OwnerEffect[] = owner.receive(
      'm1',
      { ...update(5, 2, []), admitted: false },
      instant(9_010),
    );
    expect(effects.map((effect) => effect.do)).toContain('left');
    expect(owner.wakeAt).toBeUndefined();
  });

  it('leave to chance when it renews, so that not all come at once: a little sooner, never later', () => {
    const renews = [0, 0.5, 1].map((draw) => {
      const owner = new Owner({ ...settings, random: () => draw }, instant(0));
      owner.wake(instant(0));
      owner.receive('m1', update(1, 1, ['0-8#2']), instant(10));
      return owner.wakeAt;
    });
    expect(renews).toEqual([1_350, 1_425, 1_500]);
  });

  it('are told by a clock that never goes back', () => {
    const owner = new Owner(settings, instant(0));
    owner.wake(instant(10));
    expect(() => owner.wake(instant(9))).toThrow(AssertionError);
  });

  it('leave it knowing the furthest point of the log that it has heard of', () => {
    const owner = new Owner(settings, instant(0));
    expect(owner.seen).toBeUndefined();
    owner.wake(instant(0));
    owner.receive('m1', update(1, 1, [], 12), instant(1));
    owner.receive('m1', update(1, 2, [], 11), instant(2));
    expect(owner.seen).toEqual({ history: 'h', term: 1, position: 12 });
  });

  it('leave it with a term and a position that one Manager stamped together', () => {
    const owner = new Owner(settings, instant(0));
    owner.wake(instant(0));
    owner.receive('m1', { ...update(1, 1, [], 12), stamp: 'of 1 and 12' }, instant(1));
    // The store went back in time: a later leader, on an older log.
    owner.receive('m1', { ...update(2, 1, [], 11), term: 2, stamp: 'of 2 and 11' }, instant(2));
    expect(owner.seen).toEqual({ history: 'h', term: 1, position: 12, stamp: 'of 1 and 12' });
    owner.receive('m1', { ...update(2, 2, [], 12), term: 2, stamp: 'of 2 and 12' }, instant(3));
    expect(owner.seen).toEqual({ history: 'h', term: 2, position: 12, stamp: 'of 2 and 12' });
  });
});
