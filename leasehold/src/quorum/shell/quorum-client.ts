/**
 * A client of a cell: reads, writes, watches, and changes of the cell.
 *
 * Calls of one turn of the event loop travel together. An unanswered call is sent again, to another server if
 * need be, until the timeout; the session makes a repeated write happen once (`client-session.ts`).
 */

import { atEndOfTurn } from '../../node/turn.ts';
import type { EventLog } from '../../node/service/event-log.ts';
import { HandleEvents, type Told } from '../../node/service/handle-events.ts';
import type { Service } from '../../node/service/service.ts';
import {
  Closing,
  type CallOptions,
  type Event,
  type EventsOptions,
  type Handle,
} from '../../runtime/handle.ts';
import { onAbort } from '../../runtime/on-abort.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, instant, later } from '../../runtime/time.ts';
import type { Answer, Served } from '../core/answer.ts';
import type { ReaderMap, ReaderMapChange } from '../core/configuration.ts';
import { type Command, NO_SESSION } from '../core/operation.ts';
import { type LeaseholdError, RefusedError } from '../../runtime/errors.ts';
import type { Found, Omitted, Result } from '../core/result.ts';
import {
  answerNotKept,
  answerTooLarge,
  sessionExpired,
  busy,
  closed,
  isTimeout,
  timedOut,
} from '../core/errors.ts';
import { ANSWER_TOO_LARGE, type Call, type Reply } from '../wire/calls.ts';
import { type CallWire, type LocalDesk, LocalWire, type WireEvents } from './call-wire.ts';
import {
  checkCallOptions,
  checkKey,
  checkKeys,
  checkList,
  checkPair,
  checkReadOptions,
  checkTransaction,
  conditionOf,
  NO_OPTIONS,
  outcomeOf,
  readCall,
  readEachCall,
} from './client-checks.ts';
import type {
  ClientStatus,
  Entry,
  Expected,
  GivenAction,
  GivenCondition,
  Outcome,
  ReadEntry,
  ReadOptions,
  StepDownOptions,
} from './client-types.ts';
import { ClientSession, type NumberedWrite } from './client-session.ts';
import { ClientWatches } from './client-watches.ts';
import { CellChanges } from './cell-changes.ts';
import { callBytes, isAnswerTooLarge, packets } from './packets.ts';
import { type Asked, Pending, RESEND_MS } from './pending-call.ts';
import type { ReplicaStatus } from './replica-status.ts';
import type { Readers } from './readers-status.ts';
import { clientService } from './service/client-service.ts';
import { together } from './together.ts';
import type { Watch, WatchOptions } from './watch.ts';

/** How long a call waits, unless the call or the client says otherwise. */
export const CLIENT_TIMEOUT_MS = 10_000;
const RETRY_MS = 50;
const TICK_MS = 50;

/** How long a call waits that says nothing else, and whose calls these are. @internal */
export interface ClientSettings {
  readonly cell: string;
  readonly timeoutMs: number;
  /** Unlike that of any other client in any process. */
  readonly id: string;
}

/** A client of a cell: reads, writes, transactions, watches, and changes of the replicas. */
export class QuorumClient implements Handle<ClientStatus> {
  readonly #runtime: Runtime;
  readonly #settings: ClientSettings;
  readonly #end = new Closing();
  readonly #events: HandleEvents<'quorum'>;
  readonly #wire: CallWire;
  readonly #session = new ClientSession();
  readonly #pending = new Map<number, Pending>();
  readonly #watches: ClientWatches;
  readonly #changes: CellChanges;
  /** Writes that wait for a session, or for a number. */
  #unnumbered: Pending[] = [];
  #outbox: Call[] = [];
  #ids = 0;
  #isFlushing = false;
  /** No other server is used before then. */
  #moveAfter: Instant = instant(Number.NEGATIVE_INFINITY);
  #tick: Disposable | undefined;
  /** The last word about writes was that no majority has room. */
  #isDiskFull = false;

