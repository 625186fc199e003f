/**
 * Decodes the answers of a server. Nothing is taken on trust: the other side may be another server, another version or
 * a proxy, and the decoded values decide the leader. The gateway leaves out a field that is zero or empty, so missing
 * is zero; every other irregularity is refused with the place, as `kvs[3].mod_revision`.
 */

import { MalformedMessageError } from '../../runtime/errors.ts';
import type {
  EtcdKeyValue,
  EtcdMemberHealth,
  EtcdOperation,
  EtcdRangeResult,
  EtcdTransaction,
  EtcdTransactionResult,
} from '../client.ts';

/** Fields of a JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** @throws {MalformedMessageError} if the text is not a JSON object */
export function objectOf(text: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new MalformedMessageError('the answer', 'must be JSON', { cause });
  }
  return fields(value, 'the answer');
}

/** The cluster of the answer. Every answer says so, but those of leases in some versions. */
export function clusterOf(answer: Fields): string | undefined {
  const header = optionalFields(answer['header'], 'header');
  return header['cluster_id'] === undefined ? undefined : identity(header['cluster_id'], 'header.cluster_id');
}

export function readToken(answer: Fields): string {
  const { token } = answer;
  // The token becomes a header, and must fit one.
  if (typeof token === 'string' && /^[\x21-\x7e]{1,8192}$/.test(token)) return token;
  throw new MalformedMessageError('token', 'must be a text without blanks');
}

export function readGrant(answer: Fields): { lease: string; ttlSeconds: number } {
  const lease = identity(answer['ID'], 'ID');
  const ttlSeconds = count(answer['TTL'], 'TTL');
  if (lease === '0') throw new MalformedMessageError('ID', 'must not be 0');
  if (ttlSeconds === 0) throw new MalformedMessageError('TTL', 'must not be 0');
  return { lease, ttlSeconds };
}

export const readKeepAlive = (answer: Fields): { ttlSeconds: number } => ({
  ttlSeconds: count(answer['TTL'], 'TTL'),
});

/** Checks that this is an answer at all. */
export function readRevoke(answer: Fields): undefined {
  fields(answer['header'], 'header');
}

export function readRange(answer: Fields): EtcdRangeResult {
  return {
    revision: revisionOf(answer),
    keyValues: keyValues(answer['kvs'], 'kvs'),
    more: yesOrNo(answer['more'], 'more'),
  };
}

export function readTransaction(
  { success, failure }: EtcdTransaction,
  answer: Fields,
): EtcdTransactionResult {
  const succeeded = yesOrNo(answer['succeeded'], 'succeeded');
  const operations = succeeded ? success : failure;
  const responses = list(answer['responses'], 'responses');
  if (responses.length !== operations.length) {
    throw new MalformedMessageError('responses', `must be ${operations.length}, not ${responses.length}`);
  }
  const found = operations.flatMap((operation, index) => {
    const response = fields(responses[index], `responses[${index}]`);
    const path = `responses[${index}].${RESPONSES[operation.do]}`;
    const given = fields(response[RESPONSES[operation.do]], path);
    return operation.do === 'get' ? [keyValues(given['kvs'], `${path}.kvs`)[0]] : [];
  });
  return { succeeded, revision: revisionOf(answer), found };
}

const RESPONSES: Readonly<Record<EtcdOperation['do'], string>> = {
  put: 'response_put',
  delete: 'response_delete_range',
  get: 'response_range',
};

export interface WatchEvent {
  readonly key: string;
  /** Undefined if deleted. */
  readonly value: Uint8Array | undefined;
  readonly revision: number;
}

export interface WatchAnswer {
  readonly isCreated: boolean;
  readonly isCanceled: boolean;
  readonly isCompacted: boolean;
  readonly why: string;
  readonly events: readonly WatchEvent[];
  /** Another answer follows that goes on where this one ends. */
  readonly isFragment: boolean;
}

export function readWatch(answer: Fields): WatchAnswer {
  return {
    isCreated: yesOrNo(answer['created'], 'created'),
    isCanceled: yesOrNo(answer['canceled'], 'canceled'),
    isCompacted: count(answer['compact_revision'], 'compact_revision') > 0,
    why: optionalText(answer['cancel_reason'], 'cancel_reason'),
    events: list(answer['events'], 'events').map((event, index) => watchEvent(event, `events[${index}]`)),
    isFragment: yesOrNo(answer['fragment'], 'fragment'),
  };
}

