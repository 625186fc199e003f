/**
 * For tests only: certificates made by openssl when they are needed. An authority that signs for servers on
 * loopback and for one client, and another authority that nobody has heard of, with a client of its own.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'vitest';

/** Paths of PEM files. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

export interface Certificates {
  readonly ca: string;
  readonly server: Pair;
  readonly client: Pair;
  readonly strangersCa: string;
  readonly stranger: Pair;
}

/** Where there is no openssl a test is left out, loudly; in CI that is a failure. */
export function leaveOutWithoutOpenssl(context: TestContext): void {
  if (hasOpenssl()) return;
  const advice = 'not installed: openssl. As root, node scripts/setup-tools.mjs installs what is missing.';
  if (process.env['CI'] === 'true') throw new Error(advice);
  console.warn(`LEFT OUT: ${context.task.name}: ${advice}`);
  context.skip(advice);
}

export const hasOpenssl = (): boolean => spawnSync('openssl', ['version']).status === 0;

export function makeCertificates(directory: string): Certificates {
  const ours = authority(directory, 'ours');
  const strangers = authority(directory, 'strangers');
  return {
    ca: ours.cert,
    // For both purposes: the gateway within etcd is a client of its own server, by the same certificate.
    server: signed(directory, 'server', ours, 'subjectAltName=IP:127.0.0.1,DNS:localhost'),
    client: signed(directory, 'client', ours, 'subjectAltName=DNS:client'),
    strangersCa: strangers.cert,
    stranger: signed(directory, 'stranger', strangers, 'subjectAltName=DNS:stranger'),
  };
}

const DAYS = ['-days', '2'];
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

function authority(directory: string, name: string): Pair {
  const { cert, key } = pair(directory, `${name}-ca`);
  const subject = ['-subj', `/CN=${name}`];
  openssl('req', '-x509', ...NEW_KEY, '-keyout', key, '-out', cert, ...DAYS, ...subject);
  return { cert, key };
}

function signed(directory: string, name: string, by: Pair, extension: string): Pair {
  const { cert, key } = pair(directory, name);
  const [request, extensions] = [join(directory, `${name}.csr`), join(directory, `${name}.ext`)];
  writeFileSync(extensions, `${extension}\n`);
  openssl('req', ...NEW_KEY, '-keyout', key, '-out', request, '-subj', `/O=${name}`);
  const signer = ['-CA', by.cert, '-CAkey', by.key, '-CAcreateserial'];
  openssl('x509', '-req', '-in', request, ...signer, ...DAYS, '-out', cert, '-extfile', extensions);
  return { cert, key };
}

const pair = (directory: string, name: string): Pair => ({
  cert: join(directory, `${name}.pem`),
  key: join(directory, `${name}.key`),
});

function openssl(...args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
