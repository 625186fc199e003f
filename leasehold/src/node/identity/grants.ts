/**
 * Grants: what the holder of a token may be.
 *
 *     owner:pool/presence/web-*
 *     role  module instance name
 *
 * A part that is left out is `*`, any value; a part may end in `*`, any value with that beginning. A token has one to eight grants, joined by `|`.
 *
 * **One text for one meaning.** The text stands in the name of a certificate's issuer. OpenSSL compares names without regard to capitals, spaces and
 * string types, so `WEB-*` would pass for `web-*` there. So the text has one form: bytes other than `a-z 0-9 . _ -` are `%xx` in lower case, and these
 * bytes never are. Any other text is no grant at all ({@link parseGrants} is given what OpenSSL has verified, and still refuses what differs from
 * the one form).
 *
 * **Split first, decode afterwards.** A name may contain `|` or `/`, written as `%7c` and `%2f`. If the text were decoded before it is split,
 * the name `x|server:*` would be a grant.
 *
 * {@link mayBe} is the one function that decides by grants.
 */

import { isIP } from 'node:net';
import { invalidOption } from '../../runtime/errors.ts';

/** A role, and the roles that it includes. */
const INCLUDED = {
  /** A Manager, a member of flease, a replica, a server of a group. */
  server: ['server', 'client', 'reader'],
  /** An owner of a pool, its supervisor, and its port for other owners. */
  owner: ['owner', 'client', 'reader'],
  /** A client of a group or a quorum, and a process that calls the owners of a pool. */
  client: ['client', 'reader'],
  /** A look-up; reads and watches of a quorum; whatever HTTP answers without a change. */
  reader: ['reader'],
  /** Whatever changes something by HTTP; changes of a quorum's members. */
  operator: ['operator', 'reader'],
} as const;

export type Role = keyof typeof INCLUDED;

const MODULES = ['pool', 'flease', 'quorum', 'membership', 'ratelimit'] as const;
export type GrantModule = (typeof MODULES)[number];

/** A part of a grant: one value, or all values with a beginning. */
interface Pattern {
  readonly text: string;
  readonly isPrefix: boolean;
}

export interface Grant {
  readonly role: Role;
  readonly module: Pattern;
  readonly instance: Pattern;
  readonly name: Pattern;
}

/** Of some value that is not known: a grant for any value suffices. */
export const ANY: unique symbol = Symbol('any');
/** Of all values: only a grant for all suffices. */
export const ALL: unique symbol = Symbol('all');

export interface Claim {
  readonly role: Role;
  readonly module: GrantModule | typeof ALL;
  readonly instance: string | typeof ANY | typeof ALL;
  readonly name: string | typeof ANY | typeof ALL;
}

const GRANTS_MAX = 8;
/** In bytes, before they are written as `%xx`. Longer names exist in no module. */
const PART_BYTES_MAX = 255;
const TEXT_MAX = 2_048;

const EVERYTHING: Pattern = { text: '', isPrefix: true };

/** Short words for the command line. */
const NICKNAMES: ReadonlyMap<string, string> = new Map([
  ['everything', 'server:*|owner:*|operator:*'],
  ['viewer', 'reader:*'],
  ['operator', 'operator:*'],
]);

const isRole = (word: string): word is Role => Object.hasOwn(INCLUDED, word);

function covers(pattern: Pattern, wanted: string | typeof ANY | typeof ALL): boolean {
  if (wanted === ANY) return true;
  if (wanted === ALL) return pattern.isPrefix && pattern.text === '';
  return pattern.isPrefix ? wanted.startsWith(pattern.text) : wanted === pattern.text;
}

/** Whether a holder of these grants may be what it says that it is. */
export function mayBe(grants: readonly Grant[], claim: Claim): boolean {
  return grants.some(
    (grant) =>
      (INCLUDED[grant.role] as readonly Role[]).includes(claim.role) &&
      covers(grant.module, claim.module) &&
      covers(grant.instance, claim.instance) &&
      covers(grant.name, claim.name),
  );
}

