/**
 * Sessions make a request happen exactly once, however often its client repeats it.
 *
 * A client whose answer was lost cannot know whether its request was applied, so it sends the request again, perhaps
 * through another replica, and the log then has two copies. Every replica finds the second one *when it applies it*:
 * the session remembers the result of each request that the client has not yet acknowledged. Finding duplicates at
 * the leader instead would miss a copy that an earlier leader had proposed.
 *
 *     numbers  1 2 3 4 5 6 7 …          answeredBelow 4: the client will not repeat 1, 2, 3
 *              x x x r     r            r: result kept      beyond the window: refused
 *
 * Replicas apply what is chosen, but a snapshot is taken at an earlier slot that is committed, and a replica that installs
 * it applies the slots in between again. It must then decide exactly as the others did. So nothing here is
 * overwritten: results, acknowledgements and expiries carry their revision, a snapshot takes what was there as of its
 * slot, and only {@link Sessions.forget} removes anything, up to the committed prefix.
 *
 * **Bounded in bytes.** A result has what the request found, and a thousand gets of one key find a gigabyte. A result that would take
 * its session, or all sessions together, beyond a bound is kept as `omitted`: the request was applied, and is never applied
 * again, but a copy is not told what the first one found. That is decided once, when the request is applied, by what clients have
 * not acknowledged as of that revision. So every replica decides alike, whatever it still has in memory.
 */

import { lastRevisionOf, type Request, type Revision } from './operation.ts';
import type { QuorumLimits } from './options.ts';
import { omitted, type Result, resultBytes } from './result.ts';

/** How far a client may be ahead of its oldest unanswered request. */
export const WINDOW = 1_024;

const TRIM_AT: number = 4 * WINDOW;

export interface Outcome {
  readonly number: number;
  readonly revision: Revision;
  readonly result: Result;
}

interface Session {
  /** By number, in the order in which they were applied. */
  readonly outcomes: Map<number, Outcome>;
  /** What the client said it has the answers of, and when; rising in both. */
  readonly acknowledged: { readonly revision: Revision; readonly below: number }[];
  expiredAt: Revision | undefined;
  /** The size of the results that are not acknowledged. */
  keptBytes: number;
  /** With so many results, those are dropped that no snapshot needs. */
  trimAt: number;
}

/** A session, or some of its outcomes: a session may come in several pieces. */
export interface SessionSnapshot {
  readonly id: Revision;
  readonly answeredBelow: number;
  readonly outcomes: readonly Outcome[];
}

export type SessionLimits = Pick<QuorumLimits, 'resultBytes' | 'resultBytesPerSession'>;

export class Sessions {
  readonly #sessions = new Map<Revision, Session>();
  readonly #limits: SessionLimits;
  /** No snapshot is taken below this revision any more. */
  #committed: Revision = 0;
  /** The size of the results in open sessions that are not acknowledged. */
  #keptBytes = 0;
  /** The size of all results in memory. With so many bytes, those are dropped that no snapshot needs. */
  #memoryBytes = 0;
  #forgetAtBytes: number;

  constructor(limits: SessionLimits) {
    this.#limits = limits;
    this.#forgetAtBytes = 2 * limits.resultBytes;
  }

  /** Takes over pieces of a snapshot. */
  load(pieces: readonly SessionSnapshot[]): void {
    for (const { id, answeredBelow, outcomes } of pieces) {
      const session = this.#sessions.get(id) ?? newSession([{ revision: 0, below: answeredBelow }]);
      this.#sessions.set(id, session);
      for (const outcome of outcomes) this.#keep(session, outcome);
    }
  }

