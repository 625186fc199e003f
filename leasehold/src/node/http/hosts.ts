/**
 * The server that a browser believes to be talking to.
 *
 * A web page from anywhere can have the page's own name resolve to 127.0.0.1 and then read from this port as from the
 * page's own server ("DNS rebinding"). The page cannot hide that name: the browser sends the name as Host. So names
 * must be expected ones. Addresses are harmless, for nobody can make an address resolve to another; and so is the
 * absence of a Host, for no browser omits the header.
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
