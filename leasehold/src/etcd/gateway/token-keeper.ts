/**
 * The token that a name and a password are exchanged for. A token is fetched at the first need and used until a member
 * refuses it (the member was restarted, the token was not used there for five minutes, or somebody changed the
 * rights); then one more token is fetched, however many requests were refused at the same time.
 *
 * An etcd that wants no names is used without one. A line says so once, because a user who wrote a password into a
 * configuration believes that the password protects something. When etcd wants a token after all, because somebody
 * switched authentication on, etcd reports a missing token, and one is fetched as for a refused token.
 */

import { later } from '../../runtime/time.ts';
import type { EtcdAnswer } from '../client.ts';
import type { EtcdCredentials } from './address.ts';
import { readToken } from './answers.ts';
import { Call, type Tokens } from './call.ts';
import { authenticateBody } from './requests.ts';
import type { GatewayDependencies } from './dependencies.ts';

type TokenAnswer = EtcdAnswer<string | undefined>;

interface Waiting {
  readonly timer: Disposable;
  readonly use: (answer: TokenAnswer) => void;
}

/** Independent of the time of the waiting requests: etcd makes passwords slow to check. */
const FETCH_MS = 5_000;

const NOT_ASKED = 'etcd asks nobody for a name and a password';
const NOT_ENABLED = 'etcdserver: authentication is not enabled';

export class TokenKeeper implements Tokens {
  readonly #around: GatewayDependencies;
  readonly #credentials: EtcdCredentials;
  readonly #waiting = new Set<Waiting>();
  #kept: { readonly token: string | undefined } | undefined;

  constructor(around: GatewayDependencies, credentials: EtcdCredentials) {
    this.#around = around;
    this.#credentials = credentials;
  }

  token(withinMs: number, use: (answer: TokenAnswer) => void): void {
    if (this.#kept !== undefined) {
      use({ kind: 'done', value: this.#kept.token });
      return;
    }
    const { runtime } = this.#around;
    const isFirst = this.#waiting.size === 0;
    const timer = runtime.wakeAt(later(runtime.now(), withinMs), () => {
      this.#waiting.delete(waiting);
      use({ kind: 'unknown', why: `not authenticated within ${Math.round(withinMs)} ms` });
    });
    const waiting = { timer, use };
    this.#waiting.add(waiting);
    if (isFirst) this.#fetch();
  }

  forget(token: string | undefined): void {
    if (this.#kept?.token === token) this.#kept = undefined;
  }

  #fetch(): void {
    const question = {
      path: '/v3/auth/authenticate',
      body: authenticateBody(this.#credentials),
      read: readToken,
      kind: 'repeatable',
    } as const;
    new Call(this.#around, question, { timeoutMs: FETCH_MS, tokens: undefined }, (answer) => {
      this.#fetched(isNotEnabled(answer) ? this.#withoutToken() : answer);
    });
  }

  #fetched(answer: TokenAnswer): void {
    if (answer.kind === 'done') this.#kept = { token: answer.value };
    if (this.#kept?.token !== undefined) this.#around.episodes.over(NOT_ASKED);
    const all = [...this.#waiting];
    this.#waiting.clear();
    for (const { timer, use } of all) {
      timer[Symbol.dispose]();
      use(answer);
    }
  }

  #withoutToken(): TokenAnswer {
    this.#around.episodes.met(NOT_ASKED, { user: this.#credentials.user });
    return { kind: 'done', value: undefined };
  }
}

const isNotEnabled = (answer: TokenAnswer): boolean =>
  answer.kind === 'refused' && answer.refusal.message.startsWith(NOT_ENABLED);
