/**
 * The option `tls` of everything that listens or dials, and what is refused without it.
 *
 *     tls: false                 plaintext, whatever the environment says
 *     tls                        this token, this file, these certificates
 *     LEASEHOLD_TOKEN_FILE       the token in this file
 *     LEASEHOLD_TOKEN            this token
 *     none of them               plaintext on loopback; elsewhere with `insecure` alone
 *
 * **A process with a token never speaks plaintext**, so a token together with `insecure` is an error, and two variables are an error, too: which of them was meant is
 * nothing to guess about. All five modules read the variables here, because a module that did not would speak plaintext beside a token without a word.
 */

import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  brokenRule,
  InvalidArgumentError,
  invalidOption,
  RefusedError,
  withoutTokens,
} from '../../runtime/errors.ts';
import type { Tls, TlsFiles, TlsOptions, TokenFile } from '../../runtime/handle.ts';
import type { Logger } from '../../runtime/logger.ts';
import * as is from '../../runtime/option-kinds.ts';
import { checkOptionNames } from '../../runtime/option-names.ts';
import { type OptionalRow, optional } from '../../runtime/option-table.ts';
import { type SecureContextOptions, type SecureTexts, secureTexts } from '../http-client/secure-context.ts';
import { readToken, type Token } from '../identity/token.ts';
import { environment } from '../process/environment.ts';
import { ownUser } from '../process/own-process.ts';
import { isLoopback } from '../tcp/binding.ts';
import { type SecureSockets, socketsOfFiles, socketsOfTokens } from '../tcp/secure-sockets.ts';

export const TOKEN_FILE_VARIABLE = 'LEASEHOLD_TOKEN_FILE';
export const TOKEN_VARIABLE = 'LEASEHOLD_TOKEN';

/**
 * Encrypted sockets for the given tokens or files, or for the token of the environment; undefined for plain ones.
 *
 * @param nowMs the wall clock, for tokens that end
 * @throws {InvalidArgumentError} if a file is missing or is none, or if two of the options or variables contradict each other
 * @throws {RefusedError} if a token is not whole, has ended, or is of another cluster than the first
 */
export function secureSocketsOf(options: TlsOptions, nowMs: number): SecureSockets | undefined {
  const { insecure = false, logger } = options;
  const [said, tls] = chosen(options.tls);
  if (tls === undefined || tls === false) return undefined;
  if (insecure) {
    const rule = `${said} is given, too, and a process with a token or a certificate speaks no plaintext: leave one of the two out`;
    throw invalidOption('insecure', true, rule);
  }
  if (typeof tls !== 'string' && (typeof tls !== 'object' || tls === null)) {
    throw invalidOption('tls', tls, 'it must be a token, { file }, { ca, cert, key } or false');
  }
  if (isFiles(tls)) return socketsOfFiles(textsOf(tls));
  if (isTokenFile(tls)) {
    checkOptionNames('tls.', tls, { file: true });
    if (typeof tls.file !== 'string') throw invalidOption('tls.file', tls.file, 'it must be a path');
  }
  const texts = isTokenFile(tls)
    ? textsIn(said, tls, logger)
    : typeof tls === 'string'
      ? tls.split(',')
      : tls;
  const [shown, ...others] = texts.map((each) =>
    readToken(String(each), isTokenFile(tls) ? undefined : PATH_GOES[said]),
  );
  if (shown === undefined) throw invalidOption('tls', 'an empty list', 'it must have a token');
  for (const token of [shown, ...others]) checkToken(token, shown, nowMs);
  return socketsOfTokens([shown, ...others]);
}

/** The advice for a path in the place of a token. */
const PATH_GOES: Readonly<Record<string, string>> = {
  tls: 'a path goes as { file }',
  [TOKEN_VARIABLE]: `a path goes into ${TOKEN_FILE_VARIABLE}`,
};

/** The row of the option in every table. */
export const TLS_ROW: OptionalRow<Tls> = optional(
  is.anything(),
  'the token of the environment; without one plain TCP',
);

/** A store that names certificates or a token of its own has these alone; any other has what its Manager has. */
export const tlsOfStore = (
  own: Tls | undefined,
  { tls, insecure }: Pick<TlsOptions, 'tls' | 'insecure'>,
): { readonly tls: Tls | undefined; readonly insecure: boolean | undefined } =>
  own === undefined ? { tls, insecure } : { tls: own, insecure: undefined };

