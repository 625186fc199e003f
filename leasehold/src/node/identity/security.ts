/**
 * Tokens: what a process shows to others, and what it may be. For the option `tls`, and for tests that make clusters of their own.
 *
 * @module leasehold/security
 */

import { readGrants, readHosts } from './grants.ts';
import { createRoot as makeRoot, issueToken } from './root-directory.ts';
import { readToken as openToken } from './token.ts';
import { invalidOption } from '../../runtime/errors.ts';

export { RefusedError } from '../../runtime/errors.ts';

/** What a token says of itself; nothing secret. */
export interface TokenInfo {
  /** Names the token wherever people look; not a secret. */
  readonly id: string;
  readonly cluster: string;
  readonly grants: string;
  readonly hosts: readonly string[];
  readonly endsAt: Date | undefined;
}

/** What a token allows: its process, the grants, and until when. */
export interface CreateTokenOptions {
  /** The directory of the root, made by {@link createRoot} or `leasehold ca create`. */
  readonly ca: string;
  /** `role:module/instance/name`, joined by `|`; or `everything`, `viewer`, `operator`. */
  readonly grants: string;
  /** Host names and addresses for clients that compare these. @default none */
  readonly hosts?: readonly string[] | undefined;
  /** @default no end */
  readonly days?: number | undefined;
}

const DAY_S = 86_400;

/**
 * Makes a root: the key that signs tokens.
 *
 * @throws {RefusedError} ROOT_EXISTS
 */
export async function createRoot(directory: string, options: { cluster?: string } = {}): Promise<void> {
  await makeRoot(directory, options.cluster);
}

/**
 * A new token, on one line. It is a secret.
 *
 * @throws {InvalidArgumentError} if a grant or a host breaks a rule
 * @throws {RefusedError} ROOT_MISSING, ROOT_EXPOSED or ROOT_DAMAGED
 */
export async function createToken({ ca, grants, hosts = [], days }: CreateTokenOptions): Promise<string> {
  if (days !== undefined && !(days > 0)) throw invalidOption('days', days, 'it must be above 0');
  const nowMs = Date.now();
  const endS = days === undefined ? undefined : Math.floor(nowMs / 1_000 + days * DAY_S);
  const { text } = await issueToken(ca, { grants: readGrants(grants), hosts: readHosts(hosts), endS, nowMs });
  return text;
}

/** What a token says, without its keys. @throws {RefusedError} TOKEN_MALFORMED */
export function readToken(token: string): TokenInfo {
  const { id, cluster, grantsText, hosts, endS } = openToken(token);
  return {
    id,
    cluster,
    grants: grantsText,
    hosts,
    endsAt: endS === undefined ? undefined : new Date(endS * 1_000),
  };
}
