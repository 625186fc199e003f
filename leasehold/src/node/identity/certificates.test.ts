/**
 * OpenSSL's own verdict, strict and for each purpose, and the form of tokens of version 1 to the byte.
 */

import { execFile } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  grantBody,
  grantCertificate,
  type GrantFields,
  processCertificate,
  rootCertificate,
} from './certificates.ts';
import { readGrants } from './grants.ts';
import { isSignedBy, newKeyPair, signRaw } from './keys.ts';
import { identityOf } from './peer-identity.ts';
import { makeToken, readToken, type Token } from './token.ts';

const home = mkdtempSync(join(tmpdir(), 'leasehold-identity-'));
afterAll(() => rmSync(home, { recursive: true }));
let files = 0;
function file(text: string): string {
  files += 1;
  const path = join(home, `${files}.pem`);
  writeFileSync(path, text);
  return path;
}

const split = (chain: string): string[] =>
  chain.match(/-----BEGIN[\s\S]*?-----END CERTIFICATE-----\n/g) ?? [];

/** `OK`, or why OpenSSL refuses the chain. */
function verdict(anchor: string, [leaf = '', ...between]: string[], ...options: string[]): Promise<string> {
  const chain = between.length > 0 ? ['-untrusted', file(between.join(''))] : [];
  const words = ['verify', '-x509_strict', ...options, '-CAfile', file(anchor), ...chain, file(leaf)];
  return new Promise((resolve) => {
    execFile('openssl', words, (_, out, err) => {
      resolve(out.endsWith(': OK\n') ? 'OK' : (/lookup: (.*)/.exec(err)?.[1] ?? `${out}${err}`));
    });
  });
}

const root = newKeyPair();
const make = (grants: string, hosts: readonly string[] = [], endS?: number): Token =>
  readToken(makeToken({ cluster: 'blue', root, grants: readGrants(grants), hosts, endS }));
const ofServer = ['-purpose', 'sslserver'];
const ofClient = ['-purpose', 'sslclient'];

describe('the certificate of a process', () => {
  it.each(['everything', 'server:quorum/default/a', 'owner:pool/presence/web-*'])(
    'is good for both ends of a connection with the grant %s',
    async (grants) => {
      const token = make(grants, ['m1.corp', '10.0.0.1', '::1', 'fe80::a:0:1']);
      const chain = split(token.vouch().cert);
      for (const anchor of [token.anchor, rootCertificate('blue', root)]) {
        expect(await verdict(anchor, chain, ...ofServer)).toBe('OK');
        expect(await verdict(anchor, chain, ...ofClient)).toBe('OK');
      }
    },
  );

  it.each(['client:pool', 'viewer', 'operator'])(
    'is good for diallers alone with the grant %s',
    async (grants) => {
      const token = make(grants);
      const chain = split(token.vouch().cert);
      expect(await verdict(token.anchor, chain, ...ofClient)).toBe('OK');
      expect(await verdict(token.anchor, chain, ...ofServer)).toBe('unsuitable certificate purpose');
    },
  );

  it('ends with its token', async () => {
    const token = make('everything', [], 1_900_000_000);
    const chain = split(token.vouch().cert);
    expect(await verdict(token.anchor, chain, '-attime', '1899999999')).toBe('OK');
    expect(await verdict(token.anchor, chain, '-attime', '1900000001')).toBe('certificate has expired');
  });

  it('is good for the hosts of the token, for clients that compare host names', async () => {
    const token = make('everything', ['m1.corp', '10.0.0.1']);
    const chain = split(token.vouch().cert);
    expect(await verdict(token.anchor, chain, '-verify_hostname', 'm1.corp')).toBe('OK');
    expect(await verdict(token.anchor, chain, '-verify_ip', '10.0.0.1')).toBe('OK');
    expect(await verdict(token.anchor, chain, '-verify_hostname', 'm2.corp')).toBe('hostname mismatch');
  });

  it('is refused below the root of another cluster', async () => {
    const other = readToken(
      makeToken({
        cluster: 'blue',
        root: newKeyPair(),
        grants: readGrants('everything'),
        hosts: [],
        endS: undefined,
      }),
    );
    expect(await verdict(other.anchor, split(make('everything').vouch().cert))).not.toBe('OK');
  });

  it('names the grant as its issuer, and nothing of itself', () => {
    const token = make('owner:pool/presence/WEB-*', [], 2_000_000_000);
    const [leaf = ''] = split(token.vouch().cert);
    const { issuer, subject } = new X509Certificate(leaf);
    expect(subject).toBe('O=leasehold process');
    expect(identityOf(issuer, 'blue')).toEqual({
      id: token.id,
      cluster: 'blue',
      grants: readGrants('owner:pool/presence/WEB-*'),
      endS: 2_000_000_000,
    });
    expect(identityOf(issuer, 'green')).toBeUndefined();
  });
});

