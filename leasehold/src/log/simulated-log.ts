/**
 * One Manager's way to the simulated engine: what every client of such an engine has to do.
 *
 *  - The leader lease is counted from before it was asked for.
 *  - An append of unknown outcome is repeated at the same position with the same bytes.
 *  - A refusal counts as one only if no earlier try of the same append can have been written, or
 *    can be yet.
 *  - A candidate is elected once: each campaign has a name of its own, so that the answer to an
 *    earlier one cannot elect it.
 */

import { assert } from '../runtime/assert.ts';
import type { Runtime, Transport } from '../runtime/runtime.ts';
import { type Instant, later } from '../runtime/time.ts';
import type {
  AppendOutcome,
  DeposedReason,
  FencedLog,
  FollowerEvents,
  Following,
  LeaderEvents,
  Leadership,
  LogBatch,
  LogStart,
} from './log.ts';
import { type Answer, type Ask, ENGINE, type LogMessage } from './simulated-engine.ts';

export interface ClientOptions {
  /** How long a leader acts without hearing from the engine, by its own clock. */
  readonly leaderLeaseMs: number;
  /** How long to wait before asking again. */
  readonly retryMs: number;
  /** How often a follower asks although it was not poked. */
  readonly pollMs: number;
}

/** One Manager's way to the engine. Dies with its process. */
export class SimulatedLog implements FencedLog {
  readonly maxBatchBytes: number = Number.POSITIVE_INFINITY;
  readonly #runtime: Runtime;
  readonly #transport: Transport<LogMessage, LogMessage>;
  readonly #options: ClientOptions;
  #requests: number;
  readonly #pending = new Map<number, (answer: Answer) => void>();
  #onPoke: () => void = () => {};

  constructor(runtime: Runtime, transport: Transport<LogMessage, LogMessage>, options: ClientOptions) {
    this.#runtime = runtime;
    this.#transport = transport;
    this.#options = options;
    this.#requests = Math.floor(runtime.random() * 2 ** 40); // So that no answer to an earlier life fits.
    transport.listen((_, { request, body }) => {
      if (!('answer' in body)) return;
      if (body.answer === 'poke') return this.#onPoke();
      const hear = this.#pending.get(request);
      this.#pending.delete(request);
      hear?.(body);
    });
  }

