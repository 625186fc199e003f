/** Moves as the Manager that leads asks for them and commits them. */

import { describe, expect, it } from 'vitest';
import { playManager, type ManagerScriptOptions } from './manager-script.ts';

function plays(script: string, options: ManagerScriptOptions = {}): void {
  const { went, written } = playManager(script, options);
  expect(went).toBe(written);
}

/** `a` has 0-8 and `b` 8-16, and both move keys; the pool has moved none so far. */
const TWO_MOVERS = `
  0     log 1 0 join:a join:b grant:a:0-8 grant:b:8-16
  10000 elected 1 2000000
        > append 2 term 1
  10010 appended
  10020 report a 1? 0-8#1 moves
        > a: update ack=1 0-8#1
  10020 report b 1? 8-16#1 moves
        > b: update ack=1 8-16#1
  10030 report a 2 heard 0-8#1 moves
  10030 report b 2 heard 8-16#1 moves
`;

describe('the first drain of a pool', () => {
  it('is told the first tickets as soon as the record of moves is written', () =>
    plays(`${TWO_MOVERS}
      10040 report a 3? heard 0-8#1 moves intent=draining
            > a: update ack=3 0-8#1 targets 1
            > append 3 term 1 moves
      10050 appended
            > b: update ack=2 8-16#1 expect m1.1.1:0-8#1<a
    `));
});

describe('a pool of one owner that moves keys', () => {
  it('begins to move keys when it was quiet, so the next owner to come takes nothing by a recall', () =>
    plays(
      `
      0     log 1 0 join:a grant:a:0-16
      10000 elected 1 2000000
            > append 2 term 1
      10010 appended
      10020 report a 1? 0-16#1 moves
            > a: update ack=1 0-16#1
      10030 report a 2 heard 0-16#1 moves
      11100 wake
            > append 3 term 1 moves
      11110 appended
      11120 report b 1? moves
            > b: update ack=1 candidate
      11130 report b 2? heard moves
            > append 4 term 1 join:b
      11140 appended
            > b: update ack=2 expect m1.1.1:14-16#1<a
    `,
      { quietAfterMs: 1_000 },
    ));
});

describe('a drain of several ranges', () => {
  /** `a` has three rows that are not neighbours, and drains. */
  const THREE_ROWS = `
    0     log 1 0 join:a join:b grant:a:0-2 grant:b:2-4,8-16
    0     log 2 0 grant:a:4-6
    0     log 3 0 grant:a:6-8 moves
    10000 elected 1 2000000
          > append 4 term 1
    10010 appended
    10020 report b 1? 2-4#1 8-16#1 moves
          > b: update ack=1 2-4#1 8-16#1
    10020 report b 2 heard 2-4#1 8-16#1 moves
    10020 report a 1? 0-2#1 4-6#2 6-8#3 moves intent=draining
          > a: update ack=1 0-2#1 4-6#2 6-8#3
    10030 report a 2 heard 0-2#1 4-6#2 6-8#3 moves intent=draining
          > b: update ack=2 2-4#1 8-16#1 expect m1.1.1:0-2#1<a expect m1.1.2:4-6#2<a expect m1.1.3:6-8#3<a
          > a: update ack=2 0-2#1 4-6#2 6-8#3 targets 1
    10035 report a 3 heard 0-2#1 4-6#2 6-8#3 moves intent=draining
  `;

  it('begins when the owner that drains has heard this leader', () => plays(THREE_ROWS));

  it('has them under way side by side, because each may wait for the end of work', () =>
    plays(`${THREE_ROWS}
      10040 report b 3 heard 2-4#1 8-16#1 moves receiving=m1.1.1:0-2#1<a,m1.1.2:4-6#2<a,m1.1.3:6-8#3<a
            > a: update ack=3 0-2#1 4-6#2 6-8#3 move m1.1.1:0-2#1>b move m1.1.2:4-6#2>b move m1.1.3:6-8#3>b targets 1
      10050 report a 4 heard 0-2#1 4-6#2 6-8#3 moves intent=draining moving=m1.1.1:0-2#1>b,m1.1.2:4-6#2>b,m1.1.3:6-8#3>b
      10060 report b 4 heard 2-4#1 8-16#1 moves receiving=m1.1.1:0-2#1<a,m1.1.2:4-6#2<a,m1.1.3:6-8#3<a=d
      10070 report a 5 0-2#1 4-6#2 moves intent=draining moving=m1.1.1:0-2#1>b,m1.1.2:4-6#2>b handed=m1.1.3:6-8#3>b=d
            > append 5 term 1 move:b:6-8
    `));
});

