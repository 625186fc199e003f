/** Changes of a cell, as operators ask a client for them: the leader decides each, and is asked again while there is none. */

import type { CallOptions } from '../../runtime/handle.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { ReaderMap, ReaderMapChange } from '../core/configuration.ts';
import type { Change } from '../core/membership.ts';
import { changeRefused } from '../core/errors.ts';
import type { Call, Reply } from '../wire/calls.ts';
import {
  checkCall,
  checkCallOptions,
  checkName,
  checkPlacement,
  checkStepDownOptions,
} from './client-checks.ts';
import type { StepDownOptions } from './client-types.ts';
import { additionOf, type Resolved } from './newcomer.ts';
import { checkReaders, placementOf, type Readers } from './readers-status.ts';

/** Sends a call until it is answered, and hands over the reply. */
export type Ask = (
  make: (id: number) => Call,
  options: CallOptions,
  reject: (error: unknown) => void,
  settle: (reply: Reply) => void,
) => void;

export class CellChanges {
  readonly #runtime: Runtime;
  readonly #ask: Ask;

  constructor(runtime: Runtime, ask: Ask) {
    this.#runtime = runtime;
    this.#ask = ask;
  }

  async add(name: string, options: CallOptions, defaultTimeoutMs: number): Promise<void> {
    checkCallOptions(options);
    const { timeoutMs = defaultTimeoutMs } = options;
    const change = await additionOf(() => this.#resolve(name, options), this.#runtime, timeoutMs);
    await this.#change(change, options);
  }

  async remove(name: string, options: CallOptions): Promise<void> {
    const { member } = await this.#resolve(name, options);
    if (member === undefined) throw changeRefused('not-a-member');
    await this.#change({ kind: 'remove', storage: member }, options);
  }

  async setReaders(readers: Readers | ReaderMap | ReaderMapChange, options: CallOptions): Promise<void> {
    const placement =
      typeof readers === 'string' ? placementOf(checkReaders('readers', readers)) : checkPlacement(readers);
    return this.#change({ kind: 'placement', placement }, options);
  }

  async stepDown(given: StepDownOptions): Promise<void> {
    checkStepDownOptions(given);
    const { to, ...options } = given;
    const call = checkCall('to', to, { kind: 'step-down', id: 0, to });
    return this.#operate((id) => ({ ...call, id }), options);
  }

  async #resolve(name: string, options: CallOptions): Promise<Resolved> {
    checkName(name);
    checkCallOptions(options);
    const call = checkCall('name', name, { kind: 'resolve', id: 0, name });
    return new Promise((resolve, reject) => {
      this.#ask(
        (id) => ({ ...call, id }),
        options,
        reject,
        (reply) => {
          if (reply.kind === 'resolved') resolve(reply);
        },
      );
    });
  }

  async #change(change: Change, options: CallOptions): Promise<void> {
    const value = change.kind === 'placement' ? change.placement : change;
    const call = checkCall(change.kind, value, { kind: 'change', id: 0, change });
    return this.#operate((id) => ({ ...call, id }), options);
  }

  #operate(make: (id: number) => Call, options: CallOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      checkCallOptions(options);
      this.#ask(make, options, reject, (reply) => {
        const isAnswer = reply.kind === 'answer' && reply.answer.kind === 'not-changed';
        const why = reply.kind === 'failed' ? reply.code : isAnswer ? reply.answer.why : undefined;
        if (why === undefined) resolve();
        else reject(changeRefused(why));
      });
    });
  }
}
