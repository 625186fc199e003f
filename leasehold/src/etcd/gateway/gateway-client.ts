/**
 * etcd by way of the HTTP/JSON gateway, which every member offers beside gRPC at the same port: only HTTP is needed,
 * no library. `docs/decisions/0012` weighs the gateway against the alternatives.
 *
 * This file says which request goes where, and which may be sent twice; `call.ts` handles the outcome.
 */

import { assert } from '../../runtime/assert.ts';
import type { HttpClient } from '../../runtime/http.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { later } from '../../runtime/time.ts';
import type {
  EtcdAnswer,
  EtcdClient,
  EtcdMemberHealth,
  EtcdRange,
  EtcdRangeResult,
  EtcdTransaction,
  EtcdTransactionResult,
  EtcdWatchEvents,
} from '../client.ts';
import { EpisodeLog } from '../../runtime/episode-log.ts';
import type { EtcdCredentials } from './address.ts';
import {
  type Fields,
  readGrant,
  readKeepAlive,
  readRange,
  readRevoke,
  readStatus,
  readTransaction,
} from './answers.ts';
import { Call, type Question, type Tokens } from './call.ts';
import { Endpoints } from './endpoints.ts';
import { Identity } from './identity.ts';
import { grantBody, leaseBody, rangeBody, transactionBody, watchBody } from './requests.ts';
import type { GatewayDependencies } from './dependencies.ts';
import { TokenKeeper } from './token-keeper.ts';
import { Watch } from './watch.ts';

export interface GatewayOptions {
  /** `http://10.0.0.1:2379`, one for each member; see `parseEtcdAddress`. */
  readonly endpoints: readonly string[];
  readonly credentials?: EtcdCredentials | undefined;
  readonly http: HttpClient;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /**
   * The largest answer that is read. There must be room for the largest allowed range, a third larger for base64.
   *
   * @default 64 MiB
   */
  readonly answerBytesMax?: number | undefined;
}

const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

export function gatewayClient(options: GatewayOptions): EtcdClient {
  return new GatewayClient(options);
}

class GatewayClient implements EtcdClient {
  readonly #around: GatewayDependencies;
  readonly #tokens: Tokens | undefined;
  readonly #identity: Identity;

  constructor({ endpoints, credentials, http, runtime, logger, answerBytesMax }: GatewayOptions) {
    assert(endpoints.length > 0, 'no endpoints');
    const episodes = new EpisodeLog(logger, runtime);
    this.#around = {
      http,
      runtime,
      endpoints: new Endpoints(endpoints, episodes, runtime.random()),
      episodes,
      answerBytesMax: answerBytesMax ?? ANSWER_BYTES_MAX,
      clusterId: undefined,
    };
    this.#tokens = credentials === undefined ? undefined : new TokenKeeper(this.#around, credentials);
    this.#identity = new Identity(this.#around, this.#tokens);
  }

  /** One too many runs out by itself. */
  grant(
    ttlSeconds: number,
    timeoutMs: number,
    answer: (answer: EtcdAnswer<{ lease: string; ttlSeconds: number }>) => void,
  ): void {
    const body = grantBody(ttlSeconds);
    this.#call({ path: '/v3/lease/grant', body, read: readGrant, kind: 'repeatable' }, timeoutMs, answer);
  }

  keepAlive(
    lease: string,
    timeoutMs: number,
    answer: (answer: EtcdAnswer<{ ttlSeconds: number }>) => void,
  ): void {
    const path = '/v3/lease/keepalive';
    const body = leaseBody(lease);
    this.#call({ path, body, read: readKeepAlive, kind: 'repeatable', isStreamed: true }, timeoutMs, answer);
  }

  revoke(lease: string, timeoutMs: number, answer: (answer: EtcdAnswer<undefined>) => void): void {
    const question = {
      path: '/v3/lease/revoke',
      body: leaseBody(lease),
      read: readRevoke,
      kind: 'repeatable',
      doneIfRefused: { reason: 'no-lease', value: undefined },
    } as const;
    this.#call(question, timeoutMs, answer);
  }

  transact(
    transaction: EtcdTransaction,
    timeoutMs: number,
    answer: (answer: EtcdAnswer<EtcdTransactionResult>) => void,
  ): void {
    const { success, failure } = transaction;
    const question = {
      path: '/v3/kv/txn',
      body: transactionBody(transaction),
      read: (given: Fields) => readTransaction(transaction, given),
      kind: [...success, ...failure].every((operation) => operation.do === 'get') ? 'read' : 'once',
    } as const;
    this.#call(question, timeoutMs, answer);
  }

  range(range: EtcdRange, timeoutMs: number, answer: (answer: EtcdAnswer<EtcdRangeResult>) => void): void {
    const body = rangeBody(range);
    this.#call({ path: '/v3/kv/range', body, read: readRange, kind: 'read' }, timeoutMs, answer);
  }

  /** A watch names a revision, which somebody has read before: so the intended cluster is known. */
  watch(key: string, end: string, fromRevision: number, events: EtcdWatchEvents): Disposable {
    return new Watch(this.#around, this.#tokens, watchBody(key, end, fromRevision), events);
  }

  /** Also of members that disagree about the cluster, or do not name one. */
  health(timeoutMs: number, answer: (members: readonly EtcdMemberHealth[]) => void): void {
    this.#identity.whenKnown(timeoutMs, () => this.#health(timeoutMs, answer));
  }

  #health(timeoutMs: number, answer: (members: readonly EtcdMemberHealth[]) => void): void {
    const { all } = this.#around.endpoints;
    const members: EtcdMemberHealth[] = [];
    for (const [index, endpoint] of all.entries()) {
      const read = (given: Fields): EtcdMemberHealth => readStatus(endpoint, given);
      const path = '/v3/maintenance/status';
      const question = { path, body: '{}', read, kind: 'read', needsLeader: false } as const;
      const options = { timeoutMs, tokens: this.#tokens, endpoints: [endpoint] };
      new Call(this.#around, question, options, (given) => {
        members[index] = given.kind === 'done' ? given.value : unwell(endpoint, given);
        if (Object.keys(members).length === all.length) answer(members);
      });
    }
  }

  #call<T>(question: Question<T>, timeoutMs: number, answer: (answer: EtcdAnswer<T>) => void): void {
    const { runtime } = this.#around;
    const until = later(runtime.now(), timeoutMs);
    this.#identity.whenKnown(timeoutMs, (known) => {
      const leftMs = until - runtime.now();
      if (known.kind === 'refused') answer(known);
      else new Call(this.#around, question, { timeoutMs: leftMs, tokens: this.#tokens }, answer);
    });
  }
}

function unwell(endpoint: string, answer: Exclude<EtcdAnswer<unknown>, { kind: 'done' }>): EtcdMemberHealth {
  const isRefused = answer.kind === 'refused' && answer.refusal.reason !== 'unavailable';
  return {
    endpoint,
    reachable: isRefused,
    complaint: answer.kind === 'refused' ? answer.refusal.message : answer.why,
    isFull: false,
    version: undefined,
    databaseBytes: undefined,
    isLeader: false,
  };
}