function watchEvent(value: unknown, path: string): WatchEvent {
  const event = fields(value, path);
  const { key, value: bytes, modRevision } = keyValue(event['kv'], `${path}.kv`);
  const type = event['type'] ?? 'PUT';
  if (type !== 'PUT' && type !== 'DELETE') throw new MalformedMessageError(`${path}.type`, 'is unknown');
  if (modRevision === 0) throw new MalformedMessageError(`${path}.kv.mod_revision`, 'must not be 0');
  return { key, value: type === 'PUT' ? bytes : undefined, revision: modRevision };
}

export function readStatus(endpoint: string, answer: Fields): EtcdMemberHealth {
  const header = fields(answer['header'], 'header');
  const leader = identity(answer['leader'], 'leader');
  const errors = list(answer['errors'], 'errors').map((each) => optionalText(each, 'errors').trim());
  const complaints = leader === '0' && errors.length === 0 ? ['it knows no leader'] : errors;
  return {
    endpoint,
    reachable: true,
    complaint: complaints.length === 0 ? undefined : complaints.join('; '),
    isFull: errors.some((each) => /\balarm:NOSPACE\b/.test(each)),
    version: optionalText(answer['version'], 'version'),
    databaseBytes: count(answer['dbSize'], 'dbSize'),
    isLeader: leader !== '0' && leader === identity(header['member_id'], 'header.member_id'),
  };
}

const revisionOf = (answer: Fields): number => {
  const revision = count(fields(answer['header'], 'header')['revision'], 'header.revision');
  if (revision === 0) throw new MalformedMessageError('header.revision', 'must not be 0');
  return revision;
};

const keyValues = (value: unknown, path: string): readonly EtcdKeyValue[] =>
  list(value, path).map((each, index) => keyValue(each, `${path}[${index}]`));

function keyValue(value: unknown, path: string): EtcdKeyValue {
  const of = fields(value, path);
  return {
    key: bytesOf(of['key'], `${path}.key`).toString(),
    value: bytesOf(of['value'], `${path}.value`),
    createRevision: count(of['create_revision'], `${path}.create_revision`),
    modRevision: count(of['mod_revision'], `${path}.mod_revision`),
    lease: identity(of['lease'], `${path}.lease`),
  };
}

export function fields(value: unknown, path: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new MalformedMessageError(path, 'must be an object');
}

const optionalFields = (value: unknown, path: string): Fields =>
  value === undefined || value === null ? {} : fields(value, path);

function list(value: unknown, path: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw new MalformedMessageError(path, 'must be a list');
}

function yesOrNo(value: unknown, path: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === 'boolean') return value;
  throw new MalformedMessageError(path, 'must be true or false');
}

function optionalText(value: unknown, path: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  throw new MalformedMessageError(path, 'must be a text');
}

/** A revision, a size, a duration: fits a number, or is nonsense. */
function count(value: unknown, path: string): number {
  if (value === undefined || value === null) return 0;
  const isDigits = typeof value === 'string' && /^\d{1,16}$/.test(value);
  const number = isDigits || typeof value === 'number' ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new MalformedMessageError(path, 'must be a whole number');
}

/** All 64 bits, for which no number has room. */
function identity(value: unknown, path: string): string {
  if (value === undefined || value === null) return '0';
  if (typeof value === 'string' && /^-?\d{1,20}$/.test(value)) return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  throw new MalformedMessageError(path, 'must be a whole number');
}

/** Node skips characters that are not base64; the length shows that. */
function bytesOf(value: unknown, path: string): Buffer {
  if (value === undefined || value === null) return Buffer.alloc(0);
  if (typeof value !== 'string') throw new MalformedMessageError(path, 'must be a text');
  const bytes = Buffer.from(value, 'base64');
  const padding = value.endsWith('==') ? 2 : value.endsWith('=') ? 1 : 0;
  if (value.length % 4 === 0 && bytes.length === (value.length / 4) * 3 - padding) return bytes;
  throw new MalformedMessageError(path, 'must be base64');
}
