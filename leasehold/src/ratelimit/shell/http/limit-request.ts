/**
 * What all middlewares have in common: find the key, ask the limiter, and say what the answer is.
 *
 * There is no default key. The address of the connection is the proxy's wherever there is a proxy, and a header that
 * names the client can be forged wherever there is none; only the application knows which it can believe.
 *
 * The key, and often the cost, come from the request, so whoever sends requests chooses them. A key or cost that no limiter takes (empty, too long, not
 * a number) is the client's fault and is answered with 400: an error would end a process that serves `node:http` without a handler for errors.
 */

import { type BrokenRule, brokenRule, invalidOption } from '../../../runtime/errors.ts';
import { checkOptionNames, type OptionNames } from '../../../runtime/option-names.ts';
import type { RateLimitResult } from '../../core/local/result.ts';
import type { ConsumeOptions, Limiter } from '../limiter.ts';
import { type LimitHeaders, limitHeaders } from './headers.ts';

type Awaitable<Value> = Value | Promise<Value>;

export interface HttpLimitOptions<Request> {
  /** Whose request it is: an API key, a user, an address that you trust. **Undefined: the request is not limited.** */
  key(request: Request): Awaitable<string | undefined>;

  /** Another limit, or a cost, for this request. @default the limiter's own, and a cost of 1 */
  options?: ((request: Request) => Awaitable<ConsumeOptions | undefined>) | undefined;

  /** Told of every denial, for logs. The denial is answered whatever this does; an error becomes a warning of the process. */
  onLimited?: ((request: Request, result: RateLimitResult) => void) | undefined;
}

const NAMES: OptionNames<HttpLimitOptions<unknown>> = { key: true, options: true, onLimited: true };

/**
 * 400: the key or the cost of the request is none that a limiter takes. 429: the key has no tokens. 503: the owner of a shared key does not answer, and the key may have tokens; it is not the client that asks
 * too much.
 */
export interface HttpDenial {
  readonly status: 400 | 429 | 503;
  readonly body: {
    readonly error: 'INVALID_REQUEST' | 'RATE_LIMITED' | 'LIMIT_CUT_OFF' | 'CLOSED';
    readonly message: string;
    readonly retryAfterMs?: number;
  };
}

export interface HttpDecision {
  readonly headers: LimitHeaders;
  /** Undefined: go on. */
  readonly denial: HttpDenial | undefined;
}

/** Returns a function that decides about one request; undefined for a request without a key. */
export function requestLimit<Request>(
  limiter: Limiter,
  options: HttpLimitOptions<Request>,
): (request: Request) => Promise<HttpDecision | undefined> {
  checkOptionNames<HttpLimitOptions<never>>('', options, NAMES);
  if (typeof options.key !== 'function') {
    throw invalidOption('key', options.key, 'it must be a function from a request to its key');
  }
  return async (request) => {
    const key = await options.key(request);
    if (key === undefined) return undefined;
    const chosen = await options.options?.(request);
    const result = await limiter.consume(key, chosen).catch(refused);
    if ('rule' in result) return { headers: {}, denial: invalidRequest(result) };
    const headers = limitHeaders(limiter.name, result);
    if (result.allowed) return { headers, denial: undefined };
    tell(options.onLimited, request, result);
    const isUnchecked = result.denied === 'cut-off' || result.denied === 'closed';
    return { headers, denial: { status: isUnchecked ? 503 : 429, body: denialBody(result) } };
  };
}

/** The error of a key or a cost; all others are the application's, and are thrown on. */
function refused(error: unknown): BrokenRule {
  const broken = brokenRule(error);
  if (broken?.option === 'key' || broken?.option === 'cost') return broken;
  throw error;
}

/** The value is the client's and is not repeated. */
const invalidRequest = ({ option, rule }: BrokenRule): HttpDenial => ({
  status: 400,
  body: { error: 'INVALID_REQUEST', message: `the ${option} of this request cannot be counted: ${rule}` },
});

function tell<Request>(
  onLimited: HttpLimitOptions<Request>['onLimited'],
  request: Request,
  result: RateLimitResult,
): void {
  const failed = (error: unknown): void =>
    process.emitWarning(error instanceof Error ? error : String(error), 'RateLimitWarning');
  // Also for a function that returns a promise in spite of its type.
  void (async () => onLimited?.(request, result))().catch(failed);
}

function denialBody({ denied, retryAfterMs, burst }: RateLimitResult): HttpDenial['body'] {
  const error = 'RATE_LIMITED';
  if (denied === 'cost') {
    return {
      error,
      message: `this request costs more than ${burst}, the most that can ever be allowed at once`,
    };
  }
  if (denied === 'closed') {
    const message = 'the limit cannot be checked: this process has closed its shared limits';
    return { error: 'CLOSED', message };
  }
  const waitMs = Math.ceil(retryAfterMs);
  if (denied === 'cut-off') {
    const message = `the limit cannot be checked at present; try again in ${waitMs} ms`;
    return { error: 'LIMIT_CUT_OFF', message, retryAfterMs: waitMs };
  }
  return { error, message: `too many requests; try again in ${waitMs} ms`, retryAfterMs: waitMs };
}
