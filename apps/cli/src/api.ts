/**
 * A client of the HTTP API of a Manager, or of a member of a group. Three things can go wrong, and a person does
 * something else about each: there is no answer, another program answers, or the right program refuses.
 */

import type { IncomingMessage } from 'node:http';
import { LeaseholdError } from 'leasehold/manager';
import type { Context } from './context.ts';
import { UsageError } from './failure.ts';
import { ConnectionClosedError, type HttpRequest, send, textOf } from './request.ts';
import { MANAGER, type Respondent, STATUS_PATH, whosePaths, whoseStatus } from './respondents.ts';
import { leaderTold, StandsByError } from './stands-by-error.ts';

const DEFAULT_API = `http://127.0.0.1:${MANAGER.usualPort}`;
const ANSWER_WITHIN_MS = 10_000;

/** Nobody answers at that address. */
export class ApiUnreachableError extends LeaseholdError {
  override readonly name = 'ApiUnreachableError';
  readonly code = 'API_UNREACHABLE';
  readonly retryable = true;
  /** In a few words. */
  readonly reason: string;

  constructor(url: string, calledAs: string, { who, command, place, start }: Respondent, cause: unknown) {
    const reason = reasonOf(cause);
    const advice = start ?? `Start one with "${calledAs} ${command}"`;
    super(`no ${who} answers at ${url}: ${reason}. ${advice}, or say where it is with ${place}`, { cause });
    this.reason = reason;
  }
}

/** Something else answers there, or one that this program does not understand. */
export class ApiForeignError extends LeaseholdError {
  override readonly name = 'ApiForeignError';
  readonly code = 'API_FOREIGN';
  readonly retryable = false;

  constructor(url: string, { who, usualPort }: Respondent, finding: string, advice?: string) {
    super(
      `${url} answers, but not as a ${who} does: ${finding}. ${advice ?? `Is it the HTTP port of a ${who} (${usualPort} if nothing else was said)?`}`,
    );
  }
}

interface Refusal extends Readonly<Record<string, unknown>> {
  readonly code: unknown;
  readonly message: unknown;
}

/** The refusal of the server that was asked, with a code. */
export class ApiRefusedError extends LeaseholdError {
  override readonly name = 'ApiRefusedError';
  readonly code: string;
  readonly retryable: boolean;
  /** Further facts for programs: `reasons`, `pools`. */
  readonly facts: Readonly<Record<string, unknown>>;

  constructor({ code, message, ...facts }: Refusal, status: number) {
    super(String(message));
    this.code = String(code);
    this.retryable = status >= 500;
    this.facts = facts;
  }
}

export interface ApiOption {
  readonly api?: string;
}

export class HttpApi {
  readonly url: string;
  readonly #calledAs: string;
  readonly #respondent: Respondent;

  constructor(url: string, calledAs: string, respondent: Respondent) {
    this.url = url;
    this.#calledAs = calledAs;
    this.#respondent = respondent;
  }

  /** @param signal gives up sooner, as if nobody answered */
  async get<T>(path: string, withinMs: number = ANSWER_WITHIN_MS, signal?: AbortSignal): Promise<T> {
    return await this.#ask<T>(path, withinMs, {}, signal);
  }

  /** Has something done. */
  async post<T>(path: string, withinMs: number): Promise<T> {
    const headers = { 'content-type': 'application/json' };
    return await this.#ask<T>(path, withinMs, { method: 'POST', headers, body: '{}' });
  }

