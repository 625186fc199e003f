/**
 * A client of the HTTP API of a Manager, or of a member of a group. Three things can go wrong, and a person does
 * something else about each: there is no answer, another program answers, or the right program refuses.
 */

import type { IncomingMessage } from 'node:http';
import { SingleError } from 'leasehold/internal';
import { type LeaseholdError, RefusedError, UnavailableError } from 'leasehold/manager';
import type { StatusAnswer, StatusHead } from './answers.ts';
import type { Context } from './context.ts';
import { UsageError } from './failure.ts';
import { ConnectionClosedError, type HttpRequest, send, textOf } from './request.ts';
import { handlesIn, MANAGER, type Respondent, STATUS_PATH, whoseHandles, whosePaths } from './respondents.ts';
import { leaderTold, NotLeadingError } from './not-leading-error.ts';

const DEFAULT_API = `http://127.0.0.1:${MANAGER.usualPort}`;
const ANSWER_WITHIN_MS = 10_000;

/** Nobody answers at that address. `details.reason` says why in a few words. */
function unreachable(
  url: string,
  calledAs: string,
  { who, command, place, start }: Respondent,
  cause: unknown,
): UnavailableError {
  const reason = reasonOf(cause);
  const advice = start ?? `Start one with "${calledAs} ${command}"`;
  const message = `no ${who} answers at ${url}: ${reason}. ${advice}, or say where it is with ${place}`;
  return new UnavailableError('UNREACHABLE', message, { cause, details: { url, reason } });
}

export const isUnreachable = (error: unknown): error is UnavailableError =>
  error instanceof UnavailableError && error.code === 'UNREACHABLE';

/** Something else answers there, or a program that this one does not understand. */
function wrongPeer(
  url: string,
  { who, usualPort }: Respondent,
  finding: string,
  advice = `Is it the HTTP port of a ${who} (${usualPort} if nothing else was said)?`,
): RefusedError {
  const message = `${url} answers, but not as a ${who} does: ${finding}. ${advice}`;
  return new RefusedError('WRONG_PEER', message, { details: { url } });
}

interface Refusal extends Readonly<Record<string, unknown>> {
  readonly code: unknown;
  readonly message: unknown;
}

/** The refusal of the server that was asked, with a code. */
export class ApiRefusedError extends SingleError {
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

export interface AtOption {
  readonly at?: string;
}

export class HttpApi {
  readonly #url: string;
  readonly #calledAs: string;
  readonly #respondent: Respondent;

  constructor(url: string, calledAs: string, respondent: Respondent) {
    this.#url = url;
    this.#calledAs = calledAs;
    this.#respondent = respondent;
  }

  get url(): string {
    return this.#url;
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
    return (path === STATUS_PATH ? this.#ownStatus(answer) : answer) as T;
  }

  /** A process may have handles of several modules. */
  #ownStatus(answer: unknown): StatusHead {
    const handles = handlesIn(answer) ?? [];
    const { module, kind = 'handle' } = this.#respondent;
    const [own, ...more] = handles.filter((handle) => handle.module === module);
    if (own === undefined) throw this.#foreign(whoseHandles(handles), `${STATUS_PATH} says something else`);
    if (more.length > 0) {
      const names = [own, ...more].map(({ instance }) => instance).join(', ');
      throw new UsageError(`${this.url} has several of ${module}: ${kind} ${names}; ask a port that has one`);
    }
    const { version } = Object(answer) as { readonly version?: unknown };
    return { ...own, version: String(version) };
  }

