/**
 * Sees every slot when any replica first knows it to be committed, and all that the logs tell their users; and compares the two.
 *
 *  - `fenced`: an append or a snapshot of a leader takes effect only while `term` is that leader's
 *  - `appended-once`: each batch is written once, above all earlier ones
 *  - `nothing-lost`: a batch that was answered as appended was written; a leader starts from all that was written up to its election
 *  - `refused-never-appears`: a batch that was refused is not written, then or later
 *  - `terms-grow`: a later election has a greater term
 *  - `alone-within-lease`: once any replica knows a later write of `term` to be committed, no leader lease of an earlier term runs
 *  - `lease-is-short`: a leader lease ends within one lease from when it is told
 *  - `told-once`: elected once, then perhaps deposed once, nothing after that or after withdrawing
 *  - `follower-complete`: a follower is told everything, once and in order, and is not reset without need
 *  - `head-fresh`: a head counts every batch that was committed before the question
 *  - `readable`: nobody finds the log damaged
 *  - `makes-room`: when a leader resigns, another is elected without waiting for a lease to run out
 *  - `settles`: when all is well again there is a leader, appends go through, and followers are where the log is
 */

import { batchBytes, batchId, Line } from '../../../log/etcd/simulation/truth.ts';
import type { AppendOutcome, LogBatch, LogStart } from '../../../log/log.ts';
import type { World } from '../../../sim/world.ts';
import type { Effect } from '../../core/context.ts';
import type { Action, Value } from '../../core/operation.ts';
import {
  decodeHolder,
  fieldsOf,
  META_KEY,
  positionOf,
  SNAPSHOT_KEY,
  TERM_KEY,
} from '../../fenced-log/layout.ts';

export const PROMISES = [
  'fenced',
  'appended-once',
  'nothing-lost',
  'refused-never-appears',
  'terms-grow',
  'alone-within-lease',
  'lease-is-short',
  'told-once',
  'follower-complete',
  'head-fresh',
  'readable',
  'makes-room',
  'settles',
] as const;

export type PromiseName = (typeof PROMISES)[number];

type Shown = Extract<Effect, { readonly do: 'show' }>;

export class LogChecker {
  readonly line: Line = new Line(0);
  /** The slot of the last write of `term` that any replica knows to be committed. */
  committedTerm = 0;
  readonly #world: World;
  readonly #shown = new Map<number, Shown>();
  readonly #submitted = new Map<number, { readonly candidate: string; outcome: AppendOutcome | undefined }>();
  readonly #slots: number[] = [];
  #processed = 0;
  #holder: { readonly candidate: string; readonly term: number } | undefined;
  #ids = 0;
  #electedTerm = 0;

  constructor(world: World) {
    this.#world = world;
  }

  shown(slot: number, effect: Shown): void {
    if (slot <= this.#processed || this.#shown.has(slot)) return;
    this.#shown.set(slot, effect);
    for (const { key, value } of written(effect))
      if (key === TERM_KEY && value !== undefined) this.committedTerm = Math.max(this.committedTerm, slot);
    for (let next = this.#shown.get(this.#processed + 1); next; next = this.#shown.get(this.#processed + 1)) {
      this.#processed += 1;
      this.#shown.delete(this.#processed);
      for (const change of written(next)) this.#change(this.#processed, change);
    }
  }

  submit(candidate: string, position: number, filler: number): LogBatch & { readonly id: number } {
    this.#ids += 1;
    this.#submitted.set(this.#ids, { candidate, outcome: undefined });
    return { id: this.#ids, position, bytes: batchBytes(this.#ids, filler) };
  }

  answered(id: number, outcome: AppendOutcome): void {
    const submission = this.#submitted.get(id);
    if (submission === undefined || submission.outcome !== undefined)
      throw this.broken('told-once', `batch #${id} was answered twice`);
    submission.outcome = outcome;
    const isWritten = this.line.entries.some((entry) => entry.id === id);
    if (outcome === 'appended' && !isWritten && !this.#isShown(id))
      throw this.broken('nothing-lost', `batch #${id} was said to be appended, and was not`);
    if (outcome === 'refused' && isWritten)
      throw this.broken('refused-never-appears', `batch #${id} was said to be refused, and was written`);
  }

  elected(candidate: string, term: number, start: LogStart): number {
    const expected = this.#slots.filter((slot) => slot <= term).length;
    const count = this.line.count(start);
    if (count !== expected)
      throw this.broken('nothing-lost', `${candidate} starts from ${count} of ${expected} batches`);
    if (term <= this.#electedTerm)
      throw this.broken('terms-grow', `${candidate} has term ${term} after ${this.#electedTerm}`);
    this.#electedTerm = term;
    return expected;
  }

  broken(promise: PromiseName, detail: string): Error {
    return this.#world.broken(promise, detail);
  }

  /** Whether a batch is in a slot that waits for earlier ones. */
  #isShown(id: number): boolean {
    return [...this.#shown.values()].some((effect) =>
      written(effect).some(
        ({ key, value }) => positionOf(key) !== undefined && value && batchId(value) === id,
      ),
    );
  }

  #change(slot: number, { key, value }: Change): void {
    const position = positionOf(key);
    if (key === TERM_KEY) {
      const candidate = value && decodeHolder(value)?.candidate;
      this.#holder = candidate === undefined ? undefined : { candidate, term: slot };
    } else if (key === META_KEY && value !== undefined)
      this.line.histories.push(String(fieldsOf(value)['history']));
    else if (key === SNAPSHOT_KEY && value !== undefined) this.#snapshot(slot, value);
    else if (position !== undefined && value !== undefined) this.#batch(slot, position, value);
  }

  #snapshot(slot: number, value: Value): void {
    const [term] = String(fieldsOf(value)['id']).split('-');
    if (Number(term) !== this.#holder?.term)
      throw this.broken('fenced', `slot ${slot} has a snapshot of term ${term} in ${this.#holder?.term}`);
  }

  #batch(slot: number, position: number, value: Value): void {
    const id = batchId(value);
    const submission = this.#submitted.get(id);
    const what = `slot ${slot} has ${position}#${id} of ${submission?.candidate}`;
    if (submission?.candidate !== this.#holder?.candidate)
      throw this.broken('fenced', `${what} while ${this.#holder?.candidate ?? 'nobody'} led`);
    if (submission?.outcome === 'refused') throw this.broken('refused-never-appears', `${what}, was refused`);
    if (position <= this.line.head) throw this.broken('appended-once', `${what} after ${this.line.head}`);
    this.line.push(position, id, this.#world.trueMs);
    this.#slots.push(slot);
  }
}

interface Change {
  readonly key: string;
  readonly value: Value | undefined;
}

/** What a slot wrote, by the results that a replica had for it. */
function written({ operation, results }: Shown): Change[] {
  if (operation.kind !== 'batch') return [];
  return operation.requests.flatMap(({ command }, place) => {
    if (command.kind !== 'transaction' || results[place]?.kind !== 'done') return [];
    return command.actions
      .filter((action): action is Exclude<Action, { do: 'get' }> => action.do !== 'get')
      .map((action) => ({ key: action.key, value: action.do === 'put' ? action.value : undefined }));
  });
}
