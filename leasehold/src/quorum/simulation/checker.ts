/**
 * The promises, watched from outside where all replicas can be seen at once.
 *
 *  - **agreement**: a slot that two replicas know to be chosen holds the same operation at both, for ever.
 *  - **no-stale-read**: a read that is not asked to be stale shows every write of its keys that any replica knew to be committed, or had
 *    shown to anybody, when the read arrived.
 *  - **strict-serializability**: all that clients were told fits into one order that respects the log and real time.
 *  - **linearizability**: the same for each key alone, by a search of its own, which takes from the log only which writes were never applied.
 *  - **exactly-once**: a request that its client repeated is applied once.
 *  - **same-state**: replicas that have applied the same slots have the same values and sessions.
 *  - **removed-stay-out**: a directory that was removed from the cell is never seated again, however late a change is repeated.
 *  - **answers-once**: every call is answered at most once.
 *  - **progress**: when nothing goes wrong any more, everything that was begun ends, and holders read locally again.
 */

import {
  checkLinearizable,
  LinearizabilityUndecidedError,
  type Model,
  type Operation as Observed,
  UNKNOWN,
} from '../../sim/linearizability.ts';
import { COMES_TO_AN_END, type World } from '../../sim/world.ts';
import type { Answer } from '../core/answer.ts';
import type { Member } from '../core/configuration.ts';
import type { Change } from '../core/membership.ts';
import {
  BATCH_MAX,
  keysOf,
  type Operation,
  type Request,
  revisionOf,
  slotOf,
  touchedBy,
} from '../core/operation.ts';
import type { Found, Result } from '../core/result.ts';
import type { SessionSnapshot } from '../core/sessions.ts';
import type { Replica } from '../core/replica.ts';
import type { Call } from './node.ts';
import { type Called, decode } from './operations.ts';
import { findCycle, type HistoryNode } from './serializability.ts';

export const PROMISES: readonly string[] = [
  'agreement',
  'no-stale-read',
  'strict-serializability',
  'linearizability',
  'exactly-once',
  'same-state',
  'removed-stay-out',
  'answers-once',
  'progress',
  'bounded-repair',
  COMES_TO_AN_END,
];

/** How far a replica has been looked at in its present life. */
interface Seen {
  chosen: number;
  committed: number;
  readonly beyond: Set<number>;
  lapses: number;
}

/** A replica, as the checker sees it. */
export interface Watched {
  readonly storage: string;
  readonly isLeader: boolean;
  readonly replica: Replica | undefined;
}

export class Checker {
  readonly operations: Called[] = [];
  readonly #world: World;
  readonly #chosen: (Operation | undefined)[] = [];
  /** Where a request was first chosen, by session and number. */
  readonly #firstOf = new Map<string, number>();
  /** Where a session was first expired. */
  readonly #expiredAt = new Map<number, number>();
  /** What was found under keys by replicas whose slots nobody has been seen to choose yet. */
  readonly #unexplained: Found[] = [];
  /** The last slot that may write a key and that some replica knows to be committed. */
  readonly #lastCommitted = new Map<string, number>();
  readonly #isCommitted = new Set<number>();
  #seated: ReadonlySet<string> = new Set();
  readonly #removed = new Set<string>();
  readonly #seen = new WeakMap<Watched, Seen>();
  /** What a read must show, by the call that asked for it. */
  readonly #floors = new WeakMap<
    Call,
    { readonly slot: number; readonly revisions: ReadonlyMap<string, number> }
  >();
  /** The newest revision of each key that any caller was told of. */
  readonly #shown = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  // ── what happens ──

  began(node: Watched): void {
    const log = node.replica?.view.log;
    if (log === undefined) return;
    this.#world.count('lives');
    this.#seen.set(node, { chosen: log.base, committed: log.base, beyond: new Set(), lapses: 0 });
  }

  settled(node: Watched): void {
    const log = node.replica?.view.log;
    const seen = this.#seen.get(node);
    if (log === undefined || seen === undefined) return;
    const { lapses } = node.replica?.view.leases ?? seen;
    if (lapses > seen.lapses) this.#world.count('leases lapsed', lapses - seen.lapses);
    seen.lapses = lapses;
    for (let slot = Math.max(seen.chosen, log.base) + 1; slot <= log.chosen; slot += 1) {
      this.#see(node, slot, log.at(slot).operation);
    }
    seen.chosen = log.chosen;
    for (let slot = Math.max(seen.committed, log.base) + 1; slot <= log.chosen; slot += 1) {
      if (!log.isCommitted(slot) || seen.beyond.has(slot)) continue;
      seen.beyond.add(slot);
      this.#commit(slot, log.at(slot).operation);
    }
    for (const slot of seen.beyond) if (slot <= log.committed) seen.beyond.delete(slot);
    seen.committed = log.committed;
  }

