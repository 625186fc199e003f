/**
 * Ends a process in order when told to end: SIGTERM from a shell, Docker, Kubernetes or systemd, SIGINT from a
 * terminal.
 *
 *     running ──first signal──► stopping ──everything is stopped──► exit 0 (1 if something could not be stopped)
 *                                  └──second signal──► exit 128 + the signal's number, at once
 *
 * The given objects are stopped one after the other, in the order given. An owner comes before the server: the server
 * then still answers while the owner gives the keys back, and requests under way can end. A look-up comes last: a process that is owner and caller may need it
 * for requests under way, whose keys have just gone to other owners. So: `stopOnSignals(owner, server, lookup)`.
 *
 * One request to end often arrives as two signals: `npm run` and `leasehold run` pass a signal on to a child that
 * already has the signal, because the terminal or the orchestrator signalled the whole process group. If the copy
 * counted as the second signal, the process would end in the middle of `close()` and the keys would wait for the end
 * of the lease. So the same signal within a second is a copy and changes nothing. A person who insists presses the key
 * once more.
 *
 * The process is not made to exit while there is output to write: the exit code is set, and Node ends by itself when
 * nothing is left to do. If something else keeps the process alive (a timer, a connection pool), the process is ended
 * a second later.
 */

import process from 'node:process';
import { invalidOption } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { later } from '../../runtime/time.ts';
import { nodeRuntime } from '../runtime.ts';
import { SignalEchoes } from './signal-echoes.ts';
import { onSignals, type Signal, signalNumber } from './signals.ts';
import { warnings } from './warnings.ts';

/** A server of `node:http`, `node:https`, `node:http2` or `node:net`. */
export interface ClosableServer {
  readonly listening: boolean;
  /** No new connections; calls back when the last one has ended. */
  close(callback: (error?: Error) => void): unknown;
  /** Ends connections without a request. */
  closeIdleConnections?(): void;
  /** Ends connections with requests under way, too. */
  closeAllConnections?(): void;
}

/** An owner, a look-up, a Manager, a member of a group; a server; or a function that stops something else. */
export type Stoppable = AsyncDisposable | ClosableServer | (() => unknown);

/** What `stopOnSignals` gives: dispose of it to hear no more signals. */
export interface Stopping extends Disposable {
  /** Aborts with the first signal, before anything is stopped: for loops of the application that should end. */
  readonly signal: AbortSignal;
  /** Stops listening: signals have their former effect again. */
  [Symbol.dispose](): void;
}

/** The methods of the process in use here. @internal */
export interface StoppingProcess {
  onSignals(signals: readonly Signal[], handle: (signal: Signal) => void): Disposable;
  /** Ends as soon as nothing is left to do, a second later at the latest. */
  endSoon(code: number): void;
  endNow(code: number): void;
  readonly runtime: Runtime;
  readonly logger: Logger;
}

const SIGNALS: readonly Signal[] = ['SIGINT', 'SIGTERM'];

/** The longest time between two copies of one signal. */
const COPY_MS = 1_000;
/** How long requests under way may take after a server was told to close. */
const REQUESTS_END_MS = 5_000;
/** A connection becomes idle when the last request has been answered, and Node does not say so. */
const LOOK_FOR_IDLE_MS = 50;
const END_AFTER_MS = 1_000;

/**
 * Stops these, in this order, with the first SIGINT or SIGTERM, then ends the process. A second signal ends the
 * process at once. Call this once in a process.
 *
 * @throws {InvalidArgumentError} INVALID_OPTION, if an argument cannot be stopped, such as a promise that was not awaited
 */
export function stopOnSignals(...stoppables: readonly Stoppable[]): Stopping {
  return stopInOrder(stoppables, realProcess());
}

/** @internal */
export function stopInOrder(stoppables: readonly Stoppable[], around: StoppingProcess): Stopping {
  for (const [index, each] of stoppables.entries()) checkStoppable(index, each);
  const { runtime } = around;
  const echoes = new SignalEchoes(COPY_MS);
  const stopping = new AbortController();
  const listening = around.onSignals(SIGNALS, (signal) => {
    if (echoes.isEcho(signal, runtime.now())) return;
    if (stopping.signal.aborted) return around.endNow(128 + signalNumber(signal));
    stopping.abort(new DOMException(`the process was sent ${signal}`, 'AbortError'));
    void stopAll(stoppables, around).then((code) => around.endSoon(code));
  });
  return { signal: stopping.signal, [Symbol.dispose]: () => listening[Symbol.dispose]() };
}

/** At the call: with the signal it would be too late to mend the program. */
function checkStoppable(index: number, given: unknown): void {
  const refuse = (rule: string): never => {
    throw invalidOption(`stopOnSignals[${index}]`, given, rule);
  };
  const has = (name: PropertyKey): boolean =>
    typeof (given as Record<PropertyKey, unknown>)[name] === 'function';
  if (typeof given === 'function') return;
  if (typeof given === 'object' && given !== null) {
    if (has(Symbol.asyncDispose) || ('listening' in given && has('close'))) return;
    if (has('then')) refuse('it is a promise: await it first');
  }
  refuse(
    'it must be an owner, a look-up, a Manager or another handle, a server, or a function that stops something',
  );
}

/** One that fails does not keep the others from being stopped. */
async function stopAll(
  stoppables: readonly Stoppable[],
  { runtime, logger }: StoppingProcess,
): Promise<number> {
  let code = 0;
  for (const stoppable of stoppables) {
    try {
      await stop(stoppable, runtime);
    } catch (error) {
      code = 1;
      logger.error('could not stop in order; the process ends with code 1', { why: String(error) });
    }
  }
  return code;
}

async function stop(stoppable: Stoppable, runtime: Runtime): Promise<void> {
  if (typeof stoppable === 'function') await stoppable();
  else if ('listening' in stoppable) await closeServer(stoppable, runtime);
  else await stoppable[Symbol.asyncDispose]();
}

/** Requests under way may end; connections that ask for nothing are closed. */
function closeServer(server: ClosableServer, runtime: Runtime): Promise<void> {
  const until = later(runtime.now(), REQUESTS_END_MS);
  return new Promise((resolve) => {
    if (!server.listening) return resolve();
    let looking: Disposable | undefined;
    const look = (): void => {
      if (runtime.now() < until) server.closeIdleConnections?.();
      else server.closeAllConnections?.();
      looking = runtime.wakeAt(later(runtime.now(), LOOK_FOR_IDLE_MS), look);
    };
    server.close(() => {
      looking?.[Symbol.dispose]();
      resolve();
    });
    look();
  });
}

function realProcess(): StoppingProcess {
  const runtime = nodeRuntime();
  return {
    ...{ onSignals, runtime, logger: warnings, endNow: (code) => process.exit(code) },
    endSoon: (code) => {
      process.exitCode ??= code;
      const unattended = nodeRuntime({ unref: true });
      unattended.wakeAt(later(unattended.now(), END_AFTER_MS), () => process.exit());
    },
  };
}
