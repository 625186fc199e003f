/**
 * The first words of two members of a mesh, in the texts of the handshake (`tcp/handshake.ts`): name, group, incarnation, and the
 * settings on which the safety of a protocol rests.
 *
 * One member's lease rests on another member's promise, so a setting such as `leaseMs` has to be equal at both. A document cannot
 * enforce that; the handshake does. The dialling member says its settings in the hello, and the listening member compares and
 * refuses. The listening member says its settings in the welcome, and the dialling member compares as well, because the
 * listening process may be of a version that compares nothing.
 *
 * A process that is no member introduces itself as a *client*. The group and the settings are compared for clients too, as far
 * as the client gives them.
 */

import { assert } from '../../runtime/assert.ts';
import type { Texts } from '../tcp/handshake.ts';
import type { RefusedError } from '../../runtime/errors.ts';
import { configMismatch } from './errors.ts';

export interface Introduction {
  readonly name: string;
  readonly group: string;
  /** One run of a process; never the same again after a restart. */
  readonly incarnation: string;
  /** Where this member can be dialled, for members that do not have it in their peers. */
  readonly address?: string | undefined;
  /** Settings by name. Undefined if the protocol compares what it needs by itself. */
  readonly agreed: Texts | undefined;
  /** This process is no member: settings that only members have are not compared. */
  readonly isClient?: boolean | undefined;
}

/** `member` and not `name`, because flease has called it so from the start. */
export const textsOf = ({ name, group, incarnation, address, agreed = {} }: Introduction): Texts => ({
  ...{ member: name, group, incarnation },
  ...(address === undefined ? {} : { address }),
  ...settingsText(agreed),
});

/** The hello of a process that is no member. */
export const clientTexts = (group: string, agreed: Texts = {}): Texts => ({
  ...{ client: 'yes', group },
  ...settingsText(agreed),
});

export const isClient = (texts: Texts): boolean => texts['client'] === 'yes';

/** Undefined if the two agree. */
export function mismatch(
  { name, group, agreed, isClient: areWeClient = false }: Introduction,
  theirs: Texts,
  theirName: string,
): RefusedError | undefined {
  if (agreed === undefined) return undefined;
  const theirSettings = settingsIn(theirs['agreed'] ?? '');
  const ours = new Map([...Object.entries(agreed), ['group', group]]);
  const others = new Map([...theirSettings, ['group', theirs['group']]]);
  for (const setting of new Set([...ours.keys(), ...others.keys()])) {
    const [own, other] = [ours.get(setting), others.get(setting)];
    const isForMembers = (other === undefined && isClient(theirs)) || (own === undefined && areWeClient);
    if (own === other || isForMembers) continue;
    const values = [
      [name, own],
      [theirName, other],
    ] as const;
    return configMismatch(group, { setting, values });
  }
  return undefined;
}

/** A line for each setting: the name, a space, the value. */
function settingsText(agreed: Texts): Texts {
  const lines = Object.entries(agreed).map(([setting, value]) => `${setting} ${value}`);
  for (const line of lines) assert(!line.includes('\n'), 'a setting is one line');
  return lines.length === 0 ? {} : { agreed: lines.join('\n') };
}

function settingsIn(text: string): Map<string, string> {
  const settings = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [setting = '', ...value] = line.split(' ');
    if (setting !== '') settings.set(setting, value.join(' '));
  }
  return settings;
}