  campaign(candidate: string, events: LeaderEvents): Disposable {
    let leading: LeadingClient | undefined;
    let withdrawn = false;
    const stand = (): void => {
      if (withdrawn || leading !== undefined) return;
      const askedAt = this.#runtime.now();
      this.ask({ ask: 'campaign', candidate }, (answer) => {
        if (withdrawn || leading !== undefined || answer.answer !== 'elected') return;
        leading = new LeadingClient(this, this.#runtime, this.#options, answer, events);
        leading.begin(askedAt);
      });
      this.again(this.#options.retryMs, stand);
    };
    stand();
    return {
      [Symbol.dispose]: () => {
        withdrawn = true;
        leading?.resign();
      },
    };
  }

  follow(events: FollowerEvents): Following {
    const follower = new FollowingClient(this, this.#runtime, this.#options, events);
    this.#onPoke = () => follower.read();
    follower.poll();
    return follower;
  }

  /** @internal */
  ask(body: Ask, hear: (answer: Answer) => void): void {
    this.#requests += 1;
    this.#pending.set(this.#requests, hear);
    this.#transport.send(ENGINE, { request: this.#requests, body });
  }

  /** @internal */
  again(ms: number, act: () => void): void {
    this.#runtime.wakeAt(later(this.#runtime.now(), ms), act);
  }
}

/** One follower. When the log turns out to have another history, it starts from its beginning. */
class FollowingClient implements Following {
  readonly #log: SimulatedLog;
  readonly #runtime: Runtime;
  readonly #options: ClientOptions;
  readonly #events: FollowerEvents;
  #history: string | undefined;
  #after = -1;
  #over = false;

  constructor(log: SimulatedLog, runtime: Runtime, options: ClientOptions, events: FollowerEvents) {
    this.#log = log;
    this.#runtime = runtime;
    this.#options = options;
    this.#events = events;
  }

  poll(): void {
    if (this.#over) return;
    this.read();
    this.#log.again(this.#options.pollMs, () => this.poll());
  }

  read(): void {
    if (this.#over) return;
    this.#log.ask({ ask: 'read', after: this.#after }, (answer) => {
      if (this.#over) return;
      if (answer.answer === 'reset') this.#reset(answer.start);
      if (answer.answer !== 'batches' || this.#isReplaced(answer.history)) return;
      for (const batch of answer.batches) {
        if (batch.position <= this.#after) continue;
        this.#after = batch.position;
        this.#events.batch(batch);
      }
    });
  }

  askHead(): void {
    let answered = false;
    const ask = (): void => {
      if (this.#over || answered) return;
      const askedAt = this.#runtime.now();
      this.#log.ask({ ask: 'head' }, (answer) => {
        if (this.#over || answered || answer.answer !== 'head' || this.#isReplaced(answer.history)) return;
        answered = true;
        this.#events.head(answer.position, askedAt);
      });
      this.#log.again(this.#options.retryMs, ask);
    };
    ask();
  }

  [Symbol.dispose](): void {
    this.#over = true;
  }

  #reset(start: LogStart): void {
    const last = start.batches.at(-1)?.position ?? start.snapshot?.position ?? 0;
    if (start.history === this.#history && last <= this.#after) return;
    this.#history = start.history;
    this.#after = last;
    this.#events.reset(start);
  }

  #isReplaced(history: string): boolean {
    if (history === this.#history) return false;
    if (this.#after < 0) return true; // Being read from its beginning already.
    this.#after = -1;
    this.read();
    return true;
  }
}

/** One leadership, from its election to its end. */
class LeadingClient implements Leadership {
  readonly term: number;
  readonly start: LogStart;
  readonly #log: SimulatedLog;
  readonly #runtime: Runtime;
  readonly #options: ClientOptions;
  readonly #events: LeaderEvents;
  #over = false;
  #appending: LogBatch | undefined;

  constructor(
    log: SimulatedLog,
    runtime: Runtime,
    options: ClientOptions,
    { term, start }: { readonly term: number; readonly start: LogStart },
    events: LeaderEvents,
  ) {
    this.#log = log;
    this.#runtime = runtime;
    this.#options = options;
    this.term = term;
    this.start = start;
    this.#events = events;
  }

  begin(askedAt: Instant): void {
    this.#events.elected(this, later(askedAt, this.#options.leaderLeaseMs));
    this.#keepAlive();
  }

  append(batch: LogBatch, done: (outcome: AppendOutcome) => void): void {
    assert(
      this.#appending === undefined,
      `append ${batch.position} while ${this.#appending?.position} is in flight`,
    );
    this.#appending = batch;
    let tries = 0;
    const attempt = (): void => {
      if (this.#over || this.#appending !== batch) return;
      tries += 1;
      this.#log.ask({ ask: 'append', term: this.term, batch }, ({ answer }) => {
        if (this.#over || this.#appending !== batch) return;
        if (answer === 'not-leader') return this.#end('superseded');
        // Refused now, but an earlier try may have been written, or may be yet: its outcome is unknown.
        if (answer === 'refused' && tries > 1) return;
        this.#appending = undefined;
        done(answer === 'appended' ? 'appended' : 'refused');
      });
      this.#log.again(this.#options.retryMs, attempt);
    };
    attempt();
  }

  compact(snapshot: Uint8Array, upTo: number): void {
    this.#log.ask({ ask: 'compact', term: this.term, upTo, snapshot }, () => {});
  }

  resign(): void {
    if (this.#over) return;
    this.#over = true;
    this.#log.ask({ ask: 'resign', term: this.term }, () => {});
  }

  #keepAlive(): void {
    if (this.#over) return;
    const askedAt = this.#runtime.now();
    this.#log.ask({ ask: 'keep-alive', term: this.term }, ({ answer }) => {
      if (this.#over) return;
      if (answer === 'alive') this.#events.extended(later(askedAt, this.#options.leaderLeaseMs));
      else this.#end('lease-ended');
    });
    this.#log.again(this.#options.leaderLeaseMs / 4, () => this.#keepAlive());
  }

  #end(reason: DeposedReason): void {
    if (this.#over) return;
    this.#over = true;
    this.#events.deposed(reason);
  }
}
