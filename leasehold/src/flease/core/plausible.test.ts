import { describe, expect, it } from 'vitest';
import { isPlausible } from './plausible.ts';
import type { Answer } from './messages.ts';
import { resolveFleaseDurations } from './options.ts';

// A lease is 1000 ms, clocks are within 50.
const DURATIONS = resolveFleaseDurations({ leaseMs: 1_000, clockSkewMs: 50 });
const NOW_MS = 5_000;

const believes = (answer: Answer): boolean => isPlausible(answer, DURATIONS, NOW_MS);

/** Somebody has this written, and says so when it is read, or asked. */
function says(kind: 'promised' | 'found', { askedMs = NOW_MS, untilMs = NOW_MS, number = 7 }): Answer {
  return {
    ...{ kind, attempt: 1 },
    written: { askedMs, round: 1, member: 'b', incarnation: 1, attempt: 1 },
    lease: { holder: 'b', incarnation: 1, number, untilMs, state: 'held', successor: undefined },
  };
}

describe.each(['promised', 'found'] as const)('what a peer has written, by its word: %s', (kind) => {
  it.each([
    ['a lease may end', 'untilMs', NOW_MS + 1_000 + 2 * 50, 0.1],
    ['a ballot may be', 'askedMs', NOW_MS + 2 * 50, 0.1],
    ['a number may be', 'number', (NOW_MS + 3 * 50) * 1_000, 1],
  ])('is believed if it can be: as late as %s', (_, what, latest, more) => {
    expect(believes(says(kind, { [what]: latest }))).toBe(true);
    expect(believes(says(kind, { [what]: latest + more }))).toBe(false);
  });

  it('is believed if it is nothing', () => {
    expect(believes({ kind, attempt: 1, written: undefined, lease: undefined })).toBe(true);
  });
});

describe('an answer that says nothing of what is written', () => {
  it('is believed', () => {
    expect(believes({ kind: 'accepted', attempt: 1 })).toBe(true);
    expect(believes({ kind: 'refused', attempt: 1, of: 'read', why: 'late', detail: 0 })).toBe(true);
  });
});
