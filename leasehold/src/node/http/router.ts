/**
 * From a method and a URL to the route that answers. Paths are compared part by part after decoding, so that `%2F` in
 * a key is a slash in the key and not a border between parts; a part that is spelled out in a route goes before a part
 * that has only a name. A route that does something is reached only by a request that no web page can have made up.
 */

import { failure, type HttpAnswer, type HttpRoute } from './exchange.ts';
import { forgeryIn } from './forgery.ts';

interface Compiled {
  readonly route: HttpRoute;
  readonly parts: readonly string[];
}

export type RouteRequest = (
  method: string,
  url: string,
  header: (name: string) => string | undefined,
) => HttpAnswer;

export function router(routes: readonly HttpRoute[]): RouteRequest {
  const compiled = routes
    .map((route): Compiled => ({ route, parts: partsOf(route.path) }))
    .sort((one, other) => names(one) - names(other));
  const paths = [...new Set(routes.map(({ path }) => path))];

  return (method, url, header) => {
    const { path, query } = split(url);
    const parts = decoded(path);
    if (parts === undefined) {
      return failure(400, 'MALFORMED_URL', 'the path of the URL is not properly percent-encoded');
    }
    const fitting = compiled.filter((each) => fits(each, parts));
    if (fitting.length === 0) {
      return failure(404, 'UNKNOWN_ROUTE', `there is nothing at ${path}; there are ${paths.join(', ')}`, {
        facts: { routes: paths },
      });
    }
    const found = fitting.find(({ route }) => methodsOf(route).includes(method));
    if (found === undefined) {
      const allowed = [...new Set(fitting.flatMap(({ route }) => methodsOf(route)))];
      const only = `only ${allowed.join(' and ')} ${allowed.length === 1 ? 'is' : 'are'}`;
      return failure(405, 'METHOD_NOT_ALLOWED', `${method} is not possible here, ${only}`, {
        headers: { allow: allowed.join(', ') },
      });
    }
    const forgery = method === 'POST' ? forgeryIn(header) : undefined;
    return forgery ?? found.route.answer({ parameters: parametersOf(found, parts), query, header });
  };
}

const methodsOf = ({ method = 'GET' }: HttpRoute): readonly string[] =>
  method === 'GET' ? ['GET', 'HEAD'] : [method];

/** Requests to proxies carry a whole URL; only the path counts. */
function split(url: string): { readonly path: string; readonly query: URLSearchParams } {
  const local = url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/#.*$/s, '');
  const mark = local.indexOf('?');
  const path = mark < 0 ? local : local.slice(0, mark);
  return { path: path || '/', query: new URLSearchParams(mark < 0 ? '' : local.slice(mark + 1)) };
}

function decoded(path: string): readonly string[] | undefined {
  try {
    return partsOf(path).map(decodeURIComponent);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/** A slash at the end makes no difference. */
const partsOf = (path: string): readonly string[] => path.replace(/^\//, '').replace(/\/$/, '').split('/');

const isName = (part: string): boolean => part.startsWith('{') && part.endsWith('}');

const names = ({ parts }: Compiled): number => parts.filter(isName).length;

const fits = ({ parts }: Compiled, asked: readonly string[]): boolean =>
  parts.length === asked.length &&
  parts.every((part, index) => (isName(part) ? asked[index] !== '' : part === asked[index]));

const parametersOf = ({ parts }: Compiled, asked: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    parts.flatMap((part, index) => (isName(part) ? [[part.slice(1, -1), asked[index] ?? '']] : [])),
  );
