/** Why two processes that found each other must not talk. */

import { InUseError, RefusedError } from '../../runtime/errors.ts';

/** A setting that must be equal at all members, and is not. */
export interface Difference {
  readonly setting: string;
  /** The names of the two members, and the value of each; undefined if that member did not say one. */
  readonly values: readonly (readonly [name: string, value: string | undefined])[];
}

/** Two members have different values of a setting that must be equal, so neither talks to the other. Give all the same. */
export function configMismatch(group: string, { setting, values }: Difference): RefusedError {
  const sides = values.map(([name, value]) => `${value === undefined ? 'not given' : value} at ${name}`);
  return new RefusedError(
    'CONFIG_MISMATCH',
    `${setting} is ${sides.join(' and ')}, and must be equal at all members of group ${group}: restart one of the two with the value of the other`,
    { details: { group, setting, values } },
  );
}

/** Another live process uses the name of this one, so one of the two has to leave its group. Give each a name of its own. */
export const nameInUse = (member: string): InUseError =>
  new InUseError(
    'NAME_IN_USE',
    `another running process is ${member}, and no two may have one name at a time: stop one of them, or give it another name`,
    { details: { name: member } },
  );

/** A process connected as a client, and the members of this group serve no clients. */
export const clientsNotServed = (name: string, group: string): RefusedError =>
  new RefusedError(
    'WRONG_PEER',
    `${name} of group ${group} takes members only, and no clients: check the address and the port`,
    { details: { reason: 'clients-not-served', name, group } },
  );
