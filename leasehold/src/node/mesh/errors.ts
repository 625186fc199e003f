/** Why two processes that found each other must not talk. */

import { LeaseholdError } from '../../runtime/errors.ts';

/** A setting that must be equal at all members, and is not. */
export interface Difference {
  readonly setting: string;
  /** The names of the two members, and the value of each; undefined if that member did not say one. */
  readonly values: readonly (readonly [name: string, value: string | undefined])[];
}

/** Two members have different values of a setting that must be equal, so neither talks to the other. Give all the same. */
export class ConfigMismatchError extends LeaseholdError {
  override readonly name = 'ConfigMismatchError';
  readonly code = 'CONFIG_MISMATCH';
  readonly retryable = false;
  readonly setting: string;

  constructor(group: string, { setting, values }: Difference) {
    const sides = values.map(([name, value]) => `${value === undefined ? 'not given' : value} at ${name}`);
    super(
      `${setting} is ${sides.join(' and ')}, and must be equal at all members of group ${group}: restart one of the two with the value of the other`,
    );
    this.setting = setting;
  }
}

/** Another live process uses the name of this one, so one of the two has to leave its group. Give each a name of its own. */
export class NameTakenError extends LeaseholdError {
  override readonly name = 'NameTakenError';
  readonly code = 'NAME_TAKEN';
  readonly retryable = false;
  readonly member: string;

  constructor(member: string) {
    super(
      `another running process is ${member}, and no two may have one name at a time: stop one of them, or give it another name`,
    );
    this.member = member;
  }
}

/** A process connected as a client, and the members of this group serve no clients. */
export class ClientsNotServedError extends LeaseholdError {
  override readonly name = 'ClientsNotServedError';
  readonly code = 'CLIENTS_NOT_SERVED';
  readonly retryable = false;

  constructor(name: string, group: string) {
    super(`${name} of group ${group} takes members only, and no clients: check the address and the port`);
  }
}