  /** The sessions that are open. */
  get open(): Revision[] {
    return [...this.#sessions].filter(([, { expiredAt }]) => expiredAt === undefined).map(([id]) => id);
  }

  /** The size of the results in memory. */
  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  begin(revision: Revision): Result {
    this.#sessions.set(revision, newSession([]));
    return { kind: 'opened', session: revision };
  }

  expire(id: Revision, revision: Revision): Result {
    const session = this.#sessions.get(id);
    if (session !== undefined && session.expiredAt === undefined) {
      session.expiredAt = revision;
      this.#release(session, session.keptBytes);
    }
    return { kind: 'expired' };
  }

  /** Applies the request if it is new; otherwise says what came of it, or why it is refused. */
  once(request: Request, revision: Revision, apply: () => Result): Result {
    const session = this.#sessions.get(request.session);
    if (session === undefined || session.expiredAt !== undefined) return { kind: 'no-session' };
    const { number, answeredBelow } = request;
    const below = belowAsOf(session, revision);
    if (number < below) return { kind: 'refused', why: 'answered-before' };
    if (number >= Math.max(below, answeredBelow) + WINDOW) return { kind: 'refused', why: 'beyond-window' };
    const known = session.outcomes.get(number);
    if (known !== undefined) return { kind: 'duplicate', of: known.result };
    const result = apply();
    if (answeredBelow > below) {
      session.acknowledged.push({ revision, below: answeredBelow });
      this.#release(session, bytesBetween(session, below, answeredBelow));
    }
    if (number >= answeredBelow) {
      const kept = this.#hasRoom(session, resultBytes(result)) ? result : omitted(result);
      this.#keep(session, { number, revision, result: kept });
    }
    this.#tidy(session);
    return result;
  }

  /** A result without values always has room: it is small, and there are no more of them than the window allows. */
  #hasRoom({ keptBytes }: Session, bytes: number): boolean {
    const { resultBytes: most, resultBytesPerSession } = this.#limits;
    return bytes === 0 || (keptBytes + bytes <= resultBytesPerSession && this.#keptBytes + bytes <= most);
  }

  #keep(session: Session, outcome: Outcome): void {
    const bytes = resultBytes(outcome.result);
    session.outcomes.set(outcome.number, outcome);
    session.keptBytes += bytes;
    this.#keptBytes += bytes;
    this.#memoryBytes += bytes;
  }

  /** So many bytes of results are acknowledged, or their session has expired. */
  #release(session: Session, bytes: number): void {
    session.keptBytes -= bytes;
    this.#keptBytes -= bytes;
  }

  #tidy(session: Session): void {
    if (session.outcomes.size >= session.trimAt) {
      this.#trim(session, this.#committed);
      session.trimAt = Math.max(TRIM_AT, 2 * session.outcomes.size);
    }
    if (this.#memoryBytes >= this.#forgetAtBytes) {
      this.#forget(this.#committed);
      this.#forgetAtBytes = 2 * Math.max(this.#limits.resultBytes, this.#memoryBytes);
    }
  }

  /** No snapshot is taken below this slot any more: a session that grows long may forget what came before. */
  reached(committed: number): void {
    this.#committed = lastRevisionOf(committed);
  }

  /** As they were when this slot had been applied. */
  snapshotAt(slot: number): SessionSnapshot[] {
    const revision = lastRevisionOf(slot);
    const snapshot: SessionSnapshot[] = [];
    for (const [id, session] of this.#sessions) {
      if (id > revision || (session.expiredAt ?? Number.POSITIVE_INFINITY) <= revision) continue;
      const answeredBelow = belowAsOf(session, revision);
      const outcomes = [...session.outcomes.values()].filter(
        (outcome) => outcome.revision <= revision && outcome.number >= answeredBelow,
      );
      snapshot.push({ id, answeredBelow, outcomes });
    }
    return snapshot;
  }

  /** Removes what no snapshot from this slot on needs. */
  forget(committed: number): void {
    this.#forget(lastRevisionOf(committed));
  }

  #forget(revision: Revision): void {
    for (const [id, session] of this.#sessions) {
      if ((session.expiredAt ?? Number.POSITIVE_INFINITY) <= revision) {
        for (const { result } of session.outcomes.values()) this.#memoryBytes -= resultBytes(result);
        this.#sessions.delete(id);
      } else this.#trim(session, revision);
    }
  }

  #trim(session: Session, revision: Revision): void {
    const { acknowledged, outcomes } = session;
    let passed = 0;
    while ((acknowledged[passed + 1]?.revision ?? Number.POSITIVE_INFINITY) <= revision) passed += 1;
    if (passed > 0) acknowledged.splice(0, passed);
    const below = belowAsOf(session, revision);
    for (const [number, { result }] of outcomes) {
      if (number >= below) continue;
      outcomes.delete(number);
      this.#memoryBytes -= resultBytes(result);
    }
  }
}

const newSession = (acknowledged: Session['acknowledged']): Session => ({
  ...{ outcomes: new Map(), acknowledged, expiredAt: undefined, keptBytes: 0, trimAt: TRIM_AT },
});

/** The size of the results from one number on and below another. */
function bytesBetween({ outcomes }: Session, first: number, end: number): number {
  let bytes = 0;
  if (end - first <= outcomes.size) {
    for (let number = first; number < end; number += 1) {
      const outcome = outcomes.get(number);
      if (outcome !== undefined) bytes += resultBytes(outcome.result);
    }
  } else {
    for (const { number, result } of outcomes.values())
      if (number >= first && number < end) bytes += resultBytes(result);
  }
  return bytes;
}

function belowAsOf({ acknowledged }: Session, revision: Revision): number {
  for (let at = acknowledged.length - 1; at >= 0; at -= 1) {
    const { revision: since, below } = acknowledged[at] as Session['acknowledged'][number];
    if (since <= revision) return below;
  }
  return 0;
}
