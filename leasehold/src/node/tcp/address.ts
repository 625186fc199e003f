/** `host:port`, with brackets around a host that has colons itself: `[::1]:7400`. */

import { brokenRule, invalidOption } from '../../runtime/errors.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** @throws {InvalidArgumentError} if it is none */
export function parseAddress(text: string): Address {
  const at = text.lastIndexOf(':');
  let host = text.slice(0, Math.max(at, 0));
  if (host.startsWith('[') && host.endsWith(']')) host = host.slice(1, -1);
  else if (host.includes(':')) host = '';
  const digits = text.slice(at + 1);
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : 0;
  if (host === '' || /\s/.test(host) || port < 1 || port > 65_535) {
    const rule = 'it must be host:port, with a port from 1 to 65535';
    throw invalidOption('address', JSON.stringify(text), rule);
  }
  return { host, port };
}

/** As {@link parseAddress} reads it. */
export const formatAddress = ({ host, port }: Address): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

/**
 * Where to listen, `host:port`; port 0 is any that is free.
 *
 * @throws {InvalidArgumentError} about the option of that name
 */
export function listenAddress(option: string, text: string): Address {
  const isAny = typeof text === 'string' && text.endsWith(':0');
  try {
    const address = parseAddress(isAny ? `${text.slice(0, -1)}1` : text);
    return isAny ? { ...address, port: 0 } : address;
  } catch (error) {
    if (brokenRule(error) === undefined) throw error;
    const rule = 'it must be host:port, with a port from 0 to 65535';
    throw invalidOption(option, typeof text === 'string' ? JSON.stringify(text) : text, rule);
  }
}
