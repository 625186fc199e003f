/** The flags by which a command speaks TLS: a token, or files of an own authority. */

import type { Command } from 'commander';
import { silent } from 'leasehold/manager';
import { secureSocketsOf, textsIn, type Tls, TOKEN_FILE_VARIABLE, TOKEN_VARIABLE } from 'leasehold/internal';
import type { Context } from './context.ts';
import { UsageError } from './failure.ts';

export interface TlsFlags {
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** @param certificate what `--cert` is here */
export const withTlsFlags = (command: Command, certificate: string): Command =>
  command
    .option(
      '--token-file <file>',
      `the token of this process, made by token create; TLS (default: ${TOKEN_FILE_VARIABLE}, or ${TOKEN_VARIABLE}, which is the token itself)`,
    )
    .option('--ca <file>', 'certificates of an own authority; TLS without a token, with --cert and --key')
    .option('--cert <file>', certificate)
    .option('--key <file>', 'the private key of --cert');

/** @throws {UsageError} @throws {InvalidArgumentError} if there is no token in the file */
export function tlsOf({ tokenFile, ca, cert, key }: TlsFlags): Tls | undefined {
  const files = { ca, cert, key };
  const missing = Object.entries(files).filter(([, value]) => value === undefined);
  if (tokenFile !== undefined) {
    if (missing.length < 3)
      throw new UsageError('give --token-file, or --ca, --cert and --key, and not both');
    textsIn('--token-file', { file: tokenFile }, silent); // Said here in the words of the command line.
    return { file: tokenFile };
  }
  if (ca !== undefined && cert !== undefined && key !== undefined) return { ca, cert, key };
  if (missing.length === 3) return undefined;
  const names = missing.map(([name]) => `--${name}`).join(' and ');
  const verb = missing.length === 1 ? 'is' : 'are';
  throw new UsageError(`TLS needs --ca, --cert and --key, and ${names} ${verb} missing`);
}

/** Whether the command speaks TLS, by its flags or by the environment. */
export const hasTls = ({ environment }: Context, { tokenFile, ca }: TlsFlags): boolean =>
  [tokenFile, ca, environment[TOKEN_FILE_VARIABLE], environment[TOKEN_VARIABLE]].some(Boolean);

/** What connections are, for people: the id of the token, never the token. */
export function tlsWords(flags: TlsFlags): string {
  const own = secureSocketsOf({ tls: tlsOf(flags), logger: silent }, 0)?.own;
  if (own === undefined) return 'plaintext; no token is given';
  return own === 'unrestricted' ? 'TLS, with certificates of an own authority' : `TLS, with token ${own.id}`;
}

/**
 * `--insecure` for the port of the protocol. HTTP is plain, also beside a token; so beside a token and `--http` the flag is about HTTP alone.
 *
 * @param http the value of `--http`
 */
export const insecureOf = (
  context: Context,
  flags: TlsFlags & { readonly insecure?: true },
  http: string | false | undefined,
): true | undefined => (typeof http === 'string' && hasTls(context, flags) ? undefined : flags.insecure);