describe('how many owners could take the keys of an owner that drains', () => {
  it('is not said before every member was heard in this term, so that no owner leaves at once for want of targets', () =>
    plays(`
      0     log 1 0 join:a join:b grant:a:0-8 grant:b:8-16 moves
      10000 elected 1 2000000
            > append 2 term 1
      10010 appended
      10020 report a 1? 0-8#1 moves intent=draining
            > a: update ack=1 0-8#1
      10030 report a 2 heard 0-8#1 moves intent=draining
      10040 report b 1? 8-16#1 moves
            > b: update ack=1 8-16#1
      10050 report b 2 heard 8-16#1 moves
            > a: update ack=2 0-8#1 targets 1
            > b: update ack=2 8-16#1 expect m1.1.1:0-8#1<a
    `));

  it('is said without a member that has not been heard for so long that it would have reported', () =>
    plays(`
      0     log 1 0 join:a join:b grant:a:0-8 grant:b:8-16 moves
      10000 elected 1 2000000
            > append 2 term 1
      10010 appended
      10020 report a 1? 0-8#1 moves intent=draining
            > a: update ack=1 0-8#1
      10030 report a 2 heard 0-8#1 moves intent=draining
      12000 wake
      12500 wake
            > append 3 term 1 silent:b:2500
      12510 appended
            > a: update ack=2 0-8#1 targets 0
    `));
});