  /** A slot that is chosen, committed and compacted in one input is seen only here. */
  shows(node: Watched, slot: number, operation: Operation): void {
    this.#see(node, slot, operation);
  }

  reads(_: Watched, call: Call): void {
    if (call.kind !== 'read') return;
    const floors = call.keys.map((key) => this.#lastCommitted.get(key) ?? 0);
    this.#floors.set(call, { slot: Math.max(...floors), revisions: new Map(this.#shown) });
  }

  answers(node: Watched, call: Call, answer: Answer): void {
    this.settled(node);
    if (answer.kind === 'refused') this.#world.count(`refused: ${answer.why}`);
    if (answer.kind === 'result') {
      this.#world.count(`result: ${answer.result.kind}`);
      if (!node.isLeader) this.#world.count('answered near the client');
    }
    if (answer.kind === 'result' && call.kind === 'submit' && isDone(answer.result)) {
      const { revision } = answer.result;
      for (const key of touchedBy([call.submission.command]).written) this.#show(key, revision);
    }
    if (answer.kind !== 'read') return;
    this.#world.count(`read: ${answer.served}`);
    if (answer.served === 'weak') return;
    const floors = this.#floors.get(call);
    const floor = floors?.slot ?? 0;
    if (answer.position < floor) {
      const keys = answer.found.map(({ key }) => key).join(' and ');
      const what = `${node.storage} read ${keys} (${answer.served}) as of slot ${answer.position}`;
      throw this.#world.broken('no-stale-read', `${what}, but slot ${floor} was committed before it asked`);
    }
    for (const found of answer.found) {
      const { key, revision } = found;
      const shown = floors?.revisions.get(key) ?? 0;
      if (revision > 0 && revision < shown) {
        const what = `${node.storage} read ${key} (${answer.served}) of revision ${revision}`;
        throw this.#world.broken('no-stale-read', `${what}, but ${shown} was shown before it asked`);
      }
      this.#show(key, revision);
      this.#checkOnce(found);
    }
  }

  #show(key: string, revision: number): void {
    this.#shown.set(key, Math.max(revision, this.#shown.get(key) ?? 0));
  }

  traced(_: Watched, what: string): void {
    this.#world.count(`traced: ${what}`);
  }

  changed(_: Watched, change: Change, answer: Answer): void {
    this.#world.count(answer.kind === 'changed' ? `changed: ${change.kind}` : 'changes refused');
  }

  // ── at the end ──

