/**
 * The trusted authorities and our identity, from files or from their text, checked before anything is sent: a
 * certificate that does not fit the key is found when a process starts, not at the first use.
 */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext } from 'node:tls';
import { invalidOption } from '../../runtime/errors.ts';

/** Each is a path, or the text of such a file itself. */
export interface SecureContextOptions {
  /**
   * Certificates of the only authorities for the other side.
   *
   * @default those that Node trusts
   */
  ca?: string | undefined;
  /** Our own certificate, for servers that ask for one. Needs `key`. */
  cert?: string | undefined;
  /** The private key of `cert`. */
  key?: string | undefined;
}

/** The same as texts, for callers that make contexts themselves. */
export interface SecureTexts {
  readonly ca?: string[];
  readonly cert?: string;
  readonly key?: string;
}

/** @throws {InvalidArgumentError} with the path, but never with the content of a file */
export const secureContext = (options: SecureContextOptions): SecureContext =>
  createSecureContext(secureTexts(options));

/** @throws {InvalidArgumentError} with the path, but never with the content of a file */
export function secureTexts({ ca, cert, key }: SecureContextOptions): SecureTexts {
  if ((cert === undefined) !== (key === undefined)) {
    const [given, missing] = cert === undefined ? (['key', 'cert'] as const) : (['cert', 'key'] as const);
    throw invalidOption(missing, undefined, `${given} is given, and one is of no use without the other`);
  }
  const trusted = ca === undefined ? {} : { ca: certificates(ca) };
  if (cert === undefined || key === undefined) return trusted;
  const own = { cert: pem('cert', cert, 'CERTIFICATE'), key: pem('key', key, 'PRIVATE KEY') };
  try {
    createSecureContext({ ...trusted, ...own });
  } catch (error) {
    throw invalidOption('cert', shown(cert), `it and key must be a pair: ${wordsOf(error)}`);
  }
  return { ...trusted, ...own };
}

/** Node ignores an unreadable certificate, and would trust nobody then. */
function certificates(ca: string): string[] {
  const all = pem('ca', ca, 'CERTIFICATE').match(/-----BEGIN [A-Z ]+-----[^-]*-----END [A-Z ]+-----/g) ?? [];
  for (const [index, each] of all.entries()) {
    try {
      new X509Certificate(each);
    } catch (error) {
      throw invalidOption('ca', shown(ca), `certificate ${index + 1} cannot be read: ${wordsOf(error)}`);
    }
  }
  return all;
}

function pem(option: string, textOrPath: string, kind: string): string {
  const text = isText(textOrPath) ? textOrPath : read(option, textOrPath);
  if (!new RegExp(`-----BEGIN (?:[A-Z]+ )*${kind}-----`).test(text)) {
    throw invalidOption(option, shown(textOrPath), `it must be PEM, with a ${kind} in it`);
  }
  return text;
}

function read(option: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    // The message would repeat the value, which may be no path.
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw invalidOption(option, shown(path), `it cannot be read: ${code}`);
  }
}

const isText = (textOrPath: string): boolean => textOrPath.includes('-----BEGIN ');

/** A key without the first line is taken for a path, and must not be shown either. */
const shown = (textOrPath: string): string =>
  isText(textOrPath) || textOrPath.includes('\n') || textOrPath.length > 256
    ? 'a text that was given'
    : JSON.stringify(textOrPath);

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
