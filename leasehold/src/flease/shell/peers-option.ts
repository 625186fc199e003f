/** The names that members and resources may have, and the addresses that members may be at. */

import { Buffer } from 'node:buffer';
import { parseAddress } from '../../node/tcp/address.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import { textOption } from '../../runtime/text-option.ts';
import { NAME_CHARACTERS_MAX, RESOURCE_BYTES_MAX } from '../messages.ts';

/** Members by name, with their addresses as `host:port`. */
export type Peers = Readonly<Record<string, string>>;

/** @throws {InvalidOptionError} if it is none, or two members are at one address */
export function checkPeers(option: string, peers: Peers): ReadonlyMap<string, string> {
  if (typeof peers !== 'object' || peers === null || Array.isArray(peers)) {
    throw new InvalidOptionError(option, peers, "it must name the members, as { a: '10.0.0.1:7500' }");
  }
  const addresses = new Map<string, string>();
  const members = new Map<string, string>();
  for (const [member, address] of Object.entries(peers)) {
    textOption(option, member, NAME_CHARACTERS_MAX);
    checkAddress(`${option}.${member}`, address);
    const other = members.get(address);
    if (other !== undefined) {
      throw new InvalidOptionError(option, address, `${other} and ${member} cannot both be there`);
    }
    members.set(address, member);
    addresses.set(member, address);
  }
  if (addresses.size === 0) throw new InvalidOptionError(option, 'empty', 'a group needs a member');
  return addresses;
}

/** @throws {InvalidOptionError} that says under which option */
export function checkAddress(option: string, address: unknown): { host: string; port: number } {
  try {
    return parseAddress(String(address));
  } catch (error) {
    if (!(error instanceof InvalidOptionError)) throw error;
    throw new InvalidOptionError(option, address, error.rule);
  }
}

/** @throws {InvalidOptionError} unless it is the name of a resource */
export function checkResource(resource: unknown): void {
  if (typeof resource !== 'string' || resource === '') {
    throw new InvalidOptionError('resource', resource, 'it must be a text that names something');
  }
  if (isAscii(resource) && resource.length <= RESOURCE_BYTES_MAX) return;
  const bytes = Buffer.byteLength(resource);
  if (bytes > RESOURCE_BYTES_MAX) {
    const rule = `it must have at most ${RESOURCE_BYTES_MAX} bytes in UTF-8, and has ${bytes}`;
    throw new InvalidOptionError('resource', `${resource.slice(0, 32)}…`, rule);
  }
  textOption('resource', resource, RESOURCE_BYTES_MAX);
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) >= 0x80) return false;
  return true;
}
