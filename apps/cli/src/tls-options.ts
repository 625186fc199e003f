/** The flags by which a command speaks TLS: a token, or files of an own authority. */

import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Tls } from 'leasehold/internal';
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
    .option('--token-file <file>', 'the token of this process, made by token create; TLS')
    .option('--ca <file>', 'certificates of an own authority; TLS without a token, with --cert and --key')
    .option('--cert <file>', certificate)
    .option('--key <file>', 'the private key of --cert');

/** @throws {UsageError} */
export function tlsOf({ tokenFile, ca, cert, key }: TlsFlags): Tls | undefined {
  const files = { ca, cert, key };
  const missing = Object.entries(files).filter(([, value]) => value === undefined);
  if (tokenFile !== undefined) {
    if (missing.length < 3)
      throw new UsageError('give --token-file, or --ca, --cert and --key, and not both');
    return tokensIn(tokenFile);
  }
  if (ca !== undefined && cert !== undefined && key !== undefined) return { ca, cert, key };
  if (missing.length === 3) return undefined;
  const names = missing.map(([name]) => `--${name}`).join(' and ');
  const verb = missing.length === 1 ? 'is' : 'are';
  throw new UsageError(`TLS needs --ca, --cert and --key, and ${names} ${verb} missing`);
}

/** Several tokens, while a new root is brought in, are parted by commas. */
function tokensIn(path: string): Tls {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new UsageError(`--token-file ${path} cannot be read: ${code}`);
  }
  if (text.trim() === '')
    throw new UsageError(`--token-file ${path} is empty: leasehold token create makes a token`);
  return text.split(',');
}
