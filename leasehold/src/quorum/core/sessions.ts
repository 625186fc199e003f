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
 */

import { lastRevisionOf, type Request, type Revision } from './operation.ts';
import type { Result } from './result.ts';

/** How far a client may be ahead of its oldest unanswered request. */
export const WINDOW = 1_024;

const TRIM_AT: number = 4 * WINDOW;

interface Outcome {
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
  /** With so many results, those are dropped that no snapshot needs. */
  trimAt: number;
}

export interface SessionSnapshot {
  readonly id: Revision;
  readonly answeredBelow: number;
  readonly outcomes: readonly Outcome[];
}

export class Sessions {
  readonly #sessions = new Map<Revision, Session>();
  /** No snapshot is taken below this revision any more. */
  #committed: Revision = 0;

  static from(snapshot: readonly SessionSnapshot[]): Sessions {
    const sessions = new Sessions();
    for (const { id, answeredBelow, outcomes } of snapshot) {
      sessions.#sessions.set(id, {
        outcomes: new Map(outcomes.map((outcome) => [outcome.number, outcome])),
        acknowledged: [{ revision: 0, below: answeredBelow }],
        expiredAt: undefined,
        trimAt: TRIM_AT,
      });
    }
    return sessions;
  }

  /** The sessions that are open. */
  get open(): Revision[] {
    return [...this.#sessions].filter(([, { expiredAt }]) => expiredAt === undefined).map(([id]) => id);
  }

  begin(revision: Revision): Result {
    this.#sessions.set(revision, {
      ...{ outcomes: new Map(), acknowledged: [], expiredAt: undefined, trimAt: TRIM_AT },
    });
    return { kind: 'opened', session: revision };
  }

  expire(id: Revision, revision: Revision): Result {
    const session = this.#sessions.get(id);
    if (session !== undefined) session.expiredAt ??= revision;
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
    session.outcomes.set(number, { number, revision, result });
    if (session.outcomes.size >= session.trimAt) {
      trim(session, this.#committed);
      session.trimAt = Math.max(TRIM_AT, 2 * session.outcomes.size);
    }
    if (answeredBelow > below) session.acknowledged.push({ revision, below: answeredBelow });
    return result;
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
    const revision = lastRevisionOf(committed);
    for (const [id, session] of this.#sessions) {
      if ((session.expiredAt ?? Number.POSITIVE_INFINITY) <= revision) {
        this.#sessions.delete(id);
        continue;
      }
      trim(session, revision);
    }
  }
}

function belowAsOf({ acknowledged }: Session, revision: Revision): number {
  for (let at = acknowledged.length - 1; at >= 0; at -= 1) {
    const { revision: since, below } = acknowledged[at] as Session['acknowledged'][number];
    if (since <= revision) return below;
  }
  return 0;
}

/** Removes what no snapshot from this revision on needs. */
function trim(session: Session, revision: Revision): void {
  const { acknowledged, outcomes } = session;
  let passed = 0;
  while ((acknowledged[passed + 1]?.revision ?? Number.POSITIVE_INFINITY) <= revision) passed += 1;
  if (passed > 0) acknowledged.splice(0, passed);
  const below = belowAsOf(session, revision);
  for (const number of outcomes.keys()) if (number < below) outcomes.delete(number);
}
