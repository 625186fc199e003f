/**
 * The directory of a root: the key that signs tokens, and a list of the tokens that it signed.
 *
 *     leasehold-ca/
 *       root.key     the private key; whoever reads it can make any token
 *       ca.pem       the root's certificate; public
 *       tokens.log   a line for each token, without secrets
 *       .gitignore   everything
 *
 * The key is on no server: tokens are made where an operator works, and copied from there.
 *
 * **Two commands at once make one root.** A root is made whole in a directory beside, which is then renamed. A rename onto a directory that is there
 * fails, so the later command finds the root of the earlier one. Two roots of one directory would be tokens that do not know each other, which is found out late.
 */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { appendFile, mkdir, mkdtemp, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { invalidOption, RefusedError } from '../../runtime/errors.ts';
import { randomId } from '../id.ts';
import { rootCertificate, rootIdOf } from './certificates.ts';
import { type Grant, grantsText } from './grants.ts';
import { type KeyPair, keyPairOf, newKeyPair } from './keys.ts';
import { isClusterName, isTokenEnd, makeToken, readToken, type Token } from './token.ts';

export interface Root {
  readonly cluster: string;
  /** 16 hexadecimal digits. */
  readonly id: string;
  readonly directory: string;
}

interface OpenRoot extends Root {
  readonly pair: KeyPair;
}

/** A token that was made here, as the list tells of it. */
export interface IssuedToken {
  readonly id: string;
  readonly createdAt: string;
  readonly endsAt: string | undefined;
  readonly grants: string;
  readonly hosts: readonly string[];
}

const OTHERS_MAY = 0o077;
const PRIVATE_FILE = 0o600;
const CLUSTER_BYTES = 4;

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

async function writePrivate(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', PRIVATE_FILE);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Makes a root.
 *
 * @param cluster the name of the cluster; drawn if it is undefined
 * @throws {RefusedError} ROOT_EXISTS if the directory is there
 */
export async function createRoot(directory: string, cluster?: string): Promise<Root> {
  if (cluster !== undefined && !isClusterName(cluster)) {
    const rule = 'it must be at most 64 of a-z 0-9 . _ -, with a letter or digit at both ends';
    throw invalidOption('cluster', cluster, rule);
  }
  const whole = resolve(directory);
  const name = cluster ?? `cluster-${randomId(CLUSTER_BYTES)}`;
  const pair = newKeyPair();
  await mkdir(dirname(whole), { recursive: true });
  const draft = await mkdtemp(`${whole}.new-`);
  try {
    const key = pair.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
    await writePrivate(join(draft, 'root.key'), key);
    await writePrivate(join(draft, 'ca.pem'), rootCertificate(name, pair));
    await writePrivate(join(draft, 'tokens.log'), '');
    await writePrivate(join(draft, '.gitignore'), '*\n');
    await rename(draft, whole);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(codeOf(error))) throw error;
    throw new RefusedError(
      'ROOT_EXISTS',
      `${directory} is there already: use the root in it, or name another directory`,
    );
  }
  return { cluster: name, id: rootIdOf(pair.point), directory: whole };
}

/** @throws {RefusedError} ROOT_MISSING, ROOT_EXPOSED, ROOT_DAMAGED */
async function openRoot(directory: string): Promise<OpenRoot> {
  const whole = resolve(directory);
  const keyPath = join(whole, 'root.key');
  let mode: number;
  let key: string;
  let pem: string;
  try {
    mode = Math.max(
      ...(await Promise.all([whole, keyPath].map(async (path) => (await stat(path)).mode & OTHERS_MAY))),
    );
    [key, pem] = (await Promise.all(
      [keyPath, join(whole, 'ca.pem')].map((path) => readFile(path, 'utf8')),
    )) as [string, string];
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    const advice = 'make one by leasehold ca create, or name its directory by --root or LEASEHOLD_CA';
    throw new RefusedError('ROOT_MISSING', `there is no root in ${directory}: ${advice}`);
  }
  if (mode !== 0) {
    const advice = `chmod 700 ${directory} and chmod 600 ${join(directory, 'root.key')}`;
    throw new RefusedError(
      'ROOT_EXPOSED',
      `other users of this machine can read the root in ${directory}: ${advice}`,
    );
  }
  try {
    const { d } = createPrivateKey(key).export({ format: 'jwk' });
    const pair = keyPairOf(Buffer.from(d as string, 'base64url'));
    const certificate = new X509Certificate(pem);
    const cluster = /^O=([^\n]+)\n/.exec(certificate.subject)?.[1] ?? '';
    const expected = new X509Certificate(rootCertificate(cluster, pair));
    if (
      !isClusterName(cluster) ||
      expected.subject !== certificate.subject ||
      !certificate.verify(certificate.publicKey)
    ) {
      throw new Error('they do not fit');
    }
    return { cluster, id: rootIdOf(pair.point), directory: whole, pair };
  } catch {
    const advice = 'bring both back from one backup'; // The cause may contain the key.
    throw new RefusedError(
      'ROOT_DAMAGED',
      `root.key and ca.pem in ${directory} do not fit each other: ${advice}`,
    );
  }
}

export async function readRoot(directory: string): Promise<Root & { readonly certificate: string }> {
  const { cluster, id, directory: whole } = await openRoot(directory);
  return { cluster, id, directory: whole, certificate: await readFile(join(whole, 'ca.pem'), 'utf8') };
}

export interface NewToken {
  readonly grants: readonly Grant[];
  readonly hosts: readonly string[];
  /** In seconds since 1970. */
  readonly endS: number | undefined;
  readonly nowMs: number;
}

/** A new token of this root. The list has it before the token is given out. */
export async function issueToken(
  directory: string,
  { grants, hosts, endS, nowMs }: NewToken,
): Promise<{ readonly text: string; readonly token: Token }> {
  if (endS !== undefined && (!isTokenEnd(endS) || endS * 1_000 <= nowMs)) {
    throw invalidOption('days', endS, 'a token must end in the future, and before 2106');
  }
  const { cluster, pair, directory: whole } = await openRoot(directory);
  const text = makeToken({ cluster, root: pair, grants, hosts, endS });
  const token = readToken(text);
  const issued: IssuedToken = {
    id: token.id,
    createdAt: new Date(nowMs).toISOString(),
    endsAt: endS === undefined ? undefined : new Date(endS * 1_000).toISOString(),
    grants: grantsText(grants),
    hosts,
  };
  await appendFile(join(whole, 'tokens.log'), `${JSON.stringify(issued)}\n`);
  return { text, token };
}

export async function issuedTokens(directory: string): Promise<readonly IssuedToken[]> {
  const { directory: whole } = await openRoot(directory);
  const lines = (await readFile(join(whole, 'tokens.log'), 'utf8')).split('\n');
  return lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as IssuedToken]));
}

/**
 * Writes a file that only its owner may read. The file is there, empty, before its text is made: a token that cannot be written is not signed either.
 *
 * @throws {RefusedError} FILE_EXISTS: nothing is overwritten
 */
export async function writeSecret(path: string, textOf: () => string | Promise<string>): Promise<void> {
  try {
    await writePrivate(path, '');
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    throw new RefusedError(
      'FILE_EXISTS',
      `${path} is there already, and is not overwritten: remove it, or name another file`,
    );
  }
  try {
    const text = await textOf();
    const file = await open(path, 'r+');
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}
