/** The option `tls` of everything that listens or dials, and what is refused without it. */

import { X509Certificate } from 'node:crypto';
import { brokenRule, invalidOption, RefusedError } from '../../runtime/errors.ts';
import { checkOptionNames } from '../../runtime/option-names.ts';
import { type SecureContextOptions, type SecureTexts, secureTexts } from '../http-client/secure-context.ts';
import { readToken, type Token } from '../identity/token.ts';
import { isLoopback } from '../tcp/binding.ts';
import { type SecureSockets, socketsOfFiles, socketsOfTokens } from '../tcp/secure-sockets.ts';
import type { Tls, TlsFiles } from '../../runtime/handle.ts';

/**
 * Encrypted sockets for the given tokens or files; undefined for plain ones.
 *
 * @param nowMs the wall clock, for tokens that end
 * @throws {InvalidArgumentError} if a file is missing or is none
 * @throws {RefusedError} if a token is not whole, has ended, or is of another cluster than the first
 */
export function secureSocketsOf(tls: Tls | undefined, nowMs: number): SecureSockets | undefined {
  if (tls === undefined) return undefined;
  if (typeof tls !== 'string' && !isList(tls)) return socketsOfFiles(textsOf(tls));
  const tokens = (typeof tls === 'string' ? tls.split(',') : tls).map((each) => readToken(String(each)));
  const [shown, ...others] = tokens;
  if (shown === undefined) throw invalidOption('tls', 'an empty list', 'it must have a token');
  for (const token of [shown, ...others]) checkToken(token, shown, nowMs);
  return socketsOfTokens([shown, ...others]);
}

/** For modules that have no gate for tokens yet. */
export const fileSocketsOf = (tls: TlsFiles | undefined): SecureSockets | undefined =>
  tls === undefined ? undefined : socketsOfFiles(textsOf(tls));

function checkToken({ id, cluster, endS }: Token, shown: Token, nowMs: number): void {
  if (cluster !== shown.cluster) {
    throw new RefusedError(
      'WRONG_CLUSTER',
      `token ${id} is of cluster ${cluster} and token ${shown.id} of ${shown.cluster}: a process is of one cluster, and so is a new root (ca create --cluster)`,
    );
  }
  if (endS !== undefined && endS * 1_000 <= nowMs) {
    const [ended, here] = [endS * 1_000, nowMs].map((ms) => new Date(ms).toISOString());
    throw new RefusedError(
      'TOKEN_EXPIRED',
      `token ${id} ended at ${ended}; this machine says ${here}: make a new one`,
    );
  }
}

/** @throws {InvalidArgumentError} beyond loopback without encryption, unless `insecure` says that this is meant */
export function checkProtected(
  option: string,
  value: string,
  host: string,
  secure: SecureSockets | undefined,
  insecure: boolean,
): void {
  if (secure === undefined && !insecure && !isLoopback(host)) throw invalidOption(option, value, PROTECT);
}

const PROTECT =
  'everybody who can connect there could take part; listen on 127.0.0.1, give tls (--ca, --cert, --key), or say insecure: true (--insecure) if the network keeps others away';

const isList = (tls: Tls): tls is readonly string[] => Array.isArray(tls);

/** A side without a certificate could be played by anybody. */
function checkTls(tls: SecureContextOptions): SecureContextOptions {
  checkOptionNames('tls.', tls, { ca: true, cert: true, key: true });
  for (const name of ['ca', 'cert', 'key'] as const) {
    if (tls[name] === undefined) throw invalidOption(`tls.${name}`, undefined, 'all three are needed');
  }
  return tls;
}

/** Each certificate of an own authority may be everything: of a root of ours, each token would be, the narrowest too. */
function checkAuthorities({ ca = [] }: SecureTexts): void {
  for (const each of ca) {
    if (!/^CN=leasehold(?: root |-grant:)/m.test(new X509Certificate(each).subject)) continue;
    const rule = 'each token of that root could be everything: give the token itself (--token-file)';
    throw invalidOption('tls.ca', 'the root of tokens', rule);
  }
}

/** @throws {InvalidArgumentError} under the name that the option has here */
function textsOf(tls: TlsFiles): SecureTexts {
  try {
    const texts = secureTexts(checkTls(tls));
    checkAuthorities(texts);
    return texts;
  } catch (error) {
    const broken = brokenRule(error);
    if (broken === undefined || broken.option.startsWith('tls.')) throw error;
    throw invalidOption(`tls.${broken.option}`, broken.value, broken.rule);
  }
}