/** What counts, and the name under which it was given. */
function chosen(tls: Tls | undefined): readonly [said: string, tls: Tls | undefined] {
  if (tls !== undefined) return ['tls', tls];
  const [file, token] = [environment(TOKEN_FILE_VARIABLE), environment(TOKEN_VARIABLE)];
  if (file !== undefined && token !== undefined) {
    const rule = `${TOKEN_FILE_VARIABLE} is set, too: leave one of the two out`;
    throw invalidOption(TOKEN_VARIABLE, 'a token', rule);
  }
  return file === undefined ? [TOKEN_VARIABLE, token] : [TOKEN_FILE_VARIABLE, { file }];
}

const READABLE_BY_ALL = 0o004;

/**
 * The tokens in a file, parted by commas.
 *
 * @param said the option or variable that names the file
 * @throws {InvalidArgumentError} if the file cannot be read, is empty, or is another user's that everybody can read
 */
export function textsIn(said: string, { file }: TokenFile, logger: Pick<Logger, 'warn'>): readonly string[] {
  const refuse = (rule: string): InvalidArgumentError => invalidOption(said, withoutTokens(file), rule);
  let text: string;
  let isExposed: boolean;
  let isOurs: boolean;
  try {
    text = readFileSync(file, 'utf8');
    const { mode, uid } = statSync(file);
    isExposed = (mode & READABLE_BY_ALL) !== 0;
    isOurs = uid === ownUser();
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw unreadable(said, file, code);
  }
  if (text.trim() === '') throw refuse('the file is empty: leasehold token create makes a token');
  if (isExposed && !isOurs)
    throw refuse('every user of this machine can read that file, and it is not ours to mend: chmod 0400');
  if (isExposed) logger.warn('every user of this machine can read the token: chmod 0400', { file });
  return text.split(',');
}

/** A path in a variable is relative to where the process was started, so the whole path is said. */
function unreadable(said: string, file: string, code: string): InvalidArgumentError {
  const option = said === 'tls' ? 'tls.file' : said;
  const value = withoutTokens(resolve(file));
  const advice = code === 'ENOENT' ? '; leasehold token create makes one' : '';
  const message = `${option} names ${value}, which cannot be read: ${code}${advice}`;
  const details = { option, value, rule: `the file cannot be read: ${code}${advice}` };
  return new InvalidArgumentError('INVALID_OPTION', message, { details });
}

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

/**
 * A port beyond this machine that speaks plaintext.
 *
 * @param speaks HTTP takes no token yet, so there a token would not help
 */
export const noToken = (
  option: string,
  value: string,
  speaks: 'frames' | 'http' = 'frames',
): InvalidArgumentError => invalidOption(option, value, PROTECT[speaks], 'NO_TOKEN');

/**
 * Beyond loopback there is encryption, or somebody has said that there is none.
 *
 * @throws {InvalidArgumentError} NO_TOKEN
 */
export function checkProtected(
  option: string,
  value: string,
  host: string,
  secure: SecureSockets | undefined,
  { insecure, logger }: Pick<TlsOptions, 'insecure' | 'logger'>,
): void {
  if (secure !== undefined || isLoopback(host)) return;
  if (insecure !== true) throw noToken(option, value);
  logger.warn('listens beyond loopback in plaintext: everybody who can connect can take part in any name', {
    [option]: value,
  });
}

const PROTECT = {
  frames: `everybody who can connect there could take part: give a token (${TOKEN_FILE_VARIABLE}, tls, --token-file; leasehold token create makes one), listen on 127.0.0.1, or say insecure: true (--insecure) if the network keeps others away`,
  http: 'everybody who can connect there could read what is held, in plaintext: listen on 127.0.0.1, or say insecure: true (--insecure) if the network keeps others away',
} as const;

const isFiles = (tls: Exclude<Tls, false>): tls is TlsFiles =>
  typeof tls !== 'string' && !Array.isArray(tls) && !isTokenFile(tls);

const isTokenFile = (tls: Exclude<Tls, false>): tls is TokenFile =>
  typeof tls === 'object' && tls !== null && Object.hasOwn(tls, 'file');

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
