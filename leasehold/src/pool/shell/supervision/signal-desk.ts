/**
 * Where a supervisor's signals arrive. While the command lives, the signals are for the command (`signal-router.ts`
 * says for which processes exactly); then for the supervisor, which outlives the command until a Manager has confirmed
 * the death.
 */

import type { Child } from '../../../node/process/child.ts';
import { inTerminalForeground, onSignals, type Signal, stopSelf } from '../../../node/process/signals.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { type Routing, ROUTED, SignalRouter } from './signal-router.ts';

type Command =
  | { readonly is: 'starting'; readonly early: { readonly signal: Signal; readonly routing: Routing }[] }
  | { readonly is: 'running'; readonly child: Pick<Child, 'kill' | 'killGroup'> }
  | { readonly is: 'ended' };

/** The meaning of a signal once the command has ended. */
export interface Hurried {
  hurry(): void;
}

export class SignalDesk implements Disposable {
  readonly #router = new SignalRouter();
  readonly #certification: Hurried;
  readonly #runtime: Pick<Runtime, 'now'>;
  readonly #logger: Logger;
  readonly #arriving: Disposable;
  #command: Command = { is: 'starting', early: [] };

  constructor(certification: Hurried, runtime: Pick<Runtime, 'now'>, logger: Logger) {
    this.#certification = certification;
    this.#runtime = runtime;
    this.#logger = logger;
    this.#arriving = onSignals(ROUTED, (signal) => this.#arrived(signal));
  }

  started(child: Pick<Child, 'kill' | 'killGroup'>): void {
    const early = this.#command.is === 'starting' ? this.#command.early : [];
    this.#command = { is: 'running', child };
    for (const { signal, routing } of early) this.#handOn(signal, routing);
  }

  ended(): void {
    if (this.#command.is !== 'running') return;
    const { child } = this.#command;
    this.#command = { is: 'ended' };
    if (this.#router.leftToTell !== undefined) child.killGroup(this.#router.leftToTell);
  }

  [Symbol.dispose](): void {
    this.#arriving[Symbol.dispose]();
  }

  #arrived(signal: Signal): void {
    const inForeground = inTerminalForeground();
    const routing = this.#router.route(signal, { nowMs: this.#runtime.now(), inForeground });
    this.#logger.debug('signal', { signal, routing });
    this.#handOn(signal, routing);
  }

  #handOn(signal: Signal, routing: Routing): void {
    const command = this.#command;
    if (routing === 'stops') this.#stop();
    else if (command.is === 'starting') command.early.push({ signal, routing });
    else if (command.is === 'ended') this.#hurry(signal, routing);
    else if (routing === 'command') command.child.kill(signal);
    else if (routing !== 'dropped') command.child.killGroup(signal);
  }

  /** We go on behind the call, at a SIGCONT, which is then handed to the group. */
  #stop(): void {
    if (this.#command.is === 'running') this.#command.child.killGroup('SIGSTOP');
    stopSelf();
  }

  #hurry(signal: Signal, routing: Routing): void {
    const isToEnd = routing === 'command' || routing === 'group';
    if (isToEnd && signal !== 'SIGWINCH') this.#certification.hurry();
  }
}
