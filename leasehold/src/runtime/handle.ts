/**
 * What all handles of the toolkit have in common: how each is begun, asked, watched and ended.
 *
 *     join… start… connect… ──► usable ── ready(), status(), events() ──► close() ──► closed: undefined
 *                                 └──────────── a failure for good ─────────────────► closed: the error
 *
 * A program that holds handles of five modules then has one way to wait, one way to look and one way to stop. `closed` never
 * rejects, so a program that does not look at it is not ended by an unhandled rejection; a program that looks learns of an end
 * which it did not ask for.
 */

import { deadline, type Deadline } from './deadline.ts';
import type { LeaseholdError, Module } from './errors.ts';
import type { Logger } from './logger.ts';
import { onAbort } from './on-abort.ts';
import * as is from './option-kinds.ts';
import { type OptionalRow, optional } from './option-table.ts';
import type { Runtime } from './runtime.ts';

export interface CallOptions {
  /** How long the call may take. @default as the function says */
  timeoutMs?: number | undefined;
  /** Gives the call up. At the beginning of a handle: gives the beginning up, and later closes the handle. */
  signal?: AbortSignal | undefined;
}

/** Certificates of an own authority. Each is a path, or the text of such a file. */
export interface TlsFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** A file with a token, as `leasehold token create --out` writes it. */
export interface TokenFile {
  readonly file: string;
}

/**
 * A token, or several while a new root is brought in (the first is shown, the roots of all are trusted); a file with these; or certificates of an
 * own authority, of which every one may be everything. False: none, whatever the environment says.
 */
export type Tls = string | readonly string[] | TokenFile | TlsFiles | false;

/** How a function that listens or dials was told to protect that. */
export interface TlsOptions {
  readonly tls?: Tls | undefined;
  readonly insecure?: boolean | undefined;
  readonly logger: Logger;
}

/** How a handle is begun, whatever its module. */
export interface BeginOptions extends CallOptions {
  /** @default the token of the environment; without one plain TCP */
  tls?: Tls | undefined;
  /** Allows to listen elsewhere than on loopback without `tls`; an error together with a token. @default false */
  insecure?: boolean | undefined;
  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

/** Where a handle listens, as `host:port`. */
export interface ListenOptions {
  /** @default the own entry of `peers`, or as the function says */
  listen?: string | undefined;
  /** The address that other processes dial. @default the own entry of `peers`, or where the handle listens */
  advertise?: string | undefined;
}

/** Names and addresses of all processes of a cell or group, oneself too, the same everywhere. */
export type Peers = Readonly<Record<string, string>>;

/** What stands in the way of a handle, and how to mend it. */
export interface Problem {
  /** The same for as long as the problem lasts. */
  readonly id: string;
  /** `failing`: `isReady` is false for this reason. */
  readonly level: 'failing' | 'warning';
  /** In words. */
  readonly what: string;
  /** For how long, in milliseconds. */
  readonly sinceMs: number;
  /** What to do. */
  readonly cure: string;
  /** The command of the command line that does it, or shows more. */
  readonly command?: string | undefined;
}

/** The first fields of every status; a handle adds its own. Plain data, read at the moment of asking. */
export interface Status {
  readonly module: Module;
  /** Of this process: `owner`, `lookup`, `leading`, `member`, `client` … */
  readonly role: string;
  /** The pool, cell, group or cluster. */
  readonly instance: string;
  /** Of this process in the instance, kept over restarts; undefined if it needs none. */
  readonly name: string | undefined;
  readonly isReady: boolean;
  /** What the handle waits for until it is ready, in words. */
  readonly waitsFor: string | undefined;
  readonly problems: readonly Problem[];
}

/** Something that happened, as `/v1/events` tells it: `kind` and `instance`, with the facts of the kind. */
export interface Event {
  /** Shown to resume after this event. */
  readonly id: string;
  /** The wall clock, in milliseconds since 1970. */
  readonly atMs: number;
  /** `<module>.<what>`: `pool.lost`, `membership.view`; `gap` where events are no longer kept. */
  readonly kind: `${Module}.${string}` | 'gap';
  readonly [fact: string]: unknown;
}

export interface EventsOptions {
  /** Ends the iteration. */
  signal?: AbortSignal | undefined;
  /** The id of the last event seen. @default events from now on */
  after?: string | undefined;
}

export interface Handle<S extends Status = Status> extends AsyncDisposable {
  /** Resolves when nothing is awaited any more. */
  ready(options?: CallOptions): Promise<void>;
  status(): S;
  events(options?: EventsOptions): AsyncIterable<Event>;
  /** Orderly and bounded; a second call waits for the same end. */
  close(): Promise<void>;
  /** Resolves when the handle is closed, or has failed for good: then with the reason. Never rejects. */
  readonly closed: Promise<LeaseholdError | undefined>;
}

/** What is held at present: a key, a lease. */
export interface Held {
  /** The fencing number: grows with every grant. */
  readonly number: number;
  /** Aborts when it is no longer held. */
  readonly signal: AbortSignal;
  isHeld(): boolean;
}

/** The one end of a handle, for its `close` and `closed`. */
export class Closing {
  readonly closed: Promise<LeaseholdError | undefined>;
  #settle: (why: LeaseholdError | undefined) => void = () => {};
  #closing: Promise<void> | undefined;
  #isFailed = false;

  constructor() {
    this.closed = new Promise((resolve) => (this.#settle = resolve));
  }

  /** `close` was called. */
  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  /** Of no more use: closed, being closed, or failed. */
  get isOver(): boolean {
    return this.isClosing || this.#isFailed;
  }

  /** The handle has failed for good. Only the first reason counts, and none after the handle was closed. */
  fail(why: LeaseholdError): void {
    if (this.isOver) return;
    this.#isFailed = true;
    this.#settle(why);
  }

  /** Stops once, whoever calls how often; `closed` resolves when that is over, even if `stop` rejects. */
  close(stop: () => Promise<void>): Promise<void> {
    // The turn between: `stop` may ask whether the handle is being closed, and may throw.
    this.#closing ??= Promise.resolve()
      .then(stop)
      .finally(() => this.#settle(undefined));
    return this.#closing;
  }
}

/**
 * The signal of the options for the life of a handle: closes the handle when it aborts. Dispose of the result at the end of the
 * handle, or the signal keeps the handle in memory.
 *
 * @param failed told if the close failed: no caller awaits it
 */
export function closeOnAbort(
  signal: AbortSignal | undefined,
  handle: { close(): Promise<void> },
  failed: (error: unknown) => void,
): Disposable {
  const close = (): void => void handle.close().catch(failed);
  if (signal?.aborted) close();
  return onAbort(signal, close);
}

/** One signal for a call: the caller's, and the time limit. Dispose of it when the call is over. */
export const callLimit = (
  runtime: Runtime,
  options: CallOptions | undefined,
  otherwiseMs: number,
): Deadline => deadline(runtime, options?.timeoutMs ?? otherwiseMs, options?.signal);

/** The rows of the option table that all handles share. */
export const CALL_ROWS: {
  readonly timeoutMs: OptionalRow<number>;
  readonly signal: OptionalRow<AbortSignal>;
} = {
  timeoutMs: optional(is.timeLimit, 'as the function says'),
  signal: optional(is.signal),
};

export const LISTEN_ROWS: {
  readonly listen: OptionalRow<string>;
  readonly advertise: OptionalRow<string>;
} = {
  listen: optional(is.string, 'the own entry of `peers`, or as the function says'),
  advertise: optional(is.string, 'the own entry of `peers`, or where the handle listens'),
};
