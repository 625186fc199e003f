import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readGrants } from '../../leasehold/src/node/identity/grants.ts';
import { newKeyPair } from '../../leasehold/src/node/identity/keys.ts';
import { makeToken, readToken } from '../../leasehold/src/node/identity/token.ts';
import { Secrets } from './secrets.ts';

describe('a secret in what a process prints', () => {
  const made = {
    cluster: 'blue',
    root: newKeyPair(),
    hosts: [],
    endS: undefined,
    grants: readGrants('everything'),
  };
  const [token, other] = [makeToken(made), makeToken(made)];
  const bytesOf = (text: string): Buffer => Buffer.from(text.slice(4), 'base64url');
  const secrets = new Secrets();
  secrets.add(token);

  it('is found as the token, as a part of it, and as bytes', () => {
    const key = bytesOf(token).subarray(34, 66);
    for (const text of [
      token,
      token.slice(4, 120),
      bytesOf(token).subarray(0, 70).toString('base64url'),
      inspect(key),
      JSON.stringify(key),
      key.toString('hex'),
      JSON.stringify({ key: key.toString('base64') }),
    ])
      expect(secrets.areIn(`before ${text} after`), text).toBe(true);
  });

  it('is not found where an id, grants, or another token of the same root is printed', () => {
    const { id, rootId, grantsText, anchor } = readToken(token);
    for (const text of [id, rootId, grantsText, anchor, other]) expect(secrets.areIn(text), text).toBe(false);
  });

  it('is found as a private key in PEM', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
    const mine = new Secrets();
    mine.add(pem);
    expect(mine.areIn(pem.replaceAll('\n', '\\n'))).toBe(true);
    expect(mine.areIn(createPrivateKey(pem).export({ format: 'jwk' }).x ?? '')).toBe(false);
  });
});
