import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../../runtime/errors.ts';
import { resolveFleaseDurations } from './options.ts';

describe('the durations of a group', () => {
  it('follow from the lease and the skew', () => {
    expect(resolveFleaseDurations()).toEqual({
      ...{ leaseMs: 10_000, clockSkewMs: 500, answerTimeoutMs: 1_000, noticeMs: 1_000 },
      ...{ attemptMs: 5_000, renewAfterMs: 4_000, recoveryMs: 11_000, takeoverMs: 0 },
    });
  });

  it('allow for less skew where leases are short', () => {
    expect(resolveFleaseDurations({ leaseMs: 1_000 }).clockSkewMs).toBe(100);
  });

  it.each([
    ['leaseMs', { leaseMs: 19 }],
    ['leaseMs', { leaseMs: 86_400_001 }],
    ['leaseMs', { leaseMs: Number.NaN }],
    ['clockSkewMs', { clockSkewMs: 1 }],
    ['clockSkewMs', { leaseMs: 1_000, clockSkewMs: 500 }],
    ['answerTimeoutMs', { answerTimeoutMs: 0 }],
    ['answerTimeoutMs', { leaseMs: 1_000, clockSkewMs: 400, answerTimeoutMs: 101 }],
    ['noticeMs', { noticeMs: -1 }],
    ['noticeMs', { leaseMs: 1_000, answerTimeoutMs: 100, noticeMs: 501 }],
  ])('break a rule about %s: %j', (option, durations) => {
    expect(() => resolveFleaseDurations(durations)).toThrow(InvalidArgumentError);
    expect(() => resolveFleaseDurations(durations)).toThrow(option);
  });

  it.each(['leaseMs', 'clockSkewMs', 'answerTimeoutMs', 'noticeMs'])('are numbers: %s', (option) => {
    for (const text of ['10s', '100']) {
      expect(() => resolveFleaseDurations({ [option]: text })).toThrow(
        new RegExp(`option ${option} is ${text}, but it must be a (positive )?number `),
      );
    }
  });
});