// The text of certificates and tokens

const PLAIN = 'a-z0-9._-';
const PART = `(?:[${PLAIN}]|%[0-9a-f]{2})*\\*?`;
const GRANT = new RegExp(`^([a-z]+):(${PART})(?:/(${PART}))?(?:/(${PART}))?$`);
const PLAIN_BYTE = new RegExp(`^[${PLAIN}]$`);
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function encodePart({ text, isPrefix }: Pattern): string {
  const encoded = [...Buffer.from(text, 'utf8')].map((byte) => {
    const character = String.fromCharCode(byte);
    return PLAIN_BYTE.test(character) ? character : `%${byte.toString(16).padStart(2, '0')}`;
  });
  return `${encoded.join('')}${isPrefix ? '*' : ''}`;
}

function decodePart(part: string): Pattern | undefined {
  const isPrefix = part.endsWith('*');
  const bytes: number[] = [];
  for (const [character] of (isPrefix ? part.slice(0, -1) : part).matchAll(/%..|./gs)) {
    bytes.push(character.length === 1 ? character.charCodeAt(0) : Number.parseInt(character.slice(1), 16));
  }
  if (bytes.length > PART_BYTES_MAX || (bytes.length === 0 && !isPrefix)) return undefined;
  try {
    return { text: strictUtf8.decode(Uint8Array.from(bytes)), isPrefix };
  } catch {
    return undefined; // Not UTF-8, so no name that a process could have.
  }
}

function parseGrant(text: string): Grant | undefined {
  const [, role, module = '*', instance = '*', name = '*'] = GRANT.exec(text) ?? [];
  if (role === undefined || !isRole(role)) return undefined;
  const parts = [module, instance, name].map(decodePart);
  const [ofModule, ofInstance, ofName] = parts;
  if (ofModule === undefined || ofInstance === undefined || ofName === undefined) return undefined;
  const isModule = ofModule.isPrefix
    ? ofModule.text === ''
    : (MODULES as readonly string[]).includes(ofModule.text);
  return isModule ? { role, module: ofModule, instance: ofInstance, name: ofName } : undefined;
}

/** Grants as certificates and tokens have them: parts at the end that are `*` are left out. */
export function grantsText(grants: readonly Grant[]): string {
  return grants
    .map(({ role, module, instance, name }) => {
      const parts = [encodePart(module), encodePart(instance), encodePart(name)];
      while (parts.length > 1 && parts.at(-1) === '*') parts.pop();
      return `${role}:${parts.join('/')}`;
    })
    .join('|');
}

/** The grants in this text; undefined if it is not the one form of any. */
export function parseGrants(text: string): readonly Grant[] | undefined {
  if (text.length > TEXT_MAX) return undefined;
  const grants = text.split('|', GRANTS_MAX + 1).map(parseGrant);
  if (grants.length > GRANTS_MAX) return undefined;
  const known = grants.filter((grant) => grant !== undefined);
  return known.length === grants.length && grantsText(known) === text ? known : undefined;
}

// What people write

const CONTROL = /\p{Cc}/u;

function readPart(part: string, whole: string): Pattern {
  const isPrefix = part.endsWith('*');
  const body = isPrefix ? part.slice(0, -1) : part;
  const refuse = (rule: string): never => {
    throw invalidOption('grant', whole, rule);
  };
  if (body.includes('*')) refuse('a * stands only at the end of a part; within a name write %2a');
  if (/%(?![0-9a-fA-F]{2})/.test(body)) refuse('a % is followed by two hexadecimal digits');
  const bytes: number[] = [];
  for (const [piece] of body.matchAll(/%..|[^%]+/gs)) {
    if (piece.startsWith('%')) bytes.push(Number.parseInt(piece.slice(1), 16));
    else bytes.push(...Buffer.from(piece, 'utf8'));
  }
  if (bytes.length > PART_BYTES_MAX) refuse(`a part has at most ${PART_BYTES_MAX} bytes`);
  if (bytes.length === 0 && !isPrefix) refuse('no part may be empty; write * for any value');
  let text = '';
  try {
    text = strictUtf8.decode(Uint8Array.from(bytes));
  } catch {
    refuse('its bytes must be UTF-8');
  }
  if (CONTROL.test(text)) refuse('it must have no control characters');
  return { text, isPrefix };
}