  /** All that clients were told. */
  checkHistory(): void {
    for (const found of this.#unexplained.splice(0)) this.#checkOnce(found);
    const cycle = findCycle(this.#nodes());
    if (cycle !== undefined)
      throw this.#world.broken('strict-serializability', `a cycle: ${cycle.join(' → ')}`);
    try {
      const verdict = checkLinearizable(this.#observed(), REGISTER, { maxConfigurations: 2_000 });
      if (!verdict.ok) throw this.#world.broken('linearizability', verdict.explanation);
      this.#world.count('histories decided');
    } catch (error) {
      if (!(error instanceof LinearizabilityUndecidedError)) throw error;
      this.#world.count('histories undecided');
    }
  }

  /** All replicas that have applied the same slots. */
  checkStates(nodes: readonly Watched[]): void {
    const states = new Map<number, { readonly storage: string; readonly state: string }>();
    for (const { replica, storage } of nodes) {
      if (replica === undefined) continue;
      const { machine } = replica.view;
      const contents = machine.contents();
      for (const found of contents) this.#checkOnce(found);
      const sessions = machine.sessions.snapshotAt(machine.applied).map(sorted);
      sessions.sort((a, b) => a.id - b.id);
      const values = contents.map(({ key, value, revision }) => [key, decode(value), revision]);
      const state = JSON.stringify({ values, sessions });
      const other = states.get(machine.applied);
      if (other === undefined) states.set(machine.applied, { storage, state });
      else if (other.state !== state) {
        const detail = `${storage} and ${other.storage} differ after slot ${machine.applied}: ${state}, ${other.state}`;
        throw this.#world.broken('same-state', detail);
      }
    }
  }

  #see(node: Watched, slot: number, operation: Operation): void {
    const known = this.#chosen[slot];
    if (known === operation) return;
    if (known !== undefined) {
      throw this.#world.broken(
        'agreement',
        `slot ${slot} is ${describe(known)}, and at ${node.storage} ${describe(operation)}`,
      );
    }
    this.#chosen[slot] = operation;
    this.#world.count('slots chosen');
    if (operation.kind === 'configuration') {
      this.#world.count('configurations');
      this.#seat(slot, operation.configuration.members);
      return;
    }
    if (operation.requests.length > 1) this.#world.count('slots with several requests');
    operation.requests.forEach((request, place) => {
      const id = requestId(request);
      const { command } = request;
      if (command.kind === 'expire-session' && !this.#expiredAt.has(command.session)) {
        this.#expiredAt.set(command.session, revisionOf(slot, place));
      }
      if (request.session === 0) return;
      if (this.#firstOf.has(id)) this.#world.count('duplicates chosen');
      else this.#firstOf.set(id, revisionOf(slot, place));
    });
  }

  #seat(slot: number, members: readonly Member[]): void {
    const seated = new Set(members.map(({ storage }) => storage));
    for (const storage of this.#seated) if (!seated.has(storage)) this.#removed.add(storage);
    this.#seated = seated;
    const back = [...seated].find((storage) => this.#removed.has(storage));
    if (back !== undefined)
      throw this.#world.broken('removed-stay-out', `slot ${slot} seats ${back}, which was removed before`);
  }

  #commit(slot: number, operation: Operation): void {
    if (this.#isCommitted.has(slot)) return;
    this.#isCommitted.add(slot);
    for (const key of keysOf(operation).written) {
      this.#lastCommitted.set(key, Math.max(slot, this.#lastCommitted.get(key) ?? 0));
    }
  }

  /** What is found under a key was written by the first copy of a request. */
  #checkOnce(found: Found): void {
    const { key, revision } = found;
    if (revision === 0) return;
    const request = this.#requestAt(revision);
    if (this.#chosen[slotOf(revision)] === undefined) {
      this.#unexplained.push(found);
      return;
    }
    const first = request === undefined ? undefined : this.#firstOf.get(requestId(request));
    if (first === revision) return;
    const what = `${key} was written by revision ${revision}`;
    throw this.#world.broken(
      'exactly-once',
      `${what}, but that request was applied at ${first ?? 'no revision'}`,
    );
  }

  #requestAt(revision: number): Request | undefined {
    const operation = this.#chosen[slotOf(revision)];
    return operation?.kind === 'batch' ? operation.requests[revision % BATCH_MAX] : undefined;
  }

  #nodes(): HistoryNode[] {
    const deleted = new Set<string>();
    for (const operation of this.operations) {
      if (operation.kind !== 'write') continue;
      for (const action of operation.command.actions) if (action.do === 'delete') deleted.add(action.key);
    }
    return this.operations.flatMap((operation, at) => {
      const { calledMs, returnedMs = Number.POSITIVE_INFINITY, client } = operation;
      const found =
        operation.kind === 'read' ? (operation.answer?.found ?? []) : (operation.result?.found ?? []);
      // A key that is absent may never have been, or may have been deleted by one of several; the search by key decides.
      const saw = found
        .filter(({ key, revision }) => revision > 0 || !deleted.has(key))
        .map(({ key, revision }) => [key, revision] as const);
      if (operation.kind === 'read') {
        const name = `${client} reads ${operation.keys.join(' ')} (#${at})`;
        return saw.length === 0 ? [] : [{ name, calledMs, returnedMs, wrote: undefined, saw }];
      }
      const revision = operation.result?.kind === 'unmet' ? undefined : this.#revisionOf(operation);
      const keys = operation.command.actions.filter((action) => action.do !== 'get').map(({ key }) => key);
      const wrote = revision === undefined ? undefined : { revision, keys };
      return [{ name: `${client} writes ${keys.join(' ')} (#${at})`, calledMs, returnedMs, wrote, saw }];
    });
  }

  /** Where a write took effect, if it is known that it did. */
  #revisionOf(operation: Extract<Called, { kind: 'write' }>): number | undefined {
    if (operation.result?.kind === 'done') return operation.result.revision;
    // Nobody knows whether its conditions held; without conditions they did.
    return operation.command.conditions.length > 0 ? undefined : this.#appliedAt(operation);
  }

  /** Where a write was applied, whatever came of it; undefined if it never was. */
  #appliedAt({ session, number }: Extract<Called, { kind: 'write' }>): number | undefined {
    const first = this.#firstOf.get(`${session}:${number}`);
    const isExpired = first !== undefined && first > (this.#expiredAt.get(session) ?? first);
    return isExpired ? undefined : first;
  }

  #observed(): Observed<RegisterInput, RegisterOutput>[] {
    const values = new Map<string, string | null>();
    for (const operation of this.operations) {
      const found = operation.kind === 'read' ? operation.answer?.found : operation.result?.found;
      for (const { key, revision, value } of found ?? []) {
        values.set(`${key} ${revision}`, decode(value) ?? null);
      }
    }
    const happened = this.operations.filter(
      (operation) => operation.kind === 'read' || this.#appliedAt(operation) !== undefined,
    );
    return happened.flatMap((operation) => observedOf(operation, values));
  }
}

