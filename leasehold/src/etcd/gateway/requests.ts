/**
 * What is asked of etcd, as its HTTP/JSON gateway reads it: keys and values in base64, 64-bit numbers as
 * strings of digits, fields by their names in the protocol.
 */

import { unreachable } from '../../runtime/assert.ts';
import type { EtcdCompare, EtcdOperation, EtcdRange, EtcdTransaction } from '../client.ts';
import type { EtcdCredentials } from './address.ts';

export const authenticateBody = ({ user, password }: EtcdCredentials): string =>
  JSON.stringify({ name: user, password });

export const grantBody = (ttlSeconds: number): string => JSON.stringify({ TTL: String(ttlSeconds) });

export const leaseBody = (lease: string): string => JSON.stringify({ ID: lease });

export function rangeBody({ key, end, limit, revision }: EtcdRange): string {
  return JSON.stringify({
    key: inBase64(key),
    range_end: end === undefined ? undefined : inBase64(end),
    limit: limit === undefined ? undefined : String(limit),
    revision: revision === undefined ? undefined : String(revision),
  });
}

export function transactionBody({ compare, success, failure }: EtcdTransaction): string {
  return JSON.stringify({
    compare: compare.map(comparison),
    success: success.map(operation),
    failure: failure.map(operation),
  });
}

/**
 * Answers are to come in fragments: otherwise all that happened in up to a thousand revisions is one
 * answer, which no bound would be large enough for.
 */
export function watchBody(key: string, end: string, fromRevision: number): string {
  const range = { key: inBase64(key), range_end: inBase64(end) };
  return JSON.stringify({
    create_request: { ...range, start_revision: String(fromRevision), fragment: true },
  });
}

function comparison(compare: EtcdCompare): object {
  const of = { key: inBase64(compare.key), result: 'EQUAL' };
  if ('value' in compare) return { ...of, target: 'VALUE', value: bytesInBase64(compare.value) };
  return 'createRevision' in compare
    ? { ...of, target: 'CREATE', create_revision: String(compare.createRevision) }
    : { ...of, target: 'MOD', mod_revision: String(compare.modRevision) };
}

function operation(operation: EtcdOperation): object {
  const key = inBase64(operation.key);
  switch (operation.do) {
    case 'put': {
      const { lease } = operation;
      return { request_put: { key, value: bytesInBase64(operation.value), lease } };
    }
    case 'delete': {
      const { end } = operation;
      return { request_delete_range: { key, range_end: end === undefined ? undefined : inBase64(end) } };
    }
    case 'get':
      return { request_range: { key } };
    default:
      return unreachable(operation);
  }
}

const inBase64 = (text: string): string => Buffer.from(text).toString('base64');

const bytesInBase64 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64');
