import { describe, expect, it } from 'vitest';
import { type Asking, Attempt, type Operation } from './attempt.ts';
import type { Ballot } from './ballot.ts';
import type { Lease } from './lease.ts';
import type { Promised, Refused, RefusalReason } from './messages.ts';
import { Quorums } from './view.ts';

const BALLOT: Ballot = { askedMs: 1_000, round: 1, member: 'a', incarnation: 1, attempt: 9 };
const lease = (holder: string): Lease => ({
  ...{ holder, incarnation: 1, number: 7, untilMs: 1_500, state: 'held', successor: undefined },
});
const asking = (operation: Operation, members: readonly string[]): Asking => ({
  ...{ operation, quorums: new Quorums({ members, before: undefined }), intervalMs: 500 },
  ...{ recipients: members, isQuery: operation === 'ask' },
});
const begin = (...members: string[]) => new Attempt('job', BALLOT, asking('take', members));
const promised = (askedMs?: number, holder = 'b'): Promised => ({
  ...{ kind: 'promised', attempt: 9 },
  written: askedMs === undefined ? undefined : { ...BALLOT, askedMs, member: holder },
  lease: askedMs === undefined ? undefined : lease(holder),
});
const refused = (of: 'read' | 'write', why: RefusalReason = 'outbid', detail = 0): Refused => ({
  ...{ kind: 'refused', attempt: 9, of, why, detail },
});
const ACCEPTED = { kind: 'accepted', attempt: 9 } as const;