const requestId = ({ session, number }: Request): string => `${session}:${number}`;

const describe = (operation: Operation): string =>
  operation.kind === 'configuration'
    ? `a configuration of ${operation.configuration.members.map(({ storage }) => storage).join(', ')}`
    : `a batch of ${operation.requests.map(requestId).join(', ')}`;

/** What an operation does to one key: it writes something (null: deletes it), or nothing. */
interface RegisterInput {
  readonly writes: string | null | undefined;
}

/** What an operation saw of one key (null: nothing there), or undefined if it did not look. */
interface RegisterOutput {
  readonly saw: string | null | undefined;
}

const REGISTER: Model<string | null, RegisterInput, RegisterOutput> = {
  initial: null,
  step(state, { writes }, output) {
    if (output !== UNKNOWN && output.saw !== undefined && output.saw !== state) return undefined;
    return writes === undefined ? state : writes;
  },
  keyOf: (state) => state ?? '',
  readsOnly: ({ writes }) => writes === undefined,
};

function observedOf(
  operation: Called,
  values: ReadonlyMap<string, string | null>,
): Observed<RegisterInput, RegisterOutput>[] {
  const { client: process, calledMs: calledAt, returnedMs: returnedAt } = operation;
  const observed = (
    key: string,
    writes: RegisterInput['writes'],
    saw: RegisterOutput['saw'] | typeof UNKNOWN,
  ): Observed<RegisterInput, RegisterOutput> => {
    const output = saw === UNKNOWN ? UNKNOWN : { saw };
    return { process, key, input: { writes }, output, calledAt, returnedAt };
  };
  if (operation.kind === 'read') {
    return (operation.answer?.found ?? []).map(({ key, value }) =>
      observed(key, undefined, decode(value) ?? null),
    );
  }
  const { command, result } = operation;
  const written = command.actions.flatMap((action) =>
    action.do === 'get'
      ? []
      : [[action.key, action.do === 'put' ? (decode(action.value) ?? null) : null] as const],
  );
  if (result === undefined) return written.map(([key, value]) => observed(key, value, UNKNOWN));
  const saw = new Map(result.found.map(({ key, value }) => [key, decode(value) ?? null]));
  if (result.kind === 'unmet') return [...saw].map(([key, value]) => observed(key, undefined, value));
  for (const condition of command.conditions) {
    if (condition.is === 'absent') saw.set(condition.key, null);
    const known =
      condition.is === 'revision' ? values.get(`${condition.key} ${condition.revision}`) : undefined;
    if (known !== undefined) saw.set(condition.key, known);
  }
  const keys = new Set([...saw.keys(), ...written.map(([key]) => key)]);
  const writes = new Map(written);
  return [...keys].map((key) => observed(key, writes.get(key), saw.get(key)));
}

const isDone = (result: Result): result is Extract<Result, { kind: 'done' | 'omitted' }> =>
  result.kind === 'done' || (result.kind === 'omitted' && result.of === 'done');

/** A session with its outcomes by number: replicas that installed snapshots have them in another order. */
const sorted = (session: SessionSnapshot): SessionSnapshot => ({
  ...session,
  outcomes: session.outcomes.toSorted((a, b) => a.number - b.number),
});
