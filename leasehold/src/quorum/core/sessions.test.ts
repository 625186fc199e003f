import { describe, expect, it } from 'vitest';
import { put, type Request, revisionOf } from './operation.ts';
import type { Result } from './result.ts';
import { Sessions, WINDOW } from './sessions.ts';

const SESSION = revisionOf(1, 0);

const request = (number: number, answeredBelow = 0): Request => ({
  ...{ session: SESSION, number, answeredBelow, command: put('a', new Uint8Array()) },
  ...{ origin: 'r1', life: 1, id: number },
});

function opened(): Sessions {
  const sessions = new Sessions();
  sessions.begin(SESSION);
  return sessions;
}

const done = (slot: number): Result => ({ kind: 'done', revision: revisionOf(slot, 0), found: [] });

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

  it('refuses a request that is further ahead than results are kept', () => {
    expect(apply(opened(), 2, request(WINDOW))).toEqual({ kind: 'refused', why: 'beyond-window' });
  });

  it('applies nothing once it has expired, nor if it never was', () => {
    const sessions = opened();
    sessions.expire(SESSION, revisionOf(2, 0));
    expect(apply(sessions, 3, request(1))).toEqual({ kind: 'no-session' });
    expect(apply(new Sessions(), 3, request(1))).toEqual({ kind: 'no-session' });
  });

  it('is in a snapshot as it was at the slot of the snapshot, whatever was applied since', () => {
    const sessions = opened();
    apply(sessions, 2, request(1));
    apply(sessions, 5, request(2, 2));
    const copy = Sessions.from(sessions.snapshotAt(3));
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
});