describe('an attempt', () => {
  it('has read when a majority has promised, and has written when a majority has accepted', () => {
    const attempt = begin('a', 'b', 'c');
    expect(attempt.answer('a', promised())).toBe('waiting');
    expect(attempt.answer('c', promised())).toBe('has-read');
    attempt.write(lease('a'), 1_000);
    expect(attempt.answer('a', ACCEPTED)).toBe('waiting');
    expect(attempt.answer('b', ACCEPTED)).toBe('has-written');
  });

  it('counts an answer that comes twice once', () => {
    const attempt = begin('a', 'b', 'c');
    expect(attempt.answer('a', promised())).toBe('waiting');
    expect(attempt.answer('a', promised())).toBe('waiting');
  });

  it('does not count an answer of a process that is not a member', () => {
    const attempt = begin('a', 'b', 'c');
    attempt.answer('a', promised());
    expect(attempt.answer('x', promised())).toBe('waiting');
    expect(attempt.answer('y', refused('read'))).toBe('waiting');
  });

  it('does not take a promise for an acceptance, nor the other way round', () => {
    const attempt = begin('a', 'b', 'c');
    attempt.answer('a', promised());
    expect(attempt.answer('b', ACCEPTED)).toBe('waiting');
    attempt.answer('b', promised());
    attempt.write(lease('a'), 1_000);
    attempt.answer('a', ACCEPTED);
    expect(attempt.answer('c', promised())).toBe('waiting');
  });

  it('finds the lease written under the highest ballot', () => {
    const attempt = begin('a', 'b', 'c');
    attempt.answer('a', promised(200, 'old'));
    attempt.answer('b', promised(900, 'recent'));
    expect(attempt.found?.holder).toBe('recent');
  });

  it('is certain of the lease it found only if all answers have the same lease', () => {
    const same = begin('a', 'b', 'c');
    same.answer('a', promised(900));
    same.answer('b', promised(900));
    expect(same.isCertain).toBe(true);
    for (const [one, other] of [
      [promised(900), promised()],
      [promised(), promised(900)],
      [promised(200), promised(900)],
    ] as const) {
      const attempt = begin('a', 'b', 'c');
      attempt.answer('a', one);
      attempt.answer('b', other);
      expect(attempt.isCertain).toBe(false);
    }
  });

  it('goes on after a refusal for as long as a majority can still say yes', () => {
    const attempt = begin('a', 'b', 'c');
    expect(attempt.answer('a', refused('read', 'recovering', 90))).toBe('waiting');
    attempt.answer('b', promised());
    expect(attempt.answer('c', promised())).toBe('has-read');
  });

  it('has failed when none can', () => {
    const attempt = begin('a', 'b', 'c');
    attempt.answer('a', refused('read'));
    expect(attempt.answer('b', refused('read'))).toBe('failed');
  });

  it('takes no notice of a refusal to read once it writes', () => {
    const attempt = begin('a', 'b', 'c');
    attempt.answer('a', promised());
    attempt.answer('b', promised());
    attempt.write(lease('a'), 1_000);
    attempt.answer('b', refused('read'));
    expect(attempt.answer('c', refused('read'))).toBe('waiting');
    expect(attempt.answer('c', refused('write'))).toBe('waiting');
    expect(attempt.answer('b', refused('write'))).toBe('failed');
  });

  it('does not lose a member that has said yes to a copy of the question that is refused', () => {
    const attempt = begin('a', 'b', 'c');
    attempt.answer('a', refused('read', 'recovering'));
    attempt.answer('b', promised());
    expect(attempt.answer('b', refused('read', 'outbid', 1))).toBe('waiting');
    expect(attempt.answer('c', promised())).toBe('has-read');
  });

  it('counts one that is not believed as one that has refused to be read', () => {
    const attempt = begin('a', 'b', 'c');
    expect(attempt.disbelieve('b')).toBe('waiting');
    expect(attempt.refusals.get('b')).toBe('not-believed');
    expect(attempt.disbelieve('c')).toBe('failed');
    const writing = begin('a', 'b', 'c');
    writing.answer('a', promised());
    writing.answer('b', promised());
    writing.write(lease('a'), 1_000);
    writing.disbelieve('b');
    expect(writing.disbelieve('c')).toBe('waiting');
  });

  it('was outbid if a majority has answered, and of those that refused all were faster', () => {
    const outbid = begin('a', 'b', 'c');
    outbid.answer('a', promised());
    outbid.answer('b', refused('read', 'outbid', 4));
    expect(outbid.isOutbid).toBe(true);
    const unanswered = begin('a', 'b', 'c');
    unanswered.answer('a', refused('read', 'outbid', 4));
    unanswered.answer('b', refused('read', 'recovering', 90));
    expect(unanswered.isOutbid).toBe(false);
  });

  it('was outbid, too, if so many were faster that a majority cannot be had: two of four', () => {
    const outbid = begin('a', 'b', 'c', 'd');
    expect(outbid.answer('a', refused('read', 'outbid', 4))).toBe('waiting');
    expect(outbid.isOutbid).toBe(false);
    expect(outbid.answer('b', refused('read', 'outbid', 4))).toBe('failed');
    expect(outbid.isOutbid).toBe(true);
  });

  it('counts found leases and no promises as a query, and promises but no found leases otherwise', () => {
    const found = { ...promised(900), kind: 'found' } as const;
    const query = new Attempt('job', BALLOT, asking('ask', ['a', 'b', 'c']));
    query.answer('a', found);
    expect(query.answer('b', promised(900))).toBe('waiting');
    expect(query.answer('b', found)).toBe('has-read');
    expect(query).toMatchObject({ found: lease('b'), isCertain: true });
    const read = begin('a', 'b', 'c');
    read.answer('a', promised());
    expect(read.answer('b', found)).toBe('waiting');
  });

  it('knows the round to exceed, and who did not say yes and why', () => {
    const attempt = begin('a', 'b', 'c', 'd', 'e');
    attempt.answer('a', promised());
    attempt.answer('b', refused('read', 'outbid', 4));
    attempt.answer('c', refused('read', 'outbid', 2));
    attempt.answer('d', refused('read', 'late'));
    expect(attempt.roundSeen).toBe(4);
    expect([...attempt.refusals]).toEqual([
      ['b', 'outbid'],
      ['c', 'outbid'],
      ['d', 'late'],
      ['e', 'silent'],
    ]);
  });
});
