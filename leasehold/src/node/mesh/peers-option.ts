/** The names that members of a group may have, and the addresses that they may be at. */

import { brokenRule, invalidOption } from '../../runtime/errors.ts';
import { nameOption } from '../../runtime/text-option.ts';
import { parseAddress } from '../tcp/address.ts';

/** Members by name, with their addresses as `host:port`. */
export type Peers = Readonly<Record<string, string>>;

/** @throws {InvalidArgumentError} if it is none, or two members are at one address */
export function checkPeers(
  option: string,
  peers: Peers,
  nameCharactersMax: number,
): ReadonlyMap<string, string> {
  if (typeof peers !== 'object' || peers === null || Array.isArray(peers)) {
    throw invalidOption(
      option,
      peers,
      "it must name the members with their addresses, as { a: 'host:port' }",
    );
  }
  const addresses = new Map<string, string>();
  const members = new Map<string, string>();
  for (const [member, address] of Object.entries(peers)) {
    nameOption(option, member, nameCharactersMax);
    checkAddress(`${option}.${member}`, address);
    const other = members.get(address);
    if (other !== undefined) {
      throw invalidOption(option, address, `${other} and ${member} cannot both be there`);
    }
    members.set(address, member);
    addresses.set(member, address);
  }
  if (addresses.size === 0) throw invalidOption(option, 'empty', 'a group needs a member');
  return addresses;
}

/** @throws {InvalidArgumentError} that says under which option */
export function checkAddress(option: string, address: unknown): { host: string; port: number } {
  try {
    return parseAddress(String(address));
  } catch (error) {
    const broken = brokenRule(error);
    if (broken === undefined) throw error;
    throw invalidOption(option, address, broken.rule);
  }
}