describe('the holder of a token', () => {
  const grant = newKeyPair();
  const fields: GrantFields = {
    ...{
      cluster: 'blue',
      rootPoint: root.point,
      point: grant.point,
      id: Buffer.alloc(8, 7),
      endS: 2_000_000_000,
    },
    grants: 'client:pool/presence',
    hosts: ['a.corp'],
    listens: false,
  };
  const anchor = rootCertificate('blue', root);
  /** Signs the true grant's bytes as the root does. */
  async function trueGrant(): Promise<string> {
    return grantCertificate(fields, signRaw(grantBody(fields), root.privateKey));
  }

  it('cannot sign another authority below its grant', async () => {
    const below = newKeyPair();
    const wider: GrantFields = { ...fields, rootPoint: grant.point, point: below.point, grants: 'server:*' };
    const authority = grantCertificate(wider, signRaw(grantBody(wider), grant.privateKey));
    const leaf = processCertificate(wider, below, newKeyPair());
    expect(await verdict(anchor, [leaf, authority, await trueGrant()])).not.toBe('OK');
  });

  it('cannot claim a wider issuer than the root signed', async () => {
    for (const change of [{ grants: 'server:*' }, { endS: 0 }, { cluster: 'green' }]) {
      const leaf = processCertificate({ ...fields, ...change }, grant, newKeyPair());
      expect(await verdict(anchor, [leaf, await trueGrant()])).not.toBe('OK');
    }
  });

  it('cannot carry a host name that its grant does not have', async () => {
    const own = processCertificate(fields, grant, newKeyPair());
    expect(await verdict(anchor, [own, await trueGrant()], ...ofClient)).toBe('OK');
    for (const hosts of [['b.corp'], ['10.0.0.1'], ['::1']]) {
      const leaf = processCertificate({ ...fields, hosts }, grant, newKeyPair());
      expect(await verdict(anchor, [leaf, await trueGrant()], ...ofClient)).toMatch('subtree violation');
    }
  });

  it('cannot widen the grant itself', async () => {
    const wider: GrantFields = { ...fields, grants: 'server:*', listens: true };
    const falseGrant = grantCertificate(wider, signRaw(grantBody(wider), grant.privateKey));
    const leaf = processCertificate(wider, grant, newKeyPair());
    expect(await verdict(anchor, [leaf, falseGrant])).not.toBe('OK');
  });

  it('writes an issuer in capitals that OpenSSL takes for the same, and is refused by us', async () => {
    const webs: GrantFields = { ...fields, grants: 'owner:pool/presence/web-*', listens: true };
    const honest = grantCertificate(webs, signRaw(grantBody(webs), root.privateKey));
    const leaf = processCertificate({ ...webs, grants: 'owner:pool/presence/WEB-*' }, grant, newKeyPair());
    expect(await verdict(anchor, [leaf, honest])).toBe('OK');
    expect(identityOf(new X509Certificate(leaf).issuer, 'blue')).toBeUndefined();
  });
});

describe('the name of an issuer', () => {
  const good = 'O=blue\nserialNumber=0011223344556677.0\nCN=leasehold-grant:reader:pool';
  it('is read in its one form', () => {
    expect(identityOf(good, 'blue')?.id).toBe('0011223344556677');
  });

  it.each([
    ['a part more', `${good}\nCN=leasehold-grant:server:*`],
    ['a part before', `OU=x\n${good}`],
    ['an empty line after', `${good}\n`],
    ['parts in another order', 'serialNumber=0011223344556677.0\nO=blue\nCN=leasehold-grant:reader:pool'],
    ['parts of several values', good.replace('\nserial', ' + serial')],
    ['capitals in the id', good.replace('0011', 'AA11')],
    ['a space', good.replace(':reader', ': reader')],
    ['an end with leading zeros', good.replace('.0\n', '.00\n')],
    ['an end of nine digits', good.replace('.0\n', '.123456789\n')],
    ['the name of a root', 'O=blue\nCN=leasehold root 0011223344556677'],
    ['no grants', good.replace('reader:pool', '')],
  ])('is no identity with %s', (_, issuer) => {
    expect(identityOf(issuer, 'blue')).toBeUndefined();
  });
});

/** Made once for this test, with a root that was thrown away. Each later version must open it, and build the same bytes. */
const OF_VERSION_1 =
  'lh1.AQPjr4x0gqwibs2-RmKAGG-mGGmGpEZz6kYSK_zE0xkQAlIudvAU1DXEygM-MHTPOaLLJEgQDTLs5ejA71kmeJiHVWjWp7qe_I7I0-c4kt037ehdE84bOaijuvJQsnxK4K88k8YiyVmXZbkxDrZK_Fpce6vZM3vUth7ZJHRnfMlOgcvRHmFzuRik7msoAGJsdWUKb3duZXI6cG9vbC9wcmVzZW5jZS93ZWItKnxzZXJ2ZXI6cXVvcnVtLyVjMyU4NAptMS5jb3JwLDEwLjAuMC4xLDo6MXUiVfo';
const FROZEN = {
  id: 'cbd11e6173b918a4',
  anchor: 'fa1f7a6c027169826ee52493cfb4365bc549b7c695371284cef638ece0b08046',
  grant: '24004a025941498099023dc17b17b3d4252d7ced5fd4aff371d0441a7df44712',
};

describe('a token of version 1', () => {
  it('opens, and its anchor and grant are built again to the byte', async () => {
    const token = readToken(OF_VERSION_1);
    const chain = split(token.vouch().cert);
    const digest = (pem: string): string =>
      createHash('sha256').update(new X509Certificate(pem).raw).digest('hex');
    expect({ id: token.id, anchor: digest(token.anchor), grant: digest(chain[1] ?? '') }).toEqual(FROZEN);
    expect(await verdict(token.anchor, chain, ...ofServer)).toBe('OK');
  });
});

describe('a signature', () => {
  it('fits its own bytes and key alone', () => {
    const bytes = Buffer.from('bytes');
    const signature = signRaw(bytes, root.privateKey);
    expect(isSignedBy(bytes, signature, root.point)).toBe(true);
    expect(isSignedBy(Buffer.from('other'), signature, root.point)).toBe(false);
    expect(isSignedBy(bytes, signature, newKeyPair().point)).toBe(false);
  });
});
