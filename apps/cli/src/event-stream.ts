/**
 * Events as they happen, across broken connections and restarts of the server.
 *
 * The stream is resumed after the last event that was seen. Missed events are told first; if a Manager no longer has
 * them, the Manager says `gap`, and a client with a picture of the pool draws that picture anew. A connection on which
 * not even a heartbeat is heard is given up.
 */

import type { Gap, LoggedEvent } from './answers.ts';
import type { HttpApi } from './api.ts';
import { piecesOf } from './request.ts';

export interface StreamMessage {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** Server-sent events out of pieces of text that are cut anywhere. */
export class StreamParser {
  #rest = '';
  #id: string | undefined;
  #event = '';
  #data: string[] = [];

  push(text: string): StreamMessage[] {
    const lines = (this.#rest + text).split(/\r\n|\n/);
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line: string): StreamMessage[] {
    if (line === '') return this.#dispatch();
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'id') this.#id = value;
    if (field === 'event') this.#event = value;
    if (field === 'data') this.#data.push(value);
    return [];
  }

  #dispatch(): StreamMessage[] {
    const message = { id: this.#id, event: this.#event || 'message', data: this.#data.join('\n') };
    const isEmpty = this.#data.length === 0;
    [this.#id, this.#event, this.#data] = [undefined, '', []];
    return isEmpty ? [] : [message];
  }
}

export interface StreamOptions {
  readonly api: HttpApi;
  /** The path of the stream. */
  readonly path: string;
  /** The id of the last event seen; undefined: from now on. */
  readonly after?: string | undefined;
  readonly signal: AbortSignal;
  /** Told when the connection is lost, and when the connection is back. */
  readonly onState?: ((state: 'lost' | 'back', why?: Error) => void) | undefined;
  readonly silentAfterMs?: number | undefined;
}

export interface FollowOptions extends Omit<StreamOptions, 'path'> {
  /** Only of this pool, and of the Manager itself. */
  readonly pool?: string | undefined;
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;

/** The events of a Manager. Ends when the signal aborts. */
export function followEvents({ pool, ...options }: FollowOptions): AsyncGenerator<LoggedEvent | Gap, void> {
  const query = pool === undefined ? '' : `?pool=${encodeURIComponent(pool)}`;
  return followStream<LoggedEvent | Gap>({ ...options, path: `/v1/events${query}` });
}

/**
 * Ends when the signal aborts.
 *
 * @throws {UnavailableError} `UNREACHABLE` if there is no connection at the beginning; later ones are tried again
 */
export async function* followStream<T>(options: StreamOptions): AsyncGenerator<T, void> {
  const { signal, onState } = options;
  let { after } = options;
  let hasBeenOpen = false;
  let isLost = false;
  let waitMs = FIRST_WAIT_MS;
  while (!signal.aborted) {
    try {
      for await (const message of connection(options, after)) {
        if (message === 'open') {
          hasBeenOpen = true;
          waitMs = FIRST_WAIT_MS;
          if (isLost) onState?.('back');
          isLost = false;
          continue;
        }
        after = message.id ?? after;
        yield eventOf(message.data) as T;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!hasBeenOpen || !(error instanceof Error)) throw error;
      if (!isLost) onState?.('lost', error);
      isLost = true;
    }
    await pause(waitMs * (0.5 + Math.random() / 2), signal);
    waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
  }
}

async function* connection(
  { api, path, signal, silentAfterMs = 45_000 }: StreamOptions,
  after: string | undefined,
): AsyncGenerator<StreamMessage | 'open'> {
  const silence = new AbortController();
  const headers: Record<string, string> = { accept: 'text/event-stream' };
  if (after !== undefined) headers['last-event-id'] = after;
  const watchdog = setTimeout(
    () => silence.abort(new Error('nothing was heard for too long')),
    silentAfterMs,
  );
  try {
    const end = AbortSignal.any([signal, silence.signal]);
    const response = await api.open(path, { signal: end, headers });
    yield 'open';
    const parser = new StreamParser();
    for await (const piece of piecesOf(response, end)) {
      watchdog.refresh();
      yield* parser.push(piece);
    }
    throw new Error('the other side closed the stream');
  } finally {
    clearTimeout(watchdog);
    silence.abort();
  }
}

/** @throws if the data is no event: a server that says so is no better than a silent one */
function eventOf(data: string): object {
  const event: unknown = JSON.parse(data);
  if (typeof event !== 'object' || event === null) throw new Error('what the other side tells is no event');
  return event;
}

/** Sooner if the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
    return undefined;
  });
}