  async #ask<T>(
    path: string,
    withinMs: number,
    request: Omit<HttpRequest, 'signal'>,
    givenUp?: AbortSignal,
  ): Promise<T> {
    const signal = AbortSignal.any([AbortSignal.timeout(withinMs), ...(givenUp ? [givenUp] : [])]);
    const response = await this.open(path, { ...request, signal });
    let text: string;
    try {
      text = await textOf(response, signal);
    } catch (cause) {
      throw this.unreachable(cause);
    }
    const answer = parsed(text);
    if (answer === undefined) throw this.#foreign(undefined, `${path} is no JSON, although it says so`);
    if (path === STATUS_PATH && whoseStatus(answer) !== this.#respondent)
      throw this.#foreign(whoseStatus(answer), `${path} says something else`);
    return answer as T;
  }

  /** A good answer with an unread body. */
  async open(path: string, request: HttpRequest): Promise<IncomingMessage> {
    let response: IncomingMessage;
    try {
      response = await send(`${this.url}${path}`, request);
    } catch (cause) {
      throw this.unreachable(cause);
    }
    const { statusCode: status = 0, headers } = response;
    if (status < 200 || status > 299) throw await this.#refused(path, response, status, request.signal);
    const type = headers['content-type'] ?? 'nothing';
    if (/^(?:application\/json|text\/event-stream)/.test(type)) return response;
    response.destroy();
    throw this.#foreign(undefined, `${path} is ${type}`);
  }

  unreachable(cause: unknown): ApiUnreachableError {
    return new ApiUnreachableError(this.url, this.#calledAs, this.#respondent, cause);
  }

  async #refused(
    path: string,
    response: IncomingMessage,
    status: number,
    signal: AbortSignal,
  ): Promise<LeaseholdError> {
    // A body that does not arrive whole says no more than the status does.
    const body = parsed(await textOf(response, signal).catch(() => ''));
    const error = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined;
    if (typeof error !== 'object' || error === null || !('code' in error) || !('message' in error)) {
      return this.#foreign(undefined, `${path} was answered with status ${status}`);
    }
    const other = 'routes' in error ? whosePaths(error.routes) : undefined;
    if (other !== undefined && other !== this.#respondent) return this.#foreign(other);
    if (error.code === 'STANDS_BY') return new StandsByError(this.url, leaderTold(error));
    return new ApiRefusedError({ ...error }, status);
  }

  /** @param found the program that answers; undefined: none that we know */
  #foreign(found: Respondent | undefined, finding?: string): ApiForeignError {
    if (found === undefined) return new ApiForeignError(this.url, this.#respondent, finding ?? '');
    const words = found.status(this.url);
    const advice = `Ask it with "${this.#calledAs} ${words}", or say where a ${this.#respondent.who} is with ${this.#respondent.place}`;
    return new ApiForeignError(this.url, this.#respondent, `it is a ${found.who}`, advice);
  }
}

export class ManagerApi extends HttpApi {
  constructor(url: string, calledAs: string) {
    super(url, calledAs, MANAGER);
  }

  /** By option, environment, or where a Manager is if nobody says anything. */
  static of({ environment, calledAs }: Context, { api }: ApiOption): ManagerApi {
    return new ManagerApi(parseApi(api ?? (environment['LEASEHOLD_API'] || DEFAULT_API)), calledAs);
  }
}

/** The path of something about a pool. */
export const poolPath = (pool: string, rest = ''): string => `/v1/pools/${encodeURIComponent(pool)}${rest}`;

/** A host alone is asked at the usual port. @throws {UsageError} */
export function parseApi(text: string, { usualPort }: Respondent = MANAGER): string {
  const isHostAlone = /^(?:[^:/?#]+|\[[^\]]+\])$/.test(text);
  const whole = /^https?:\/\//.test(text) ? text : `http://${text}${isHostAlone ? `:${usualPort}` : ''}`;
  if (!URL.canParse(whole)) {
    throw new UsageError(`"${text}" is no address of an API; it looks like http://127.0.0.1:${usualPort}`);
  }
  const { origin, pathname } = new URL(whole);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

/** Undefined if the text is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** In words for a person who does not know the codes of the system. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  if (cause instanceof ConnectionClosedError) return cause.message;
  if (cause.name === 'TimeoutError') return 'nothing came in time';
  if (cause instanceof AggregateError && cause.errors.length > 0) return reasonOf(cause.errors[0]);
  const code = 'code' in cause ? String(cause.code) : '';
  if (code === 'ECONNREFUSED') return 'nothing listens there';
  if (code.startsWith('HPE_')) return 'what is there does not speak HTTP';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the name of the host is not known';
  if (cause.cause instanceof Error) return reasonOf(cause.cause);
  return cause.message || code;
}
