/**
 * How two sides find out that they speak the same language. Each says one thing, in the first frame,
 * as a msgpack map:
 *
 *     client   { protocol, version, oldest, role, introduction }
 *     server   { protocol, version, greeting, channel }  the highest version that both speak
 *          or  { protocol, error: { code, message } }     and hangs up
 *
 * Keys that are not known are passed over, so that a later version may say more. Everything else that is
 * wrong is an error with a sentence in it, on both sides: a user of an old client should read about
 * it there, and not look for it in the log of the server.
 */

import type { LeaseholdError } from '../../runtime/errors.ts';
import { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { printable, printableJson } from '../../runtime/printable.ts';
import { Flaw } from '../../runtime/msgpack/flaw.ts';
import { MapWriter, readMap, type ValueMap, writeNumber, writeText } from '../../runtime/msgpack/msgpack.ts';
import { HandshakeError, HandshakeRefusedError, VersionMismatchError, WrongProtocolError } from './errors.ts';

/** A protocol, and the versions of it that are spoken here: from `oldest` to `version`. */
export interface ProtocolId {
  readonly name: string;
  readonly version: number;
  readonly oldest: number;
}

export interface Hello {
  readonly protocol: string;
  readonly version: number;
  readonly oldest: number;
  /** The role of the client towards the server; the role decides which messages each may send. */
  readonly role: string;
  /** More about the client, as the protocol wants it; empty for most. */
  readonly introduction: Texts;
}

export type Texts = Readonly<Record<string, string>>;

export interface Welcome {
  readonly version: number;
  /** Names this connection and no other: a signature over it is worth nothing elsewhere. */
  readonly channel: string;
  readonly greeting: Texts;
}

const STRING_CHARACTERS_MAX = 1_024;

export function encodeHello(protocol: ProtocolId, role: string, introduction: Texts = {}): Uint8Array {
  const { name, version, oldest } = protocol;
  const hello = { protocol: name, version, oldest, role };
  return written(Object.keys(introduction).length === 0 ? hello : { ...hello, introduction });
}

/** @throws {HandshakeError} and nothing else */
export function decodeHello(frame: Uint8Array): Hello {
  const fields = decodeMap(frame);
  const hello = {
    protocol: stringIn(fields, 'protocol'),
    version: wholeIn(fields, 'version'),
    oldest: wholeIn(fields, 'oldest'),
    role: stringIn(fields, 'role'),
    introduction: fields.has('introduction') ? textsIn(fields, 'introduction') : {},
  };
  if (hello.oldest > hello.version) throw new HandshakeError('oldest is above version');
  return hello;
}

/**
 * The version to speak with this client.
 *
 * @throws {WrongProtocolError} if it wants another protocol
 * @throws {VersionMismatchError} if there is no version that both speak
 */
export function agreeOn(ours: ProtocolId, hello: Hello): number {
  if (hello.protocol !== ours.name) throw new WrongProtocolError(quoted(hello.protocol), ours.name);
  const version = Math.min(ours.version, hello.version);
  if (version >= ours.oldest && version >= hello.oldest) return version;
  const older = hello.version < ours.oldest ? 'client' : 'server';
  throw new VersionMismatchError(
    `this server speaks ${ours.name} ${versions(ours)}, the client ${versions(hello)}; upgrade the ${older}`,
  );
}

export function encodeWelcome(protocol: ProtocolId, welcome: Welcome): Uint8Array {
  const { version, greeting, channel } = welcome;
  return written({ protocol: protocol.name, version, greeting, channel });
}

export function encodeRefusal(protocol: ProtocolId, error: LeaseholdError): Uint8Array {
  return written({ protocol: protocol.name, error: { code: error.code, message: error.message } });
}

/**
 * @throws {HandshakeError} if it is no answer
 * @throws {WrongProtocolError} if the server speaks another protocol
 * @throws {VersionMismatchError} or {@link HandshakeRefusedError} if it refused us
 */
export function decodeWelcome(ours: ProtocolId, frame: Uint8Array): Welcome {
  const fields = decodeMap(frame);
  const protocol = stringIn(fields, 'protocol');
  if (protocol !== ours.name) throw new WrongProtocolError(quoted(protocol), ours.name);
  const error = fields.get('error');
  if (error !== undefined) throw refusalIn(error);
  const version = wholeIn(fields, 'version');
  if (version < ours.oldest || version > ours.version) {
    throw new VersionMismatchError(
      `the server chose version ${version} of ${ours.name}, but ${versions(ours)} are spoken here`,
    );
  }
  // Not every protocol has anything to sign, and a server from before says nothing.
  const channel = fields.has('channel') ? stringIn(fields, 'channel') : '';
  return { version, greeting: textsIn(fields, 'greeting'), channel };
}

function refusalIn(error: unknown): LeaseholdError {
  if (!(error instanceof Map)) return new HandshakeError('error is not a map');
  const [code, message] = [stringIn(error, 'code'), stringIn(error, 'message')];
  if (code === 'VERSION_MISMATCH') return new VersionMismatchError(printable(message));
  return new HandshakeRefusedError(printable(code), printable(message));
}

function textsIn(fields: ValueMap, name: string): Texts {
  const value = fields.get(name);
  if (!(value instanceof Map)) throw new HandshakeError(`${name} is not a map`);
  return Object.fromEntries([...value.keys()].map((key: string) => [key, stringIn(value, key)]));
}

function decodeMap(frame: Uint8Array): ValueMap {
  try {
    const reader = new ByteReader(frame);
    const map = readMap(reader);
    reader.finish();
    return map;
  } catch (flaw) {
    if (!(flaw instanceof Flaw)) throw flaw;
    throw new HandshakeError(`${flaw.path === '' ? 'it' : flaw.path} ${flaw.rule}`);
  }
}

type Written = { readonly [key: string]: string | number | Written };

function written(fields: Written): Uint8Array {
  const writer = new ByteWriter();
  writeMap(writer, fields);
  return writer.take();
}

function writeMap(writer: ByteWriter, fields: Written): void {
  const map = new MapWriter(writer);
  for (const [key, value] of Object.entries(fields)) {
    map.key(key);
    if (typeof value === 'string') writeText(writer, value);
    else if (typeof value === 'number') writeNumber(writer, value);
    else writeMap(writer, value);
  }
}

function stringIn(fields: ReadonlyMap<string, unknown>, name: string): string {
  const value = fields.get(name);
  if (typeof value !== 'string' || value.length > STRING_CHARACTERS_MAX) {
    throw new HandshakeError(
      `${printable(name)} is not a string of at most ${STRING_CHARACTERS_MAX} characters`,
    );
  }
  return value;
}

function wholeIn(fields: ReadonlyMap<string, unknown>, name: string): number {
  const value = fields.get(name);
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new HandshakeError(`${name} is not a whole number from 0`);
  }
  return value;
}

const versions = ({ version, oldest }: { readonly version: number; readonly oldest: number }): string =>
  oldest === version ? `version ${version}` : `versions ${oldest} to ${version}`;

const quoted = (text: string): string => printableJson(text.slice(0, 64));
