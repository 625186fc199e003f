import { createColors } from 'picocolors';
import { describe, expect, it } from 'vitest';
import type { LoggedEvent } from './answers.ts';
import { EventTeller } from './event-line.ts';

const extent = { spans: 2, sharePercent: 33.31, ranges: [] };
const ada = { incarnation: 'a1', name: 'ada', url: 'http://one' };
const ben = { incarnation: 'b1', name: 'ben', url: 'http://ben' };

/** The lines about these events of the pool `p`, without their times. */
function told(...events: readonly object[]): readonly string[] {
  const teller = new EventTeller(createColors(false));
  return events.map((event) =>
    teller.line({ id: 'e-1', atMs: 0, position: 1, pool: 'p', ...event } as LoggedEvent).slice(10),
  );
}

describe('an event in one line', () => {
  it('says who came and went, and why', () => {
    expect(
      told({ kind: 'pool.joined', owner: ada }, { kind: 'pool.left', owner: ada, why: 'certified' }),
    ).toEqual(['p  ada joined, at http://one', 'p  ada is gone: its death was proved']);
  });

  it('says what was lost and what moved', () => {
    expect(
      told(
        { kind: 'pool.lost', owner: ada, ...extent },
        { kind: 'pool.moved', from: ben, owner: ada, ...extent },
      ),
    ).toEqual([
      'p  lost: the state of keys of ada, 33.3 % in 2 ranges',
      'p  moved from ben to ada: 33.3 % in 2 ranges',
    ]);
  });

  it('says what an operator has ordered', () => {
    const told4 = [null, 'cordoned', 'emptying', 'released'].map((order) => ({
      ...{ kind: 'pool.ordered', owner: ada, order },
    }));
    expect(told(...told4)).toEqual([
      'p  ada takes keys again, by order',
      'p  ada is to take no more keys, by order',
      'p  ada is to hand all its keys over, by order',
      'p  ada is to give back what it has not handed over, by order',
    ]);
  });

  it('does not call lost what an owner has given back itself', () => {
    expect(told({ kind: 'pool.lost', owner: ada, isPlanned: true, ...extent })).toEqual([
      'p  given back by ada: 33.3 % in 2 ranges; look-ups are told that what was kept of them is gone',
    ]);
  });

  it('says who leads, and who says so', () => {
    const manager = { pool: undefined, manager: 'a', term: 7 };
    const lines = told(
      { kind: 'manager.elected', ...manager },
      { kind: 'manager.follows', ...manager, leader: 'b' },
    );
    expect(lines.map((line) => line.replace(/^undefined {2}/, ''))).toEqual([
      'Manager a leads, term 7',
      'Manager b leads, term 7, as far as a knows, which stands by',
    ]);
  });

  it('says something even about what it does not know', () => {
    expect(told({ kind: 'renamed' })).toEqual(['p  renamed']);
  });
});

describe('owners of one name', () => {
  const again = { ...ada, incarnation: 'a2', url: 'http://two' };

  it('are told apart by their addresses for as long as both are there', () => {
    expect(
      told(
        { kind: 'pool.joined', owner: ada },
        { kind: 'pool.joined', owner: again },
        { kind: 'pool.lost', owner: ada, ...extent },
        { kind: 'pool.granted', owner: again, ...extent },
        { kind: 'pool.left', owner: ada, why: 'expired' },
        { kind: 'pool.lost', owner: ada, ...extent },
        { kind: 'pool.granted', owner: again, ...extent },
      ),
    ).toEqual([
      'p  ada joined, at http://one',
      'p  ada joined, at http://two, in place of the ada at http://one',
      'p  lost: the state of keys of the ada at http://one, 33.3 % in 2 ranges',
      'p  granted to the ada at http://two: 33.3 % in 2 ranges',
      'p  the ada at http://one is gone: its lease expired',
      'p  lost: the state of keys of the ada at http://one, 33.3 % in 2 ranges',
      'p  granted to ada: 33.3 % in 2 ranges',
    ]);
  });

  it('have nothing to do with each other if one left before the other came, or is in another pool', () => {
    expect(
      told(
        { kind: 'pool.joined', owner: ada },
        { kind: 'pool.left', owner: ada, why: 'left' },
        { kind: 'pool.joined', owner: again },
        { kind: 'pool.joined', owner: ada, pool: 'q' },
      ).slice(2),
    ).toEqual(['p  ada joined, at http://two', 'q  ada joined, at http://one']);
  });

  it('are forgotten when events were missed, for then nobody knows who is there', () => {
    expect(
      told({ kind: 'pool.joined', owner: ada }, { kind: 'gap' }, { kind: 'pool.joined', owner: again }).at(
        -1,
      ),
    ).toBe('p  ada joined, at http://two');
  });
});
