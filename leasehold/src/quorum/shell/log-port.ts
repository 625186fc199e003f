/**
 * A replica that serves, as the fenced log in the same process uses it.
 *
 * Calls are handed over when the code that made them has returned. A call from within an effect of the log's user would
 * otherwise nest the replica's turn in the user's turn: the replica could then acknowledge a write of `term` before the user,
 * which is still busy, has heard that the claim is over.
 */

import { assert } from '../../runtime/assert.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Answer } from '../core/answer.ts';
import type { Revision } from '../core/operation.ts';
import type { ReplicaCall, Submission } from '../core/replica.ts';
import { leadsWithout } from '../fenced-log/leads-without.ts';
import type { ClaimEvents, LogPort, WatchEvents } from '../fenced-log/port.ts';
import type { HistoryEvents } from './change-history.ts';
import type { QuorumReplica } from './quorum-replica.ts';
import type { AnswerPort, ReplicaHost } from './replica-host.ts';

export class ReplicaPort implements LogPort, AnswerPort {
  readonly storage: string;
  readonly #replica: QuorumReplica;
  readonly #host: ReplicaHost;
  readonly #runtime: Pick<Runtime, 'now'>;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #calls: ReplicaCall[] = [];
  #answers: (() => void)[] = [];
  #ids = 0;

  /** @param replica is ready */
  constructor(replica: QuorumReplica, runtime: Pick<Runtime, 'now'>) {
    const { host } = replica;
    assert(host !== undefined, 'the replica is not ready');
    this.#replica = replica;
    this.#host = host;
    this.#runtime = runtime;
    this.storage = replica.status().storage;
  }

  submit(submission: Submission, answered: (answer: Answer) => void): void {
    this.#call({ kind: 'submit', id: this.#remember(answered), ...submission });
  }

  read(key: string, answered: (answer: Answer) => void): void {
    this.#call({ kind: 'read', id: this.#remember(answered), mode: 'best', keys: [key] });
  }

  watch(prefix: string, events: WatchEvents): Disposable {
    const { residents } = this.#replica;
    const resident: HistoryEvents = {
      changed: ({ slot, found }) =>
        events.changed(
          found.filter(({ key }) => key.startsWith(prefix)),
          slot,
        ),
      skipped: (slot) => this.#tellAll(prefix, slot, events),
    };
    residents.add(resident);
    this.#tellAll(prefix, this.#host.history?.position ?? 0, events);
    return { [Symbol.dispose]: () => void residents.delete(resident) };
  }

  claim(key: string, revision: Revision, events: ClaimEvents): Disposable {
    return this.#host.claim(key, revision, events);
  }

  mayStand(key: string, against: string | undefined): boolean {
    const { replica } = this.#host;
    const now = this.#runtime.now();
    if (replica?.isLeased([key], now) !== true) return false;
    return against === undefined || leadsWithout(replica, against, now);
  }

  answered(id: number, answer: Answer): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (waiting !== undefined) this.#answers.push(() => waiting(answer));
  }

  flush(): void {
    const answers = this.#answers;
    this.#answers = [];
    for (const answer of answers) answer();
  }

  #remember(answered: (answer: Answer) => void): number {
    this.#ids += 1;
    this.#waiting.set(this.#ids, answered);
    return this.#ids;
  }

  #call(call: ReplicaCall): void {
    this.#calls.push(call);
    if (this.#calls.length > 1) return;
    void Promise.resolve().then(() => {
      const calls = this.#calls;
      this.#calls = [];
      this.#host.takeAll(calls, this);
    });
  }

  #tellAll(prefix: string, slot: number, events: WatchEvents): void {
    const values = this.#host.replica?.view.machine.snapshotAt(slot).values ?? [];
    events.whole(
      values.filter(({ key }) => key.startsWith(prefix)),
      slot,
    );
  }
}
