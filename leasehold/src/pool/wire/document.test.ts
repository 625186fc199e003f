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
import { decodeFromSource, encodeFromSource, type FromSource, transferForms } from './transfer.ts';

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

const NONCE = '00112233445566778899aabbccddeeff';
const TRANSFERS: Readonly<Record<string, FromSource>> = {
  transferHello: { kind: 'hello', ticket: 'c4.2.1', from: 'a.1', to: 'b.1', nonce: NONCE, attempt: 1 },
  transferNames: { kind: 'names', sequence: 1, names: [{ name: 'rooms', version: 2 }] },
  transferChunk: {
    kind: 'chunk',
    sequence: 2,
    place: 0,
    items: ['{}', '[1]'].map((item) => Buffer.from(item)),
  },
  transferLast: { kind: 'last', sequence: 3, digest: { items: 2, bytes: 5, checksum: 0xdeadbeef } },
};

describe('the document of the protocol', () => {
  it('prints a message of every kind, and nothing that is not looked at here', () => {
    const messages = [...Object.keys(TO_MANAGER), ...Object.keys(FROM_MANAGER)];
    const others = ['hello', 'issuer', 'varints', ...Object.keys(TRANSFERS)];
    expect([...BLOCKS.keys()].sort()).toEqual([...messages, ...others].sort());
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

  it.each(Object.entries(TRANSFERS))(
    'prints %s as it is written and read between owners',
    (name, message) => {
      expect(hexOf(encodeFromSource(message))).toBe(hexOf(block(name)));
      expect(encodeFromSource(decodeFromSource(block(name)))).toEqual(encodeFromSource(message));
    },
  );

  it('has every kind of message between owners, in the order of their numbers', () => {
    const rows = [...DOCUMENT.matchAll(/^\| (\w+) \| `0(\d)` \| /gm)].map(([, kind, place]) => [
      kind,
      Number(place),
    ]);
    const kinds = (samples: readonly { readonly kind: string }[]): readonly (readonly [string, number])[] =>
      [...new Set(samples.map(({ kind }) => kind))].map((kind, place) => [kind, place]);
    const { fromSource, fromTarget } = transferForms;
    expect(rows).toEqual([...kinds(fromSource.samples()), ...kinds(fromTarget.samples())]);
  });

  it('has every code with which a target refuses', () => {
    const stages = readFileSync(new URL('../shell/moves/stages.ts', import.meta.url), 'utf8');
    const codes = new Set([...stages.matchAll(/'([A-Z]+_?[A-Z]*)',\s/g)].map(([, code = '']) => code));
    expect(codes.size).toBeGreaterThan(10);
    for (const code of codes) expect(DOCUMENT, code).toContain(`\`${code}\``);
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
