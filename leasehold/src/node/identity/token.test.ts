import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readGrants } from './grants.ts';
import { newKeyPair } from './keys.ts';
import { makeToken, readToken } from './token.ts';

const root = newKeyPair();
const FULL = {
  cluster: 'blue',
  root,
  grants: readGrants('owner:pool/presence/web-*|reader:*'),
  hosts: ['m1.corp', '10.0.0.1', '::1'],
  endS: 2_000_000_000,
};
const token = makeToken(FULL);

/** The token with one byte of its content changed and the checksum made anew. */
function forged(at: number): string {
  const content = Buffer.from(token.slice(4), 'base64url').subarray(0, -4);
  content[at] = (content[at] as number) ^ 1;
  const checksum = createHash('sha256').update(content).digest().subarray(0, 4);
  return `lh1.${Buffer.concat([content, checksum]).toString('base64url')}`;
}

describe('a token', () => {
  it('says the cluster, the grants, the hosts and the end that it was made with', () => {
    const { cluster, grantsText, hosts, endS, id, rootId } = readToken(token);
    expect({ cluster, grantsText, hosts, endS }).toEqual({
      cluster: 'blue',
      grantsText: 'owner:pool/presence/web-*|reader:*',
      hosts: ['m1.corp', '10.0.0.1', '::1'],
      endS: 2_000_000_000,
    });
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect(rootId).toMatch(/^[0-9a-f]{16}$/);
  });

  it('is one line of some 250 characters', () => {
    const plain = makeToken({ ...FULL, grants: readGrants('everything'), hosts: [], endS: undefined });
    expect(plain).toMatch(/^lh1\.[A-Za-z0-9_-]{200,260}$/);
    expect(readToken(plain).endS).toBeUndefined();
  });

  it('may be copied with line breaks and white space around it', () => {
    expect(readToken(` ${token.slice(0, 80)}\r\n${token.slice(80)}\n`).id).toBe(readToken(token).id);
  });

  it.each([
    ['cut short', token.slice(0, -1)],
    ['cut at its beginning', token.slice(1)],
    ['with a space within', `${token.slice(0, 80)} ${token.slice(80)}`],
    ['of another version', token.replace('lh1.', 'lh2.')],
    ['with a changed character', token.slice(0, 50) + (token[50] === 'A' ? 'B' : 'A') + token.slice(51)],
    ['that is empty', ''],
    ['of rubbish', `lh1.${'A'.repeat(250)}`],
    ['of 20,000 characters', `lh1.${'A'.repeat(20_000)}`],
  ])('is refused %s, without a word of what it says', (_, text) => {
    let seen: unknown;
    try {
      readToken(text);
    } catch (error) {
      seen = error;
    }
    expect((seen as Error).cause).toBeUndefined();
    expect(seen).toMatchObject({
      code: 'TOKEN_MALFORMED',
      retryable: false,
      message: 'the token is not whole: copy it again, from lh1. to its end',
    });
  });

  it('is refused when any field was changed after the root signed it, with a fitting checksum too', () => {
    const { length } = Buffer.from(token.slice(4), 'base64url').subarray(0, -4);
    for (let at = 0; at < length; at++) {
      const text = forged(at);
      expect(() => readToken(text), `byte ${at}`).toThrow('the token is not whole');
    }
  });
});