  /** @internal */
  constructor(runtime: Runtime, settings: ClientSettings, wire: (events: WireEvents) => CallWire) {
    this.#runtime = runtime;
    this.#settings = settings;
    this.#events = new HandleEvents(settings.id, settings.cell, runtime);
    this.#wire = wire({
      replies: (replies) => {
        for (const reply of replies) this.#replied(reply);
      },
      renewed: () => this.#resendAll(),
      moved: () => this.#moved(),
      refused: (why) => {
        this.#refused(why);
        this.#watches.fail(why);
        this.#events.tell('quorum.refused', { code: why.code, message: why.message });
      },
      connected: (server, isConnected) =>
        this.#events.tell(isConnected ? 'quorum.connected' : 'quorum.disconnected', { server }),
    });
    this.#changes = new CellChanges(runtime, (...call) => this.#ask(...call));
    this.#watches = new ClientWatches({
      runtime,
      newId: () => (this.#ids += 1),
      send: (call) => {
        if (this.#wire.isOpen) this.#send(call);
        else this.#wire.open(); // All watches begin again when there is a connection.
      },
      refused: () => this.#moveOn(),
    });
  }

  /** A client in the process of a replica. @internal */
  static within(
    runtime: Runtime,
    settings: ClientSettings,
    sessionMs: number,
    desk: (send: (replies: readonly Reply[]) => void) => LocalDesk,
  ): QuorumClient {
    return new QuorumClient(runtime, settings, (events) => new LocalWire(sessionMs, desk, events));
  }

  // ── reads ──

  /** Reads one key: the newest value, unless the mode allows an older one. */
  async get(key: string, options: ReadOptions = NO_OPTIONS): Promise<ReadEntry> {
    const { found, served, position } = await this.#read([key], options);
    const { value, revision } = found[0] as Found;
    return { key, value, revision, served, position };
  }

  /** Several keys as of one instant. */
  async snapshot(
    keys: readonly string[],
    options: ReadOptions = NO_OPTIONS,
  ): Promise<{ readonly entries: readonly Entry[]; readonly served: Served; readonly position: number }> {
    const { found, served, position } = await this.#read(keys, options);
    return { entries: found, served, position };
  }

  /** Many reads of one key each, with one promise for all: faster, but not as of one instant. */
  async getMany(keys: readonly string[], options: ReadOptions = NO_OPTIONS): Promise<readonly Entry[]> {
    checkReadOptions(options);
    checkList('keys', keys);
    const entries: Entry[] = new Array(keys.length);
    await together(Math.ceil(keys.length / KEYS_PER_CALL), options.signal, (call, settle, reject) => {
      const from = call * KEYS_PER_CALL;
      const asked = keys.slice(from, from + KEYS_PER_CALL);
      asked.forEach(checkKey);
      this.#ask(readEachCall(asked, options.mode), options, reject, (reply) => {
        if (reply.kind !== 'found') return;
        reply.found.forEach((each, place) => {
          entries[from + reply.first + place] = each;
        });
        if (reply.isLast) settle();
      });
    });
    return entries;
  }

  // ── writes ──

  /** Writes a value, whatever was there. Resolves with the revision of the write when it is committed. */
  async put(
    key: string,
    value: Uint8Array | string,
    options: CallOptions = NO_OPTIONS,
  ): Promise<{ revision: number }> {
    const outcome = await this.transaction([], [{ do: 'put', key, value }], options);
    return { revision: outcome.isDone ? outcome.revision : 0 };
  }

  /** Removes the entry of a key; that there was none is no error. */
  async delete(key: string, options: CallOptions = NO_OPTIONS): Promise<void> {
    await this.transaction([], [{ do: 'delete', key }], options);
  }

  /** Writes if the key is as expected; otherwise the outcome has the entry that was found. */
  async compareAndSet(
    key: string,
    expected: Expected,
    value: Uint8Array | string,
    options: CallOptions = NO_OPTIONS,
  ): Promise<Outcome> {
    return this.transaction([conditionOf(key, expected)], [{ do: 'put', key, value }], options);
  }

  /** All actions at one instant, if all conditions hold then. */
  transaction(
    conditions: readonly GivenCondition[],
    actions: readonly GivenAction[],
    options: CallOptions = NO_OPTIONS,
  ): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      checkCallOptions(options);
      const command = checkTransaction(conditions, actions);
      this.#write(command, options, reject, (result) => resolve(outcomeOf(result)));
    });
  }

  /** Many writes of one key each, with one promise for all. Each takes effect on its own. */
  async putMany(
    entries: readonly (readonly [key: string, value: Uint8Array | string])[],
    options: CallOptions = NO_OPTIONS,
  ): Promise<void> {
    checkCallOptions(options);
    return together(checkList('entries', entries).length, options.signal, (place, settle, reject) => {
      const [key, value] = checkPair('entries', entries[place] as (typeof entries)[number]);
      const command = checkTransaction([], [{ do: 'put', key, value }]);
      this.#write(command, options, reject, settle);
    });
  }

  // ── watches ──

  /**
   * The changes of a key, of the keys with a prefix, or of a range. Without `from` the watch begins with all values that the
   * server has.
   *
   * @throws {InvalidArgumentError} while iterating, if changes after `from` are no longer kept
   */
  watch(options: WatchOptions): Watch {
    this.#checkOpen();
    return this.#watches.begin(options);
  }

  // ── for operators ──

  /** How the server that is in use sees itself and the cell. */
  replicaStatus(options: CallOptions = NO_OPTIONS): Promise<ReplicaStatus> {
    return new Promise((resolve, reject) => {
      checkCallOptions(options);
      this.#ask(
        (id) => ({ kind: 'status', id }),
        options,
        reject,
        (reply) => {
          if (reply.kind === 'status') resolve(JSON.parse(reply.json) as ReplicaStatus);
        },
      );
    });
  }

  /**
   * Makes a member of a replica that was started to join; in place of an old member of that name, if there is one. Waits until the
   * leader has heard of that replica. A storage id, as `replicaStatus` shows it, names one directory if several have the same name.
   */
  addReplica(name: string, options: CallOptions = NO_OPTIONS): Promise<void> {
    return this.#changes.add(name, options, this.#settings.timeoutMs);
  }

  /** Removes a replica from the cell. Its directory is never taken in again. */
  removeReplica(name: string, options: CallOptions = NO_OPTIONS): Promise<void> {
    return this.#changes.remove(name, options);
  }

  /** Says which replicas hold which keys: in a word, or with tables. Resolves when the cell goes by it. */
  setReaders(
    readers: Readers | ReaderMap | ReaderMapChange,
    options: CallOptions = NO_OPTIONS,
  ): Promise<void> {
    return this.#changes.setReaders(readers, options);
  }

  /**
   * Lets another member lead: the one that is named, or else the member that has most of the log. The election is under way when the
   * promise resolves.
   */
  stepDown(options: StepDownOptions = NO_OPTIONS): Promise<void> {
    return this.#changes.stepDown(options);
  }

  // ── the handle ──

  /**
   * Resolves when a server answers: connects, if there is no connection.
   *
   * @throws {UnavailableError} when the time is over; without `timeoutMs` there is no limit
   * @throws {RefusedError} if every server refuses this client
   */
  ready(options: CallOptions = NO_OPTIONS): Promise<void> {
    return new Promise((resolve, reject) => {
      checkCallOptions(options);
      const { timeoutMs = Number.POSITIVE_INFINITY, signal } = options;
      const limited = { timeoutMs, signal };
      this.#ask(
        (id) => ({ kind: 'status', id }),
        limited,
        reject,
        () => resolve(),
      );
    });
  }

  /** How this client is: which server it asks, and what waits for an answer. */
  status(): ClientStatus {
    const isOpen = !this.#end.isOver;
    const { isOpen: isConnected, server } = this.#wire;
    const [waiting, watches] = [this.#pending.size, this.#watches.count];
    const isReady = isOpen && (isConnected || waiting + watches === 0);
    const why = `a replica that answers${this.#wire.problems()}`;
    return {
      ...{ module: 'quorum', role: 'client', instance: this.#settings.cell, name: undefined },
      ...{ isReady, waitsFor: isReady ? undefined : isOpen ? why : 'nothing: it was closed', problems: [] },
      ...{ server, isConnected, waiting, watches },
    };
  }

  /** What happens to this client: `quorum.connected`, `quorum.disconnected`, `quorum.refused`. */
  events(options: EventsOptions = {}): AsyncIterable<Event> {
    return this.#events.follow(options);
  }

  /** @internal */
  get eventLog(): EventLog<Told<'quorum'>> {
    return this.#events.log;
  }

  /** @internal */
  toService(): Service {
    return clientService(this);
  }

  /** Resolves when this client is closed. It fails in no other way: it goes on asking the servers for as long as it is open. */
  get closed(): Promise<LeaseholdError | undefined> {
    return this.#end.closed;
  }

  /** Closes the session. Calls that wait are rejected; writes may take effect all the same. */
  close(): Promise<void> {
    const isFirst = !this.#end.isClosing;
    if (isFirst) this.#expireSession();
    const closing = this.#end.close(async () => {
      this.#events.close();
      await this.#wire[Symbol.asyncDispose]();
    });
    if (isFirst) this.#rejectAll();
    return closing;
  }

  #expireSession(): void {
    const session = this.#session.id;
    if (session === undefined) return;
    this.#ids += 1;
    const command = { kind: 'expire-session', session } as const;
    this.#outbox.push({ kind: 'submit', id: this.#ids, ...NO_NUMBER, command });
    this.#flush();
  }

  #rejectAll(): void {
    this.#tick?.[Symbol.dispose]();
    for (const { reject, isWrite, sent } of [...this.#pending.values(), ...this.#unnumbered])
      reject(closed('client', isWrite && sent > 0));
    this.#watches.fail(closed('client'));
    this.#pending.clear();
    this.#unnumbered = [];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // ── calls ──

  #read(keys: readonly string[], options: ReadOptions): Promise<Extract<Answer, { kind: 'read' }>> {
    return new Promise((resolve, reject) => {
      checkReadOptions(options);
      checkKeys(keys);
      this.#ask(readCall(keys, options.mode), options, reject, (reply) => {
        if (reply.kind === 'answer' && reply.answer.kind === 'read') resolve(reply.answer);
      });
    });
  }

  #write(
    command: Command,
    options: CallOptions,
    reject: (error: unknown) => void,
    settle: (result: Result) => void,
  ): void {
    this.#checkOpen();
    const now = this.#runtime.now();
    if (this.#session.isIdle(now, this.#wire.sessionMs)) this.#session.close();
    const pending = this.#pend(command, options, now, reject, (reply) => {
      if (reply.kind === 'answer' && reply.answer.kind === 'result') settle(reply.answer.result);
    });
    this.#unnumbered.push(pending);
    this.#pump(now);
  }

  #make({ id, asked, write }: Pending): Call {
    if (typeof asked === 'function') return asked(id);
    const { session, number } = write as NumberedWrite;
    const { answeredBelow } = this.#session;
    return { kind: 'submit', id, session, number, answeredBelow, command: asked };
  }

  #ask(
    make: (id: number) => Call,
    options: CallOptions,
    reject: (error: unknown) => void,
    settle: (reply: Reply) => void,
  ): Pending {
    this.#checkOpen();
    const now = this.#runtime.now();
    const pending = this.#pend(make, options, now, reject, settle);
    this.#dispatch(pending, now);
    return pending;
  }

  #pend(
    asked: Asked,
    { signal, timeoutMs = this.#settings.timeoutMs }: CallOptions,
    now: Instant,
    reject: (error: unknown) => void,
    settle: (reply: Reply) => void,
  ): Pending {
    signal?.throwIfAborted();
    this.#ids += 1;
    const id = this.#ids;
    const aborting = signal && onAbort(signal, () => this.#drop(pending.id, signal.reason));
    const pending: Pending = new Pending(
      id,
      asked,
      aborting === undefined ? settle : (reply) => (aborting[Symbol.dispose](), settle(reply)),
      aborting === undefined ? reject : (error) => (aborting[Symbol.dispose](), reject(error)),
      timeoutMs,
      now,
    );
    this.#pending.set(id, pending);
    this.#watchTime();
    return pending;
  }

  /** Numbers the writes that wait, as far as the session goes, and opens one if there is none. */
  #pump(now: Instant): void {
    let numbered = 0;
    for (const pending of this.#unnumbered) {
      if (this.#pending.has(pending.id)) {
        const write = this.#session.number(now);
        if (write === undefined) break;
        pending.write = write;
        this.#dispatch(pending, now);
      }
      numbered += 1;
    }
    if (numbered > 0) this.#unnumbered.splice(0, numbered);
    if (this.#unnumbered.length > 0 && this.#session.isClosed) this.#openSession();
  }

  /** Each write that waits for the session has a limit of its own: asks again as long as one of them may wait. */
  #openSession(): void {
    this.#session.opening();
    const failed = (error: unknown): void => {
      this.#session.close();
      this.#unnumbered = this.#unnumbered.filter(({ id }) => this.#pending.has(id));
      if (isTimeout(error)) this.#pump(this.#runtime.now());
      else
        for (const { id, reject } of this.#unnumbered.splice(0)) if (this.#pending.delete(id)) reject(error);
    };
    const make = (id: number): Call => ({
      kind: 'submit',
      id,
      ...NO_NUMBER,
      command: { kind: 'open-session' },
    });
    this.#ask(make, {}, failed, (reply) => {
      if (reply.kind !== 'answer' || reply.answer.kind !== 'result') return;
      const { result } = reply.answer;
      if (result.kind !== 'opened') return;
      const now = this.#runtime.now();
      this.#session.opened(result.session, now);
      this.#pump(now);
    });
  }

  #dispatch(pending: Pending, now: Instant): void {
    pending.resendAt = later(now, RESEND_MS);
    pending.isDue = !this.#wire.isOpen;
    if (pending.isDue) {
      this.#wire.open();
      return;
    }
    pending.sent += 1;
    this.#send(this.#make(pending));
  }

  #send(call: Call): void {
    this.#outbox.push(call);
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    atEndOfTurn(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushing = false;
    if (this.#outbox.length === 0 || this.#end.isClosing) return;
    const calls = this.#outbox;
    this.#outbox = [];
    for (const packet of packets(calls, callBytes)) this.#wire.send(packet);
  }

  #resendAll(): void {
    if (this.#end.isClosing) return;
    const now = this.#runtime.now();
    for (const pending of this.#pending.values())
      if (pending.sent > 0 || pending.isDue) this.#dispatch(pending, now);
    this.#watches.beginAgain();
  }

  /** Two servers that send each other's clients on must not keep a client busy: calls are repeated after a pause. */
  #moved(): void {
    for (const pending of this.#pending.values()) if (pending.sent > 0) this.#later(pending);
    this.#watches.beginAgain();
  }

  /** No server will ever serve these calls. A write that was sent before may have taken effect, and waits for its time limit. */
  #refused(why: LeaseholdError): void {
    for (const pending of [...this.#pending.values()])
      if (!pending.isWrite || pending.sent === 0) this.#finish(pending, why);
  }

  #checkOpen(): void {
    if (this.#end.isClosing) throw closed('client');
  }

  // ── answers ──

  #replied(reply: Reply): void {
    if (this.#watches.heard(reply)) return;
    const pending = this.#pending.get(reply.id);
    if (pending === undefined) return;
    if (reply.kind === 'failed' && reply.code === ANSWER_TOO_LARGE) {
      this.#finish(pending, answerTooLarge(Number(reply.message), 'read'));
      return;
    }
    if (reply.kind === 'failed' && reply.code === 'NOT_ALLOWED') {
      this.#finish(pending, new RefusedError('NOT_ALLOWED', reply.message));
      return;
    }
    if (reply.kind === 'failed' && reply.code === 'not-leader') {
      if (reply.message !== '') this.#wire.redirect(reply.message);
      this.#later(pending);
      return;
    }
    if (reply.kind === 'answer' && reply.answer.kind === 'refused') {
      this.#isDiskFull ||= reply.answer.why === 'disk-full';
      if (reply.answer.why === 'busy' && pending.sent <= 1) this.#finish(pending, busy());
      else {
        this.#later(pending);
        this.#moveOn();
      }
      return;
    }
    const result =
      reply.kind === 'answer' && reply.answer.kind === 'result' ? reply.answer.result : undefined;
    if (result !== undefined) this.#isDiskFull = false;
    if (pending.isWrite && result?.kind === 'no-session') {
      this.#expired(pending);
      return;
    }
    if (pending.isWrite && result?.kind === 'omitted') {
      this.#omitted(pending, result);
      return;
    }
    if (reply.kind === 'found' && !reply.isLast) pending.settle(reply);
    else if (pending.isWrite && result?.kind === 'refused') this.#finish(pending, sessionExpired());
    else this.#finish(pending, undefined, reply);
  }

  #finish(pending: Pending, error: unknown, reply?: Reply): void {
    this.#pending.delete(pending.id);
    if (pending.write !== undefined) {
      this.#session.answered(pending.write);
      this.#pump(this.#runtime.now());
    }
    if (reply === undefined) pending.reject(error);
    else pending.settle(reply);
  }

  /** Uses another server: once, if many calls of one packet were refused. */
  #moveOn(): void {
    const now = this.#runtime.now();
    if (now < this.#moveAfter) return;
    this.#moveAfter = later(now, RETRY_MS);
    this.#wire.next();
  }

  /** Tried again in a moment, by the tick. */
  #later(pending: Pending): void {
    pending.resendAt = later(this.#runtime.now(), RETRY_MS);
  }

  #expired(pending: Pending): void {
    this.#session.close(pending.write?.session);
    if (pending.sent > 1) {
      this.#finish(pending, sessionExpired());
      return;
    }
    this.#writeAnew(pending);
  }

  /** The write is done with, and what it found is not known. If nothing was written, the conditions can be tried again. */
  #omitted(pending: Pending, { of, bytes }: Omitted): void {
    if (isAnswerTooLarge(bytes)) this.#finish(pending, answerTooLarge(bytes, of));
    else if (of === 'done') this.#finish(pending, answerNotKept(bytes));
    else {
      this.#session.answered(pending.write as NumberedWrite);
      this.#writeAnew(pending);
    }
  }

  /**
   * Sends the write as another request: the one before has no effect. A copy of the answer to that one may still come, and must not be
   * taken for the answer to this one.
   */
  #writeAnew(pending: Pending): void {
    this.#pending.delete(pending.id);
    this.#ids += 1;
    pending.id = this.#ids;
    this.#pending.set(pending.id, pending);
    pending.write = undefined;
    pending.sent = 0;
    pending.isDue = false;
    this.#unnumbered.push(pending);
    this.#pump(this.#runtime.now());
  }

  #drop(id: number, reason: unknown): void {
    const pending = this.#pending.get(id);
    if (pending !== undefined) this.#finish(pending, reason);
  }

  // ── time ──

  #watchTime(): void {
    this.#tick ??= this.#runtime.wakeAt(later(this.#runtime.now(), TICK_MS), () => {
      this.#tick = undefined;
      this.#lookAtTime();
      if (this.#pending.size > 0 && !this.#end.isClosing) this.#watchTime();
    });
  }

  #lookAtTime(): void {
    const now = this.#runtime.now();
    const refusal = this.#wire.refusal();
    if (refusal !== undefined) this.#refused(refusal); // Asked while the dialer pauses after the refusal.
    let isSilent = false;
    for (const pending of [...this.#pending.values()]) {
      const { isWrite, timeoutMs, since, until, sent, isDue, resendAt } = pending;
      if (until <= now) {
        const call = !isWrite ? 'read' : sent > 0 ? 'sent-write' : 'unsent-write';
        const problems = this.#isDiskFull ? 'disk-full' : this.#wire.problems();
        this.#finish(pending, timedOut(timeoutMs, call, problems));
      } else if ((sent > 0 || isDue) && resendAt <= now) {
        isSilent ||= later(since, RESEND_MS) <= now;
        this.#dispatch(pending, now);
      }
    }
    if (isSilent) this.#moveOn();
  }
}

/** Reads of one key each in one call. */
const KEYS_PER_CALL = 1_024;

const NO_NUMBER = { session: NO_SESSION, number: 0, answeredBelow: 0 } as const;
