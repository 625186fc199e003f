import { describe, expect, it } from 'vitest';
import { Attempt } from './attempt.ts';
import type { RefusalReason } from './messages.ts';
import { Backoff } from './backoff.ts';
import { Quorums } from './view.ts';

const INTERVAL_MS = 500;

/** An attempt that two of three have refused, one of them because of this round of somebody else. */
function refused(askedMs: number, round: number, why: RefusalReason = 'outbid'): Attempt {
  const ballot = { askedMs, round: 1, member: 'a', incarnation: 1, attempt: 1 };
  const quorums = new Quorums({ members: ['a', 'b', 'c'], before: undefined });
  const asking = { quorums, intervalMs: INTERVAL_MS, recipients: quorums.everybody, isQuery: false };
  const attempt = new Attempt('job', ballot, { operation: 'take', ...asking });
  attempt.answer('b', { kind: 'refused', attempt: 1, of: 'read', why, detail: round });
  attempt.answer('c', { kind: 'refused', attempt: 1, of: 'read', why: 'recovering', detail: 0 });
  return attempt;
}

/** The same, but both were faster. */
function outbid(askedMs: number, round: number): Attempt {
  const attempt = refused(askedMs, round);
  attempt.answer('c', { kind: 'refused', attempt: 1, of: 'read', why: 'outbid', detail: round });
  return attempt;
}

const after = (...attempts: readonly Attempt[]): Backoff => {
  const backoff = new Backoff();
  for (const attempt of attempts) backoff.failed(attempt, INTERVAL_MS);
  return backoff;
};

describe('a back-off', () => {
  it('are answered with a round above the highest that was seen', () => {
    expect(after(refused(1_000, 7)).round('take', 1_100, INTERVAL_MS)).toBe(8);
    expect(after(refused(1_000, 7), refused(1_100, 3)).round('ask', 1_200, INTERVAL_MS)).toBe(8);
  });

  it('of an earlier interval of ballots do not count: all begin anew', () => {
    expect(after(refused(1_000, 7)).round('take', 1_500, INTERVAL_MS)).toBe(1);
    expect(after(refused(1_000, 7), refused(1_500, 3)).round('ask', 1_600, INTERVAL_MS)).toBe(4);
  });

  it.each(['renew', 'free'] as const)('are answered with leaps by who wants to %s', (operation) => {
    const backoff = after(outbid(1_000, 7));
    expect(backoff.round(operation, 1_100, INTERVAL_MS)).toBe(11);
    backoff.failed(outbid(1_100, 9), INTERVAL_MS);
    expect(backoff.round(operation, 1_200, INTERVAL_MS)).toBe(25);
  });

  it('are answered with leaps by who wants to take it, from the second on', () => {
    const backoff = after(outbid(1_000, 7));
    expect(backoff.round('take', 1_100, INTERVAL_MS)).toBe(8);
    backoff.failed(outbid(1_100, 9), INTERVAL_MS);
    expect(backoff.round('take', 1_200, INTERVAL_MS)).toBe(25);
    backoff.failed(outbid(1_200, 30), INTERVAL_MS);
    expect(backoff.round('take', 1_300, INTERVAL_MS)).toBe(94);
  });

  it('are answered without leaps, as long as no majority answers: nobody can have it', () => {
    const backoff = after(...[1_000, 1_100, 1_200].map((askedMs) => refused(askedMs, 7)));
    for (const operation of ['take', 'renew', 'free'] as const)
      expect(backoff.round(operation, 1_300, INTERVAL_MS)).toBe(8);
  });

  it('lead to leaps of no more than 4,096 rounds, so that there are enough of them', () => {
    const backoff = after(...Array.from({ length: 20 }, (_, place) => outbid(1_000 + place, 7)));
    expect(backoff.round('take', 1_300, INTERVAL_MS)).toBe(7 + 4_096);
  });

  it('never lead to a round that nobody would heed', () => {
    expect(after(refused(1_000, 2 ** 32)).round('take', 1_100, INTERVAL_MS)).toBe(2 ** 32);
  });

  it('say how often, how often without an answer in a row, and why', () => {
    const backoff = after(refused(1_000, 7, 'clock-off'), refused(1_100, 7, 'clock-off'));
    expect(backoff).toMatchObject({ failures: 2, unanswered: 2 });
    expect([...backoff.refusals]).toEqual([
      ['a', 'silent'],
      ['b', 'clock-off'],
      ['c', 'recovering'],
    ]);
  });

  it('forgets failures when another operation begins, but not the round of the rival', () => {
    const backoff = after(refused(1_000, 7), refused(1_100, 9));
    expect(backoff.isActive).toBe(true);
    backoff.reset();
    expect(backoff).toMatchObject({ failures: 0, unanswered: 0, isActive: false });
    expect(backoff.round('take', 1_200, INTERVAL_MS)).toBe(10);
    expect(backoff.round('renew', 1_200, INTERVAL_MS)).toBe(10);
  });

  it('are not without an answer if a majority has answered, and somebody was faster', () => {
    const attempt = refused(1_000, 7);
    attempt.answer('a', { kind: 'promised', attempt: 1, written: undefined, lease: undefined });
    expect(after(refused(900, 0, 'clock-off'), attempt)).toMatchObject({ failures: 2, unanswered: 0 });
  });

  it('are too many for who does not wait for ever when three were not answered, or it has waited for long', () => {
    const unanswered = [1_000, 1_100, 1_200].map((askedMs) => refused(askedMs, 0));
    expect(after(...unanswered.slice(1)).tooLongSinceMs(1_300, 50)).toBe(Number.NEGATIVE_INFINITY);
    expect(after(...unanswered).tooLongSinceMs(1_300, 50)).toBe(Number.POSITIVE_INFINITY);
    const answered = [...unanswered.slice(1), outbid(1_250, 2)];
    expect(after(...answered).tooLongSinceMs(1_300, 50)).toBe(1_150);
  });
});