  /** The whole path of what the module adds: `/v1/flease/<cell>/holder`. Asks for the name of the instance. */
  async pathOf(rest: string, signal?: AbortSignal): Promise<string> {
    const { module, kind } = this.#respondent;
    if (kind === undefined) return `/v1/${module}${rest}`;
    const { instance } = await this.get<StatusHead>(STATUS_PATH, ANSWER_WITHIN_MS, signal);
    return `/v1/${module}/${encodeURIComponent(instance)}${rest}`;
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

  unreachable(cause: unknown): UnavailableError {
    return unreachable(this.url, this.#calledAs, this.#respondent, cause);
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
    if (status === 421 && error.code === 'NOT_LEADING')
      return new NotLeadingError(this.url, leaderTold(error));
    return new ApiRefusedError({ ...error }, status);
  }

  /** @param found the program that answers; undefined: none that we know */
  #foreign(found: Respondent | undefined, finding?: string): RefusedError {
    if (found === undefined) return wrongPeer(this.url, this.#respondent, finding ?? '');
    const words = found.status(this.url);
    const advice = `Ask it with "${this.#calledAs} ${words}", or say where a ${this.#respondent.who} is with ${this.#respondent.place}`;
    return wrongPeer(this.url, this.#respondent, `it is a ${found.who}`, advice);
  }
}

/**
 * The API of a Manager. Of several addresses, the Manager that leads is asked: it is looked for before the first request, and again
 * when it answers no more. A Manager that stands by names the leader, so one address that answers is enough.
 */
export class ManagerApi extends HttpApi {
  readonly #several: SeveralManagers | undefined;

  constructor(urls: string | readonly [string, ...string[]], calledAs: string) {
    const all = typeof urls === 'string' ? ([urls] as const) : urls;
    super(all[0], calledAs, MANAGER);
    this.#several = all.length > 1 ? { urls: all, calledAs, found: undefined } : undefined;
  }

  /** By option, environment, or where a Manager is if nobody says anything. */
  static of({ environment, calledAs }: Context, { at }: AtOption): ManagerApi {
    const [first = '', ...more] = (at ?? (environment['LEASEHOLD_MANAGER_AT'] || DEFAULT_API))
      .split(',')
      .map((url) => url.trim());
    return new ManagerApi([parseApi(first), ...more.map((url) => parseApi(url))], calledAs);
  }

  /** Every address that was given. */
  get urls(): readonly string[] {
    return this.#several?.urls ?? [super.url];
  }

  override get url(): string {
    return this.#several === undefined ? super.url : (this.#several.found ?? this.#several.urls.join(','));
  }

  override async open(path: string, request: HttpRequest): Promise<IncomingMessage> {
    const several = this.#several;
    if (several === undefined) return super.open(path, request);
    const known = several.found;
    several.found ??= await leaderAmong(several, request.signal);
    try {
      return await super.open(path, request);
    } catch (error) {
      if (request.signal.aborted || known === undefined || !mayBeElsewhere(error)) throw error;
      several.found = undefined;
      several.found = await leaderAmong(several, request.signal);
      return super.open(path, request);
    }
  }
}

interface SeveralManagers {
  readonly urls: readonly [string, ...string[]];
  readonly calledAs: string;
  /** The Manager that led when it was looked for. */
  found: string | undefined;
}

/** For the search alone; a Manager that hangs must not hold it up. */
const FOUND_WITHIN_MS = 2_000;

/**
 * A Manager that leads; or one that a standby names; or one that answers.
 *
 * @throws {UnavailableError} `UNREACHABLE` if none answers
 */
async function leaderAmong({ urls, calledAs }: SeveralManagers, signal: AbortSignal): Promise<string> {
  const asked = await Promise.allSettled(
    urls.map(async (url) => {
      const api = new ManagerApi(url, calledAs);
      return { url, status: await api.get<StatusAnswer>(STATUS_PATH, FOUND_WITHIN_MS, signal) };
    }),
  );
  const answers = asked.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const leading = answers.find(({ status }) => status.role === 'leading')?.url;
  if (leading !== undefined) return leading;
  for (const { status } of answers) {
    const http = status.managers.find(({ isLeader }) => isLeader)?.http;
    if (http !== null && http !== undefined && !urls.includes(http)) return http;
  }
  const [answer] = answers;
  if (answer !== undefined) return answer.url;
  const failures = asked.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
  const foreign = failures.find((error) => !isUnreachable(error));
  throw foreign ?? unreachable(urls.join(', '), calledAs, MANAGER, failures[0]);
}

const mayBeElsewhere = (error: unknown): boolean => isUnreachable(error) || error instanceof NotLeadingError;

/** The path of something about a pool. */
export const poolPath = (pool: string, rest = ''): string => `/v1/pool/${encodeURIComponent(pool)}${rest}`;

/** A host alone is asked at the usual port, a port alone at this machine. @throws {UsageError} */
export function parseApi(text: string, { usualPort }: Respondent = MANAGER): string {
  const place = /^\d{1,5}$/.test(text) ? `127.0.0.1:${text}` : text;
  const isHostAlone = /^(?:[^:/?#]+|\[[^\]]+\])$/.test(place);
  const whole = /^https?:\/\//.test(place) ? place : `http://${place}${isHostAlone ? `:${usualPort}` : ''}`;
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
