/**
 * Which kind of client wants something done: a program that was told to, or a web page that found the port?
 *
 * Any page, opened in a browser that can reach this port, can have the browser send a POST here. The page cannot read
 * the answer, but the request would be carried out. Three things give such a request away, and each would be enough:
 *
 *  - `Origin`: a browser names the site that a POST comes from, and the page cannot change that header. The site must
 *    be our own.
 *  - `Sec-Fetch-Site`: newer browsers say so a second time.
 *  - `Content-Type: application/json`: a page of another site may send that only after the browser has asked for leave
 *    (OPTIONS), and nobody here gives any. A form cannot send that type at all.
 *
 * Programs send none of the first two; the third they have to write down on purpose. (That the name in `Host` is
 * an expected one has been checked by then, see `hosts.ts`.)
 */

import { failure, type HttpTextAnswer } from './exchange.ts';

const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

/** The answer to a request that a web page may have made up; undefined for a request that no page can have made. */
export function forgeryIn(header: (name: string) => string | undefined): HttpTextAnswer | undefined {
  const origin = header('origin');
  const site = header('sec-fetch-site');
  const isForeign = origin !== undefined && !isSame(origin, header('host'));
  if (isForeign || (site !== undefined && site !== 'same-origin' && site !== 'none')) {
    return failure(403, 'ORIGIN_NOT_ALLOWED', 'pages of other sites may have nothing done here');
  }
  if (JSON_TYPE.test(header('content-type') ?? '')) return undefined;
  return failure(
    415,
    'UNSUPPORTED_MEDIA_TYPE',
    'send the header "content-type: application/json", which a web page cannot; a body is not needed',
  );
}

/** A proxy may speak TLS where we do not, so the scheme is not compared. */
const isSame = (origin: string, host: string | undefined): boolean =>
  host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
