/**
 * Where others can reach this Manager. Other Managers hand the address on to owners, and people follow the address, so
 * it must mean the same on every machine: `0.0.0.0` means "all of mine" to the listener, and "myself" to everybody
 * else.
 */

import { formatAddress, parseAddress } from '../../../node/tcp/address.ts';
import { brokenRule, invalidOption } from '../../../runtime/errors.ts';
import { LONGEST_NAME } from '../../wire/rules.ts';
import { isLoopback } from '../../../node/tcp/binding.ts';
import { nameOption } from '../../../runtime/text-option.ts';

const EVERYWHERE = new Set(['0.0.0.0', '::', '[::]', '']);

/**
 * @param isShared there are others that would hand the address on
 * @throws {InvalidArgumentError} if the value is no address, or is required and missing
 */
export function checkAdvertise(advertise: string | undefined, host: string, isShared: boolean): void {
  if (advertise === undefined) {
    if (!isShared || !EVERYWHERE.has(host)) return;
    const rule = `it must say as host:port where owners can reach this Manager, since it listens on ${host}, which means another machine to each of them`;
    throw invalidOption('advertise', 'not given', rule);
  }
  nameOption('advertise', advertise, LONGEST_NAME);
  try {
    if (!EVERYWHERE.has(parseAddress(advertise).host)) return;
  } catch (error) {
    const broken = brokenRule(error);
    if (broken === undefined) throw error;
    throw invalidOption('advertise', advertise, broken.rule);
  }
  throw invalidOption('advertise', advertise, 'it must be an address that others can connect to');
}

/**
 * The HTTP API as others can reach it: on the same machine as the advertised address, at the API's own port. Undefined
 * if the API listens only on loopback, and owners are elsewhere.
 */
export function advertisedHttp(
  advertised: string,
  http: { readonly host: string; readonly port: number } | undefined,
): string | undefined {
  if (http === undefined) return undefined;
  const { host } = parseAddress(advertised);
  if (isLoopback(http.host) && !isLoopback(host)) return undefined;
  return `http://${formatAddress({ host: EVERYWHERE.has(http.host) ? host : http.host, port: http.port })}`;
}
