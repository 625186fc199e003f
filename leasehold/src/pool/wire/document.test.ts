/**
 * The examples of `docs/protocol.md` are the real wire format: bytes in the blocks, keys in the tables.
 */

import { Buffer } from 'node:buffer';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { unpack } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { processCertificate } from '../../node/identity/certificates.ts';
import { newKeyPair } from '../../node/identity/keys.ts';
import { identityOf } from '../../node/identity/peer-identity.ts';
import { keyHash } from '../../runtime/keys/hash.ts';
import { formatHash } from '../../runtime/keys/position.ts';
import type { FromManager, ToGate } from '../core/messages.ts';
import { ByteReader } from '../../runtime/msgpack/bytes.ts';
import { clientCodec, managerCodec, POOL_PROTOCOL } from './codec.ts';
import { encodeMessage, fromManager, toManager } from './messages.ts';
import { KEYS } from './keys.ts';
import {
  LONGEST_NAME,
  LONGEST_SECRET,
  LONGEST_SENTENCE,
  LONGEST_URL,
  MOST_ROWS,
  MOST_SPANS,
} from './rules.ts';
import { FROM_MANAGER, TO_MANAGER } from './samples.ts';

const DOCUMENT = readFileSync(new URL('../../../../docs/protocol.md', import.meta.url), 'utf8');

/** Blocks of bytes, by their names; the text behind a semicolon is for people. */
const BLOCKS: ReadonlyMap<string, Uint8Array> = new Map(
  [...DOCUMENT.matchAll(/^```hex (\w+)\n(.*?)^```$/gms)].map(([, name = '', lines = '']) => {
    const hex = lines.replaceAll(/;.*$/gm, '').replaceAll(/\s/g, '');
    return [name, Buffer.from(hex, 'hex')];
  }),
);
const block = (name: string): Uint8Array => BLOCKS.get(name) ?? Buffer.of();

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('the document of the protocol', () => {
  it('prints a message of every kind, and nothing that is not looked at here', () => {
    const messages = [...Object.keys(TO_MANAGER), ...Object.keys(FROM_MANAGER)];
    expect([...BLOCKS.keys()].sort()).toEqual([...messages, 'hello', 'issuer', 'varints'].sort());
    const declared = [...toManager.samples(), ...fromManager.samples()].map(({ kind }) => kind);
    expect(messages.filter((name) => name !== 'snapshot').sort()).toEqual([...new Set(declared)].sort());
  });

  it.each<[string, ToGate | FromManager]>([...Object.entries(TO_MANAGER), ...Object.entries(FROM_MANAGER)])(
    'prints %s as it is written and read',
    (name, message) => {
      const { decode } = name in TO_MANAGER ? managerCodec : clientCodec;
      expect(hexOf(encodeMessage(message))).toBe(hexOf(block(name)));
      expect(decode(block(name))).toStrictEqual(message);
    },
  );

  it('prints the issuer of a Manager with a token, byte by byte', () => {
    const [root, grant] = [newKeyPair(), newKeyPair()];
    const fields = {
      ...{ cluster: 'blue', rootPoint: root.point, point: grant.point, endS: 0, hosts: [], listens: true },
      ...{ id: Buffer.from('0123456789abcdef', 'hex'), grants: 'server:pool/presence' },
    };
    const { raw, issuer } = new X509Certificate(processCertificate(fields, grant, newKeyPair()));
    expect(raw.includes(Buffer.from(block('issuer')))).toBe(true);
    expect(identityOf(issuer, 'blue')).toMatchObject({ id: '0123456789abcdef', endS: undefined });
  });

  it('prints the words of the handshake', () => {
    const { name, version, oldest } = POOL_PROTOCOL;
    expect(unpack(block('hello'))).toEqual({ protocol: name, version, oldest, role: 'lookup' });
  });

  it('prints varints', () => {
    const reader = new ByteReader(block('varints'));
    const values = Array.from({ length: 5 }, () => reader.varint());
    expect(values).toEqual([0, 127, 128, 300, 2 ** 53 - 1]);
    expect(reader.left).toBe(0);
  });

  it('says where keys are', () => {
    const keys = [...DOCUMENT.matchAll(/^\| `(.+)` \| `([0-9a-f]{16})` \|$/gm)];
    expect(keys.length).toBeGreaterThan(10);
    for (const [, key = '', position] of keys) expect(formatHash(keyHash(key)), key).toBe(position);
    expect(keyHash('')).toBe(0n);
  });

  it('has every field under its key', () => {
    const fields = [...DOCUMENT.matchAll(/^\| `(\w+)` \| (\w+) \| /gm)].map(([, key, field]) => [field, key]);
    for (const [field, key] of Object.entries(KEYS)) expect(fields).toContainEqual([field, key]);
  });

  it('has the limits', () => {
    const number = (value: number): string => value.toLocaleString('en');
    expect(DOCUMENT).toContain(`1 to ${number(LONGEST_NAME)} characters`);
    expect(DOCUMENT).toContain(`1 to ${number(LONGEST_URL)} characters`);
    expect(DOCUMENT).toContain(`1 to ${number(LONGEST_SECRET)} characters`);
    expect(DOCUMENT).toContain(`1 to ${number(LONGEST_SENTENCE)} characters`);
    expect(DOCUMENT).toContain(`At most ${number(MOST_SPANS)} items`);
    expect(DOCUMENT).toContain(`${number(MOST_ROWS)} rows and owners`);
  });
});
