/** The names that members of a group may have, and the addresses that they may be at. */

import { InvalidOptionError } from '../../runtime/errors.ts';
import { nameOption } from '../../runtime/text-option.ts';
import { parseAddress } from '../tcp/address.ts';

/** Members by name, with their addresses as `host:port`. */
export type Peers = Readonly<Record<string, string>>;

/** @throws {InvalidOptionError} if it is none, or two members are at one address */
export function checkPeers(
  option: string,
  peers: Peers,
  nameCharactersMax: number,
): ReadonlyMap<string, string> {
  if (typeof peers !== 'object' || peers === null || Array.isArray(peers)) {
    throw new InvalidOptionError(option, peers, "it must name the members, as { a: '10.0.0.1:7500' }");
  }
  const addresses = new Map<string, string>();
  const members = new Map<string, string>();
  for (const [member, address] of Object.entries(peers)) {
    nameOption(option, member, nameCharactersMax);
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