/** Whether a word is another with at most two letters left out, added or replaced; the first letter is right. */
function isNear(word: string, written: string, left = 2): boolean {
  if (word[0] !== written[0] || Math.abs(word.length - written.length) > left) return false;
  let row = Array.from({ length: written.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...word].entries()) {
    const next = [index + 1];
    for (let at = 1; at < row.length; at += 1) {
      const kept = (row[at - 1] as number) + (written[at - 1] === letter ? 0 : 1);
      next.push(Math.min(kept, (row[at] as number) + 1, (next[at - 1] as number) + 1));
    }
    row = next;
  }
  return (row.at(-1) as number) <= left;
}

function readGrant(written: string): Grant {
  const colon = written.indexOf(':');
  const role = written.slice(0, Math.max(0, colon));
  if (colon < 0 || !isRole(role)) {
    const roles = Object.keys(INCLUDED);
    const words = [...NICKNAMES.keys()].filter((word) => !isRole(word));
    const [meant] = (colon < 0 ? [...words, ...roles] : roles).filter((word) =>
      isNear(word, colon < 0 ? written : role),
    );
    const advice = meant === undefined ? '' : `; did you mean ${meant}?`;
    throw invalidOption(
      'grant',
      written,
      `it must be role:module/instance/name with a role of ${roles.join(', ')}, or ${words.join(' or ')}${advice}`,
    );
  }
  const parts = written.slice(colon + 1).split('/');
  if (parts.length > 3) {
    throw invalidOption('grant', written, 'it has at most module/instance/name; a / in a name is %2f');
  }
  const [module = EVERYTHING, instance = EVERYTHING, name = EVERYTHING] = parts.map((part) =>
    readPart(part, written),
  );
  const isAll = module.isPrefix && module.text === '';
  if (!isAll && (module.isPrefix || !(MODULES as readonly string[]).includes(module.text))) {
    throw invalidOption('grant', written, `its module must be * or one of ${MODULES.join(', ')}`);
  }
  return { role, module, instance, name };
}

/**
 * The grants that a person asks for: `owner:pool/presence/web-*`, or a nickname. Capitals and other letters may be written as they are.
 *
 * @throws {InvalidArgumentError} says what is wrong with which grant
 */
export function readGrants(written: string): readonly Grant[] {
  const grants = (NICKNAMES.get(written) ?? written).split('|').map(readGrant);
  if (grants.length > GRANTS_MAX) {
    throw invalidOption('grant', written, `a token has at most ${GRANTS_MAX} grants`);
  }
  const { length } = grantsText(grants);
  if (length > TEXT_MAX) {
    throw invalidOption('grant', written, `all grants together have at most ${TEXT_MAX} characters`);
  }
  return grants;
}

// Host names

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const HOST = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);
const HOSTS_MAX = 32;
const HOST_MAX = 253;

/**
 * Host names and addresses that certificates of a token may carry, for clients that compare host names (curl, browsers, Prometheus).
 *
 * @throws {InvalidArgumentError}
 */
export function readHosts(hosts: readonly string[]): readonly string[] {
  if (hosts.length > HOSTS_MAX) {
    throw invalidOption('hosts', hosts.length, `a token has at most ${HOSTS_MAX} hosts`);
  }
  return hosts.map((written) => {
    const host = written.toLowerCase().replace(/^\[(.*)\]$/, '$1');
    if (isIP(host) !== 0 && !host.includes('%')) return host;
    if (host.length > HOST_MAX || !HOST.test(host) || /^[\d.]+$/.test(host)) {
      throw invalidOption('hosts', written, 'each must be a host name or an IP address, without * and port');
    }
    return host;
  });
}
