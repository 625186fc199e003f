/**
 * The meaning of an unsuccessful answer for the caller. There are five things to do:
 *
 *     refused     no effect, and no other member would carry it out       tell the caller
 *     settled     done, or never will be                                  let the caller read which
 *     elsewhere   no effect, but another member may carry it out          ask the next one
 *     token       no effect; the token was not taken                      get another token
 *     unclear     perhaps an effect                                       only the caller can tell
 *
 * etcd refuses with one of a fixed set of sentences, unchanged from 3.4 to 3.6, with a gRPC code. The gateway wraps
 * them, in every version in another way:
 *
 *     3.4, 3.5   {"error":"etcdserver: no leader","message":"etcdserver: no leader","code":14}
 *     3.6        {"code":14,"message":"etcdserver: no leader","details":[]}
 *     in a stream, 3.4 and 3.5   {"error":{"grpc_code":14,"http_code":503,"message":"…","http_status":"…"}}
 *     in a stream, 3.6           {"error":{"code":14,"message":"…","details":[]}}
 *     a watch that etcd ends     "cancel_reason":"rpc error: code = PermissionDenied desc = etcdserver: permission denied"
 *
 * A verdict of no effect must be certain. etcd checks rights, sizes and the request itself either before proposing
 * anything or before applying any part; so those codes are refusals with any sentence. `unavailable` is not: a request
 * that timed out may still be applied. Of those only the sentences that are said before anything is proposed are sure.
 *
 * That the database is full is said at three places. Two are before the write: when the request comes in, and, once
 * the alarm is raised, before the request is applied. The third is afterwards: a request that crosses the quota
 * between the one check and the other is *applied*, and then answered with the same sentence. The words do not tell
 * the cases apart. But in each case the request is over, so a later read does (`settled`).
 */

import type { EtcdRefusalReason } from '../client.ts';
import type { Fields } from './answers.ts';

export type Verdict =
  | {
      readonly kind: 'refused' | 'settled' | 'elsewhere';
      readonly reason: EtcdRefusalReason;
      readonly message: string;
    }
  | { readonly kind: 'token' | 'unclear'; readonly message: string };

export interface GatewayError {
  /** Of gRPC; undefined if none was given. */
  readonly code: number | undefined;
  readonly message: string;
}

const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const FAILED_PRECONDITION = 9;
const OUT_OF_RANGE = 11;
const UNIMPLEMENTED = 12;
const UNAUTHENTICATED = 16;

/** Codes of etcd's checks before any effect. */
const WITHOUT_EFFECT = new Set([
  INVALID_ARGUMENT,
  NOT_FOUND,
  PERMISSION_DENIED,
  FAILED_PRECONDITION,
  OUT_OF_RANGE,
  UNIMPLEMENTED,
]);

type Sentence = readonly [says: string, kind: 'refused' | 'settled' | 'elsewhere', reason: EtcdRefusalReason];

const SENTENCES: readonly Sentence[] = [
  ['etcdserver: mvcc: database space exceeded', 'settled', 'no-space'],
  ['etcdserver: request is too large', 'refused', 'too-large'],
  ['etcdserver: too many operations in txn request', 'refused', 'too-large'],
  ['etcdserver: mvcc: required revision has been compacted', 'refused', 'compacted'],
  ['etcdserver: requested lease not found', 'refused', 'no-lease'],
  ['etcdserver: permission denied', 'refused', 'denied'],
  ['etcdserver: authentication failed', 'refused', 'denied'],
  ['etcdserver: user name not found', 'refused', 'denied'],
  // Said before anything is proposed, because we ask with `hasleader`.
  ['etcdserver: no leader', 'elsewhere', 'unavailable'],
  ['etcdserver: not leader', 'elsewhere', 'unavailable'],
  ['etcdserver: too many requests', 'elsewhere', 'unavailable'],
  ['etcdserver: rpc not supported for learner', 'elsewhere', 'unavailable'],
  ['etcdserver: not capable', 'elsewhere', 'unavailable'],
];

/** The token is of a member's earlier start, or older than a change of the rights, or there was no need of one before. */
const TOKEN = /^etcdserver: (?:invalid auth token|revision of auth store is old|user name is empty)/;

/** The form of etcd's own errors where there is room for a text only: why etcd ends a watch. */
const WRAPPED = /^rpc error: code = \w+ desc = /;

/** @param requestBytes the size of the request */
export function verdictOn({ code, message: text }: GatewayError, requestBytes: number): Verdict {
  const message = text.replace(WRAPPED, '');
  if (TOKEN.test(message)) return { kind: 'token', message };
  const sentence = SENTENCES.find(([says]) => message.startsWith(says));
  if (sentence !== undefined) return { kind: sentence[1], reason: sentence[2], message };
  if (isOurSize(message, requestBytes)) return { kind: 'refused', reason: 'too-large', message };
  if (code === UNAUTHENTICATED) return { kind: 'token', message };
  if (code === PERMISSION_DENIED) return { kind: 'refused', reason: 'denied', message };
  if (code !== undefined && WITHOUT_EFFECT.has(code)) return { kind: 'refused', reason: 'other', message };
  return { kind: 'unclear', message };
}

/**
 * `grpc: received message larger than max (2200008 vs. 2097152)` is about the request if the request is that large.
 * The same sentence about an answer would come after the effect.
 */
function isOurSize(message: string, requestBytes: number): boolean {
  const size = /^grpc: received message larger than max \((\d+) vs\. \d+\)/.exec(message)?.[1];
  return size !== undefined && Number(size) <= requestBytes;
}

/** The error in an answer, or in a line of a stream; undefined if the shape is none of the above. */
export function errorIn(answer: Fields): GatewayError | undefined {
  const { error } = answer;
  const of = typeof error === 'object' && error !== null ? (error as Fields) : answer;
  const message = of['message'] ?? of['error'];
  if (typeof message !== 'string') return undefined;
  const code = of['grpc_code'] ?? of['code'];
  return { code: typeof code === 'number' ? code : undefined, message };
}

const WORDS_MAX = 200;

/** For an answer that no gateway of etcd gave: another server, a proxy, or etcd without a gateway. */
export function verdictOnStranger(status: number, body: string): Verdict {
  const words = body.replace(/\s+/g, ' ').trim().slice(0, WORDS_MAX);
  const message = `HTTP ${status}${words === '' ? '' : `: ${words}`}`;
  if (status === 413) return { kind: 'refused', reason: 'too-large', message };
  if (status === 401 || status === 403) return { kind: 'refused', reason: 'denied', message };
  if (status === 404 || status === 405) {
    const advice = 'is this etcd, 3.4 or newer, with its HTTP gateway enabled?';
    return { kind: 'elsewhere', reason: 'other', message: `${message} (${advice})` };
  }
  if (/HTTP request to an HTTPS server/.test(words)) {
    return { kind: 'elsewhere', reason: 'other', message: `${message} (write etcds:// for TLS)` };
  }
  // A server that redirects has done nothing.
  if (status >= 300 && status < 400) return { kind: 'elsewhere', reason: 'other', message };
  return { kind: 'unclear', message };
}
