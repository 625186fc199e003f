/**
 * Whom a browser thinks it is talking to.
 *
 * A web page from anywhere can have its own name resolve to 127.0.0.1 and then read from this port as
 * if it were its own server ("DNS rebinding"). It cannot hide that name: the browser sends it as Host.
 * So names must be expected ones. Addresses are harmless, for nobody can make an address resolve to
 * another; and so is the absence of a Host, for no browser leaves it out.
 */

import { isIP } from 'node:net';

/** Whether requests for this Host are to be answered. */
export function hostCheck(allowed: readonly string[]): (host: string | undefined) => boolean {
  if (allowed.includes('*')) return () => true;
  const names = new Set(['localhost', ...allowed.map((name) => nameIn(name))]);
  return (host) => {
    if (host === undefined || host === '') return true;
    const name = nameIn(host);
    return isIP(name) !== 0 || names.has(name) || name.endsWith('.localhost');
  };
}

/** The name without port, brackets, capitals, and the dot that may end a full name. */
function nameIn(host: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(host);
  const bare = bracketed === null && isIP(host) !== 6 ? host.replace(/:\d*$/, '') : (bracketed?.[1] ?? host);
  return bare.toLowerCase().replace(/\.$/, '');
}
