/**
 * Where etcd is, in one line that fits a configuration or a command:
 *
 *     etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379/managers
 *     etcds://leasehold:secret@etcd-1,etcd-2,etcd-3
 *
 * `etcds` is TLS. A member without a port has etcd's usual one. The path is the prefix of all keys. A name or password
 * with one of `:@/,?#%` is written with per cent signs, as in any address. A prefix that begins with a slash itself
 * has two after the members.
 *
 * A mistake in such a line is often a password in the wrong place, so an error repeats nothing but members without a
 * name and a password, and these only if the scheme is wrong.
 */

import { invalidOption } from '../../runtime/errors.ts';

export interface EtcdAddress {
  /** `https://10.0.0.1:2379`, for each member. */
  readonly endpoints: readonly string[];
  readonly isSecure: boolean;
  readonly credentials: EtcdCredentials | undefined;
  /** Ends in a slash. */
  readonly prefix: string;
}

export interface EtcdCredentials {
  readonly user: string;
  readonly password: string;
}

export const DEFAULT_PREFIX = 'leasehold/';

const DEFAULT_PORT = '2379';
const MEMBERS_MAX = 32;

const HIDDEN = 'not shown here, for it may have a password';
const SCHEME_RULE =
  'it must begin with etcd:// or, for TLS, with etcds://, for example etcd://127.0.0.1:2379/prefix';

/**
 * @param option the user's name for the option
 * @throws {InvalidArgumentError} which names the fault, and shows no password
 */
export function parseEtcdAddress(text: string, option = 'address'): EtcdAddress {
  const refuse = (rule: string, shown = HIDDEN): never => {
    throw invalidOption(option, shown, rule);
  };
  const scheme = /^(etcds?):\/\//i.exec(text);
  if (scheme === null) return refuse(SCHEME_RULE, shownMembers(text));
  const isSecure = scheme[1]?.toLowerCase() === 'etcds';
  const rest = text.slice(scheme[0].length);
  if (/[\s\p{Cc}]/u.test(rest)) return refuse('it must have no blanks in it');
  if (/[?#]/.test(rest)) return refuse('it must have no ? or # in it, but for %3F and %23');

  const slash = rest.indexOf('/');
  const authority = slash < 0 ? rest : rest.slice(0, slash);
  const path = slash < 0 ? '' : rest.slice(slash + 1);
  const at = authority.lastIndexOf('@');
  const names = authority.slice(at + 1).split(',');
  if (names.length > MEMBERS_MAX) return refuse(`it must name at most ${MEMBERS_MAX} members`);
  const members = names.map(
    (name, index) => member(name) ?? refuse(`member ${index + 1} must be host, host:port or [address]:port`),
  );
  if (new Set(members).size < members.length) return refuse('it must name each member once');
  return {
    endpoints: members.map((name) => `${isSecure ? 'https' : 'http'}://${name}`),
    isSecure,
    credentials: at < 0 ? undefined : credentials(authority.slice(0, at), refuse),
    prefix: prefix(path, refuse),
  };
}

/** The text up to its path, if that is certain to be members only. */
function shownMembers(text: string): string {
  const [, shown, names] = /^((?:[a-z]+:\/\/)?([^/@]+))(?:\/[^@]*)?$/i.exec(text) ?? [];
  const isCertain = names?.split(',').every((name) => member(name) !== undefined);
  return shown !== undefined && isCertain ? shown : HIDDEN;
}

/** `host:port`; undefined if malformed. */
function member(text: string): string | undefined {
  const found = /^(\[[\da-f:.]+\]|[a-z\d](?:[a-z\d._-]*[a-z\d])?)(?::(\d{1,5}))?$/i.exec(text);
  const [, host = '', port = DEFAULT_PORT] = found ?? [];
  if (found === null || Number(port) < 1 || Number(port) > 65_535) return undefined;
  if (host.startsWith('[') && !URL.canParse(`http://${host}`)) return undefined;
  return `${host.toLowerCase()}:${Number(port)}`;
}

type Refuse = (rule: string) => never;

function credentials(text: string, refuse: Refuse): EtcdCredentials {
  const colon = text.indexOf(':');
  const user = colon < 0 ? '' : decoded(text.slice(0, colon), refuse);
  const password = colon < 0 ? '' : decoded(text.slice(colon + 1), refuse);
  if (user === '' || password === '') {
    return refuse('what is before the @ must be a name and a password, with a colon between');
  }
  return { user, password };
}

function prefix(path: string, refuse: Refuse): string {
  const text = decoded(path, refuse).replace(/\/+$/, '');
  if (!/^[\x21-\x7e]*$/.test(text)) return refuse('its path must be printable ASCII');
  return text === '' ? DEFAULT_PREFIX : `${text}/`;
}

function decoded(text: string, refuse: Refuse): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return refuse('a % in it must be followed by two hexadecimal digits, and make UTF-8');
  }
}
