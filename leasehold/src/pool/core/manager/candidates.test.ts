import { describe, expect, it } from 'vitest';
import { instant } from '../../../runtime/time.ts';
import type { Report } from '../messages.ts';
import { Candidates } from './candidates.ts';
import { playManager } from './manager-script.ts';
import { LED } from './openings-script.ts';
import { Session } from './session.ts';

const reportOf = (incarnation: string): Report => ({
  ...{ kind: 'report', pool: 'p', incarnation, name: incarnation, url: `http://${incarnation}` },
  ...{ proof: undefined, sequence: 1, wantsAnswer: true, heard: undefined, seen: undefined },
  ...{ held: [], letGo: [], leaving: false, load: 0 },
});

function bench() {
  const limits = { candidates: 5, candidatesPerAddress: 3, candidatesPerConnection: 2 };
  const candidates = new Candidates(() => limits);
  /** Shows which candidate has to go, or which limit leaves no room. */
  const come = (incarnation: string, connection: string, address: string, confirms = false): string => {
    const session = new Session(connection, reportOf(incarnation), instant(0));
    const room = candidates.makeRoom(connection, address);
    if (!room.isThere) return room.limit;
    if (confirms) session.aliveAt = instant(0);
    candidates.add(session, address);
    return room.displaced?.identity.incarnation ?? '';
  };
  return { candidates, come };
}

describe('a candidate too many', () => {
  it('displaces the oldest unconfirmed one of its own connection', () => {
    const { come, candidates } = bench();
    expect([come('a', 'c1', 'x'), come('b', 'c1', 'x'), come('c', 'c1', 'x')]).toEqual(['', '', 'a']);
    expect(candidates.size).toBe(2);
  });

  it('displaces the oldest unconfirmed one of its own address', () => {
    const { come } = bench();
    come('a', 'c1', 'x');
    come('b', 'c2', 'x');
    come('c', 'c3', 'x');
    expect(come('d', 'c4', 'x')).toBe('a');
  });

  it('displaces the oldest unconfirmed one of the address with the most', () => {
    const { come } = bench();
    come('honest', 'c0', 'y');
    come('a', 'c1', 'x');
    come('b', 'c2', 'x');
    come('c', 'c3', 'x');
    come('other', 'c5', 'z');
    expect(come('newcomer', 'c4', 'y')).toBe('a');
  });

  it('displaces one of another address with as many, if all of the first have confirmed', () => {
    const { come } = bench();
    come('a', 'c1', 'x', true);
    come('b', 'c2', 'x', true);
    come('c', 'c3', 'y');
    come('d', 'c4', 'y');
    come('e', 'c5', 'z');
    expect(come('newcomer', 'c6', 'w')).toBe('c');
  });

  it('does not displace one that has confirmed', () => {
    const { come } = bench();
    come('a', 'c1', 'x', true);
    come('b', 'c2', 'x');
    come('c', 'c3', 'x', true);
    expect(come('d', 'c4', 'x', true)).toBe('b');
    expect(come('e', 'c5', 'x')).toBe('candidatesPerAddress');
  });
});

describe('a stranger that asks in one name after the other', () => {
  const names = ['v', 'w', 'x', 'y', 'z'];
  const flood = names
    .map((name, index) => {
      const displaced = index < 4 ? '' : `\n              > flood: refused FULL for now`;
      return `
      ${10 + index}    report ${name} 0? from=flood${displaced}
              > flood: update ack=0 candidate`;
    })
    .join('');

  it('displaces its own, is told so, and keeps nobody else out', () => {
    const { went, written } = playManager(`${LED}${flood}
      20    report a 0?
              > a: update ack=0 candidate
      21    report a 1 heard
              > append 2 term 1 join:a grant:a:0-16
    `);
    expect(went).toBe(written);
  });
});

describe('a candidate that has confirmed but whose name was given to another', () => {
  it('makes room for a newcomer, because it cannot join', () => {
    const script = `${LED}
      10    report x.1 0?
              > x.1: update ack=0 candidate
      10    report x.2 0?
              > x.2: update ack=0 candidate
      11    report x.1 1? heard
              > append 2 term 1 join:x.1 grant:x.1:0-16
      11    report x.2 1? heard
      20    appended
              > x.1: update ack=1 0-16#2
      21    report x.2 2?
              > x.2: update ack=2 candidate
              > x.2: refused NAME_IN_USE for now
      21    report x.2 3 heard
      22    report y 0?
              > y: update ack=0 candidate
      23    report z 0?
              > x.2: refused FULL for now
              > z: update ack=0 candidate
    `;
    const { went, written } = playManager(script, { mostCandidates: 2 });
    expect(went).toBe(written);
  });
});

describe('a pool too many', () => {
  it('is refused, while those that there are and those that are declared are served', () => {
    const script = `${LED}
      10    report a 0?
              > a: update ack=0 candidate
      11    report a 1 heard
              > append 2 term 1 join:a grant:a:0-16
      12    appended
              > a: update ack=1 0-16#2
      13    report b 0? pool=q
              > b: refused TOO_MANY_POOLS for now
      14    report c 0?
              > c: update ack=0 candidate
    `;
    const { went, written } = playManager(script, { mostPools: 1 });
    expect(went).toBe(written);
  });

  it('begins after all when a pool in which nobody is has made room', () => {
    const script = `${LED}
      10    report a 0?
              > a: update ack=0 candidate
      11    report a 1 heard
              > append 2 term 1 join:a grant:a:0-16
      12    appended
              > a: update ack=1 0-16#2
      13    report a 2? heard released:0-16#2 leaving
              > a: update ack=2 0-16#2
              > append 3 term 1 free:0-16 leave:a:left
      14    appended
              > a: update ack=2 candidate
      15    report b 0? pool=q
              > append 4 term 1 remove
              > b: refused TOO_MANY_POOLS for now
      16    appended
      17    report b 1? pool=q
              > b: update ack=1 candidate
      18    report b 2 heard pool=q
              > append 5 term 1 join:b grant:b:0-16
    `;
    const { went, written } = playManager(script, { mostPools: 1 });
    expect(went).toBe(written);
  });

  it('is not made by owners that all asked before the first pool was written', () => {
    const script = `${LED}
      10    report a 0? pool=q
              > a: update ack=0 candidate
      10    report b 0? pool=r
              > b: update ack=0 candidate
      11    report a 1 heard pool=q
              > append 2 term 1 join:a grant:a:0-16
      11    report b 1 heard pool=r
      12    appended
              > a: update ack=1 0-16#2
      13    report b 2? pool=r
              > b: refused TOO_MANY_POOLS for now
    `;
    const { went, written } = playManager(script, { mostPools: 1 });
    expect(went).toBe(written);
  });

  it('of one address is refused, although there is room for pools of others', () => {
    const script = `${LED}
      10    report a 0? pool=q
              > a: update ack=0 candidate
      11    report a 1 heard pool=q
              > append 2 term 1 join:a grant:a:0-16
      12    appended
              > a: update ack=1 0-16#2
      13    report b 0? from=a pool=r
              > a: refused TOO_MANY_POOLS for now
      14    report c 0? pool=r
              > c: update ack=0 candidate
    `;
    const { went, written } = playManager(script, { mostPoolsPerAddress: 1 });
    expect(went).toBe(written);
  });
});
