/**
 * A client of the HTTP API of a Manager, or of a member of a group. Three things can go wrong, and a person does
 * something else about each: nobody answers, somebody else answers, or the one who is asked says no.
 */

import { LeaseholdError } from 'leasehold/manager';
import type { Context } from './context.ts';
import { UsageError } from './failure.ts';

export const DEFAULT_API = 'http://127.0.0.1:7401';
const ANSWER_WITHIN_MS = 10_000;

/** Who is asked, and how one gets to where one answers. */
export interface Respondent {
  readonly who: string;
  /** The words that start one. */
  readonly command: string;
  /** How to say where it is. */
  readonly place: string;
  readonly usualPort: number;
}

const MANAGER: Respondent = {
  who: 'Manager',
  command: 'manager',
  place: '--api URL or LEASEHOLD_API',
  usualPort: 7401,
};

/** Nobody answers at that address. */
export class ApiUnreachableError extends LeaseholdError {
  override readonly name = 'ApiUnreachableError';
  readonly code = 'API_UNREACHABLE';
  readonly retryable = true;
  /** In a few words. */
  readonly reason: string;

  constructor(url: string, calledAs: string, { who, command, place }: Respondent, cause: unknown) {
    const reason = reasonOf(cause);
    super(
      `no ${who} answers at ${url}: ${reason}. Start one with "${calledAs} ${command}", or say where it is with ${place}`,
      { cause },
    );
    this.reason = reason;
  }
}

/** Something else answers there, or one that this program does not understand. */
export class ApiForeignError extends LeaseholdError {
  override readonly name = 'ApiForeignError';
  readonly code = 'API_FOREIGN';
  readonly retryable = false;

  constructor(url: string, { who, usualPort }: Respondent, finding: string) {
    super(
      `${url} answers, but not as a ${who} does: ${finding}. Is it the HTTP port of a ${who} (${usualPort} if nothing else was said)?`,
    );
  }
}

/** The word of the one who was asked, with its code. */
export class ApiRefusedError extends LeaseholdError {
  override readonly name = 'ApiRefusedError';
  readonly code: string;
  readonly retryable: boolean;

  constructor(code: string, message: string, status: number) {
    super(message);
    this.code = code;
    this.retryable = status >= 500;
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

  async get<T>(path: string, withinMs: number = ANSWER_WITHIN_MS): Promise<T> {
    return await this.#ask<T>(path, withinMs, {});
  }

  /** Has something done. */
  async post<T>(path: string, withinMs: number): Promise<T> {
    const headers = { 'content-type': 'application/json' };
    return await this.#ask<T>(path, withinMs, { method: 'POST', headers, body: '{}' });
  }

  async #ask<T>(path: string, withinMs: number, request: RequestInit): Promise<T> {
    const response = await this.open(path, { ...request, signal: AbortSignal.timeout(withinMs) });
    try {
      return (await response.json()) as T;
    } catch (cause) {
      throw this.unreachable(cause);
    }
  }

  /** A good answer whose body is still to be read. */
  async open(path: string, options: RequestInit & { signal: AbortSignal }): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(`${this.url}${path}`, { ...options, redirect: 'manual' });
    } catch (cause) {
      throw this.unreachable(cause);
    }
    if (response.ok) {
      const type = response.headers.get('content-type') ?? 'nothing';
      if (/^(?:application\/json|text\/event-stream)/.test(type)) return response;
      await response.body?.cancel();
      throw new ApiForeignError(this.url, this.#respondent, `${path} is ${type}`);
    }
    throw await this.#refused(path, response);
  }

  unreachable(cause: unknown): ApiUnreachableError {
    return new ApiUnreachableError(this.url, this.#calledAs, this.#respondent, cause);
  }

  async #refused(path: string, response: Response): Promise<LeaseholdError> {
    const body: unknown = await response.json().catch(() => undefined);
    const error = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined;
    if (typeof error !== 'object' || error === null || !('code' in error) || !('message' in error)) {
      return new ApiForeignError(
        this.url,
        this.#respondent,
        `${path} was answered with status ${response.status}`,
      );
    }
    return new ApiRefusedError(String(error.code), String(error.message), response.status);
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

/** @throws {UsageError} */
export function parseApi(text: string, example: string = DEFAULT_API): string {
  const whole = /^https?:\/\//.test(text) ? text : `http://${text}`;
  if (!URL.canParse(whole)) {
    throw new UsageError(`"${text}" is no address of an API; it looks like ${example}`);
  }
  const { origin, pathname } = new URL(whole);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

/** `fetch failed` says nothing; what lies beneath does. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  if (cause.name === 'TimeoutError') return 'nothing came in time';
  if (cause instanceof AggregateError && cause.errors.length > 0) return reasonOf(cause.errors[0]);
  const code = 'code' in cause ? String(cause.code) : '';
  if (code === 'ECONNREFUSED') return 'nothing listens there';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the name of the host is not known';
  if (cause.cause instanceof Error) return reasonOf(cause.cause);
  return cause.message || code;
}
