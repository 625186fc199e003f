import { describe, expect, it } from 'vitest';
import { put, type Request, revisionOf } from './operation.ts';
import type { Result } from './result.ts';
import { Sessions, WINDOW } from './sessions.ts';

const SESSION = revisionOf(1, 0);

const request = (number: number, answeredBelow = 0): Request => ({
  ...{ session: SESSION, number, answeredBelow, command: put('a', new Uint8Array()) },
  ...{ origin: 'r1', life: 1, id: number },
});

const LIMITS = { resultBytesPerSession: 400, resultBytes: 900 };

function opened(): Sessions {
  const sessions = new Sessions(LIMITS);
  sessions.begin(SESSION);
  return sessions;
}

const done = (slot: number): Result => ({ kind: 'done', revision: revisionOf(slot, 0), found: [] });

function copyOf(sessions: Sessions, slot: number): Sessions {
  const copy = new Sessions(LIMITS);
  copy.load(sessions.snapshotAt(slot));
  return copy;
}

/** Applies a request as slot `slot` would. */
const apply = (sessions: Sessions, slot: number, each: Request): Result =>
  sessions.once(each, revisionOf(slot, 0), () => done(slot));

describe('a session', () => {
  it('applies a request once and answers every copy with the result of the first', () => {
    const sessions = opened();
    expect(apply(sessions, 2, request(1))).toEqual(done(2));
    expect(apply(sessions, 3, request(1))).toEqual({ kind: 'duplicate', of: done(2) });
  });

  it('refuses a request whose answer its client has acknowledged', () => {
    const sessions = opened();
    apply(sessions, 2, request(1));
    apply(sessions, 3, request(2, 2));
    expect(apply(sessions, 4, request(1))).toEqual({ kind: 'refused', why: 'answered-before' });
  });

  it('does not take an acknowledgement back when an older request with a lower one arrives later', () => {
    const sessions = opened();
    apply(sessions, 2, request(1));
    apply(sessions, 3, request(2));
    apply(sessions, 4, request(4, 3));
    apply(sessions, 5, request(3, 1));
    expect(apply(sessions, 6, request(2))).toEqual({ kind: 'refused', why: 'answered-before' });
    expect(sessions.snapshotAt(5).map(({ answeredBelow }) => answeredBelow)).toEqual([3]);
  });

  it('refuses a request that is further ahead than results are kept', () => {
    expect(apply(opened(), 2, request(WINDOW))).toEqual({ kind: 'refused', why: 'beyond-window' });
  });

  it('applies nothing once it has expired, nor if it never was', () => {
    const sessions = opened();
    sessions.expire(SESSION, revisionOf(2, 0));
    expect(apply(sessions, 3, request(1))).toEqual({ kind: 'no-session' });
    expect(apply(new Sessions(LIMITS), 3, request(1))).toEqual({ kind: 'no-session' });
  });

  it('is in a snapshot as it was at the slot of the snapshot, whatever was applied since', () => {
    const sessions = opened();
    apply(sessions, 2, request(1));
    apply(sessions, 5, request(2, 2));
    const copy = copyOf(sessions, 3);
    expect(apply(copy, 4, request(1))).toEqual({ kind: 'duplicate', of: done(2) });
    expect(apply(copy, 5, request(2, 2))).toEqual(done(5));
  });

  it('forgets results only when the acknowledgement itself is committed', () => {
    const sessions = opened();
    apply(sessions, 2, request(1));
    apply(sessions, 5, request(2, 2));
    sessions.forget(4);
    expect(sessions.snapshotAt(4)[0]?.outcomes).toHaveLength(1);
    sessions.forget(5);
    expect(sessions.snapshotAt(5)[0]?.outcomes.map(({ number }) => number)).toEqual([2]);
  });

  describe('with results that have values', () => {
    /** A result of 64 + 1 + 135 bytes: two fit into a session, four into all sessions. */
    const found = [{ key: 'a', value: new Uint8Array(135), revision: 1 }];
    const unmet = (slot: number): Result => ({ kind: 'unmet', revision: revisionOf(slot, 0), found });
    const omitted = (slot: number): Result => ({
      ...{ kind: 'omitted', of: 'unmet', revision: revisionOf(slot, 0), bytes: 200 },
    });
    const fail = (sessions: Sessions, slot: number, each: Request): Result =>
      sessions.once(each, revisionOf(slot, 0), () => unmet(slot));

    it('answers the first copy with the values, and later ones without those that had no room', () => {
      const sessions = opened();
      for (const number of [1, 2, 3])
        expect(fail(sessions, 1 + number, request(number))).toHaveProperty('found');
      expect(fail(sessions, 5, request(2))).toEqual({ kind: 'duplicate', of: unmet(3) });
      expect(fail(sessions, 6, request(3))).toEqual({ kind: 'duplicate', of: omitted(4) });
    });

    it('has room again when the client has acknowledged results', () => {
      const sessions = opened();
      for (const number of [1, 2]) fail(sessions, 1 + number, request(number));
      fail(sessions, 4, request(3, 2));
      expect(fail(sessions, 5, request(3))).toEqual({ kind: 'duplicate', of: unmet(4) });
      fail(sessions, 6, request(4, 2));
      expect(fail(sessions, 7, request(4))).toEqual({ kind: 'duplicate', of: omitted(6) });
    });

    it('shares the room for all sessions, until one of them expires', () => {
      const sessions = opened();
      const others = [2, 3].map((place) => revisionOf(1, place));
      for (const session of others) {
        sessions.begin(session);
        for (const number of [1, 2]) fail(sessions, 2, { ...request(number), session });
      }
      fail(sessions, 3, request(1));
      expect(fail(sessions, 4, request(1))).toEqual({ kind: 'duplicate', of: omitted(3) });
      sessions.expire(others[0] as number, revisionOf(5, 0));
      fail(sessions, 6, request(2));
      expect(fail(sessions, 7, request(2))).toEqual({ kind: 'duplicate', of: unmet(6) });
    });

    it('decides after a snapshot as those do who have more in memory', () => {
      const sessions = opened();
      fail(sessions, 2, request(1));
      fail(sessions, 3, request(2, 2));
      const copy = copyOf(sessions, 3);
      for (const each of [sessions, copy]) {
        fail(each, 4, request(3, 2));
        fail(each, 5, request(4, 2));
        expect(fail(each, 6, request(3))).toEqual({ kind: 'duplicate', of: unmet(4) });
        expect(fail(each, 7, request(4))).toEqual({ kind: 'duplicate', of: omitted(5) });
      }
    });

    it('keeps no more in memory than twice the room, once acknowledgements are committed', () => {
      const sessions = opened();
      for (let number = 1; number <= 100; number += 1) {
        sessions.reached(number);
        fail(sessions, 1 + number, request(number, number));
      }
      expect(sessions.memoryBytes).toBeLessThanOrEqual(2 * LIMITS.resultBytes);
    });
  });
});
