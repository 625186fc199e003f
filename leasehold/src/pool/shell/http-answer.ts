/**
 * The HTTP answers of a server for the errors of the pool, and how a caller recognizes them.
 *
 * The one rule: **work that may have run is never answered with a status that anybody repeats.** Clients, proxies and
 * meshes repeat 502, 503, 504 and 425; and `fetch` repeats a request that is answered with 421, once, silently. So
 *
 *     refused before any work    NOT_OWNER, CLOSED          503 and Retry-After: ask the look-up again, send again
 *     the work may have run      LEASE_LOST, FENCED         409: only the caller knows whether to repeat
 *     the request is wrong       INVALID_KEY                400
 *
 * An error says that no work was done only to the caller of that work. Work on one key that calls `guard` for another
 * key can fail with NOT_OWNER in the middle: for the outer caller the work has begun. `guard` marks the errors of its
 * work, and a marked error is answered with 409.
 *
 * The header `leasehold-error` has the code, so that a caller can tell a server that is not the owner from a 503 of a
 * proxy. A header serves because a caller should not need to read a body for that.
 */

import { isCoded, type LeaseholdError } from '../../runtime/errors.ts';

/** An answer to an HTTP request: status, headers and body. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const HEADER = 'leasehold-error';
const UNAVAILABLE = 503;

/** On errors that guarded work threw. A registered symbol, because a process may have two copies of this package. */
const THROWN_BY_WORK = Symbol.for('leasehold.thrownByWork');

/** The answer to a request that failed with this error; undefined: the error is not about the pool. */
export function httpAnswer(error: unknown): HttpAnswer | undefined {
  if (!isCoded(error)) return undefined;
  if (isMisdirected(error) || error.code === 'NOT_SERVED')
    return answer(UNAVAILABLE, error, { 'retry-after': '1' });
  if (error.code === 'LEASE_LOST' || error.code === 'FENCED' || isRefusal(error)) return answer(409, error);
  if (error.code === 'INVALID_KEY') return answer(400, error);
  return undefined;
}

/**
 * Was the request refused before any work, because this process is not, or no longer, the owner? Then the request can
 * be sent to another owner, even if not idempotent.
 *
 * @param refusal an error that `guard` or `lookup.call` threw; or the answer of another server: a `Response` of `fetch`, or an
 *   `IncomingMessage` of `node:http`
 */
export function isMisdirected(refusal: unknown): boolean {
  if (isCoded(refusal)) return isRefusal(refusal) && !(THROWN_BY_WORK in refusal);
  const { status, code } = pooledAnswer(refusal);
  return status === UNAVAILABLE && (code === 'NOT_OWNER' || code === 'CLOSED');
}

/** Does an answer of another server say that the work may have run, and that the result must not be used? @internal */
export function mayHaveRun(answer: unknown): boolean {
  const { status, code } = pooledAnswer(answer);
  return status === 409 && code !== undefined;
}

/** Work that had begun threw this: for every code, something may have been done. @internal */
export function markThrownByWork(error: unknown): void {
  if (isCoded(error) && isRefusal(error) && Object.isExtensible(error)) {
    Object.defineProperty(error, THROWN_BY_WORK, { value: true });
  }
}

/** A closed look-up or Manager says nothing about the owner of a key. */
const isRefusal = (error: LeaseholdError): boolean =>
  error.code === 'NOT_OWNER' || (error.code === 'CLOSED' && error.details['what'] === 'the owner');

function answer(
  status: number,
  { code, message }: { readonly code: string; readonly message: string },
  more: Readonly<Record<string, string>> = {},
): HttpAnswer {
  return {
    status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      [HEADER]: code,
      ...more,
    },
    body: `${JSON.stringify({ error: { code, message } })}\n`,
  };
}

/** The status and our header, of the answers of all client libraries. */
function pooledAnswer(given: unknown): { readonly status: unknown; readonly code: string | undefined } {
  const { status, statusCode, headers } = Object(given) as Readonly<Record<string, unknown>>;
  const fields = Object(headers) as Readonly<Record<string, unknown>> & { get?: unknown };
  const code: unknown = typeof fields.get === 'function' ? fields.get(HEADER) : fields[HEADER];
  return { status: status ?? statusCode, code: typeof code === 'string' ? code : undefined };
}