describe('an order of an operator', () => {
  /** `a` and `b` share the ring, both move keys, both have heard the leader, and keys can move. */
  const QUIET = `
    0     log 1 0 join:a join:b grant:a:0-8 grant:b:8-16 moves
    10000 elected 1 2000000
          > append 2 term 1
    10010 appended
    10020 report a 1? 0-8#1 moves
          > a: update ack=1 0-8#1
    10020 report b 1? 8-16#1 moves
          > b: update ack=1 8-16#1
    10030 report a 2 heard 0-8#1 moves
    10030 report b 2 heard 8-16#1 moves
  `;

  it('to empty an owner is written, then its keys are handed over, and it stays', () =>
    plays(`${QUIET}
      10040 order a emptying
            > append 3 term 1 order:a:emptying
      10050 appended
            > a: update ack=2 0-8#1 asked emptying targets 1
            > b: update ack=2 8-16#1 expect m1.1.1:0-8#1<a
      10060 report a 3 heard 0-8#1 moves intent=emptying
      10070 report b 3 heard 8-16#1 moves receiving=m1.1.1:0-8#1<a
            > a: update ack=3 0-8#1 move m1.1.1:0-8#1>b asked emptying targets 1
      10080 report b 4 heard 8-16#1 moves receiving=m1.1.1:0-8#1<a=d
      10090 report a 4 moves intent=emptying handed=m1.1.1:0-8#1>b=d
            > append 4 term 1 move:b:0-8
      10100 appended
            > b: update ack=4 0-8#4 8-16#1 arrived m1.1.1:0-8#4
      12000 report a 5? heard moves intent=emptying
            > a: update ack=5 asked emptying targets 1
    `));

  it('lets a pool begin to move keys', () =>
    plays(`${TWO_MOVERS}
      10040 order a emptying
            > append 3 term 1 order:a:emptying
      10050 appended
            > a: update ack=2 0-8#1 asked emptying targets 1
            > append 4 term 1 moves
      10060 appended
            > b: update ack=2 8-16#1 expect m1.1.1:0-8#1<a
    `));

  it('is written once, and not at all if it stands already', () =>
    plays(`${QUIET}
      10040 order a cordoned
            > append 3 term 1 order:a:cordoned
      10045 order a cordoned
      10050 appended
            > a: update ack=2 0-8#1 asked cordoned
      10060 order a cordoned
    `));

  it('is taken back by another one', () =>
    plays(`${QUIET}
      10040 order a cordoned
            > append 3 term 1 order:a:cordoned
      10050 appended
            > a: update ack=2 0-8#1 asked cordoned
      10060 report a 3 heard 0-8#1 moves intent=cordoned
      10070 order a none
            > append 4 term 1 order:a:none
      10080 appended
            > a: update ack=3 0-8#1
    `));

  it('survives a failover: the next leader asks the owner for the same', () =>
    plays(`
      0     log 1 0 join:a join:b grant:a:0-8 grant:b:8-16 moves order:a:emptying
      10000 elected 1 2000000
            > append 2 term 1
      10010 appended
      10020 report a 1? 0-8#1 moves
            > a: update ack=1 0-8#1 asked emptying
    `));

  it('survives in a snapshot, which a Manager that knows of no orders cannot read', () =>
    plays(
      `${QUIET}
      10040 order a cordoned
            > append 3 term 1 order:a:cordoned
      10050 appended
            > a: update ack=2 0-8#1 asked cordoned
            > compact 3
    `,
      { compactEveryBatches: 3 },
    ));

  it('to an owner that is no member, or leaves meanwhile, is dropped', () =>
    plays(`${QUIET}
      10040 order c cordoned
      10050 certificate c
            > supervisor: certified
    `));

  it('to release asks its keys back, which is a loss', () =>
    plays(`${QUIET}
      10040 order a released
            > append 3 term 1 order:a:released
      10050 appended
            > a: update ack=2 0-8#1 asked emptying targets 1
      10060 report a 3 heard 0-8#1 moves intent=emptying
            > a: update ack=3 0-8#1! asked emptying targets 1
    `));

  it('lets no keys go to a cordoned owner', () =>
    plays(`${QUIET}
      10040 order b cordoned
            > append 3 term 1 order:b:cordoned
      10050 appended
            > b: update ack=2 8-16#1 asked cordoned
      10060 report a 3? heard 0-8#1 moves intent=draining
            > a: update ack=3 0-8#1 targets 0
    `));

  it('never asks back the keys of an owner that is to be emptied, also if its state cannot be brought away for a while', () =>
    plays(`${QUIET}
      10040 order a emptying
            > append 3 term 1 order:a:emptying
      10050 appended
            > a: update ack=2 0-8#1 asked emptying targets 1
            > b: update ack=2 8-16#1 expect m1.1.1:0-8#1<a
      10060 report a 3? heard 0-8#1
            > a: update ack=3 0-8#1
    `));
});

describe('a pool in which nobody comes or goes', () => {
  /** `a` has the whole ring. */
  const UNEVEN = `
    0     log 1 0 join:a join:b grant:a:0-16 moves
    10000 elected 1 2000000
          > append 2 term 1
    10010 appended
    10020 report b 1? moves
          > b: update ack=1
    10020 report a 1? 0-16#1 moves
          > a: update ack=1 0-16#1
    10025 report b 2 heard moves
    10030 report a 2 heard 0-16#1 moves
  `;

  it('is evened out, 9 % of the ring in a round: a part of a row goes where too little is', () =>
    plays(
      `${UNEVEN}
          > b: update ack=2 expect m1.1.1:14-16#1<a
      10040 report b 3 heard moves receiving=m1.1.1:14-16#1<a
            > a: update ack=2 0-16#1 move m1.1.1:14-16#1>b
    `,
      { quietAfterMs: 0 },
    ));

  it('is left alone before that', () => plays(UNEVEN, { quietAfterMs: 60_000 }));

  it('is left alone while an owner hands all over', () =>
    plays(
      `
      0     log 1 0 join:a join:b join:c grant:a:0-16 moves order:c:emptying
      10000 elected 1 2000000
            > append 2 term 1
      10010 appended
      10020 report b 1? moves
            > b: update ack=1
      10020 report c 1? moves
            > c: update ack=1 asked emptying
      10020 report a 1? 0-16#1 moves
            > a: update ack=1 0-16#1
      10025 report b 2 heard moves
      10025 report c 2 heard moves
      10030 report a 2 heard 0-16#1 moves
            > c: update ack=2 asked emptying targets 2
    `,
      { quietAfterMs: 0 },
    ));
});
