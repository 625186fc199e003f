/**
 * The registration of a server as a key of etcd: `<prefix>groups/<group>/<name>`, with the server's incarnation and address, and the settings that all
 * servers of a group must have in common.
 *
 * A key under the prefix that is no registration is left out in the same way by every server: a key with another value; a key of a group whose prefix begins with this
 * one (`nested/groups/…`); and a copy of a registration under no lease, put by hand or by a tool that copies keys, which would never end and stop the group for ever. A
 * registration that this version cannot read is not left out: that server belongs to the group, and a view without that server might act beside another.
 */

import type { EtcdKeyValue } from '../../etcd/client.ts';
import { decodeJson, encodeJson } from '../../etcd/values.ts';
import type { Registration } from '../core/agreement/registry.ts';
import type { Incarnation } from '../core/incarnation.ts';

/** The mark of our keys, in every version. */
const KIND = 'leasehold-membership';
const VERSION = 1;
const TEXT_MAX = 2_048;
const NO_LEASE = '0';

export type Settings = Readonly<Record<string, string>>;

export interface Entry {
  readonly incarnation: Incarnation;
  /** Where the others dial this server. */
  readonly address: string;
  /** One for each process, so that a process knows which entries are its own. */
  readonly process: string;
  readonly settings: Settings;
}

export interface Found extends Registration, Entry {
  /** In etcd. */
  readonly lease: string;
}

export const encodeEntry = ({ incarnation, address, process, settings }: Entry): Uint8Array =>
  encodeJson({ kind: KIND, version: VERSION, incarnation, address, process, settings });

/** `unreadable`: a registration of a version that is not known here. Undefined: the key is no registration. */
export function decodeEntry(
  { key, value, lease, modRevision }: EtcdKeyValue,
  prefix: string,
): Found | 'unreadable' | undefined {
  const fields = decodeJson(value);
  const name = nameIn(key, prefix);
  if (fields['kind'] !== KIND || name === undefined || lease === NO_LEASE) return undefined;
  const { version, incarnation, address, process, settings } = fields;
  const isReadable =
    version === VERSION &&
    isIncarnation(incarnation) &&
    isText(address) &&
    isText(process) &&
    areSettings(settings);
  if (!isReadable) return 'unreadable';
  const { startedMs, nonce } = incarnation;
  const entry: Found = {
    ...{ name, incarnation: { startedMs, nonce }, address, process, settings, lease },
    revision: modRevision,
  };
  return entry;
}

/** Names may have any characters, and a name with a slash must not reach into another group. */
export const keyOfEntry = (prefix: string, name: string): string => `${prefix}${encodeURIComponent(name)}`;

/** Undefined if {@link keyOfEntry} makes no such key. */
function nameIn(key: string, prefix: string): string | undefined {
  try {
    const name = decodeURIComponent(key.slice(prefix.length));
    return name !== '' && keyOfEntry(prefix, name) === key ? name : undefined;
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= TEXT_MAX;

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

function isIncarnation(value: unknown): value is Incarnation {
  if (typeof value !== 'object' || value === null) return false;
  const { startedMs, nonce } = value as Partial<Incarnation>;
  return isCount(startedMs) && isCount(nonce);
}

const areSettings = (value: unknown): value is Settings =>
  typeof value === 'object' && value !== null && Object.values(value).every(isText);
